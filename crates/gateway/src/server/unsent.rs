//! Answers that clients have not read yet: a budget for each connection and one for all.
//!
//! An answer stays in memory until the client has taken it. A client that asks and never reads could fill the memory with
//! a few kilobytes of requests, most easily over HTTP/2, where hundreds of requests share a connection. Therefore:
//! - a request waits before it begins while its connection has too much unread, counting what those under way are likely
//!   to add: the largest recent answer of the connection, each;
//! - a read whose answer would still exceed the hard limit is refused with 429, and so are all when the budget of the
//!   server is used up;
//! - who does not read for a while is disconnected ([`super::watchdog`]).

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::Notify;

use super::connection_table::Entry;
use crate::options::Limits;

/// Shorter answers are not counted: the number of requests bounds them.
const COUNTED_BYTES_MIN: usize = 4 << 10;

/// What a request is expected to answer with, at first and at least. A connection begins with few requests at once; each
/// short answer lets it have more.
const EXPECTED_BYTES_FIRST: usize = 1 << 20;
const EXPECTED_BYTES_MIN: usize = 32 << 10;

/// A connection may have this many times its budget when its answers turn out longer than expected.
const HARD_FACTOR: usize = 4;

/// How long a request that waits for room sleeps at most before it looks again.
const WAIT: Duration = Duration::from_millis(20);

/// Bytes of answers that nobody has read, on all connections.
#[derive(Debug, Default)]
pub(crate) struct Total(AtomicUsize);

impl Total {
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Unread answers of one connection.
#[derive(Debug)]
pub(crate) struct Unsent {
    n_bytes: AtomicUsize,
    n_running: AtomicUsize,
    expected: AtomicUsize,
    freed: Notify,
    total: Arc<Total>,
    connection_max: usize,
    total_max: usize,
}

impl Unsent {
    pub(super) fn new(total: Arc<Total>, limits: &Limits) -> Unsent {
        Unsent {
            n_bytes: AtomicUsize::new(0),
            n_running: AtomicUsize::new(0),
            expected: AtomicUsize::new(EXPECTED_BYTES_FIRST.min(limits.unread_bytes_max)),
            freed: Notify::new(),
            total,
            connection_max: limits.unread_bytes_max,
            total_max: limits.unread_bytes_in_all_max,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.n_bytes.load(Ordering::Relaxed)
    }

    /// Waits until there is room for the answer to one more request. Returns whether there is before `limit`.
    pub(super) async fn wait_for_room(&self, limit: Duration) -> bool {
        if self.try_start() {
            return true;
        }
        let wait = async {
            while !self.try_start() {
                // Whether some was freed here, or elsewhere: look again.
                let _ = tokio::time::timeout(WAIT, self.freed.notified()).await;
            }
        };
        tokio::time::timeout(limit, wait).await.is_ok()
    }

    fn try_start(&self) -> bool {
        let n_before = self.n_running.fetch_add(1, Ordering::Relaxed);
        let n_bytes = self.bytes();
        let is_alone = n_before == 0 && n_bytes == 0;
        let expected = self.expected.load(Ordering::Relaxed).saturating_mul(n_before + 1);
        let fits = is_alone || n_bytes.saturating_add(expected) <= self.connection_max;
        if fits && self.total.bytes() < self.total_max {
            return true;
        }
        self.n_running.fetch_sub(1, Ordering::Relaxed);
        false
    }

    /// Says whether an answer of this length may be kept for the client.
    pub(crate) fn has_room(&self, n_bytes: usize) -> bool {
        let unread = self.bytes();
        let fits =
            unread == 0 || unread.saturating_add(n_bytes) <= self.connection_max * HARD_FACTOR;
        let in_all = self.total.bytes();
        n_bytes < COUNTED_BYTES_MIN
            || fits && (in_all == 0 || in_all.saturating_add(n_bytes) <= self.total_max)
    }

    /// A request that had waited for room was answered with so many bytes, or was dropped.
    fn ended(&self, n_bytes: usize) {
        self.n_running.fetch_sub(1, Ordering::Relaxed);
        let before = self.expected.load(Ordering::Relaxed);
        let expected = n_bytes.max(before - before / 8).max(EXPECTED_BYTES_MIN);
        self.expected.store(expected, Ordering::Relaxed);
    }

    fn add(&self, n_bytes: usize) {
        self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        self.total.0.fetch_add(n_bytes, Ordering::Relaxed);
    }

    fn remove(&self, n_bytes: usize) {
        self.n_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
        self.total.0.fetch_sub(n_bytes, Ordering::Relaxed);
        self.freed.notify_one();
    }
}

/// A request that has found room, until it is answered.
pub(super) struct Running<'e>(&'e Arc<Entry>);

impl Running<'_> {
    /// To be called when [`Unsent::wait_for_room`] has said yes.
    pub(super) fn new(entry: &Arc<Entry>) -> Running<'_> {
        Running(entry)
    }

    /// The request is answered with so many bytes. Returns what counts them, if they are worth it.
    pub(super) fn answered(self, n_bytes: usize) -> Option<Count> {
        let entry = Arc::clone(self.0);
        std::mem::forget(self);
        entry.unsent.ended(n_bytes);
        if n_bytes < COUNTED_BYTES_MIN {
            entry.unsent.freed.notify_one();
            return None;
        }
        entry.unsent.add(n_bytes);
        Some(Count { entry, n_bytes })
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.unsent.ended(0);
        self.0.unsent.freed.notify_one();
    }
}

