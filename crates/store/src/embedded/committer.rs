//! The one thread that writes: group commit, publication, acknowledgement.
//!
//! Hot path: every commit passes here. No per-operation logging, no lock held over I/O that a
//! reader needs.
//!
//! Invariant: conditions → write → sync → publish → answer, in this order. A reader therefore
//! never sees a batch that a crash could take back, and a writer that has its answer sees its own
//! write. Batches that lost a condition are answered with their group, not before: whoever retries
//! at once then reads the state it lost to.

use std::sync::Arc;
use std::time::Duration;

use model::Env;
use parking_lot::RwLock;

use super::engine::Engine;
use super::group::Overlay;
use super::queue::{Queue, Taken, Waiting};
use crate::statistics::{GroupCounts, Recorder};
use crate::{Acknowledge, Durability, Error, Result, Snapshot};

/// How often the committer looks whether tables were moved, while nothing is written.
const LOOK: Duration = Duration::from_secs(2);

/// What the committer shares with its store.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) queue: Queue,
    /// The last state that is durable and may be read.
    pub(super) published: RwLock<Arc<dyn Snapshot>>,
    pub(super) recorder: Recorder,
    pub(super) env: Env,
}

#[derive(Debug)]
pub(super) struct Committer {
    shared: Arc<Shared>,
    engine: Arc<dyn Engine>,
    durability: Durability,
    /// When the oldest write that is not synced was made.
    unsynced_since: Option<Duration>,
}

impl Committer {
    pub(super) fn new(
        shared: Arc<Shared>,
        engine: Arc<dyn Engine>,
        durability: Durability,
    ) -> Committer {
        Committer { shared, engine, durability, unsynced_since: None }
    }

    /// Commits until the queue is closed and empty, or something fails.
    pub(super) fn run(mut self) {
        // A panic in here is a bug; it must not leave writers waiting for ever.
        let guard = PoisonOnPanic(Arc::clone(&self.shared));
        if let Err(error) = self.commit_all() {
            tracing::error!(%error, "store stops taking writes");
            self.shared.queue.poison(&error);
        }
        drop(guard);
    }

    fn commit_all(&mut self) -> Result<()> {
        loop {
            match self.shared.queue.take(self.patience()) {
                Taken::Group(group) => self.commit_group(group)?,
                Taken::Nothing => {
                    self.sync()?;
                    self.follow_tables();
                }
                Taken::Closed => return self.sync(),
            }
            if self.until_sync() == Some(Duration::ZERO) {
                self.sync()?;
            }
        }
    }

    /// How long the committer may sleep.
    fn patience(&self) -> Duration {
        self.until_sync().map_or(LOOK, |until| until.min(LOOK))
    }

    /// When the next sync is due, if one is.
    fn until_sync(&self) -> Option<Duration> {
        match (self.durability, self.unsynced_since) {
            (Durability::Relaxed { interval }, Some(since)) => {
                let waited = self.shared.env.monotonic().saturating_sub(since);
                Some(interval.saturating_sub(waited))
            }
            (Durability::Fsync | Durability::Relaxed { .. }, _) => None,
        }
    }

    /// Only a failure that poisons is an error here; lost conditions are answered.
    fn commit_group(&mut self, group: Vec<Waiting>) -> Result<()> {
        let base = Arc::clone(&self.shared.published.read());
        let mut overlay = Overlay::new(&*base);
        let mut answers: Vec<(Acknowledge, Result<()>)> = Vec::with_capacity(group.len());
        let mut counts = GroupCounts::default();
        let mut since = Vec::with_capacity(group.len());
        let mut brings_tables = false;
        for Waiting { batch, acknowledge, since: called, brings_tables: own } in group {
            brings_tables |= own;
            let (operations, bytes) = (batch.n_operations() as u64, batch.bytes() as u64);
            let answer = overlay.admit(batch);
            match &answer {
                Ok(()) => {
                    counts.operations += operations;
                    counts.bytes += bytes;
                    since.push(called);
                }
                Err(Error::Conflict) => counts.conflicts += 1,
                Err(Error::Unavailable(_) | Error::Corrupt(_) | Error::Poisoned(_)) => {}
            }
            answers.push((acknowledge, answer));
        }
        if let Err(error) = self.write(overlay, brings_tables) {
            for (acknowledge, _) in answers {
                acknowledge.answer(Err(error.clone()));
            }
            return Err(error);
        }
        let now = self.shared.env.monotonic();
        counts.took.extend(since.iter().map(|called| now.saturating_sub(*called)));
        // Counted before the answer: who has an answer finds it in the statistics.
        self.shared.recorder.group(&counts);
        for (acknowledge, answer) in answers {
            acknowledge.answer(answer);
        }
        Ok(())
    }

    /// Makes the group's writes as durable as promised, then visible.
    fn write(&mut self, overlay: Overlay<'_>, brings_tables: bool) -> Result<()> {
        let writes = overlay.into_writes();
        if writes.is_empty() && !brings_tables {
            return Ok(());
        }
        if !writes.is_empty() {
            self.engine.write(writes).map_err(|error| poisoned("write", &error))?;
            self.unsynced_since.get_or_insert(self.shared.env.monotonic());
            if self.durability == Durability::Fsync {
                self.sync()?;
            }
        }
        self.publish();
        Ok(())
    }

    fn publish(&self) {
        let next = self.engine.snapshot();
        let last = std::mem::replace(&mut *self.shared.published.write(), next);
        // Outside the lock: with the last that shows them, files of old tables are deleted.
        drop(last);
    }

    /// Publishes a snapshot of the same state that reads the tables of now. Otherwise, until somebody writes, readers would
    /// look into every run that was there at the last write, and these would stay on disk.
    fn follow_tables(&self) {
        if self.engine.has_moved() {
            self.publish();
        }
    }

    fn sync(&mut self) -> Result<()> {
        if self.unsynced_since.is_none() {
            return Ok(());
        }
        self.engine.sync().map_err(|error| poisoned("sync", &error))?;
        self.unsynced_since = None;
        self.shared.recorder.sync();
        Ok(())
    }
}

/// The message says what an operator can do: only reading the disk again tells what it holds.
pub(super) fn poisoned(what: &str, error: &Error) -> Error {
    Error::Poisoned(format!(
        "a {what} to disk failed ({error}); whether the last batches were kept is unknown; \
         restart the server to recover"
    ))
}

struct PoisonOnPanic(Arc<Shared>);

impl Drop for PoisonOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.queue.poison(&Error::Poisoned(
                "the committer ended by a bug; restart the server to recover".into(),
            ));
        }
    }
}
