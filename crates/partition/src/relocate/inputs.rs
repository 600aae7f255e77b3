//! The inputs of a raw copy: one partition, or a merge of several in the order of their keys.
//!
//! Several have keys of their own for everything but two: places in the feeds, which are made different by shifting the
//! later partitions' sequence numbers, and path numbers, which become the common ones.

use std::iter::Peekable;
use std::sync::Arc;

use bytes::Bytes;
use model::Lsn;
use store::{BulkScan, KeyRange};

use super::paths::Paths;
use crate::index::IndexState;
use crate::keys::{
    CommitPosition, Family, family_of, moment_of, rest, with_path, with_seq_shifted,
};
use crate::reader::Reader;
use crate::record::ItemRecord;
use crate::{Error, Result};

/// One partition that entries come from.
#[derive(Debug)]
pub(super) struct Input {
    reader: Reader,
    shifts: Shifts,
}

/// What is added to the sequence numbers of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Shifts {
    change: u16,
    version: u16,
}

/// Keys that are read from all inputs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyStage {
    /// All families one after the other, as a single input has them, up to the index.
    Whole,
    Family(Family),
    /// The entries of the index at one path.
    Path(u16),
    /// The common paths and the state of the index, which are made and not read.
    Made,
}

#[derive(Debug)]
pub(super) struct Inputs {
    all: Vec<Input>,
    /// The stage that is being read, from each input; empty before it begins.
    scans: Vec<Peekable<Entries>>,
    /// The common paths; `None` for a single input, which keeps its own.
    pub(super) paths: Option<Paths>,
    /// What the index of the successors is under.
    pub(super) state: IndexState,
}

impl Inputs {
    /// Prepares to read these partitions. At least one; they must have settled indexes under one policy.
    pub(super) fn new(readers: Vec<(Reader, IndexState)>) -> Result<Option<Inputs>> {
        let Some((_, state)) = readers.first() else { return Ok(None) };
        let mut state = state.clone();
        let mut paths = Paths::default();
        if readers.len() > 1 {
            for (reader, own) in &readers {
                if !paths.add(reader, own)? {
                    return Ok(None);
                }
            }
            state.n_paths = paths.n_paths();
        }
        let paths = (readers.len() > 1).then_some(paths);
        let input = |(reader, _)| Input { reader, shifts: Shifts::default() };
        let all = readers.into_iter().map(input).collect();
        Ok(Some(Inputs { all, scans: Vec::new(), paths, state }))
    }

    pub(super) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// Makes places in the feeds different. `highest` has the highest sequence numbers of each input; false if they do not
    /// fit beside each other.
    pub(super) fn shift(&mut self, highest: &[Highest]) -> bool {
        let Some(shifts) = shifts(highest) else { return false };
        for (input, shifts) in self.all.iter_mut().zip(shifts) {
            input.shifts = shifts;
        }
        true
    }

    /// Reads a stage on from where it was left, in the order of the keys as they will be.
    pub(super) fn read(
        &mut self,
        stage: CopyStage,
        mut visit: impl FnMut(Family, &[u8], Bytes) -> Result<Goes>,
    ) -> Result<Goes> {
        if self.scans.is_empty() {
            let inputs = self.all.iter().enumerate();
            self.scans =
                inputs.map(|(index, input)| self.scan(index, input, stage).peekable()).collect();
        }
        while let Some(scan) = lowest(&mut self.scans).and_then(|at| self.scans.get_mut(at)) {
            let Some(entry) = scan.next() else { break };
            let CopyEntry { key, value } = entry?;
            let family = match stage {
                CopyStage::Whole => family_of(&key)?,
                CopyStage::Family(family) => family,
                CopyStage::Path(_) => Family::Index,
                CopyStage::Made => Family::IndexState,
            };
            if visit(family, &key, value)? == Goes::NoFurther {
                return Ok(Goes::NoFurther);
            }
            store::yield_if_due();
        }
        self.scans.clear();
        Ok(Goes::On)
    }

    fn scan(&self, index: usize, input: &Input, stage: CopyStage) -> Entries {
        let keys = input.reader.keys;
        let range = match (stage, &self.paths) {
            (CopyStage::Made, _) => None,
            (CopyStage::Whole, _) => Some(keys.between_heads()),
            (CopyStage::Family(family), _) => Some(keys.family(family)),
            (CopyStage::Path(number), None) => Some(keys.terms_of(number)),
            (CopyStage::Path(number), Some(paths)) => {
                paths.own(index, number).map(|own| keys.terms_of(own))
            }
        };
        let range = range.unwrap_or_else(|| KeyRange::new("", ""));
        let scan = BulkScan::new(Arc::clone(&input.reader.snapshot), range);
        Entries { scan, stage, shifts: input.shifts }
    }
}

/// What one input has of a stage.
#[derive(Debug)]
struct Entries {
    scan: BulkScan,
    stage: CopyStage,
    shifts: Shifts,
}

