//! Merging the batches of one group: each sees the batches before it, the engine sees one batch.

use crate::embedded::engine::Writes;
use crate::{Batch, Condition, Error, Result, Snapshot};

/// The writes of a group so far, over the state before the group.
#[derive(Debug)]
pub(super) struct Overlay<'a> {
    base: &'a dyn Snapshot,
    writes: Writes,
}

impl<'a> Overlay<'a> {
    pub(super) fn new(base: &'a dyn Snapshot) -> Overlay<'a> {
        Overlay { base, writes: Writes::new() }
    }

    /// Adds a batch if its conditions hold; otherwise the group stays as it is.
    pub(super) fn admit(&mut self, batch: Batch) -> Result<()> {
        for condition in batch.conditions() {
            if !self.holds(condition)? {
                return Err(Error::Conflict);
            }
        }
        for write in batch.into_writes() {
            self.writes.insert(write.key, write.value);
        }
        Ok(())
    }

    pub(super) fn into_writes(self) -> Writes {
        self.writes
    }

    fn holds(&self, condition: &Condition) -> Result<bool> {
        match self.writes.get(&condition.key) {
            Some(value) => Ok(*value == condition.value),
            None => Ok(self.base.get(&condition.key)? == condition.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::open_memory;

    fn batch(expected: Option<&'static str>, value: Option<&'static str>) -> Batch {
        let mut batch = Batch::new();
        batch.expect("k", expected.map(Bytes::from));
        match value {
            Some(value) => batch.put("k", value),
            None => batch.delete("k"),
        }
        batch
    }

    #[test]
    fn a_batch_sees_the_batches_before_it_and_none_of_those_refused() {
        let store = open_memory();
        store.commit(batch(None, Some("0"))).wait().unwrap();
        let base = store.snapshot();
        let mut overlay = Overlay::new(&*base);
        assert_eq!(overlay.admit(batch(Some("0"), Some("1"))), Ok(()));
        assert_eq!(overlay.admit(batch(Some("0"), Some("2"))), Err(Error::Conflict));
        assert_eq!(overlay.admit(batch(Some("1"), None)), Ok(()));
        assert_eq!(overlay.admit(batch(Some("1"), Some("3"))), Err(Error::Conflict));
        assert_eq!(overlay.admit(batch(None, Some("4"))), Ok(()));
        let writes = overlay.into_writes();
        assert_eq!(writes.into_iter().collect::<Vec<_>>(), [("k".into(), Some("4".into()))]);
    }
}
