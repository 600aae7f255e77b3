//! A store whose commits take time, fail now and then, and end when the power goes.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use store::{
    Acknowledge, Batch, Commit, Direction, Error, Ingest, KeyRange, Snapshot, Store,
    StoreStatistics, ingest_by_commits,
};
use tokio::sync::Notify;

use crate::random::Random;

/// What survives a crash.
#[derive(Debug, Clone)]
pub(crate) struct Platter(Arc<dyn Store>);

impl Platter {
    pub(crate) fn new() -> Platter {
        Platter(store::open_memory())
    }

    /// The partitions that have bytes here, the catalog aside.
    pub(crate) fn incarnations(&self) -> Vec<u64> {
        let snapshot = self.0.snapshot();
        let mut found: Vec<u64> = snapshot
            .scan(KeyRange::all(), Direction::Forward)
            .filter_map(|entry| Some(u64::from_be_bytes(*entry.ok()?.0.first_chunk::<8>()?)))
            .filter(|incarnation| *incarnation != 0)
            .collect();
        found.dedup();
        found
    }
}

/// One life of the store, from a start to a crash.
#[derive(Debug)]
pub(crate) struct Disk {
    platter: Platter,
    state: Mutex<DiskState>,
    work: Notify,
    end: Notify,
}

#[derive(Debug)]
struct DiskState {
    queue: VecDeque<(Batch, Acknowledge)>,
    /// Commits until the power goes.
    left: u64,
    is_off: bool,
    random: Random,
}

impl Disk {
    pub(crate) fn new(platter: &Platter, commits: u64, random: Random) -> Arc<Disk> {
        let state = DiskState { queue: VecDeque::new(), left: commits, is_off: false, random };
        Arc::new(Disk {
            platter: platter.clone(),
            state: Mutex::new(state),
            work: Notify::new(),
            end: Notify::new(),
        })
    }

    /// Carries out what is submitted, in order, some at a time, until the power goes.
    pub(crate) async fn run(&self) {
        loop {
            let turns = {
                let mut state = self.state.lock();
                if state.is_off {
                    return;
                }
                if state.queue.is_empty() { None } else { Some(state.random.below(4)) }
            };
            match turns {
                None => self.work.notified().await,
                Some(turns) => {
                    for _ in 0..turns {
                        tokio::task::yield_now().await;
                    }
                    self.carry_out();
                }
            }
        }
    }

    fn carry_out(&self) {
        let mut state = self.state.lock();
        for _ in 0..=state.random.below(3) {
            let Some((batch, acknowledge)) = state.queue.pop_front() else { break };
            if state.left == 0 {
                drop(state);
                // The batch is on the platter or not, and nobody is told.
                self.cut_power(Some(batch));
                return;
            }
            state.left -= 1;
            // Queues are full at times: nothing is written then, and the writer is told so.
            if !batch.is_empty() && state.random.one_in(400) {
                acknowledge.answer(Err(Error::Unavailable("too much work".into())));
            } else {
                acknowledge.answer(self.platter.0.commit(batch).wait());
            }
        }
    }

    /// Ends this life. Of what waits, a random part from the front reaches the platter.
    pub(crate) fn cut_power(&self, first: Option<Batch>) {
        let mut state = self.state.lock();
        if state.is_off {
            return;
        }
        state.is_off = true;
        let waiting: Vec<Batch> = first
            .into_iter()
            .chain(std::mem::take(&mut state.queue).into_iter().map(|it| it.0))
            .collect();
        let n_kept = state.random.below(waiting.len() as u64 + 1);
        for (_, batch) in (0..n_kept).zip(waiting) {
            // A condition may fail here as it would have: then nothing is written.
            let _ = self.platter.0.commit(batch).wait();
        }
        drop(state);
        self.work.notify_one();
        self.end.notify_one();
    }

    /// Returns when the power went.
    pub(crate) async fn until_off(&self) {
        self.end.notified().await;
    }
}

impl Store for Disk {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.platter.0.snapshot()
    }

    fn commit(&self, batch: Batch) -> Commit {
        let mut state = self.state.lock();
        if state.is_off {
            return Commit::ready(Err(Error::Poisoned("the power went".into())));
        }
        let (commit, acknowledge) = Commit::pending();
        state.queue.push_back((batch, acknowledge));
        drop(state);
        self.work.notify_one();
        commit
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
        self.platter.0.statistics()
    }
}
