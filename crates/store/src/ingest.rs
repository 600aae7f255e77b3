//! Many sorted entries at once, beside the order of commits.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Batch, Commit, Error, Result, Store};

/// Takes the entries of one load; see [`Store::ingest`](crate::Store::ingest).
pub trait Ingest: Debug + Send + Sync {
    /// Hands over the next entries: puts only, without conditions, in ascending order over all
    /// calls. The answer says that the next call may follow, and nothing about the disk.
    ///
    /// After an error the load is over.
    fn write(&mut self, batch: Batch) -> Commit;

    /// Ends the load. When the answer comes, all of it is durable and every later snapshot has it.
    fn finish(self: Box<Self>) -> Commit;
}

/// Makes a load of ordinary commits: for stores that have no faster way.
pub fn ingest_by_commits(store: Arc<dyn Store>) -> Box<dyn Ingest> {
    Box::new(ByCommits { store, order: Order::default() })
}

#[derive(Debug)]
struct ByCommits {
    store: Arc<dyn Store>,
    order: Order,
}

impl Ingest for ByCommits {
    fn write(&mut self, batch: Batch) -> Commit {
        match self.order.follow(&batch) {
            Ok(()) => self.store.commit(batch),
            Err(error) => Commit::ready(Err(error)),
        }
    }

    fn finish(self: Box<Self>) -> Commit {
        self.store.commit(Batch::new())
    }
}

/// Checks that batches are what a load takes.
#[derive(Debug, Default)]
pub(crate) struct Order {
    last: Option<Bytes>,
}

impl Order {
    pub(crate) fn follow(&mut self, batch: &Batch) -> Result<()> {
        batch.check()?;
        if !batch.conditions().is_empty() {
            return Err(Error::Corrupt("a load has no conditions".into()));
        }
        let mut last = self.last.as_ref();
        for write in batch.writes() {
            if write.value.is_none() {
                return Err(Error::Corrupt("a load deletes nothing".into()));
            }
            if last.is_some_and(|last| *last >= write.key) {
                return Err(Error::Corrupt("the keys of a load must ascend".into()));
            }
            last = Some(&write.key);
        }
        self.last = last.cloned();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ascending_puts_pass() {
        let puts = |keys: &[&'static str]| {
            let mut batch = Batch::new();
            for key in keys {
                batch.put(*key, "v");
            }
            batch
        };
        let mut order = Order::default();
        assert_eq!(order.follow(&puts(&["a", "b"])), Ok(()));
        assert_eq!(order.follow(&puts(&[])), Ok(()));
        for refused in [puts(&["b"]), puts(&["a"]), puts(&["d", "c"]), puts(&["e", "e"])] {
            let mut order = Order { last: order.last.clone() };
            assert!(matches!(order.follow(&refused), Err(Error::Corrupt(_))), "{refused:?}");
        }
        let (mut delete, mut condition) = (Batch::new(), Batch::new());
        delete.delete("x");
        condition.expect("x", None);
        for refused in [delete, condition] {
            assert!(matches!(order.follow(&refused), Err(Error::Corrupt(_))), "{refused:?}");
        }
        assert_eq!(order.follow(&puts(&["c"])), Ok(()));
    }
}
