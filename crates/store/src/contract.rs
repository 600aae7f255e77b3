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

    /// Prepares for [`Store::snapshot_to_sweep`]: without it that gives an ordinary snapshot, or one with much to hold in
    /// memory. Takes some time, during which commits and reads go on.
    fn prepare_sweep(&self) -> Commit {
        Commit::ready(Ok(()))
    }

    /// Returns a snapshot of now, made for who will read much of `range` with a [`Sweep`](crate::Sweep).
    ///
    /// It may show commits that are written and not yet durable. A commit that is made after it is durable only with
    /// them, so they matter to nobody who does not tell others before that.
    fn snapshot_to_sweep(&self, _range: &KeyRange) -> Arc<dyn Snapshot> {
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

    /// Returns counters since the store was opened, and its size on disk now.
    fn statistics(&self) -> StoreStatistics;

    /// Returns true when reads are memory or disk of this process, so that they may run on the
    /// thread of the request; otherwise they belong on the reader pool.
    fn is_local(&self) -> bool;
}

/// An unchanging view of a store.
pub trait Snapshot: Debug + Send + Sync + 'static {
    /// Returns the value of `key`.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>>;

    /// Returns the value of `key` like [`Snapshot::get`], for who may ask for it again: first looks among the values that
    /// the store `keeps` in memory for that. Who asks for many once lets it keep none.
    fn recall(&self, key: &[u8], _keeps: bool) -> Result<Option<Bytes>> {
        self.get(key)
    }

    /// Tells which keys will be recalled next, so that the store can wait for the memory of all of them at once. It looks
    /// at the first few.
    fn announce(&self, _keys: &[&[u8]]) {}

    /// Returns true if `key` has a value, which may be empty.
    fn contains(&self, key: &[u8]) -> Result<bool> {
        Ok(self.get(key)?.is_some())
    }

    /// Returns the entries of `range`, first to last or last to first. Reads as it goes: a caller
    /// that stops early pays only for what it took. After an error the scan is over.
    fn scan(&self, range: KeyRange, direction: Direction) -> Scan<'_>;

    /// Returns the entries of `range` in ascending order, if there is a faster way to read many of them than by scans.
    /// See [`Sweep`](crate::Sweep), which everybody uses.
    fn sweep(&self, _range: &KeyRange) -> Option<Scan<'static>> {
        None
    }
}