/// Counts bytes of an answer as long as it is there.
#[derive(Debug)]
pub(super) struct Count {
    entry: Arc<Entry>,
    n_bytes: usize,
}

impl Count {
    /// Ties itself to the bytes.
    pub(super) fn hold(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Counted { bytes, _count: self })
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.entry.unsent.remove(self.n_bytes);
    }
}

struct Counted {
    bytes: Bytes,
    _count: Count,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn unsent(total: &Arc<Total>) -> Unsent {
        let limits = Limits {
            unread_bytes_max: 4 * MIB,
            unread_bytes_in_all_max: 20 * MIB,
            ..Limits::default()
        };
        Unsent::new(Arc::clone(total), &limits)
    }

    #[test]
    fn short_answers_let_more_requests_run_at_once_and_long_ones_fewer() {
        let total = Arc::default();
        let unsent = unsent(&total);
        let n_at_once = || {
            let n = (0..1000).take_while(|_| unsent.try_start()).count();
            unsent.n_running.store(0, Ordering::Relaxed);
            n
        };
        assert_eq!(n_at_once(), 4);
        for _ in 0..100 {
            assert!(unsent.try_start());
            unsent.ended(100);
        }
        assert_eq!(n_at_once(), 128);
        assert!(unsent.try_start());
        unsent.ended(2 * MIB);
        assert_eq!(n_at_once(), 2);
    }

    #[test]
    fn one_answer_always_fits_and_many_do_not() {
        let total = Arc::default();
        let (first, second) = (unsent(&total), unsent(&total));
        assert!(first.has_room(100 * MIB), "a client that has read everything may have any answer");
        first.add(5 * MIB);
        assert!(!first.try_start() && first.has_room(11 * MIB) && !first.has_room(12 * MIB));
        assert!(first.has_room(100), "short ones are not counted");
        assert!(second.try_start() && second.has_room(15 * MIB) && !second.has_room(16 * MIB));
        second.add(15 * MIB);
        let third = unsent(&total);
        assert!(!third.try_start(), "the server has no room");
        first.remove(5 * MIB);
        assert!(third.try_start());
    }

    #[tokio::test]
    async fn a_request_waits_until_the_client_has_read() {
        let total = Arc::default();
        let unsent = unsent(&total);
        unsent.add(5 * MIB);
        assert!(!unsent.wait_for_room(Duration::from_millis(30)).await);
        let read = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            unsent.remove(5 * MIB);
        };
        let (found, ()) = tokio::join!(unsent.wait_for_room(Duration::from_secs(5)), read);
        assert!(found);
    }
}
