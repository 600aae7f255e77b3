//! A k-way merge iterator over the memtable and the sorted runs of a tree.
//!
//! It avoids a heap: as long as the next key of one run is below the next keys of all others, it takes from that run.
//!
//! Invariant: each key comes once, in its youngest version, and never if that is a tombstone.

use std::cmp::Ordering;

use fjall::{LsmError, Slice};
use lsm_tree::InternalValue;

use crate::embedded::lsm::engine::to_error;
use crate::{Direction, KeyValue, Result};

/// A version of a key, or why it could not be read.
pub(super) type VersionResult = Result<InternalValue, LsmError>;
pub(super) type Versions = Box<dyn Iterator<Item = VersionResult> + Send>;

/// The memtable, or tables that do not overlap: all versions of a key that the snapshot shows, the youngest first, or
/// last when read backward.
pub(super) struct SortedRun {
    next: Option<InternalValue>,
    versions: Versions,
}

impl SortedRun {
    pub(super) fn new(versions: impl Iterator<Item = VersionResult> + Send + 'static) -> SortedRun {
        SortedRun { next: None, versions: Box::new(versions) }
    }

    /// Goes on to the next version and returns the one before.
    fn advance(&mut self, direction: Direction) -> Result<Option<InternalValue>, LsmError> {
        let next = self.versions.next().transpose()?;
        debug_assert!(
            self.next.as_ref().zip(next.as_ref()).is_none_or(|(left, right)| match direction {
                Direction::Forward => left.key < right.key,
                Direction::Backward => left.key > right.key,
            }),
            "a run is sorted by key and age"
        );
        Ok(std::mem::replace(&mut self.next, next))
    }
}

/// The runs merged: of each key the youngest version, unless that is a tombstone. After an error it is over.
pub(super) struct MergeIterator {
    runs: Vec<SortedRun>,
    direction: Direction,
    stage: MergeStage,
}

enum MergeStage {
    Begin,
    /// The run whose next version is the first of all, and the first next key of the others: as long as the first run
    /// stays before that, there is nothing to choose.
    Within(usize, Option<Slice>),
    End,
}

impl MergeIterator {
    pub(super) fn new(runs: Vec<SortedRun>, direction: Direction) -> MergeIterator {
        MergeIterator { runs, direction, stage: MergeStage::Begin }
    }

    /// Compares what comes first.
    fn order<T: Ord>(&self, left: &T, right: &T) -> Ordering {
        match self.direction {
            Direction::Forward => left.cmp(right),
            Direction::Backward => right.cmp(left),
        }
    }

    /// Finds the run that comes first.
    fn choose(&mut self) {
        self.runs.retain(|run| run.next.is_some());
        let keys = || self.runs.iter().filter_map(|run| Some(&run.next.as_ref()?.key)).enumerate();
        let Some((first, _)) = keys().min_by(|(_, left), (_, right)| self.order(*left, *right))
        else {
            self.stage = MergeStage::End;
            return;
        };
        let others = keys().filter(|(index, _)| *index != first);
        let others = others.map(|(_, key)| &key.user_key);
        let bound = others.min_by(|left, right| self.order(*left, *right)).cloned();
        self.stage = MergeStage::Within(first, bound);
    }

    /// The next version of all: by key, then by age.
    fn advance(&mut self) -> Result<Option<InternalValue>, LsmError> {
        if let MergeStage::Begin = self.stage {
            for run in &mut self.runs {
                run.advance(self.direction)?;
            }
            self.choose();
        }
        let MergeStage::Within(first, bound) = &self.stage else { return Ok(None) };
        let Some(run) = self.runs.get_mut(*first) else { return Ok(None) };
        let version = run.advance(self.direction)?;
        let is_first = match (&run.next, bound) {
            (Some(next), Some(bound)) => match self.direction {
                Direction::Forward => next.key.user_key < *bound,
                Direction::Backward => next.key.user_key > *bound,
            },
            (next, None) => next.is_some(),
            (None, _) => false,
        };
        if !is_first {
            self.choose();
        }
        Ok(version)
    }

    fn next_key(&self) -> Option<&Slice> {
        let MergeStage::Within(first, _) = &self.stage else { return None };
        self.runs.get(*first)?.next.as_ref().map(|next| &next.key.user_key)
    }

    fn next_entry(&mut self) -> Result<Option<InternalValue>, LsmError> {
        while let Some(mut version) = self.advance()? {
            while self.next_key() == Some(&version.key.user_key) {
                let other = self.advance()?;
                if self.direction == Direction::Backward {
                    version = other.unwrap_or(version);
                }
            }
            if !version.is_tombstone() {
                return Ok(Some(version));
            }
        }
        Ok(None)
    }
}

impl Iterator for MergeIterator {
    type Item = Result<KeyValue>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_entry() {
            Ok(entry) => entry.map(|entry| Ok((entry.key.user_key.into(), entry.value.into()))),
            Err(error) => {
                self.stage = MergeStage::End;
                Some(Err(to_error("cannot read", &error.into())))
            }
        }
    }
}
