//! What one writer knows: the last acknowledged state of each of its items, and the one change in flight.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

/// Name of an item: partition key and id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ItemName {
    pub(crate) key: String,
    pub(crate) id: String,
}

/// The version of an item that must be there; `None` when the item must not.
pub(crate) type State = Option<u64>;

/// One request's effect: all of it happens, or none.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) items: Vec<(ItemName, State)>,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    acknowledged: BTreeMap<ItemName, u64>,
    in_flight: Option<Change>,
}

impl Ledger {
    /// Items that are there for sure, in name order.
    pub(crate) fn items(&self) -> &BTreeMap<ItemName, u64> {
        &self.acknowledged
    }

    pub(crate) fn begin(&mut self, change: Change) {
        self.in_flight = Some(change);
    }

    /// The change in flight was acknowledged.
    pub(crate) fn acknowledge(&mut self) {
        if let Some(change) = self.in_flight.take() {
            self.apply(&change);
        }
    }

    fn apply(&mut self, change: &Change) {
        for (name, state) in &change.items {
            match state {
                Some(version) => self.acknowledged.insert(name.clone(), *version),
                None => self.acknowledged.remove(name),
            };
        }
    }

    /// Decides by what is there now whether the change in flight happened. Anything but "whole" or "not at
    /// all" is an error.
    pub(crate) fn settle(&mut self, now: impl Fn(&ItemName) -> State) -> Result<()> {
        let Some(change) = self.in_flight.take() else { return Ok(()) };
        let n_new = change.items.iter().filter(|(name, state)| now(name) == *state).count();
        let n_old = change
            .items
            .iter()
            .filter(|(name, _)| now(name) == self.acknowledged.get(name).copied())
            .count();
        if n_new == change.items.len() {
            self.apply(&change);
        } else if n_old != change.items.len() {
            let states: Vec<_> = change.items.iter().map(|(name, _)| (name, now(name))).collect();
            bail!("half of a request is there: wanted {change:?}, found {states:?}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(id: &str) -> ItemName {
        ItemName { key: "k".into(), id: id.into() }
    }

    fn batch(version: u64) -> Change {
        Change { items: vec![(name("a"), Some(version)), (name("b"), Some(version))] }
    }

    #[test]
    fn a_change_in_flight_may_have_happened_or_not() {
        for (found, expected) in [(Some(2), 2), (Some(1), 1)] {
            let mut ledger = Ledger::default();
            ledger.begin(batch(1));
            ledger.acknowledge();
            ledger.begin(batch(2));
            ledger.settle(|_| found).unwrap();
            assert_eq!(ledger.items()[&name("a")], expected);
        }
    }

    #[test]
    fn half_a_batch_is_an_error() {
        let mut ledger = Ledger::default();
        ledger.begin(batch(1));
        let error = ledger.settle(|it| (it.id == "a").then_some(1)).unwrap_err();
        assert!(error.to_string().contains("half"), "{error}");
    }
}
