//! Reading much of a range, by somebody who stops and goes on.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{Direction, KeyRange, KeyValue, Result, Snapshot};

/// Entries that are read at once: to begin a scan costs as much as some dozen of them.
// Limit: held in memory.
const PART_ENTRIES: usize = 512;

/// The entries of a range in ascending order, one scan after the other: unlike a scan it borrows nothing. After an
/// error it is over.
#[derive(Debug)]
pub struct Sweep {
    snapshot: Arc<dyn Snapshot>,
    /// What is still to be read.
    range: KeyRange,
    read: VecDeque<Result<KeyValue>>,
}

impl Sweep {
    /// Reads `range` as the snapshot shows it.
    pub fn new(snapshot: Arc<dyn Snapshot>, range: KeyRange) -> Sweep {
        Sweep { snapshot, range, read: VecDeque::new() }
    }
}

impl Iterator for Sweep {
    type Item = Result<KeyValue>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.read.is_empty() {
            let entries = self.snapshot.scan(self.range.clone(), Direction::Forward);
            self.read.extend(entries.take(PART_ENTRIES));
            let rest = match self.read.back() {
                Some(Ok((last, _))) if self.read.len() == PART_ENTRIES => {
                    self.range.clone().after(last)
                }
                _ => KeyRange::new("", ""),
            };
            self.range = rest;
        }
        self.read.pop_front()
    }
}
