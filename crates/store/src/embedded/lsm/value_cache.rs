//! A sharded CLOCK cache of values by key, with prefetch.
//!
//! The engine caches blocks, and searches two of them for every value. Half of what a short query costs is finding ten
//! items that way, so values that are read by key are cached too. Each lookup is a chain of cache misses of the processor:
//! [`ValueCache::prefetch`] touches up to [`PREFETCH_MAX`] entries first, so that the misses overlap.
//!
//! Invariant: a hit is the value that the reader's own snapshot shows; see [`ValueCache`].

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use hashbrown::HashTable;
use parking_lot::RwLock;
use xxhash_rust::xxh3::xxh3_64;

use crate::embedded::engine::Writes;

/// One part in so many of the cache memory is for values; blocks have the rest.
const SHARE: u64 = 4;

// Limit: larger values would displace hundreds of others.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// What an entry takes beside its key and its value: twice its own size for the table, which has free room, and what the
/// allocator and the count of owners take.
const ENTRY_BYTES: u64 = 96;

/// Each shard has its own lock: growing a table holds up its readers.
const N_SHARDS: usize = 16;

// Limit: keys that are prefetched at once. A core has about as many cache misses outstanding at a time.
const PREFETCH_MAX: usize = 16;

/// Offsets of a value that a prefetch touches: one per cache line.
const LINES: [usize; 3] = [0, 64, 128];

/// Slots for the times of writes, half a megabyte.
const N_WRITE_SLOTS: usize = 1 << 16;

/// A cache that knows which of its values are still current.
///
/// Invariant: a value that was read in a snapshot of time `a` is shown in one of time `b` only if its key was not
/// written after the earlier of both. A write notes its time before anybody can see it, so whatever either snapshot
/// shows of the key had been noted when the other looked.
pub(super) struct ValueCache {
    shards: [RwLock<Shard>; N_SHARDS],
    /// When a key was last written. Keys share slots, so a write invalidates some other keys too.
    written: Box<[AtomicU64]>,
    /// The writes that are done.
    clock: AtomicU64,
}

/// Values by the hash of their key. Of two keys with one hash the last is kept.
#[derive(Default)]
struct Shard {
    entries: HashTable<CachedValue>,
    n_bytes: u64,
    bytes_max: u64,
    /// The CLOCK hand: where to look next for something to evict.
    hand: usize,
}

/// A key with its value, beside each other, so that one cache miss brings both.
struct CachedValue {
    hash: u64,
    at: u64,
    bytes: Arc<[u8]>,
    n_key: u32,
    /// The CLOCK reference bit: read since the hand went by.
    is_used: AtomicBool,
}

