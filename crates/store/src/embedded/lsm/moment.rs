//! Tables and memory of the engine at one moment.
//!
//! Invariant: a snapshot is read in the tables and the memory of its own moment. The engine drops a version of a key
//! when it moves or merges a later one, though an older snapshot shows it, and drops a delete with all that it hides, so
//! that the tables of later do not even tell that something is missing.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use fjall::{AbstractTree, Database, Keyspace, SeqNo};
use lsm_tree::{InternalValue, Memtable, Table, ValueType};
use parking_lot::Mutex;

use super::merged::{Found, Run};
use crate::{Direction, KeyRange};

/// How often a look at tables and memory is repeated when the engine changes them meanwhile.
const LOOKS_MAX: usize = 100;

/// Versions that are taken from memory at a time: few at first, for most scans need few.
const CHUNKS: [usize; 2] = [8, 128];

/// The tables of each run that a range meets, in order. Tables of one run do not overlap.
type TablesOf = dyn Fn(&KeyRange) -> Vec<Vec<Table>> + Send + Sync;

/// Since when the engine has the tables that it has. They change a few times in a minute.
#[derive(Debug, Default)]
pub(super) struct Since(Mutex<(VersionId, SeqNo)>);

pub(super) type VersionId = u64;

impl Since {
    /// Looks at the tables and tells their version. Whoever takes a snapshot looks before, so that tables that nobody has seen are younger.
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

/// Where everything is that was written. The engine keeps the files of the tables as long as this is there.
pub(super) struct Moment {
    tables_of: Box<TablesOf>,
    memory: Arc<Memtable>,
}

impl Moment {
    /// The moment of a snapshot at `seqno`; `None` if something was moved since, or is on its way from memory to tables,
    /// where it cannot be read.
    pub(super) fn find(keyspace: &Keyspace, since: &Since, seqno: SeqNo) -> Option<Moment> {
        let tree = &keyspace.tree;
        for _ in 0..LOOKS_MAX {
            let version = tree.current_version();
            let memory = tree.active_memtable();
            if tree.sealed_memtable_count() > 0 || !since.shows(version.id(), seqno) {
                return None;
            }
            // Memory that went to a table since the first look is seen in this.
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
            return Some(Moment { tables_of: Box::new(tables_of), memory });
        }
        None
    }

    pub(super) fn tables_of(&self, range: &KeyRange) -> Vec<Vec<Table>> {
        (self.tables_of)(range)
    }

    /// What the memory has of the range; `None` if that is nothing.
    pub(super) fn in_memory(
        &self,
        range: &KeyRange,
        direction: Direction,
        seqno: SeqNo,
    ) -> Option<Run> {
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
        let mut versions = InMemory {
            memory: Arc::clone(&self.memory),
            next,
            range: range.clone(),
            direction,
            seqno,
            chunk: VecDeque::new(),
            is_over: false,
        };
        versions.fill(CHUNKS[0]);
        (!versions.chunk.is_empty()).then(|| Run::new(versions))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Moment").finish_non_exhaustive()
    }
}

/// Versions in memory that a snapshot shows: by key, then the youngest first, or all of that backward. Takes them in
/// chunks, because a cursor would have to borrow the memory.
struct InMemory {
    memory: Arc<Memtable>,
    /// Where the next chunk begins; only the key counts.
    next: Bound<InternalValue>,
    range: KeyRange,
    direction: Direction,
    seqno: SeqNo,
    chunk: VecDeque<InternalValue>,
    is_over: bool,
}

impl InMemory {
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

impl Iterator for InMemory {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        if self.chunk.is_empty() && !self.is_over {
            self.fill(CHUNKS[1]);
        }
        self.chunk.pop_front().map(Ok)
    }
}
