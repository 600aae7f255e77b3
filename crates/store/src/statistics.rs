//! Counters that every store keeps about its commits.

use std::time::Duration;

use parking_lot::Mutex;

use crate::Latencies;

/// What a store did since it was opened. Counters only grow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreStatistics {
    /// Bytes the store occupies on disk now; zero for the memory store and after closing.
    pub disk_bytes: u64,
    /// Batches acknowledged as committed.
    pub commits: u64,
    /// Batches refused because a condition did not hold.
    pub conflicts: u64,
    /// Engine writes; `commits / groups` is how well group commit works.
    pub groups: u64,
    /// Disk syncs.
    pub syncs: u64,
    /// Writes in committed batches.
    pub operations: u64,
    /// Bytes of committed batches.
    pub bytes: u64,
    /// Batches refused because the disk has too little room.
    pub refused: u64,
    /// Times that the engine was opened anew after it had run out of space or descriptors.
    pub reopened: u64,
    /// Batches that wait for the committer now.
    pub waiting: u64,
    /// Memory in use.
    pub memory: StoreMemory,
    /// Time from the call of `commit` to its answer, for committed batches.
    pub latencies: Latencies,
}

/// Memory that a store uses; zero for the memory store, which is all memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreMemory {
    /// The caches of blocks and values now.
    pub cache_bytes: u64,
    /// What the caches take at most.
    pub cache_bytes_max: u64,
    /// Writes that are in no table yet.
    pub write_buffer_bytes: u64,
    /// How many there may be before commits wait.
    pub write_buffer_bytes_max: u64,
}

/// What one group did.
#[derive(Debug, Default)]
pub(crate) struct GroupCounts {
    pub(crate) conflicts: u64,
    pub(crate) refused: u64,
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    pub(crate) took: Vec<Duration>,
}

/// Collects statistics; locked once per group, never per operation.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<StoreStatistics>);

impl Recorder {
    pub(crate) fn group(&self, counts: &GroupCounts) {
        let mut inside = self.0.lock();
        inside.groups += u64::from(!counts.took.is_empty());
        inside.commits += counts.took.len() as u64;
        inside.conflicts += counts.conflicts;
        inside.refused += counts.refused;
        inside.operations += counts.operations;
        inside.bytes += counts.bytes;
        for took in &counts.took {
            inside.latencies.record(*took);
        }
    }

    pub(crate) fn reopened(&self) {
        self.0.lock().reopened += 1;
    }

    pub(crate) fn sync(&self) {
        self.0.lock().syncs += 1;
    }

    pub(crate) fn read(&self) -> StoreStatistics {
        self.0.lock().clone()
    }
}
