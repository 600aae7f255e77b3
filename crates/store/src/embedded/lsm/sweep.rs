//! Reads ranges from the tables themselves.
//!
//! A scan of the engine is made for short ranges: it looks for every block in the cache, and leaves it there in the place of
//! those that requests need; and it carries each entry through a heap, though nearly all come from one run. For who
//! reads gigabytes, both together cost more than the reading.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;
use std::{thread, vec};

use fjall::{AbstractTree, Keyspace, LsmError, SeqNo, Slice};
use lsm_tree::{InternalValue, Table};

use super::engine::to_error;
use crate::embedded::directory::Directory;
use crate::{Error, KeyRange, KeyValue, Result, Sweep};

/// How often, and how many times, a wait for the memory looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
// Limit: five seconds, as long as a stop waits; a full memory table is written in about one.
const LOOKS_MAX: u32 = 1_000;

/// Tables that have all that a snapshot shows. The engine keeps their files as long as they are here.
pub(super) struct Tables {
    /// Tables of one run do not overlap and are in order.
    runs: Vec<Vec<Table>>,
}

impl Tables {
    /// Takes the tables of now for a snapshot of before; `None` if the engine does not get the memory into tables.
    pub(super) fn find(keyspace: &Keyspace) -> Result<Option<Tables>> {
        if !is_flushed(keyspace)? {
            return Ok(None);
        }
        let version = keyspace.tree.current_version();
        let runs = version.iter_levels().flat_map(|level| level.iter());
        Ok(Some(Tables { runs: runs.map(|run| run.to_vec()).collect() }))
    }

    /// Reads what a snapshot at `seqno` shows of a range.
    pub(super) fn sweep(
        &self,
        range: &KeyRange,
        seqno: SeqNo,
        directory: &Arc<Directory>,
    ) -> Result<Sweep> {
        let runs = self.runs.iter().map(|run| Run::open(run, range, seqno)).collect();
        Ok(Sweep::new(Merged::start(runs, Arc::clone(directory)).map_err(failed)?))
    }
}

fn failed(error: LsmError) -> Error {
    to_error("cannot read", &error.into())
}

/// Moves what is in memory to tables; false if that takes too long.
fn is_flushed(keyspace: &Keyspace) -> Result<bool> {
    let rotated = keyspace.rotate_memtable();
    rotated.map_err(|error| to_error("cannot move data out of the log", &error))?;
    for _ in 0..LOOKS_MAX {
        if keyspace.tree.sealed_memtable_count() == 0 {
            return Ok(true);
        }
        thread::sleep(LOOK_AGAIN);
    }
    Ok(false)
}

type Found = Result<InternalValue, LsmError>;
type Versions = Box<dyn Iterator<Item = Found> + Send>;

/// What a run has of the range: all versions of a key that the snapshot shows, the youngest first.
struct Run {
    next: Option<InternalValue>,
    /// Of the table that is being read.
    versions: Versions,
    /// Those after it.
    tables: vec::IntoIter<Table>,
    is_only: bool,
    range: KeyRange,
    seqno: SeqNo,
}

impl Run {
    fn open(run: &[Table], range: &KeyRange, seqno: SeqNo) -> Run {
        let is_within = |table: &&Table| {
            let own = &table.metadata.key_range;
            range.start() <= &**own.max() && range.end().is_none_or(|end| &**own.min() < end)
        };
        let tables: Vec<Table> = run.iter().filter(is_within).cloned().collect();
        let (is_only, range) = (tables.len() == 1, range.clone());
        let (next, versions, tables) = (None, Box::new(std::iter::empty()), tables.into_iter());
        Run { next, versions, tables, is_only, range, seqno }
    }

    /// Goes on to the next version and returns the one before.
    fn advance(&mut self) -> Result<Option<InternalValue>, LsmError> {
        let next = loop {
            if let Some(found) = self.versions.next() {
                let version = found?;
                if version.key.seqno < self.seqno {
                    break Some(version);
                }
            } else if let Some(table) = self.tables.next() {
                self.versions = versions_of(&table, &self.range, self.is_only);
            } else {
                break None;
            }
        };
        Ok(std::mem::replace(&mut self.next, next))
    }
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

/// The runs as one: of each key the youngest version, unless that says that it is gone.
struct Merged {
    runs: Vec<Run>,
    /// The run whose next version is the first of all; `None` at the end.
    first: Option<usize>,
    /// The lowest next key of the other runs. As long as the first run stays below, there is nothing to choose.
    bound: Option<Slice>,
    /// Dropped last: tables that the engine has given up go with the last who reads them.
    _directory: Arc<Directory>,
}

impl Merged {
    fn start(mut runs: Vec<Run>, directory: Arc<Directory>) -> Result<Merged, LsmError> {
        for run in &mut runs {
            run.advance()?;
        }
        let mut merged = Merged { runs, first: None, bound: None, _directory: directory };
        merged.choose();
        Ok(merged)
    }

    /// Finds the run that comes first.
    fn choose(&mut self) {
        self.runs.retain(|run| run.next.is_some());
        let keys = || self.runs.iter().filter_map(|run| Some(&run.next.as_ref()?.key)).enumerate();
        let first = keys().min_by_key(|(_, key)| *key).map(|(index, _)| index);
        let others = keys().filter(|(index, _)| Some(*index) != first);
        let bound = others.map(|(_, key)| &key.user_key).min().cloned();
        (self.first, self.bound) = (first, bound);
    }

    /// The next version of all: by key, then the youngest first.
    fn advance(&mut self) -> Result<Option<InternalValue>, LsmError> {
        let Some(run) = self.first.and_then(|first| self.runs.get_mut(first)) else {
            return Ok(None);
        };
        let version = run.advance()?;
        let is_first = match (&run.next, &self.bound) {
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
        let run = self.runs.get(self.first?)?;
        run.next.as_ref().map(|next| &next.key.user_key)
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
                (self.runs, self.first) = (Vec::new(), None);
                Some(Err(failed(error)))
            }
        }
    }
}