impl CachedValue {
    fn new(hash: u64, key: &[u8], value: &[u8], at: u64) -> Option<CachedValue> {
        let mut bytes = Vec::with_capacity(key.len() + value.len());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
        let n_key = u32::try_from(key.len()).ok()?;
        Some(CachedValue { hash, at, bytes: bytes.into(), n_key, is_used: AtomicBool::new(false) })
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

impl Shard {
    fn find(&self, hash: u64) -> Option<&CachedValue> {
        self.entries.find(hash, |kept| kept.hash == hash)
    }

    fn insert(&mut self, kept: CachedValue) {
        if let Ok(same) = self.entries.find_entry(kept.hash, |own| own.hash == kept.hash) {
            let (old, _) = same.remove();
            self.n_bytes -= old.weight();
        }
        self.n_bytes += kept.weight();
        self.entries.insert_unique(kept.hash, kept, |own| own.hash);
        while self.n_bytes > self.bytes_max {
            self.evict_one();
        }
    }

    /// Moves the hand on, and evicts what it finds there unless that was read since the last time.
    fn evict_one(&mut self) {
        self.hand = if self.hand + 1 < self.entries.num_buckets() { self.hand + 1 } else { 0 };
        if let Ok(bucket) = self.entries.get_bucket_entry(self.hand)
            && !bucket.get().is_used.swap(false, Ordering::Relaxed)
        {
            let (old, _) = bucket.remove();
            self.n_bytes -= old.weight();
        }
    }
}

impl ValueCache {
    /// Divides the memory for caches: a cache of values, and the bytes that are left for blocks.
    pub(super) fn new(cache_bytes: u64) -> (ValueCache, u64) {
        let own = cache_bytes / SHARE;
        let bytes_max = own / N_SHARDS as u64;
        let shard = || RwLock::new(Shard { bytes_max, ..Shard::default() });
        let shards = std::array::from_fn(|_| shard());
        let written = std::iter::repeat_with(AtomicU64::default).take(N_WRITE_SLOTS).collect();
        (ValueCache { shards, written, clock: AtomicU64::default() }, cache_bytes - own)
    }

    /// The bytes that are cached, and at most.
    pub(super) fn memory(&self) -> (u64, u64) {
        let sum = |of: fn(&Shard) -> u64| self.shards.iter().map(|shard| of(&shard.read())).sum();
        (sum(|shard| shard.n_bytes), sum(|shard| shard.bytes_max))
    }

    /// The time of a snapshot that is taken after this.
    pub(super) fn now(&self) -> u64 {
        self.clock.load(Ordering::Acquire)
    }

    /// Notes writes that nobody sees yet, and tells their time. One committer writes, so no other do before these end.
    pub(super) fn begin(&self, writes: &Writes) -> u64 {
        let time = self.now() + 1;
        for key in writes.keys() {
            self.write_slot(xxh3_64(key)).store(time, Ordering::Release);
        }
        time
    }

    /// Ends the writes of a time: every later snapshot shows them.
    pub(super) fn end(&self, time: u64) {
        self.clock.store(time, Ordering::Release);
    }

    /// The value that a snapshot of time `at` shows, if it is cached.
    pub(super) fn get(&self, key: &[u8], at: u64) -> Option<Bytes> {
        let hash = xxh3_64(key);
        let shard = self.shards[shard_of(hash)].read();
        let kept = shard.find(hash)?;
        let is_true = self.write_slot(hash).load(Ordering::Acquire) <= kept.at.min(at);
        let value = kept.value_of(key).filter(|_| is_true)?;
        // Writing what is there already would make other cores fetch it again.
        if !kept.is_used.load(Ordering::Relaxed) {
            kept.is_used.store(true, Ordering::Relaxed);
        }
        drop(shard);
        Some(Bytes::from_owner(value))
    }

    /// Loads the cached values of some keys into the caches of this core.
    ///
    /// Locks and reference counts would make each load wait for the one before, so there are none in between.
    pub(super) fn prefetch(&self, keys: &[&[u8]]) {
        let mut hashes = [0; PREFETCH_MAX];
        let mut shards = [const { None }; N_SHARDS];
        for (key, hash) in keys.iter().zip(&mut hashes) {
            *hash = xxh3_64(key);
            let number = shard_of(*hash);
            if shards[number].is_none() {
                // A shard that is being written is not worth waiting for.
                shards[number] = self.shards[number].try_read();
            }
        }
        let find = |hash| shards[shard_of(hash)].as_ref().and_then(|shard| shard.find(hash));
        let found = hashes.map(find);
        let lines = found.iter().flatten().map(|kept| {
            let line = |at| kept.bytes.get(at).copied().unwrap_or_default();
            LINES.map(line).iter().fold(0, |all, byte| all ^ byte)
        });
        black_box(lines.fold(0, |all, byte| all ^ byte));
    }

    /// Caches what a snapshot of time `at` shows.
    pub(super) fn insert(&self, key: &[u8], value: &[u8], at: u64) {
        let hash = xxh3_64(key);
        let is_written_since = self.write_slot(hash).load(Ordering::Acquire) > at;
        if value.len() <= VALUE_BYTES_MAX
            && !is_written_since
            && let Some(kept) = CachedValue::new(hash, key, value, at)
        {
            self.shards[shard_of(hash)].write().insert(kept);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
    fn write_slot(&self, hash: u64) -> &AtomicU64 {
        &self.written[hash as usize % N_WRITE_SLOTS]
    }
}

/// By bits that the tables do not go by.
fn shard_of(hash: u64) -> usize {
    (hash >> 48) as usize % N_SHARDS
}

impl fmt::Debug for ValueCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_kept: usize = self.shards.iter().map(|shard| shard.read().entries.len()).sum();
        formatter.debug_struct("ValueCache").field("n", &n_kept).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> [u8; 4] {
        n.to_be_bytes()
    }

    /// Room for about `n` values of 100 bytes in each shard.
    fn values(n: u64) -> ValueCache {
        ValueCache::new(n * (4 + 100 + ENTRY_BYTES) * N_SHARDS as u64 * SHARE).0
    }

    #[test]
    fn what_is_kept_stays_within_its_bytes() {
        let values = values(10);
        for n in 0..10_000 {
            values.insert(&key(n), &[1; 100], 0);
        }
        for shard in &values.shards {
            let shard = shard.read();
            assert_eq!(shard.entries.len(), 10);
            assert_eq!(shard.n_bytes, shard.entries.iter().map(CachedValue::weight).sum::<u64>());
            assert!(shard.n_bytes <= shard.bytes_max);
        }
        values.insert(&key(7), &[2; 50], 0);
        assert_eq!(values.get(&key(7), 0).as_deref(), Some(&[2; 50][..]));
        values.insert(&key(7), &[3; 60], 0);
        assert_eq!(values.get(&key(7), 0).as_deref(), Some(&[3; 60][..]), "the last one counts");
    }

    #[test]
    fn what_is_asked_for_again_outlives_what_is_not() {
        let values = values(100);
        let is_kept = |n| values.get(&key(n), 0).is_some();
        for n in 0..200 {
            values.insert(&key(n), &[1; 100], 0);
        }
        for n in 1_000..5_000 {
            values.insert(&key(n), &[1; 100], 0);
            assert!((0..200).all(is_kept), "{n}");
        }
    }

    #[test]
    fn a_prefetch_changes_nothing() {
        let values = values(100);
        values.insert(&key(1), &[1; 100], 0);
        let keys: Vec<[u8; 4]> = (0..100).map(key).collect();
        values.prefetch(&[]);
        values.prefetch(&keys.iter().map(<[u8; 4]>::as_slice).collect::<Vec<_>>());
        let kept: Vec<u32> = (0..100).filter(|n| values.get(&key(*n), 0).is_some()).collect();
        assert_eq!(kept, [1]);
    }
}
