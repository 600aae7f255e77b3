//! Bulk scans: reading much of a range in portions, without borrowing the snapshot.
//!
//! Relocations read gigabytes between waits, so the scan must own what it reads. Stores without a faster way are read by
//! one short scan after the other.
//!
//! Invariant: keys come in ascending order, each once, as the snapshot shows them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Direction, KeyRange, KeyValue, Result, Scan, Snapshot};

/// Entries, and bytes of them, that are read at once: to begin a scan costs as much as some dozen entries.
// Limit: held in memory, and one entry more.
const PART_ENTRIES: usize = 512;
const PART_BYTES: usize = 1 << 20;

/// The entries of a range in ascending order. Unlike a [`Scan`] it borrows nothing. After an error it is over.
pub struct BulkScan(Reads);

enum Reads {
    /// The snapshot's own way, which reads what belongs to the snapshot. The mutex is never locked: it makes this `Sync`.
    Direct(Mutex<Scan<'static>>, Arc<dyn Snapshot>),
    Parts(Parts),
}

impl BulkScan {
    /// Reads `range` as the snapshot shows it.
    pub fn new(snapshot: Arc<dyn Snapshot>, range: KeyRange) -> BulkScan {
        BulkScan(match snapshot.bulk_scan(&range) {
            Some(entries) => Reads::Direct(Mutex::new(entries), snapshot),
            None => Reads::Parts(Parts { snapshot, range, read: VecDeque::new() }),
        })
    }
}

impl Iterator for BulkScan {
    type Item = Result<KeyValue>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Reads::Direct(entries, _) => entries.get_mut().next(),
            Reads::Parts(parts) => parts.next(),
        }
    }
}

impl fmt::Debug for BulkScan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reads::Direct(_, snapshot) => {
                formatter.debug_tuple("BulkScan").field(snapshot).finish()
            }
            Reads::Parts(parts) => formatter.debug_tuple("BulkScan").field(&parts.range).finish(),
        }
    }
}

/// One scan after the other.
struct Parts {
    snapshot: Arc<dyn Snapshot>,
    /// What is still to be read.
    range: KeyRange,
    read: VecDeque<Result<KeyValue>>,
}

impl Parts {
    fn next(&mut self) -> Option<Result<KeyValue>> {
        if self.read.is_empty() {
            self.range = self.read_part();
        }
        self.read.pop_front()
    }

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
        let (range, read) = (KeyRange::all(), VecDeque::new());
        let mut parts = Parts { snapshot: Arc::clone(&snapshot), range, read };
        let mut n_held = 0;
        for scanned in snapshot.scan(KeyRange::all(), Direction::Forward) {
            assert_eq!(parts.next(), Some(scanned));
            n_held = n_held.max(parts.read.len());
        }
        assert_eq!(parts.next(), None);
        assert_eq!(n_held, 5, "the sixth of 200 KB is over a megabyte");
    }
}
