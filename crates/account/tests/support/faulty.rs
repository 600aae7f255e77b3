//! A store that stops at a commit of choice, as a machine does that loses power.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use store::{
    Batch, Commit, Error, Ingest, KeyRange, Snapshot, Store, StoreStatistics, ingest_by_commits,
};

/// What becomes of the commit at which the power goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// It never reaches the disk.
    Lost,
    /// It is on the disk, and nobody is told.
    Kept,
}

#[derive(Debug)]
pub struct FaultyStore {
    inside: Arc<dyn Store>,
    n_commits: AtomicU64,
    stop_at: AtomicU64,
    keeps_last: AtomicBool,
}

impl FaultyStore {
    pub fn new(inside: Arc<dyn Store>) -> Arc<FaultyStore> {
        Arc::new(FaultyStore {
            inside,
            n_commits: AtomicU64::new(0),
            stop_at: AtomicU64::new(u64::MAX),
            keeps_last: AtomicBool::new(false),
        })
    }

    /// Lets `n` more commits through and stops at the one after.
    pub fn stop_after(&self, n: u64, last: Last) {
        self.keeps_last.store(last == Last::Kept, Ordering::SeqCst);
        self.stop_at.store(self.n_commits.load(Ordering::SeqCst) + n, Ordering::SeqCst);
    }

    pub fn n_commits(&self) -> u64 {
        self.n_commits.load(Ordering::SeqCst)
    }

    pub fn has_stopped(&self) -> bool {
        self.n_commits() > self.stop_at.load(Ordering::SeqCst)
    }
}

impl Store for FaultyStore {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.inside.snapshot()
    }

    fn commit(&self, batch: Batch) -> Commit {
        let number = self.n_commits.fetch_add(1, Ordering::SeqCst);
        let stop_at = self.stop_at.load(Ordering::SeqCst);
        if number < stop_at {
            return self.inside.commit(batch);
        }
        if number == stop_at && self.keeps_last.load(Ordering::SeqCst) {
            let _ = self.inside.commit(batch).wait();
        }
        Commit::ready(Err(Error::Poisoned("the power went".into())))
    }

    fn ingest(self: Arc<Self>) -> store::Result<Box<dyn Ingest>> {
        Ok(ingest_by_commits(self))
    }

    fn discard(&self, _range: KeyRange) -> Commit {
        Commit::ready(Ok(()))
    }

    fn close(&self) -> store::Result<()> {
        Ok(())
    }

    fn statistics(&self) -> StoreStatistics {
        self.inside.statistics()
    }
}
