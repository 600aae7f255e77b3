//! The version of the tree (tables and memtable) that a snapshot was taken at, pinned for direct reads.
//!
//! Direct scans read tables and memtable past the engine's iterators, so they must find exactly those of their snapshot.
//!
//! Invariant: a snapshot is read in the tables and the memtable of its own version. Compaction drops old versions of a key
//! though an older snapshot shows them, and drops a tombstone with all that it hides, so later tables do not even tell
//! that something is missing.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use fjall::{AbstractTree, Database, Keyspace, SeqNo};
use lsm_tree::{InternalValue, Memtable, Table, ValueType};
use parking_lot::Mutex;

use super::merge_iterator::{SortedRun, VersionResult};
use crate::{Direction, KeyRange};

/// How often reading tables and memtable is retried when the engine changes them meanwhile.
const LOOKS_MAX: usize = 100;

/// Versions that are taken from memory at a time: few at first, for most scans need few.
const CHUNKS: [usize; 2] = [8, 128];

/// The tables of each run that a range meets, in order. Tables of one run do not overlap.
type TablesOf = dyn Fn(&KeyRange) -> Vec<Vec<Table>> + Send + Sync;

/// Remembers at which sequence number the current tables were first seen. They change a few times in a minute.
#[derive(Debug, Default)]
pub(super) struct VersionLog(Mutex<(VersionId, SeqNo)>);

pub(super) type VersionId = u64;

impl VersionLog {
    /// Notes the version of the tables and returns it. Called before each snapshot, so tables that were never noted are
    /// younger than every snapshot.
    ///
    /// The engine numbers every change of them like a write, so a snapshot from before has a lower number.
    pub(super) fn note(&self, database: &Database, keyspace: &Keyspace) -> VersionId {
        let version = keyspace.tree.current_version().id();
        let mut known = self.0.lock();
        if known.0 != version {
            *known = (version, database.visible_seqno());
        }
        version
    }

    /// Whether a snapshot at `seqno` was taken with the tables of `version`, which are those of the engine.
    fn shows(&self, version: VersionId, seqno: SeqNo) -> bool {
        let known = self.0.lock();
        known.0 == version && known.1 <= seqno
    }
}

/// Tables and memtable of one version. The engine keeps the files of the tables as long as this lives.
pub(super) struct PinnedVersion {
    tables_of: Box<TablesOf>,
    memory: Arc<Memtable>,
}

impl PinnedVersion {
    /// Pins the version of a snapshot at `seqno`; `None` if a flush or a compaction has changed it since, or a memtable
    /// is being flushed, where it cannot be read.
    pub(super) fn find(
        keyspace: &Keyspace,
        log: &VersionLog,
        seqno: SeqNo,
    ) -> Option<PinnedVersion> {
        let tree = &keyspace.tree;
        for _ in 0..LOOKS_MAX {
            let version = tree.current_version();
            let memory = tree.active_memtable();
            if tree.sealed_memtable_count() > 0 || !log.shows(version.id(), seqno) {
                return None;
            }
            // A memtable that was flushed since the first read shows in a new version.
            if tree.current_version().id() != version.id() {
                continue;
            }
            let tables_of = move |range: &KeyRange| {
                let runs = version.iter_levels().flat_map(|level| level.iter());
                let bounds = range.as_bounds();
                let met = runs.filter_map(|run| {
                    let (first, last) = run.range_overlap_indexes::<&[u8], _>(&bounds)?;
                    Some(run.get(first..=last)?.to_vec())
                });
                met.collect()
            };
            return Some(PinnedVersion { tables_of: Box::new(tables_of), memory });
        }
        None
    }

    pub(super) fn tables_of(&self, range: &KeyRange) -> Vec<Vec<Table>> {
        (self.tables_of)(range)
    }

    /// The versions of the range in the memtable; `None` if there are none.
    pub(super) fn in_memory(
        &self,
        range: &KeyRange,
        direction: Direction,
        seqno: SeqNo,
    ) -> Option<SortedRun> {
        let first = match direction {
            Direction::Forward => Some(range.start()),
            Direction::Backward => range.end(),
        };
        // Before all versions of a key. The engine has no name for its empty one, which nothing is before.
        let next = first.filter(|key| !key.is_empty()).map_or(Bound::Unbounded, |key| {
            let empty = [].as_slice();
            let before = InternalValue::from_components(key, empty, SeqNo::MAX, ValueType::Value);
            match direction {
                Direction::Forward => Bound::Included(before),
                Direction::Backward => Bound::Excluded(before),
            }
        });
        let mut versions = MemtableVersions {
            memory: Arc::clone(&self.memory),
            next,
            range: range.clone(),
            direction,
            seqno,
            chunk: VecDeque::new(),
            is_over: false,
        };
        versions.fill(CHUNKS[0]);
        (!versions.chunk.is_empty()).then(|| SortedRun::new(versions))
    }
}

impl fmt::Debug for PinnedVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PinnedVersion").finish_non_exhaustive()
    }
}

/// Versions in the memtable that a snapshot shows: by key, then the youngest first, or all of that backward. Takes them in
/// chunks, because a cursor would have to borrow the memtable.
struct MemtableVersions {
    memory: Arc<Memtable>,
    /// Where the next chunk begins; only the key counts.
    next: Bound<InternalValue>,
    range: KeyRange,
    direction: Direction,
    seqno: SeqNo,
    chunk: VecDeque<InternalValue>,
    is_over: bool,
}

impl MemtableVersions {
    /// Takes the next chunk in the place of the last.
    fn fill(&mut self, n: usize) {
        self.chunk = self.chunk_of(n);
        self.is_over = self.chunk.len() < n;
        if let Some(last) = self.chunk.back() {
            self.next = Bound::Excluded(last.clone());
        }
    }

    fn chunk_of(&self, n: usize) -> VecDeque<InternalValue> {
        let next = self.next.as_ref().map(|version| &version.key);
        let items = &self.memory.items;
        let entries: Box<dyn Iterator<Item = _>> = match self.direction {
            Direction::Forward => Box::new(items.range((next, Bound::Unbounded))),
            Direction::Backward => Box::new(items.range((Bound::Unbounded, next)).rev()),
        };
        let is_inside = |key: &[u8]| match self.direction {
            Direction::Forward => self.range.end().is_none_or(|end| key < end),
            Direction::Backward => key >= self.range.start(),
        };
        let entries = entries.take_while(|entry| is_inside(&entry.key().user_key));
        let shown = entries.filter(|entry| entry.key().seqno < self.seqno);
        let versions =
            shown.map(|it| InternalValue { key: it.key().clone(), value: it.value().clone() });
        versions.take(n).collect()
    }
}

impl Iterator for MemtableVersions {
    type Item = VersionResult;

    fn next(&mut self) -> Option<VersionResult> {
        if self.chunk.is_empty() && !self.is_over {
            self.fill(CHUNKS[1]);
        }
        self.chunk.pop_front().map(Ok)
    }
}
