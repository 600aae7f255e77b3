//! Values that were read lately.
//!
//! The engine keeps blocks in memory, and searches two of them for every value. Half of what a short query costs is
//! finding ten items that way, so those that are asked for by key are kept beside.

use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use quick_cache::sync::{Cache, DefaultLifecycle};
use xxhash_rust::xxh3::xxh3_64;

use crate::embedded::engine::Writes;

/// The part of the memory for caches that values have; blocks have the rest.
const SHARE: u64 = 4;

// Limit: larger values would displace hundreds of others.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// What an entry takes beside its key and its value.
const ENTRY_BYTES: u64 = 96;

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
    /// By the hash of the key. Of two keys with one hash the last is kept.
    kept: Cache<u64, Kept, Weighter, BuildHasherDefault<KeyHasher>>,
    /// When a key was last written. Keys share places, so a write makes some others forgotten too.
    written: Box<[AtomicU64]>,
    /// The writes that are done.
    clock: AtomicU64,
}

/// A key with its value, beside each other: what is read lies scattered over all of the memory, so every place that has to
/// be looked at costs as much as the rest of the look.
#[derive(Clone)]
struct Kept {
    bytes: Arc<[u8]>,
    n_key: u32,
    at: u64,
}

impl Kept {
    fn new(key: &[u8], value: &[u8], at: u64) -> Option<Kept> {
        let mut bytes = Vec::with_capacity(key.len() + value.len());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
        Some(Kept { bytes: bytes.into(), n_key: u32::try_from(key.len()).ok()?, at })
    }

    fn split(&self) -> (&[u8], &[u8]) {
        self.bytes.split_at(self.n_key as usize)
    }
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        self.split().1
    }
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
        let kept = self.kept.get(&hash)?;
        let is_true = self.place(hash).load(Ordering::Acquire) <= kept.at.min(at);
        (is_true && kept.split().0 == key).then(|| Bytes::from_owner(kept))
    }

    /// Keeps what a snapshot of time `at` shows.
    pub(super) fn keep(&self, key: &[u8], value: &[u8], at: u64) {
        let hash = xxh3_64(key);
        let is_written_since = self.place(hash).load(Ordering::Acquire) > at;
        if value.len() <= VALUE_BYTES_MAX
            && !is_written_since
            && let Some(kept) = Kept::new(key, value, at)
        {
            self.kept.insert(hash, kept);
        }
    }

    fn place(&self, hash: u64) -> &AtomicU64 {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
        let number = hash as usize % N_PLACES;
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

impl quick_cache::Weighter<u64, Kept> for Weighter {
    fn weight(&self, _hash: &u64, kept: &Kept) -> u64 {
        kept.bytes.len() as u64 + ENTRY_BYTES
    }
}

/// The key of the cache is a hash already.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
