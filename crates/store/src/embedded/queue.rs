//! Batches that wait for the committer, in call order.
//!
//! Invariant: first in, first out, and every batch that is pushed is answered: by the
//! committer, or with `Poisoned` when it has given up. Nothing is taken after poisoning.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::{Acknowledge, Batch, Commit, Error, Result};

/// Batches that may wait.
// Limit: far above what concurrent requests can produce; a caller that does not wait for its
// answers, or a disk that stands still, ends here instead of in swap.
const QUEUE_BATCHES_MAX: usize = 16_384;

/// Bytes that may wait.
// Limit: 128 of the largest items; the same reason.
const QUEUE_BYTES_MAX: usize = 256 << 20;

/// Batches in one group.
// Limit: a group this large has spread the sync thin enough; a larger one only makes its first
// batch wait for its last.
const GROUP_BATCHES_MAX: usize = 256;

/// Bytes in one group; a larger batch is a group of its own.
// Limit: the same, for large batches.
const GROUP_BYTES_MAX: usize = 4 << 20;

/// A batch in the queue.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) batch: Batch,
    pub(super) acknowledge: Acknowledge,
    /// When `commit` was called.
    pub(super) since: Duration,
    /// The engine has tables that the published snapshot does not show.
    pub(super) brings_tables: bool,
}

/// What the committer finds.
#[derive(Debug)]
pub(super) enum Taken {
    /// At least one batch.
    Group(Vec<Waiting>),
    /// Nothing came within the time to wait.
    Nothing,
    /// Nothing is left and nothing will come.
    Closed,
    /// A load failed, and with it the store.
    Poisoned(Error),
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    inside: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Why nothing more is taken in.
    refusal: Option<Error>,
    is_closed: bool,
}

impl Queue {
    /// Puts a batch at the end, or refuses it at once.
    pub(super) fn push(&self, batch: Batch, since: Duration) -> Commit {
        self.put(batch, since, false)
    }

    /// Asks for a snapshot that shows what was done to the tables beside the log.
    pub(super) fn push_tables(&self, since: Duration) -> Commit {
        self.put(Batch::new(), since, true)
    }

    fn put(&self, batch: Batch, since: Duration, brings_tables: bool) -> Commit {
        let mut inside = self.inside.lock();
        if let Err(error) = inside.admit(&batch) {
            return Commit::ready(Err(error));
        }
        let (commit, acknowledge) = Commit::pending();
        inside.bytes += batch.bytes();
        inside.waiting.push_back(Waiting { batch, acknowledge, since, brings_tables });
        drop(inside);
        self.changed.notify_one();
        commit
    }

    /// Takes the batches that wait, up to the limits of a group. Waits for the first one, but no
    /// longer than `patience`.
    pub(super) fn take(&self, patience: Duration) -> Taken {
        let mut inside = self.inside.lock();
        while inside.waiting.is_empty() {
            match &inside.refusal {
                Some(error @ Error::Poisoned(_)) => return Taken::Poisoned(error.clone()),
                Some(_) => return Taken::Closed,
                None => {}
            }
            let waited = self.changed.wait_for(&mut inside, patience);
            if waited.timed_out() && inside.waiting.is_empty() && inside.refusal.is_none() {
                return Taken::Nothing;
            }
        }
        Taken::Group(inside.take_group())
    }

    /// Refuses what comes later; what waits is still to be taken.
    pub(super) fn close(&self) {
        let closed = Error::Unavailable("store is closed".into());
        let mut inside = self.inside.lock();
        inside.is_closed = true;
        inside.refusal.get_or_insert(closed);
        drop(inside);
        self.changed.notify_all();
    }

    /// Waits up to `patience` and tells whether the queue was closed.
    pub(super) fn is_closed_after(&self, patience: Duration) -> bool {
        let mut inside = self.inside.lock();
        if !inside.is_closed {
            self.changed.wait_for(&mut inside, patience);
        }
        inside.is_closed
    }

    /// Takes batches again after [`Queue::poison`], unless it was closed meanwhile.
    pub(super) fn resume(&self) {
        let mut inside = self.inside.lock();
        inside.refusal = inside.is_closed.then(|| Error::Unavailable("store is closed".into()));
    }

    /// Returns how a batch would be refused now.
    pub(super) fn check(&self) -> Result<()> {
        self.inside.lock().refusal.clone().map_or(Ok(()), Err)
    }

    /// Answers everything that waits, and everything that comes later, with `error`.
    pub(super) fn poison(&self, error: &Error) {
        let mut inside = self.inside.lock();
        inside.refusal = Some(error.clone());
        inside.bytes = 0;
        let waiting = std::mem::take(&mut inside.waiting);
        drop(inside);
        self.changed.notify_all();
        for one in waiting {
            one.acknowledge.answer(Err(error.clone()));
        }
    }

    /// Returns the error of [`Queue::poison`], if that happened.
    pub(super) fn poisoned(&self) -> Result<()> {
        match &self.inside.lock().refusal {
            Some(error @ Error::Poisoned(_)) => Err(error.clone()),
            Some(
                Error::Conflict
                | Error::Unavailable(_)
                | Error::Exhausted(_)
                | Error::InDoubt(_)
                | Error::Corrupt(_),
            )
            | None => Ok(()),
        }
    }

