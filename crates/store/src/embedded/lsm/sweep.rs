//! Reads ranges from the tables themselves.
//!
//! A scan of the engine is made for short ranges: it looks for every block in the cache, and leaves it there in the place of
//! those that requests need; and it carries each entry through a heap, though nearly all come from one run. For who
//! reads gigabytes, both together cost more than the reading.
//!
//! Invariant: the tables and the memory are those of the moment of the snapshot. The engine drops a version of a key
//! when it moves a later one out of memory, though an older snapshot shows it: then only tables and memory of before have it.

use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use fjall::{AbstractTree, Keyspace, LsmError, SeqNo, Slice};
use lsm_tree::{InternalValue, Memtable, Table};

use super::engine::to_error;
use crate::{Error, KeyRange, KeyValue, Result};

/// How often a look at tables and memory is repeated when the engine changes them meanwhile.
const LOOKS_MAX: usize = 100;

/// What a snapshot shows of a range, and where to read it.
pub(super) struct Swift {
    range: KeyRange,
    seqno: SeqNo,
    /// Tables of one run do not overlap and are in order. The engine keeps their files as long as they are here.
    runs: Vec<Vec<Table>>,
    memory: Arc<Memtable>,
    /// What the memory has of the range: sorted by key, then the youngest version first. Found by who reads first.
    // Limit: what the engine has in memory.
    in_memory: OnceLock<Vec<InternalValue>>,
}

impl Swift {
    /// Prepares to read `range` as the snapshot of now, at `seqno`, shows it, while the caller keeps writes out. `None`
    /// if part of it is on its way from memory to tables, where it cannot be read.
    pub(super) fn find(keyspace: &Keyspace, range: KeyRange, seqno: SeqNo) -> Option<Swift> {
        let tree = &keyspace.tree;
        for _ in 0..LOOKS_MAX {
            if tree.sealed_memtable_count() > 0 {
                return None;
            }
            let version = tree.current_version();
            let memory = tree.active_memtable();
            // Memory that went to a table in between is seen in one of these.
            let is_one_moment =
                tree.sealed_memtable_count() == 0 && tree.current_version().id() == version.id();
            if is_one_moment {
                let runs = version.iter_levels().flat_map(|level| level.iter());
                let runs = runs.map(|run| run.to_vec()).collect();
                return Some(Swift { range, seqno, runs, memory, in_memory: OnceLock::new() });
            }
        }
        None
    }

    /// Reads a range; `None` if it was not prepared.
    pub(super) fn sweep(&self, range: &KeyRange) -> Option<Merged> {
        if range.is_empty() || !self.range.covers(range) {
            return None;
        }
        let mut runs = vec![Run::new(self.of_memory(range).into_iter().map(Ok))];
        for run in &self.runs {
            let tables: Vec<Table> =
                run.iter().filter(|table| meets(table, range)).cloned().collect();
            let (is_only, range, seqno) = (tables.len() == 1, range.clone(), self.seqno);
            let versions = tables.into_iter().flat_map(move |it| versions_of(&it, &range, is_only));
            let is_shown = move |found: &Found| {
                found.as_ref().map_or(true, |version| version.key.seqno < seqno)
            };
            runs.push(Run::new(versions.filter(is_shown)));
        }
        Some(Merged::new(runs))
    }

    fn of_memory(&self, range: &KeyRange) -> Vec<InternalValue> {
        let in_memory = self.in_memory.get_or_init(|| {
            let is_shown = |version: &InternalValue| {
                version.key.seqno < self.seqno && self.range.contains(&version.key.user_key)
            };
            self.memory.iter().filter(is_shown).collect()
        });
        let start = in_memory.partition_point(|it| &*it.key.user_key < range.start());
        let is_before_end =
            |it: &InternalValue| range.end().is_none_or(|end| &*it.key.user_key < end);
        let rest = in_memory.get(start..).unwrap_or_default();
        rest.iter().take_while(|it| is_before_end(it)).cloned().collect()
    }
}

type Found = Result<InternalValue, LsmError>;
type Versions = Box<dyn Iterator<Item = Found> + Send>;

fn meets(table: &Table, range: &KeyRange) -> bool {
    let own = &table.metadata.key_range;
    range.start() <= &**own.max() && range.end().is_none_or(|end| &**own.min() < end)
}

