//! A counter that can be waited for. Waiters wake in the order in which they came, so that simulations repeat.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Clone, Default)]
pub(crate) struct Signal(Arc<SignalState>);

#[derive(Debug, Default)]
struct SignalState {
    count: AtomicU64,
    notify: Notify,
}

/// One who waits, and what it has seen.
#[derive(Debug)]
pub(crate) struct Watcher {
    signal: Signal,
    seen: u64,
}

impl Signal {
    pub(crate) fn raise(&self) {
        self.0.count.fetch_add(1, Ordering::AcqRel);
        self.0.notify.notify_waiters();
    }

    /// Watches from now on.
    pub(crate) fn watch(&self) -> Watcher {
        Watcher { signal: self.clone(), seen: self.count() }
    }

    fn count(&self) -> u64 {
        self.0.count.load(Ordering::Acquire)
    }
}

impl Watcher {
    /// Takes everything up to now as seen.
    pub(crate) fn catch_up(&mut self) {
        self.seen = self.signal.count();
    }

    /// Waits until the signal was raised since it was last seen.
    pub(crate) async fn changed(&mut self) {
        loop {
            let mut notified = std::pin::pin!(self.signal.0.notify.notified());
            // From here on no raise is missed.
            notified.as_mut().enable();
            let count = self.signal.count();
            if count != self.seen {
                self.seen = count;
                return;
            }
            notified.await;
        }
    }
}