    /// Returns how many batches wait.
    pub(super) fn len(&self) -> usize {
        self.inside.lock().waiting.len()
    }
}

impl QueueState {
    fn admit(&self, batch: &Batch) -> Result<()> {
        if let Some(error) = &self.refusal {
            return Err(error.clone());
        }
        if self.waiting.len() >= QUEUE_BATCHES_MAX
            || self.bytes.saturating_add(batch.bytes()) > QUEUE_BYTES_MAX
        {
            let (n_batches, n_bytes) = (self.waiting.len(), self.bytes);
            return Err(Error::Unavailable(format!(
                "{n_batches} batches of {n_bytes} bytes wait to be committed, limits are \
                 {QUEUE_BATCHES_MAX} and {QUEUE_BYTES_MAX}"
            )));
        }
        Ok(())
    }

    fn take_group(&mut self) -> Vec<Waiting> {
        let mut group = Vec::with_capacity(self.waiting.len().min(GROUP_BATCHES_MAX));
        let mut group_bytes = 0;
        while group.len() < GROUP_BATCHES_MAX {
            let Some(next) = self.waiting.front() else { break };
            let bytes = next.batch.bytes();
            if !group.is_empty() && group_bytes + bytes > GROUP_BYTES_MAX {
                break;
            }
            group_bytes += bytes;
            group.extend(self.waiting.pop_front());
        }
        self.bytes -= group_bytes;
        debug_assert!(!self.waiting.is_empty() || self.bytes == 0, "an empty queue has no bytes");
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(value_bytes: usize) -> Batch {
        let mut batch = Batch::new();
        batch.put("k", vec![0; value_bytes]);
        batch
    }

    fn group(queue: &Queue) -> Vec<usize> {
        match queue.take(Duration::ZERO) {
            Taken::Group(group) => group.iter().map(|one| one.batch.bytes()).collect(),
            Taken::Nothing | Taken::Closed | Taken::Poisoned(_) => Vec::new(),
        }
    }

    #[test]
    fn a_group_is_bounded_in_count_and_bytes() {
        let queue = Queue::default();
        let commits: Vec<_> =
            (0..GROUP_BATCHES_MAX + 3).map(|_| queue.push(batch(9), Duration::ZERO)).collect();
        assert_eq!(group(&queue).len(), GROUP_BATCHES_MAX);
        assert_eq!(group(&queue).len(), 3);
        assert_eq!(group(&queue), [0_usize; 0]);
        for commit in commits {
            assert!(matches!(commit.wait(), Err(Error::Poisoned(_))), "dropped unanswered");
        }

        let sizes = [1, GROUP_BYTES_MAX, GROUP_BYTES_MAX / 2, 1];
        let _commits = sizes.map(|bytes| queue.push(batch(bytes - 1), Duration::ZERO));
        assert_eq!(group(&queue), [1]);
        assert_eq!(group(&queue), [GROUP_BYTES_MAX]);
        assert_eq!(group(&queue), [GROUP_BYTES_MAX / 2, 1]);
    }

    #[test]
    fn a_full_queue_refuses_at_once_and_takes_again_when_drained() {
        let queue = Queue::default();
        let refused = |commit: Commit| {
            let answer = commit.wait();
            assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
        };
        let _many: Vec<_> =
            (0..QUEUE_BATCHES_MAX).map(|_| queue.push(batch(9), Duration::ZERO)).collect();
        refused(queue.push(batch(9), Duration::ZERO));
        group(&queue);
        let _one = queue.push(batch(9), Duration::ZERO);
        assert_eq!(queue.len(), QUEUE_BATCHES_MAX - GROUP_BATCHES_MAX + 1);

        let queue = Queue::default();
        let value = bytes::Bytes::from(vec![0; QUEUE_BYTES_MAX / 4]);
        let quarter = || {
            let mut batch = Batch::new();
            batch.put("k", value.clone());
            batch
        };
        let _three: Vec<_> = (0..3).map(|_| queue.push(quarter(), Duration::ZERO)).collect();
        refused(queue.push(quarter(), Duration::ZERO));
        let _small = queue.push(batch(9), Duration::ZERO);
    }

    #[test]
    fn a_closed_queue_gives_what_waits_and_then_ends() {
        let queue = Queue::default();
        let _commit = queue.push(batch(9), Duration::ZERO);
        queue.close();
        assert!(matches!(queue.push(batch(9), Duration::ZERO).wait(), Err(Error::Unavailable(_))));
        assert!(matches!(queue.take(Duration::MAX), Taken::Group(_)));
        assert!(matches!(queue.take(Duration::MAX), Taken::Closed));
        assert_eq!(queue.poisoned(), Ok(()));
    }

    #[test]
    fn poison_answers_those_who_wait_and_those_who_come() {
        let queue = Queue::default();
        let waiting = queue.push(batch(9), Duration::ZERO);
        let error = Error::Poisoned("sync failed".into());
        queue.poison(&error);
        assert_eq!(waiting.wait(), Err(error.clone()));
        assert_eq!(queue.push(batch(9), Duration::ZERO).wait(), Err(error.clone()));
        queue.close();
        assert_eq!(queue.poisoned(), Err(error));
    }
}