impl Iterator for Entries {
    type Item = Result<CopyEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.scan.next()?;
        Some(
            entry
                .map_err(Error::from)
                .and_then(|(key, value)| self.shifts.apply(self.stage, key, value)),
        )
    }
}

/// Whether reading goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goes {
    On,
    NoFurther,
}

/// An entry on its way, with the key that it will have, the incarnation aside.
#[derive(Debug)]
struct CopyEntry {
    key: Bytes,
    value: Bytes,
}

impl Shifts {
    fn apply(self, stage: CopyStage, own: Bytes, value: Bytes) -> Result<CopyEntry> {
        let mut value = value;
        let changed = match stage {
            CopyStage::Path(number) => with_path(&own, number),
            CopyStage::Family(Family::Change) => with_seq_shifted(&own, self.change)?,
            CopyStage::Family(Family::Version) => with_seq_shifted(&own, self.version)?,
            CopyStage::Family(Family::Item) if self.change > 0 => {
                let record = ItemRecord::decode(value)?;
                let seq = record.moment.seq.checked_add(self.change).ok_or(CROWDED)?;
                value = record.at(CommitPosition { seq, ..record.moment });
                None
            }
            CopyStage::Whole | CopyStage::Family(_) | CopyStage::Made => None,
        };
        Ok(CopyEntry { key: changed.unwrap_or(own), value })
    }
}

const CROWDED: Error = Error::Corrupt("sequence numbers of a merged feed do not fit");

/// The scan with the lowest key; an error counts as lowest. `None` at the end of all.
fn lowest<I: Iterator<Item = Result<CopyEntry>>>(scans: &mut [Peekable<I>]) -> Option<usize> {
    if let [_] = scans {
        return Some(0);
    }
    let mut lowest: Option<(usize, Bytes)> = None;
    for (index, scan) in scans.iter_mut().enumerate() {
        match scan.peek() {
            None => {}
            Some(Err(_)) => return Some(index),
            Some(Ok(entry)) => {
                let is_lower = lowest.as_ref().is_none_or(|(_, key)| rest(&entry.key) < rest(key));
                if is_lower {
                    lowest = Some((index, entry.key.clone()));
                }
            }
        }
    }
    lowest.map(|(index, _)| index)
}

/// The highest sequence numbers of a partition; `None` while there are none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Highest {
    change: Option<u16>,
    version: Option<u16>,
}

/// What to add to the sequence numbers of each partition, so that none has those of another; `None` if they do not fit.
fn shifts(highest: &[Highest]) -> Option<Vec<Shifts>> {
    let after = |shift: u16, highest: Option<u16>| match highest {
        None => Some(shift),
        Some(highest) => shift.checked_add(highest)?.checked_add(1),
    };
    let mut next = Shifts::default();
    let mut all = Vec::with_capacity(highest.len());
    for own in highest {
        all.push(next);
        let (change, version) =
            (after(next.change, own.change)?, after(next.version, own.version)?);
        next = Shifts { change, version };
    }
    Some(all)
}

/// Looks for the highest sequence numbers of all inputs, a part at a time.
#[derive(Debug, Default)]
pub(super) struct Survey {
    found: Vec<Highest>,
    /// Whether the versions of the last partition are being read.
    is_at_versions: bool,
    after: Lsn,
}

impl Survey {
    /// Looks at up to about `n_max` entries; the result when all have been seen.
    pub(super) fn go_on(&mut self, inputs: &Inputs, n_max: usize) -> Result<Option<Vec<Highest>>> {
        let mut n_seen = 0;
        if self.found.is_empty() {
            self.found.push(Highest::default());
        }
        loop {
            let Some(input) = inputs.all.get(self.found.len().saturating_sub(1)) else {
                self.found.truncate(inputs.all.len());
                return Ok(Some(std::mem::take(&mut self.found)));
            };
            let keys = input.reader.keys;
            let after = self.after;
            let range =
                if self.is_at_versions { keys.versions(after) } else { keys.changes(after) };
            for entry in input.reader.scan(range) {
                let moment = moment_of(&entry?.0)?;
                if n_seen >= n_max && moment.lsn != self.after {
                    return Ok(None);
                }
                n_seen += 1;
                self.after = moment.lsn;
                if let Some(found) = self.found.last_mut() {
                    let highest =
                        if self.is_at_versions { &mut found.version } else { &mut found.change };
                    *highest = (*highest).max(Some(moment.seq));
                }
            }
            self.after = Lsn::ZERO;
            if self.is_at_versions {
                self.found.push(Highest::default());
            }
            self.is_at_versions = !self.is_at_versions;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_of_two_partitions_are_put_one_after_the_other() {
        let highest = |change, version| Highest { change, version };
        let shift = |change, version| Shifts { change, version };
        let all = [highest(Some(4), None), highest(None, Some(7)), highest(Some(0), Some(0))];
        assert_eq!(shifts(&all), Some(vec![shift(0, 0), shift(5, 0), shift(5, 8)]));
        assert!(shifts(&[highest(Some(30_000), None); 2]).is_some());
        assert_eq!(shifts(&[highest(Some(40_000), None); 2]), None);
    }
}
