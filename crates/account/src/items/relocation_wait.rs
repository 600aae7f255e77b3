//! How long a write waits for the fence of a relocation before it is refused.

use std::time::Duration;

use crate::account::Inner;
use crate::relocate::Watcher;

/// Limit: a cut-over takes milliseconds. A write that waits longer is refused with 410/1007, and its client refreshes
/// its ranges and tries again.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Waits for fences to be lifted. Made before the write is tried, so that no lift is missed.
#[derive(Debug)]
pub(super) struct RelocationWait {
    lifts: Watcher,
    left: Duration,
}

/// Waiting is checked this often: a fence may stand on another range than the one that was lifted.
const SLICE: Duration = Duration::from_millis(100);

impl RelocationWait {
    pub(super) fn new(inner: &Inner) -> RelocationWait {
        RelocationWait { lifts: inner.relocations.lifts(), left: WAIT_MAX }
    }

    /// Waits until it is worth trying again; false when the time is over.
    pub(super) async fn wait(&mut self) -> bool {
        while !self.left.is_zero() {
            self.left = self.left.saturating_sub(SLICE);
            if tokio::time::timeout(SLICE, self.lifts.changed()).await.is_ok() {
                return true;
            }
        }
        false
    }
}
