//! Values that were read lately.
//!
//! The engine keeps blocks in memory, and searches two of them for every value. Half of what a short query costs is
//! finding ten items that way, so those that are asked for by key are kept beside.
//!
//! They lie scattered over all of the memory, so that finding one is waiting for memory, several times in a row. Who knows
//! what it will ask for says so ([`Values::announce`]), and waits for all of them at once.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use hashbrown::HashTable;
use parking_lot::RwLock;
use xxhash_rust::xxh3::xxh3_64;

use crate::embedded::engine::Writes;

/// The part of the memory for caches that values have; blocks have the rest.
const SHARE: u64 = 4;

// Limit: larger values would displace hundreds of others.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// What an entry takes beside its key and its value: twice its own size for the table, which has free room, and what the
/// allocator and the count of owners take.
const ENTRY_BYTES: u64 = 96;

/// Tables that are locked one by one: growing a table holds up who reads it.
const N_SHELVES: usize = 16;

// Limit: keys that are announced at once. A core waits for about as many places in memory at a time.
const ANNOUNCED_MAX: usize = 16;

/// Where the beginning of a value is looked at: a line of memory each.
const LINES: [usize; 3] = [0, 64, 128];

/// Places for the times of writes, half a megabyte.
const N_PLACES: usize = 1 << 16;

/// A cache that knows what is still true.
///
/// Invariant: a value that was read in a snapshot of time `a` is shown in one of time `b` only if its key was not
/// written after the earlier of both. A write notes its time before anybody can see it, so whatever either snapshot
/// shows of the key had been noted when the other looked.
pub(super) struct Values {
    shelves: [RwLock<Shelf>; N_SHELVES],
    /// When a key was last written. Keys share places, so a write makes some others forgotten too.
    written: Box<[AtomicU64]>,
    /// The writes that are done.
    clock: AtomicU64,
}

/// Values by the hash of their key. Of two keys with one hash the last is kept.
#[derive(Default)]
struct Shelf {
    kept: HashTable<Kept>,
    n_bytes: u64,
    bytes_max: u64,
    /// Where to look next for something to forget.
    hand: usize,
}

/// A key with its value, beside each other, so that one look at the memory finds both.
struct Kept {
    hash: u64,
    at: u64,
    bytes: Arc<[u8]>,
    n_key: u32,
    /// Asked for since the hand went by.
    is_used: AtomicBool,
}

impl Kept {
    fn new(hash: u64, key: &[u8], value: &[u8], at: u64) -> Option<Kept> {
        let mut bytes = Vec::with_capacity(key.len() + value.len());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
        let n_key = u32::try_from(key.len()).ok()?;
        Some(Kept { hash, at, bytes: bytes.into(), n_key, is_used: AtomicBool::new(false) })
    }

    fn weight(&self) -> u64 {
        self.bytes.len() as u64 + ENTRY_BYTES
    }

    fn value_of(&self, key: &[u8]) -> Option<Value> {
        let n_key = self.n_key as usize;
        let (own, _) = self.bytes.split_at_checked(n_key)?;
        (own == key).then(|| Value { bytes: Arc::clone(&self.bytes), n_key })
    }
}

/// A value of a cache, for as long as somebody reads it.
struct Value {
    bytes: Arc<[u8]>,
    n_key: usize,
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(self.n_key..).unwrap_or_default()
    }
}

impl Shelf {
    fn find(&self, hash: u64) -> Option<&Kept> {
        self.kept.find(hash, |kept| kept.hash == hash)
    }

    fn keep(&mut self, kept: Kept) {
        if let Ok(same) = self.kept.find_entry(kept.hash, |own| own.hash == kept.hash) {
            let (old, _) = same.remove();
            self.n_bytes -= old.weight();
        }
        self.n_bytes += kept.weight();
        self.kept.insert_unique(kept.hash, kept, |own| own.hash);
        while self.n_bytes > self.bytes_max {
            self.forget_one();
        }
    }

    /// Looks at the next place and forgets what nobody asked for since the last look.
    fn forget_one(&mut self) {
        self.hand = if self.hand + 1 < self.kept.num_buckets() { self.hand + 1 } else { 0 };
        if let Ok(place) = self.kept.get_bucket_entry(self.hand)
            && !place.get().is_used.swap(false, Ordering::Relaxed)
        {
            let (old, _) = place.remove();
            self.n_bytes -= old.weight();
        }
    }
}

impl Values {
    /// Divides the memory for caches: a cache of values, and the bytes that are left for blocks.
    pub(super) fn new(cache_bytes: u64) -> (Values, u64) {
        let own = cache_bytes / SHARE;
        let bytes_max = own / N_SHELVES as u64;
        let shelf = || RwLock::new(Shelf { bytes_max, ..Shelf::default() });
        let shelves = std::array::from_fn(|_| shelf());
        let written = std::iter::repeat_with(AtomicU64::default).take(N_PLACES).collect();
        (Values { shelves, written, clock: AtomicU64::default() }, cache_bytes - own)
    }

    /// The time of a snapshot that is taken after this.
    pub(super) fn now(&self) -> u64 {
        self.clock.load(Ordering::Acquire)
    }

