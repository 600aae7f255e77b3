//! The comparison: what was acknowledged against what is there.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};

use super::ledger::{ItemName, Ledger};
use super::observe::Seen;

pub(crate) fn verify(ledgers: Vec<&mut Ledger>, seen: &Seen) -> Result<()> {
    let mut expected = BTreeMap::new();
    for ledger in ledgers {
        ledger.settle(|name| seen.items.get(name).copied())?;
        expected.extend(ledger.entries().iter().map(|(name, version)| (name.clone(), *version)));
    }
    agree("items and attachments", &expected, &seen.items)?;
    // The feed and the counter know items only.
    expected.retain(|name, _| name.is_item());
    agree("change feed", &expected, &seen.feed)?;
    for (name, version) in &expected {
        let followed = seen.followed.get(name);
        ensure!(
            followed == Some(version),
            "a reader that went on in the change feed has {name:?} at {followed:?}, not at {version}"
        );
    }
    let n_items = u64::try_from(expected.len()).context("too many items")?;
    ensure!(
        seen.n_counted == n_items,
        "the container counts {} items and holds {n_items}",
        seen.n_counted
    );
    Ok(())
}

/// Both maps must be equal; the error names what is lost, stale or too much.
fn agree(
    what: &str,
    expected: &BTreeMap<ItemName, u64>,
    found: &BTreeMap<ItemName, u64>,
) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let mut faults = Vec::new();
    for (name, version) in expected {
        match found.get(name) {
            None => faults.push(format!("lost: {name:?} at version {version}")),
            Some(other) if other != version => {
                faults.push(format!("wrong: {name:?} is at version {other}, not {version}"));
            }
            Some(_) => {}
        }
    }
    faults.extend(
        found
            .iter()
            .filter(|(name, _)| !expected.contains_key(name))
            .map(|(name, version)| format!("too much: {name:?} at version {version}")),
    );
    let n_faults = faults.len();
    faults.truncate(10);
    bail!("{what}: {n_faults} differences, the first are\n  {}", faults.join("\n  "));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::ledger::Change;

    fn name(id: &str) -> ItemName {
        ItemName::new("k", id)
    }

    fn ledger(items: &[(&str, u64)]) -> Ledger {
        let mut ledger = Ledger::default();
        let items = items.iter().map(|(id, version)| (name(id), Some(*version))).collect();
        ledger.begin(Change { items });
        ledger.acknowledge();
        ledger
    }

    fn seen(items: &[(&str, u64)], n_counted: u64) -> Seen {
        let items: BTreeMap<ItemName, u64> =
            items.iter().map(|(id, version)| (name(id), *version)).collect();
        Seen { feed: items.clone(), followed: items.clone(), items, n_counted }
    }

    #[test]
    fn lost_stale_extra_and_miscounted_items_are_found() {
        let mut good = ledger(&[("a", 1), ("b", 2)]);
        verify(vec![&mut good], &seen(&[("a", 1), ("b", 2)], 2)).unwrap();
        for (state, part) in [
            (seen(&[("a", 1)], 1), "lost"),
            (seen(&[("a", 1), ("b", 1)], 2), "wrong"),
            (seen(&[("a", 1), ("b", 2), ("c", 1)], 3), "too much"),
            (seen(&[("a", 1), ("b", 2)], 3), "counts"),
        ] {
            let error = verify(vec![&mut ledger(&[("a", 1), ("b", 2)])], &state).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn a_feed_that_misses_an_item_is_found() {
        let mut state = seen(&[("a", 1)], 1);
        state.feed.clear();
        let error = verify(vec![&mut ledger(&[("a", 1)])], &state).unwrap_err();
        assert!(error.to_string().contains("change feed"), "{error}");
    }
}
