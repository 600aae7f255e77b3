//! A store that keeps commits waiting until it is told what to do with them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use store::{
    Acknowledge, Batch, Commit, Ingest, KeyRange, Snapshot, Store, StoreStatistics,
    ingest_by_commits,
};

#[derive(Debug)]
pub(crate) struct HeldStore {
    inside: Arc<dyn Store>,
    is_holding: AtomicBool,
    waiting: Mutex<VecDeque<(Batch, Acknowledge)>>,
}

impl HeldStore {
    pub(crate) fn new() -> Arc<HeldStore> {
        let waiting = Mutex::default();
        Arc::new(HeldStore { inside: store::open_memory(), is_holding: false.into(), waiting })
    }

    pub(crate) fn hold(&self) {
        self.is_holding.store(true, Ordering::SeqCst);
    }

    /// Lets everything through, in order, and holds nothing more.
    pub(crate) fn release(&self) {
        self.is_holding.store(false, Ordering::SeqCst);
        while self.let_one_through() {}
    }

    pub(crate) fn n_waiting(&self) -> usize {
        self.waiting.lock().unwrap().len()
    }

    /// Carries out the oldest waiting commit; false if none waits.
    pub(crate) fn let_one_through(&self) -> bool {
        let Some((batch, acknowledge)) = self.waiting.lock().unwrap().pop_front() else {
            return false;
        };
        acknowledge.answer(self.inside.commit(batch).wait());
        true
    }

    /// Loses the oldest waiting commit.
    pub(crate) fn fail_one(&self) {
        let (_, acknowledge) = self.waiting.lock().unwrap().pop_front().expect("one waits");
        acknowledge.answer(Err(store::Error::Unavailable("told to fail".into())));
    }
}

impl Store for HeldStore {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.inside.snapshot()
    }

    fn commit(&self, batch: Batch) -> Commit {
        if !self.is_holding.load(Ordering::SeqCst) {
            return self.inside.commit(batch);
        }
        let (commit, acknowledge) = Commit::pending();
        self.waiting.lock().unwrap().push_back((batch, acknowledge));
        commit
    }

    fn ingest(self: Arc<Self>) -> store::Result<Box<dyn Ingest>> {
        Ok(ingest_by_commits(self))
    }

    fn discard(&self, _range: KeyRange) -> Commit {
        Commit::ready(Ok(()))
    }

    fn close(&self) -> store::Result<()> {
        self.inside.close()
    }

    fn statistics(&self) -> StoreStatistics {
        self.inside.statistics()
    }
}
