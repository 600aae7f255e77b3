//! The memory store: a persistent ordered map, so that a snapshot is a clone of its root.
//!
//! Durable as long as the process: nothing to sync, nothing to poison. Commits are applied under
//! one lock at the call, so commit order is call order and the answer is there at once.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;
use model::Env;
use parking_lot::RwLock;

use crate::statistics::{GroupCounts, Recorder};
use crate::{
    Batch, Commit, Condition, Direction, Error, Ingest, KeyRange, Result, Scan, Snapshot, Store,
    StoreStatistics, ingest_by_commits,
};

/// Opens an empty store in memory. Its content goes with the last reference to it.
pub fn open_memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore {
        content: RwLock::new(MemoryContent { entries: OrdMap::new(), is_closed: false }),
        recorder: Recorder::default(),
        env: Env::system(),
    })
}

struct MemoryStore {
    content: RwLock<MemoryContent>,
    recorder: Recorder,
    env: Env,
}

struct MemoryContent {
    entries: OrdMap<Bytes, Bytes>,
    is_closed: bool,
}

impl MemoryStore {
    fn apply(&self, batch: Batch) -> Result<()> {
        batch.check()?;
        let start = self.env.monotonic();
        let mut counts = GroupCounts {
            operations: batch.n_operations() as u64,
            bytes: batch.bytes() as u64,
            ..GroupCounts::default()
        };
        let mut content = self.content.write();
        if content.is_closed {
            return Err(closed());
        }
        if !batch.conditions().iter().all(|condition| holds(&content.entries, condition)) {
            self.recorder.group(&GroupCounts { conflicts: 1, ..GroupCounts::default() });
            return Err(Error::Conflict);
        }
        for write in batch.into_writes() {
            match write.value {
                Some(value) => content.entries.insert(write.key, value),
                None => content.entries.remove(&write.key),
            };
        }
        drop(content);
        counts.took.push(self.env.monotonic().saturating_sub(start));
        self.recorder.group(&counts);
        Ok(())
    }
}

impl Store for MemoryStore {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let content = self.content.read();
        let entries = if content.is_closed { None } else { Some(content.entries.clone()) };
        Arc::new(MemorySnapshot { entries })
    }

    fn commit(&self, batch: Batch) -> Commit {
        Commit::ready(self.apply(batch))
    }

    fn ingest(self: Arc<Self>) -> Result<Box<dyn Ingest>> {
        Ok(ingest_by_commits(self))
    }

    fn discard(&self, _range: KeyRange) -> Commit {
        // Deleting them is as cheap as it gets.
        Commit::ready(Ok(()))
    }

    fn close(&self) -> Result<()> {
        let mut content = self.content.write();
        content.is_closed = true;
        content.entries = OrdMap::new();
        Ok(())
    }

    fn statistics(&self) -> StoreStatistics {
        self.recorder.read()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

struct MemorySnapshot {
    /// None: the store was closed before.
    entries: Option<OrdMap<Bytes, Bytes>>,
}

impl MemorySnapshot {
    fn entries(&self) -> Result<&OrdMap<Bytes, Bytes>> {
        self.entries.as_ref().ok_or_else(closed)
    }
}

impl Snapshot for MemorySnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>> {
        Ok(self.entries()?.get(key).cloned())
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Scan<'_> {
        let entries = match self.entries() {
            Ok(entries) => entries,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        if range.is_empty() {
            return Box::new(std::iter::empty());
        }
        let found = entries.range::<_, [u8]>(range.as_bounds());
        let found = found.map(|(key, value)| Ok((key.clone(), value.clone())));
        match direction {
            Direction::Forward => Box::new(found),
            Direction::Backward => Box::new(found.rev()),
        }
    }
}

impl fmt::Debug for MemorySnapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_entries = self.entries.as_ref().map_or(0, OrdMap::len);
        formatter.debug_struct("MemorySnapshot").field("n_entries", &n_entries).finish()
    }
}

fn holds(entries: &OrdMap<Bytes, Bytes>, condition: &Condition) -> bool {
    entries.get(&condition.key) == condition.value.as_ref()
}

fn closed() -> Error {
    Error::Unavailable("store is closed".into())
}
