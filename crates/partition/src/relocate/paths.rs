//! The paths of the index of several partitions as those of one.
//!
//! The first partition keeps its numbers; a path that only another one has gets a number after these.

use std::collections::BTreeMap;

use crate::Result;
use crate::index::{ABSENT_MAX, IndexState};
use crate::keys::{Family, path_of};
use crate::reader::Reader;
use crate::record::PathRecord;

/// The paths of all partitions together.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// By text, so in the order of their keys.
    records: BTreeMap<String, PathRecord>,
    /// For each partition, in their order: its own number by the common one.
    own: Vec<BTreeMap<u16, u16>>,
    /// The last number that was given out.
    last: u16,
    epoch: u32,
}

impl Paths {
    /// Adds the paths of one more partition; false if there are too many.
    pub(super) fn add(&mut self, reader: &Reader, state: &IndexState) -> Result<bool> {
        let is_first = self.own.is_empty();
        if is_first {
            (self.last, self.epoch) = (state.n_paths, state.epoch);
        }
        let mut own = BTreeMap::new();
        for entry in reader.scan(reader.keys.family(Family::Path)) {
            let (key, value) = entry?;
            let record = PathRecord::decode(&value)?;
            let absent = record.absent.filter(|_| record.epoch == state.epoch);
            let common = self.records.get(path_of(&key)?).map(|common| common.number);
            let number = match common {
                Some(number) => number,
                None if is_first => record.number,
                None => {
                    let Some(next) = self.last.checked_add(1) else { return Ok(false) };
                    self.last = next;
                    next
                }
            };
            own.insert(number, record.number);
            // Who lacks a path that a partition does not know is not listed anywhere.
            let absent = if common.is_some() || is_first { absent } else { None };
            let epoch = self.epoch;
            self.records
                .entry(path_of(&key)?.to_owned())
                .and_modify(|common| common.absent = joined(common.absent.take(), absent.clone()))
                .or_insert(PathRecord { number, epoch, absent });
        }
        for record in self.records.values_mut().filter(|record| !own.contains_key(&record.number)) {
            record.absent = None;
        }
        self.own.push(own);
        Ok(true)
    }

    /// The numbers in use, ascending.
    pub(super) fn numbers(&self) -> Vec<u16> {
        let mut numbers: Vec<u16> = self.records.values().map(|record| record.number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The number that a partition has for a common one.
    pub(super) fn own(&self, partition: usize, number: u16) -> Option<u16> {
        self.own.get(partition)?.get(&number).copied()
    }

    pub(super) fn n_paths(&self) -> u16 {
        self.last
    }

    pub(super) fn records(&self) -> impl Iterator<Item = (&str, &PathRecord)> {
        self.records.iter().map(|(path, record)| (path.as_str(), record))
    }
}

/// The items of both lists; `None` if one is unknown, or both together are too long.
fn joined(left: Option<Vec<u64>>, right: Option<Vec<u64>>) -> Option<Vec<u64>> {
    let mut all = left?;
    all.extend(right?);
    all.sort_unstable();
    (all.len() <= ABSENT_MAX).then_some(all)
}
