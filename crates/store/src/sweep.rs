//! Reading much of a range, by somebody who stops and goes on.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Direction, KeyRange, KeyValue, Result, Snapshot};

/// Entries that are read at once where there is no better way.
// Limit: held in memory.
const PART_ENTRIES: usize = 256;

/// The entries of a range in ascending order, with no hold on the snapshot's owner. After an error it is over.
pub struct Sweep {
    /// Never locked: the lock only says that nobody reads by a shared reference.
    entries: Mutex<Box<dyn Iterator<Item = Result<KeyValue>> + Send>>,
}

impl Sweep {
    pub(crate) fn new(entries: impl Iterator<Item = Result<KeyValue>> + Send + 'static) -> Sweep {
        Sweep { entries: Mutex::new(Box::new(entries)) }
    }
}

impl Iterator for Sweep {
    type Item = Result<KeyValue>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.get_mut().next()
    }
}

impl fmt::Debug for Sweep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sweep").finish_non_exhaustive()
    }
}

/// Reads a range the cheapest way that a snapshot has for all of it.
pub fn sweep(snapshot: &Arc<dyn Snapshot>, range: KeyRange) -> Result<Sweep> {
    if let Some(sweep) = snapshot.sweep(&range)? {
        return Ok(sweep);
    }
    Ok(Sweep::new(Parts { snapshot: Arc::clone(snapshot), range, read: VecDeque::new() }))
}

/// One scan after the other.
struct Parts {
    snapshot: Arc<dyn Snapshot>,
    /// What is still to be read.
    range: KeyRange,
    read: VecDeque<Result<KeyValue>>,
}

impl Iterator for Parts {
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