/// What a table has of the range. The only one of a run is asked for a part, because most of it may be of no use. One
/// of several is read whole: what is passed over is little beside what is read.
fn versions_of(table: &Table, range: &KeyRange, is_only: bool) -> Versions {
    let own = &table.metadata.key_range;
    let is_inside = range.contains(own.min()) && range.contains(own.max());
    if is_only && !is_inside {
        let start = Bound::Included(Slice::from(range.start()));
        let end = range.end().map_or(Bound::Unbounded, |end| Bound::Excluded(Slice::from(end)));
        return Box::new(table.range((start, end)));
    }
    let versions = match table.scan() {
        Ok(versions) => versions,
        Err(error) => return Box::new(std::iter::once(Err(error))),
    };
    if is_inside {
        return Box::new(versions);
    }
    let (start, end) = (range.clone(), range.clone());
    let is_before = move |found: &Found| {
        found.as_ref().is_ok_and(|version| &*version.key.user_key < start.start())
    };
    let is_not_after = move |found: &Found| {
        let key = found.as_ref().ok().map(|version| &*version.key.user_key);
        key.zip(end.end()).is_none_or(|(key, end)| key < end)
    };
    Box::new(versions.skip_while(is_before).take_while(is_not_after))
}

/// What the memory or a run has of the range: all versions of a key that the snapshot shows, the youngest first.
struct Run {
    next: Option<InternalValue>,
    versions: Versions,
}

impl Run {
    fn new(versions: impl Iterator<Item = Found> + Send + 'static) -> Run {
        Run { next: None, versions: Box::new(versions) }
    }

    /// Goes on to the next version and returns the one before.
    fn advance(&mut self) -> Result<Option<InternalValue>, LsmError> {
        let next = self.versions.next().transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}

/// The runs as one: of each key the youngest version, unless that says that it is gone. After an error it is over.
pub(super) struct Merged {
    runs: Vec<Run>,
    stage: Stage,
}

enum Stage {
    Begin,
    /// The run whose next version is the first of all, and the lowest next key of the others: as long as the first run
    /// stays below, there is nothing to choose.
    Among(usize, Option<Slice>),
    End,
}

impl Merged {
    fn new(runs: Vec<Run>) -> Merged {
        Merged { runs, stage: Stage::Begin }
    }

    /// Finds the run that comes first.
    fn choose(&mut self) {
        self.runs.retain(|run| run.next.is_some());
        let keys = || self.runs.iter().filter_map(|run| Some(&run.next.as_ref()?.key)).enumerate();
        let Some((first, _)) = keys().min_by_key(|(_, key)| *key) else {
            self.stage = Stage::End;
            return;
        };
        let others = keys().filter(|(index, _)| *index != first);
        let bound = others.map(|(_, key)| &key.user_key).min().cloned();
        self.stage = Stage::Among(first, bound);
    }

    /// The next version of all: by key, then the youngest first.
    fn advance(&mut self) -> Result<Option<InternalValue>, LsmError> {
        if let Stage::Begin = self.stage {
            for run in &mut self.runs {
                run.advance()?;
            }
            self.choose();
        }
        let Stage::Among(first, bound) = &self.stage else { return Ok(None) };
        let Some(run) = self.runs.get_mut(*first) else { return Ok(None) };
        let version = run.advance()?;
        let is_first = match (&run.next, bound) {
            (Some(next), Some(bound)) => next.key.user_key < *bound,
            (next, None) => next.is_some(),
            (None, _) => false,
        };
        if !is_first {
            self.choose();
        }
        Ok(version)
    }

    fn next_key(&self) -> Option<&Slice> {
        let Stage::Among(first, _) = &self.stage else { return None };
        self.runs.get(*first)?.next.as_ref().map(|next| &next.key.user_key)
    }

    fn next_entry(&mut self) -> Result<Option<InternalValue>, LsmError> {
        while let Some(version) = self.advance()? {
            while self.next_key() == Some(&version.key.user_key) {
                self.advance()?;
            }
            if !version.is_tombstone() {
                return Ok(Some(version));
            }
        }
        Ok(None)
    }
}

impl Iterator for Merged {
    type Item = Result<KeyValue>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_entry() {
            Ok(entry) => entry.map(|entry| Ok((entry.key.user_key.into(), entry.value.into()))),
            Err(error) => {
                self.stage = Stage::End;
                Some(Err(failed(error)))
            }
        }
    }
}

fn failed(error: LsmError) -> Error {
    to_error("cannot read", &error.into())
}
