//! Reading much of a range, by somebody who stops and goes on.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{Direction, KeyRange, KeyValue, Result, Snapshot};

/// Entries, and bytes of them, that are read at once: to begin a scan costs as much as some dozen entries.
// Limit: held in memory, and one entry more.
const PART_ENTRIES: usize = 512;
const PART_BYTES: usize = 1 << 20;

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
            self.range = self.read_part();
        }
        self.read.pop_front()
    }
}

impl Sweep {
    /// Reads on, and returns what is left after that.
    fn read_part(&mut self) -> KeyRange {
        let mut n_bytes = 0;
        for entry in self.snapshot.scan(self.range.clone(), Direction::Forward) {
            n_bytes += entry.as_ref().map_or(0, |(key, value)| key.len() + value.len());
            self.read.push_back(entry);
            if self.read.len() < PART_ENTRIES && n_bytes < PART_BYTES {
                continue;
            }
            if let Some(Ok((last, _))) = self.read.back() {
                return self.range.clone().after(last);
            }
        }
        KeyRange::new("", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, open_memory};

    #[test]
    fn large_entries_are_held_a_few_at_a_time() {
        let store = open_memory();
        let mut batch = Batch::new();
        for n in 0..20_u8 {
            batch.put(vec![n], vec![n; 200 << 10]);
        }
        store.commit(batch).wait().unwrap();
        let snapshot = store.snapshot();
        let mut sweep = Sweep::new(Arc::clone(&snapshot), KeyRange::all());
        let mut n_held = 0;
        for scanned in snapshot.scan(KeyRange::all(), Direction::Forward) {
            assert_eq!(sweep.next(), Some(scanned));
            n_held = n_held.max(sweep.read.len());
        }
        assert_eq!(sweep.next(), None);
        assert_eq!(n_held, 5, "the sixth of 200 KB is over a megabyte");
    }
}
