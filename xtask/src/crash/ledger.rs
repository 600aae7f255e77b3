//! What one writer knows: the last acknowledged state of each of its items and attachments, and the one change in
//! flight.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

/// Name of an item, or of an attachment of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ItemName {
    pub(crate) key: String,
    pub(crate) id: String,
    pub(crate) attachment: Option<String>,
}

impl ItemName {
    pub(crate) fn new(key: impl Into<String>, id: impl Into<String>) -> ItemName {
        ItemName { key: key.into(), id: id.into(), attachment: None }
    }

    pub(crate) fn attachment(&self, id: &str) -> ItemName {
        ItemName { attachment: Some(id.to_owned()), ..self.clone() }
    }

    pub(crate) fn is_item(&self) -> bool {
        self.attachment.is_none()
    }

    /// Whether this is the item, or an attachment of it.
    fn goes_with(&self, item: &ItemName) -> bool {
        self.key == item.key && self.id == item.id
    }
}

/// The version that must be there; `None` when nothing must.
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
    /// Items and attachments that are there for sure, in name order.
    pub(crate) fn entries(&self) -> &BTreeMap<ItemName, u64> {
        &self.acknowledged
    }

    /// The items among them.
    pub(crate) fn items(&self) -> impl Iterator<Item = &ItemName> {
        self.acknowledged.keys().filter(|name| name.is_item())
    }

    /// An item and what is attached to it, which goes in the same commit.
    pub(crate) fn removal(&self, item: &ItemName) -> Change {
        let names = self.acknowledged.keys().filter(|name| name.goes_with(item));
        Change { items: names.map(|name| (name.clone(), None)).collect() }
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
        ItemName::new("k", id)
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
            assert_eq!(ledger.entries()[&name("a")], expected);
        }
    }

    #[test]
    fn an_attachment_that_outlives_its_item_is_an_error() {
        let mut ledger = Ledger::default();
        let attached = name("a").attachment("media");
        ledger.begin(Change { items: vec![(name("a"), Some(1)), (attached, Some(2))] });
        ledger.acknowledge();
        assert_eq!(ledger.items().count(), 1);
        ledger.begin(ledger.removal(&name("a")));
        let error = ledger.settle(|it| (!it.is_item()).then_some(2)).unwrap_err();
        assert!(error.to_string().contains("half"), "{error}");
    }

    #[test]
    fn half_a_batch_is_an_error() {
        let mut ledger = Ledger::default();
        ledger.begin(batch(1));
        let error = ledger.settle(|it| (it.id == "a").then_some(1)).unwrap_err();
        assert!(error.to_string().contains("half"), "{error}");
    }
}