    /// Notes writes that nobody sees yet, and tells their time. One committer writes, so no other do before these end.
    pub(super) fn begin(&self, writes: &Writes) -> u64 {
        let time = self.now() + 1;
        for key in writes.keys() {
            self.place(xxh3_64(key)).store(time, Ordering::Release);
        }
        time
    }

    /// Ends the writes of a time: every later snapshot shows them.
    pub(super) fn end(&self, time: u64) {
        self.clock.store(time, Ordering::Release);
    }

    /// The value that a snapshot of time `at` shows, if it is kept.
    pub(super) fn get(&self, key: &[u8], at: u64) -> Option<Bytes> {
        let hash = xxh3_64(key);
        let on_shelf = self.shelves[shelf_of(hash)].read();
        let kept = on_shelf.find(hash)?;
        let is_true = self.place(hash).load(Ordering::Acquire) <= kept.at.min(at);
        let value = kept.value_of(key).filter(|_| is_true)?;
        // Writing what is there already would make other cores fetch it again.
        if !kept.is_used.load(Ordering::Relaxed) {
            kept.is_used.store(true, Ordering::Relaxed);
        }
        drop(on_shelf);
        Some(Bytes::from_owner(value))
    }

    /// Brings the values of some keys, as far as they are kept, close to the core that will ask for them.
    ///
    /// Locks and counts of owners make a core wait for what it read before, so there are none between the looks.
    pub(super) fn announce(&self, keys: &[&[u8]]) {
        let mut hashes = [0; ANNOUNCED_MAX];
        let mut shelves = [const { None }; N_SHELVES];
        for (key, hash) in keys.iter().zip(&mut hashes) {
            *hash = xxh3_64(key);
            let number = shelf_of(*hash);
            if shelves[number].is_none() {
                // Somebody who changes it is not worth waiting for.
                shelves[number] = self.shelves[number].try_read();
            }
        }
        let find = |hash| shelves[shelf_of(hash)].as_ref().and_then(|shelf| shelf.find(hash));
        let found = hashes.map(find);
        let lines = found.iter().flatten().map(|kept| {
            let line = |at| kept.bytes.get(at).copied().unwrap_or_default();
            LINES.map(line).iter().fold(0, |all, byte| all ^ byte)
        });
        black_box(lines.fold(0, |all, byte| all ^ byte));
    }

    /// Keeps what a snapshot of time `at` shows.
    pub(super) fn keep(&self, key: &[u8], value: &[u8], at: u64) {
        let hash = xxh3_64(key);
        let is_written_since = self.place(hash).load(Ordering::Acquire) > at;
        if value.len() <= VALUE_BYTES_MAX
            && !is_written_since
            && let Some(kept) = Kept::new(hash, key, value, at)
        {
            self.shelves[shelf_of(hash)].write().keep(kept);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
    fn place(&self, hash: u64) -> &AtomicU64 {
        &self.written[hash as usize % N_PLACES]
    }
}

/// By bits that the tables do not go by.
fn shelf_of(hash: u64) -> usize {
    (hash >> 48) as usize % N_SHELVES
}

impl fmt::Debug for Values {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_kept: usize = self.shelves.iter().map(|shelf| shelf.read().kept.len()).sum();
        formatter.debug_struct("Values").field("n", &n_kept).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> [u8; 4] {
        n.to_be_bytes()
    }

    /// Room for about `n` values of 100 bytes on each shelf.
    fn values(n: u64) -> Values {
        Values::new(n * (4 + 100 + ENTRY_BYTES) * N_SHELVES as u64 * SHARE).0
    }

    #[test]
    fn what_is_kept_stays_within_its_bytes() {
        let values = values(10);
        for n in 0..10_000 {
            values.keep(&key(n), &[1; 100], 0);
        }
        for shelf in &values.shelves {
            let shelf = shelf.read();
            assert_eq!(shelf.kept.len(), 10);
            assert_eq!(shelf.n_bytes, shelf.kept.iter().map(Kept::weight).sum::<u64>());
            assert!(shelf.n_bytes <= shelf.bytes_max);
        }
        values.keep(&key(7), &[2; 50], 0);
        assert_eq!(values.get(&key(7), 0).as_deref(), Some(&[2; 50][..]));
        values.keep(&key(7), &[3; 60], 0);
        assert_eq!(values.get(&key(7), 0).as_deref(), Some(&[3; 60][..]), "the last one counts");
    }

    #[test]
    fn what_is_asked_for_again_outlives_what_is_not() {
        let values = values(100);
        let is_kept = |n| values.get(&key(n), 0).is_some();
        for n in 0..200 {
            values.keep(&key(n), &[1; 100], 0);
        }
        for n in 1_000..5_000 {
            values.keep(&key(n), &[1; 100], 0);
            assert!((0..200).all(is_kept), "{n}");
        }
    }

    #[test]
    fn an_announcement_changes_nothing() {
        let values = values(100);
        values.keep(&key(1), &[1; 100], 0);
        let keys: Vec<[u8; 4]> = (0..100).map(key).collect();
        values.announce(&[]);
        values.announce(&keys.iter().map(<[u8; 4]>::as_slice).collect::<Vec<_>>());
        let kept: Vec<u32> = (0..100).filter(|n| values.get(&key(*n), 0).is_some()).collect();
        assert_eq!(kept, [1]);
    }
}
