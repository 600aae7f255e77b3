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
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::Env;
use parking_lot::RwLock;

use super::engine::{Engine, Room};
use super::group::Overlay;
use super::lsm::Refusing;
use super::queue::{Queue, Taken, Waiting};
use crate::statistics::{GroupCounts, Recorder};
use crate::{Acknowledge, Durability, Error, Result, Snapshot};

/// How often the committer looks whether tables were moved, while nothing is written.
const LOOK: Duration = Duration::from_secs(2);

/// How long it waits before it opens an engine anew, at first and at most.
const RECOVERY_WAIT_MIN: Duration = Duration::from_millis(500);
const RECOVERY_WAIT_MAX: Duration = Duration::from_secs(15);

/// What the committer shares with its store.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) queue: Queue,
    /// The last state that is durable and may be read.
    pub(super) published: RwLock<Arc<dyn Snapshot>>,
    pub(super) recorder: Recorder,
    pub(super) env: Env,
    /// The failure was of a kind that passes: opening the engine anew may help.
    pub(super) can_recover: AtomicBool,
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
        while let Err(error) = self.commit_all() {
            tracing::error!(%error, "store stops taking writes");
            self.shared.queue.poison(&error);
            if !self.recover() {
                break;
            }
        }
        drop(guard);
    }

    /// Opens the engine anew as soon as it can go on, if what failed is of that kind. Returns false if it is not, or the
    /// store was closed meanwhile.
    ///
    /// What the last group did is unknown to its callers, and they were told so; whether it was kept is for those to read
    /// that come after. Nothing else was under way.
    fn recover(&mut self) -> bool {
        if !self.shared.can_recover.swap(false, Ordering::SeqCst) || !self.engine.can_reopen() {
            return false;
        }
        let mut wait = RECOVERY_WAIT_MIN;
        loop {
            if self.shared.queue.is_closed_after(wait) {
                return false;
            }
            wait = (wait * 2).min(RECOVERY_WAIT_MAX);
            // Readers go on with what they have; new ones are refused for the moment that it takes.
            drop(std::mem::replace(
                &mut *self.shared.published.write(),
                Arc::new(Refusing::reopening()),
            ));
            let reopened = self.engine.reopen();
            self.publish();
            match reopened {
                Ok(()) => break,
                Err(error) => tracing::warn!(%error, "store cannot take writes yet"),
            }
        }
        self.unsynced_since = None;
        self.shared.recorder.reopened();
        self.shared.queue.resume();
        tracing::info!("store takes writes again");
        true
    }

    fn commit_all(&mut self) -> Result<()> {
        loop {
            match self.shared.queue.take(self.patience()) {
                Taken::Group(group) => self.commit_group(group)?,
                Taken::Nothing => {
                    self.sync()?;
                    self.follow_tables();
                    self.engine.note();
                }
                Taken::Closed => return self.sync(),
                Taken::Poisoned(error) => return Err(error),
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
        let room = self.engine.room();
        let mut answers: Vec<(Acknowledge, Result<()>)> = Vec::with_capacity(group.len());
        let mut counts = GroupCounts::default();
        let mut since = Vec::with_capacity(group.len());
        let mut brings_tables = false;
        for Waiting { batch, acknowledge, since: called, brings_tables: own } in group {
            brings_tables |= own;
            let (operations, bytes) = (batch.n_operations() as u64, batch.bytes() as u64);
            let answer = check_room(room, batch.frees_space()).and_then(|()| overlay.admit(batch));
            match &answer {
                Ok(()) => {
                    counts.operations += operations;
                    counts.bytes += bytes;
                    since.push(called);
                }
                Err(Error::Conflict) => counts.conflicts += 1,
                Err(Error::Exhausted(_)) => counts.refused += 1,
                Err(
                    Error::Unavailable(_)
                    | Error::InDoubt(_)
                    | Error::Corrupt(_)
                    | Error::Poisoned(_),
                ) => {}
            }
            answers.push((acknowledge, answer));
        }
        if let Err(error) = self.write(overlay, brings_tables) {
            // First, so that who has this answer finds the store refusing.
            self.shared.queue.poison(&error);
            for (acknowledge, _) in answers {
                acknowledge.answer(Err(error.clone()));
            }
            return Err(error);
        }
        let now = self.shared.env.monotonic();
        counts.took.extend(since.iter().map(|called| now.saturating_sub(*called)));
        // Counted before the answer: a caller that has its answer finds it in the statistics.
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
            let written = self.engine.write(writes);
            written.map_err(|error| self.shared.poisoned("write", &error))?;
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
        if self.engine.has_new_tables() {
            self.publish();
        }
    }

    fn sync(&mut self) -> Result<()> {
        if self.unsynced_since.is_none() {
            return Ok(());
        }
        self.engine.sync().map_err(|error| self.shared.poisoned("sync", &error))?;
        self.unsynced_since = None;
        self.shared.recorder.sync();
        Ok(())
    }
}

impl Shared {
    /// The message says what an operator can do: only reading the disk again tells what it holds.
    pub(super) fn poisoned(&self, what: &str, error: &Error) -> Error {
        // The engine says that it is poisoned when one of its threads has ended.
        if matches!(error, Error::Exhausted(_) | Error::Poisoned(_)) {
            self.can_recover.store(true, Ordering::SeqCst);
        }
        Error::Poisoned(format!(
            "a {what} to disk failed ({error}); whether the last batches were kept is unknown; \
             restart the server to recover"
        ))
    }
}

/// Refuses a batch that the disk has no room for.
pub(super) fn check_room(room: Room, frees_space: bool) -> Result<()> {
    match room {
        Room::Enough => Ok(()),
        Room::Little if frees_space => Ok(()),
        Room::Little | Room::Nothing => Err(Error::Exhausted(
            "the disk is nearly full; delete data, or give it more space".into(),
        )),
    }
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
