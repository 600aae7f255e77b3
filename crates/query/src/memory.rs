//! Memory of queries: what one may hold, and all of them together.
//!
//! Everything that an expression or an operator builds asks here first, in bytes of real memory and before it allocates:
//! values of the current item through [`crate::context::Run`], what a page keeps beyond one item through [`Held`]. A query
//! takes from the pool of the server in pieces, and gives all of it back when its statement is dropped.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};

/// Limit: bytes that one query holds at once.
pub const QUERY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Limit: how long a query waits for memory that others hold.
const WAIT_MAX: Duration = Duration::from_millis(500);

/// Bytes that every query has without asking the pool: what most queries need.
const OWN_BYTES: usize = 64 * 1024;

/// Bytes that a query asks the pool for at once, and how many such pieces a small pool has at least.
const PIECE_BYTES: usize = 1024 * 1024;
const PIECES_MIN: usize = 16;

/// Limit: what one query may take of the pool, as a part of it, so that one never stops all others.
const POOL_SHARE: usize = 2;

/// Memory for all queries of a server.
#[derive(Debug)]
pub struct MemoryPool {
    limit: usize,
    used: AtomicUsize,
    n_refused: AtomicU64,
    n_waiting: AtomicUsize,
    turn: Mutex<()>,
    freed: Condvar,
}

impl MemoryPool {
    /// Makes a pool of so many bytes.
    pub fn new(limit: usize) -> Arc<MemoryPool> {
        Arc::new(MemoryPool {
            limit,
            used: AtomicUsize::new(0),
            n_refused: AtomicU64::new(0),
            n_waiting: AtomicUsize::new(0),
            turn: Mutex::new(()),
            freed: Condvar::new(),
        })
    }

    /// Returns the bytes that queries may take together.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the bytes that queries have taken now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns how many queries were refused because others held the memory.
    pub fn n_refused(&self) -> u64 {
        self.n_refused.load(Ordering::Relaxed)
    }

    fn try_take(&self, bytes: usize) -> bool {
        let add = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Takes bytes, and waits a moment for them if it may. A query that holds memory and waits for more gives up, and so
    /// frees what others wait for.
    fn take(&self, bytes: usize, may_wait: bool) -> bool {
        if self.try_take(bytes) {
            return true;
        }
        if may_wait {
            let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            self.n_waiting.fetch_add(1, Ordering::SeqCst);
            let waited = self.freed.wait_timeout_while(turn, WAIT_MAX, |()| !self.try_take(bytes));
            self.n_waiting.fetch_sub(1, Ordering::SeqCst);
            if waited.is_ok_and(|(_, timeout)| !timeout.timed_out()) {
                return true;
            }
        }
        self.n_refused.fetch_add(1, Ordering::Relaxed);
        false
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::SeqCst);
        if self.n_waiting.load(Ordering::SeqCst) > 0 {
            // Whoever counted as waiting before holds the lock until the wait begins.
            drop(self.turn.lock());
            self.freed.notify_all();
        }
    }
}

/// The memory of one statement, shared by the threads that work on it.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    pool: Option<Arc<MemoryPool>>,
    limit: usize,
    used: AtomicUsize,
    /// What `used` may reach before the pool is asked again.
    granted: AtomicUsize,
    asking: Mutex<()>,
}

impl QueryMemory {
    pub(crate) fn new(pool: Option<Arc<MemoryPool>>) -> QueryMemory {
        let share = pool.as_ref().map_or(usize::MAX, |pool| pool.limit / POOL_SHARE);
        let limit = QUERY_BYTES_MAX.min(share).max(OWN_BYTES);
        let granted = if pool.is_some() { OWN_BYTES } else { limit };
        QueryMemory {
            pool,
            limit,
            used: AtomicUsize::new(0),
            granted: AtomicUsize::new(granted),
            asking: Mutex::new(()),
        }
    }

    /// Takes bytes for as long as the statement lives, or until they are released.
    ///
    /// # Errors
    /// [`Error::Limit`] when the query holds too much, [`Error::Busy`] when all queries do and nothing came free in time.
    pub(crate) fn take(&self, bytes: usize, may_wait: bool) -> Result<()> {
        if bytes > self.limit {
            return Err(self.exceeded());
        }
        let used = self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if used <= self.granted.load(Ordering::Relaxed) {
            return Ok(());
        }
        let grown = self.grow(used, may_wait);
        if grown.is_err() {
            self.release(bytes);
        }
        grown
    }

