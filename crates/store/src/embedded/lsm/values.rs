//! Values that were read lately.
//!
//! The engine keeps blocks in memory, and searches two of them for every value. Half of what a short query costs is
//! finding ten items that way, so those that are asked for by key are kept beside.

use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use quick_cache::sync::{Cache, DefaultLifecycle};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::embedded::engine::Writes;

/// The part of the memory for caches that values have; blocks have the rest.
const SHARE: u64 = 4;

// Limit: larger values would displace hundreds of others.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// What an entry takes beside its key and its value.
const ENTRY_BYTES: u64 = 128;

/// Entries that there is room for at once; it grows.
const N_AT_FIRST: usize = 1_000;

/// Places for the times of writes, half a megabyte.
const N_PLACES: usize = 1 << 16;

/// A cache that knows what is still true.
///
/// Invariant: a value that was read in a snapshot of time `a` is shown in one of time `b` only if its key was not
/// written after the earlier of both. A write notes its time before anybody can see it, so whatever either snapshot
/// shows of the key had been noted when the other looked.
pub(super) struct Values {
    kept: Cache<Bytes, Kept, Weighter, BuildHasherDefault<KeyHasher>>,
    /// When a key was last written. Keys share places, so a write makes some others forgotten too.
    written: Box<[AtomicU64]>,
    /// The writes that are done.
    clock: AtomicU64,
}

#[derive(Clone)]
struct Kept {
    value: Bytes,
    at: u64,
}

impl Values {
    /// Divides the memory for caches: a cache of values, and the bytes that are left for blocks.
    pub(super) fn new(cache_bytes: u64) -> (Values, u64) {
        let own = cache_bytes / SHARE;
        let lifecycle = DefaultLifecycle::default();
        let kept = Cache::with(N_AT_FIRST, own, Weighter, BuildHasherDefault::default(), lifecycle);
        let written = std::iter::repeat_with(AtomicU64::default).take(N_PLACES).collect();
        (Values { kept, written, clock: AtomicU64::default() }, cache_bytes - own)
    }

    /// The time of a snapshot that is taken after this.
    pub(super) fn now(&self) -> u64 {
        self.clock.load(Ordering::Acquire)
    }

    /// Notes writes that nobody sees yet, and tells their time. One committer writes, so no other do before these end.
    pub(super) fn begin(&self, writes: &Writes) -> u64 {
        let time = self.now() + 1;
        for key in writes.keys() {
            self.place(key).store(time, Ordering::Release);
        }
        time
    }

    /// Ends the writes of a time: every later snapshot shows them.
    pub(super) fn end(&self, time: u64) {
        self.clock.store(time, Ordering::Release);
    }

    /// The value that a snapshot of time `at` shows, if it is kept.
    pub(super) fn get(&self, key: &[u8], at: u64) -> Option<Bytes> {
        let kept = self.kept.get(key)?;
        (self.place(key).load(Ordering::Acquire) <= kept.at.min(at)).then_some(kept.value)
    }

    /// Keeps what a snapshot of time `at` shows.
    pub(super) fn keep(&self, key: &[u8], value: &[u8], at: u64) {
        let is_written_since = self.place(key).load(Ordering::Acquire) > at;
        if value.len() <= VALUE_BYTES_MAX && !is_written_since {
            // A copy: the value of the engine keeps its whole block in memory.
            let value = Bytes::copy_from_slice(value);
            self.kept.insert(Bytes::copy_from_slice(key), Kept { value, at });
        }
    }

    fn place(&self, key: &[u8]) -> &AtomicU64 {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
        let number = xxh3_64(key) as usize % N_PLACES;
        &self.written[number]
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Values").field("n", &self.kept.len()).finish_non_exhaustive()
    }
}

#[derive(Clone)]
struct Weighter;

impl quick_cache::Weighter<Bytes, Kept> for Weighter {
    fn weight(&self, key: &Bytes, kept: &Kept) -> u64 {
        (key.len() + kept.value.len()) as u64 + ENTRY_BYTES
    }
}

/// Made for short keys that nobody outside chooses.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_usize(&mut self, length: usize) {
        self.0 ^= length as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
