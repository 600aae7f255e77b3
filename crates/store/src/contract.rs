//! The two traits that every store implements, and that everything above is written against.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Batch, Commit, Direction, Ingest, KeyRange, Result, StoreStatistics};

/// One key with its value.
pub type KeyValue = (Bytes, Bytes);

/// The entries of a range, in the order that was asked for. Dropping it stops the scan.
pub type Scan<'a> = Box<dyn Iterator<Item = Result<KeyValue>> + Send + 'a>;

/// Ordered keys, snapshots and atomic conditional commits.
///
/// ```
/// use store::{Batch, Direction, KeyRange, Store as _};
///
/// let store = store::open_memory();
/// let mut batch = Batch::new();
/// batch.expect(&b"a"[..], None);
/// batch.put(&b"a"[..], &b"1"[..]);
/// store.commit(batch).wait()?;
///
/// let snapshot = store.snapshot();
/// assert_eq!(snapshot.get(b"a")?.as_deref(), Some(&b"1"[..]));
/// assert_eq!(snapshot.scan(KeyRange::all(), Direction::Forward).count(), 1);
/// # Ok::<(), store::Error>(())
/// ```
pub trait Store: Debug + Send + Sync + 'static {
    /// Returns everything acknowledged so far and nothing later. Cheap: one reference count.
    fn snapshot(&self) -> Arc<dyn Snapshot>;

    /// Flushes the memtable for [`Store::snapshot_for_bulk_scan`]: without it that gives an ordinary snapshot, or one that
    /// holds much in memory. Takes some time, during which commits and reads go on.
    fn prepare_bulk_scan(&self) -> Commit {
        Commit::ready(Ok(()))
    }

    /// Returns a snapshot like [`Store::snapshot`], prepared for bulk scans of `range` ([`BulkScan`](crate::BulkScan)).
    ///
    /// It may include writes that are not synced yet. That is safe if the caller acts on them only through a later commit,
    /// which cannot become durable before them.
    fn snapshot_for_bulk_scan(&self, _range: &KeyRange) -> Arc<dyn Snapshot> {
        self.snapshot()
    }

    /// Takes a place in the commit order at once and never blocks.
    ///
    /// The place is the call's: of two calls that do not overlap, the first commits first. The
    /// answer comes when the batch is durable, or lost a condition, or could not be written.
    /// A store with too much work waiting answers [`Error::Unavailable`](crate::Error) at once,
    /// with nothing written. Dropping the [`Commit`] does not take the batch back.
    fn commit(&self, batch: Batch) -> Commit;

    /// Starts to load many sorted entries, without a log and without holding up commits.
    ///
    /// The keys must be the caller's alone: nobody else reads, writes or expects any of them before
    /// [`Ingest::finish`] has answered, and none was ever written. Until then, after a crash, or
    /// when the load is dropped unfinished, any part of the entries may be there or not: whoever
    /// starts a load knows afterwards how to find and delete its keys.
    fn ingest(self: Arc<Self>) -> Result<Box<dyn Ingest>>;

    /// Frees the space of keys that nobody will read, write or expect any more, as far as that is
    /// cheaper than deleting them one by one.
    ///
    /// Other keys are not touched. Each key of the range is afterwards absent or has a value that
    /// it had before, even if it was deleted since: delete what is still there to be done with it.
    fn discard(&self, range: KeyRange) -> Commit;

    /// Stops in an orderly way: finishes what waits, syncs, and prepares a fast next start.
    ///
    /// Later commits and snapshots answer `Unavailable`; snapshots taken before stay readable and
    /// keep the directory locked until they are dropped. A second call does nothing.
    fn close(&self) -> Result<()>;

    /// Answers how a commit would be refused now, if every commit of new data would be.
    fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    /// Returns counters since the store was opened, and its size on disk now.
    fn statistics(&self) -> StoreStatistics;
}

/// An unchanging view of a store.
pub trait Snapshot: Debug + Send + Sync + 'static {
    /// Returns the value of `key`.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>>;

    /// Returns the value of `key` like [`Snapshot::get`], through the cache of values. A miss is added to the cache only if
    /// `caches` is set: a caller that reads many values once leaves the cache as it is.
    fn get_cached(&self, key: &[u8], _caches: bool) -> Result<Option<Bytes>> {
        self.get(key)
    }

    /// Prefetches the cached values of the keys that will be read next, so that their cache misses overlap. Only the first
    /// few count.
    fn prefetch(&self, _keys: &[&[u8]]) {}

    /// Returns true if `key` has a value, which may be empty.
    fn contains(&self, key: &[u8]) -> Result<bool> {
        Ok(self.get(key)?.is_some())
    }

    /// Returns the entries of `range`, first to last or last to first. Reads as it goes: a caller
    /// that stops early pays only for what it took. After an error the scan is over.
    fn scan(&self, range: KeyRange, direction: Direction) -> Scan<'_>;

    /// Returns the entries of `range` in ascending order, if there is a faster way to read many of them than by scans.
    /// Callers use [`BulkScan`](crate::BulkScan), which falls back to scans.
    fn bulk_scan(&self, _range: &KeyRange) -> Option<Scan<'static>> {
        None
    }
}