    fn grow(&self, used: usize, may_wait: bool) -> Result<()> {
        if used > self.limit {
            return Err(self.exceeded());
        }
        let Some(pool) = &self.pool else { return Ok(()) };
        let _asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = used.saturating_sub(self.granted.load(Ordering::Relaxed));
        if missing == 0 {
            return Ok(());
        }
        let piece = missing.next_multiple_of(PIECE_BYTES.min(pool.limit / PIECES_MIN).max(1));
        if !pool.take(piece, may_wait) {
            return Err(Error::Busy);
        }
        self.granted.fetch_add(piece, Ordering::Relaxed);
        Ok(())
    }

    fn exceeded(&self) -> Error {
        Error::Limit { what: "the memory of one query, in bytes,", limit: self.limit }
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

impl Drop for QueryMemory {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            let granted = *self.granted.get_mut() - OWN_BYTES;
            if granted > 0 {
                pool.give_back(granted);
            }
        }
    }
}

/// Memory that a page keeps beyond one item: groups, rows to sort, sets of values. Released when it is dropped.
#[derive(Debug)]
pub(crate) struct Held<'m> {
    memory: &'m QueryMemory,
    bytes: usize,
    may_wait: bool,
}

impl<'m> Held<'m> {
    pub(crate) fn new(memory: &'m QueryMemory, may_wait: bool) -> Held<'m> {
        Held { memory, bytes: 0, may_wait }
    }

    /// Takes bytes before they are allocated.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<()> {
        self.memory.take(bytes, self.may_wait)?;
        self.bytes += bytes;
        Ok(())
    }

    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.memory.release(bytes);
    }

    /// Takes over what another one holds.
    pub(crate) fn absorb(&mut self, mut other: Held<'m>) {
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.memory.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_its_own_bound_without_a_pool() {
        let memory = QueryMemory::new(None);
        memory.take(QUERY_BYTES_MAX, true).unwrap();
        assert!(matches!(memory.take(1, true), Err(Error::Limit { limit: QUERY_BYTES_MAX, .. })));
        memory.release(1);
        memory.take(1, true).unwrap();
    }

    #[test]
    fn what_all_queries_hold_is_bounded_and_comes_back() {
        let pool = MemoryPool::new(8 << 20);
        let hold = || {
            let memory = QueryMemory::new(Some(Arc::clone(&pool)));
            memory.take(3 << 20, false).map(|()| memory)
        };
        let (first, second) = (hold().unwrap(), hold().unwrap());
        assert!(pool.used() >= 5 << 20 && pool.used() <= pool.limit());
        assert!(matches!(hold(), Err(Error::Busy)));
        drop(first);
        let third = hold().unwrap();
        drop((second, third));
        assert_eq!(pool.used(), 0);
    }

    #[test]
    fn who_may_wait_gets_what_others_free_or_is_told_to_come_back() {
        let pool = MemoryPool::new(4 << 20);
        let take = |bytes| {
            let memory = QueryMemory::new(Some(Arc::clone(&pool)));
            memory.take(bytes, true).map(|()| memory)
        };
        let (first, second) = (take(2 << 20).unwrap(), take(2 << 20).unwrap());
        assert!(matches!(take(1 << 20), Err(Error::Busy)));
        assert_eq!(pool.n_refused(), 1);
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| take(1 << 20));
            while pool.n_waiting.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            drop(first);
            waiting.join().unwrap()
        });
        assert!(waiting.is_ok());
        drop((second, waiting));
        assert_eq!(pool.used(), 0);
    }

    #[test]
    fn held_memory_is_released_with_its_holder() {
        let memory = QueryMemory::new(None);
        let mut held = Held::new(&memory, true);
        held.grow(1000).unwrap();
        let mut other = Held::new(&memory, true);
        other.grow(500).unwrap();
        held.absorb(other);
        held.shrink(300);
        assert_eq!(memory.used(), 1200);
        drop(held);
        assert_eq!(memory.used(), 0);
    }
}
