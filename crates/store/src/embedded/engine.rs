//! The seam between the committer and the disk.
//!
//! What the committer needs of an engine is small, and stated here rather than taken from one
//! engine's API: a second engine stays possible, and tests can fail the n-th write or sync.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::lsm::ReopenableEngine;
pub use super::space::Room;
use crate::{EmbeddedOptions, Error, KeyRange, Result, Snapshot, StoreMemory, Write};

/// The merged writes of a group: each key once, with its last value or `None` for a delete.
// Invariant: one entry per key. The engine gives all of them one sequence number, so a key that
// came twice would have two values of the same age.
pub type Writes = BTreeMap<Bytes, Option<Bytes>>;

/// What a load tells the engine next.
#[derive(Debug)]
pub enum Feed {
    /// The next entries: puts in ascending order.
    Entries(Vec<Write>),
    /// That was all.
    Finish,
    /// It is not wanted any more.
    GiveUp,
}

/// An ordered engine with a log. Written by one committer thread, read by all; loads and discards
/// come from threads of their own.
pub trait Engine: Debug + Send + Sync + 'static {
    /// Writes all or nothing and hands it to the operating system; durable after [`Engine::sync`].
    ///
    /// After an error the engine may hold the writes or not, and is not written again.
    fn write(&self, writes: Writes) -> Result<()>;

    /// Makes everything written so far durable. After an error the engine is not written again.
    fn sync(&self) -> Result<()>;

    /// Writes down what the engine has, for the check at the next start. Called when nothing is to be done.
    fn note(&self) {}

    /// Returns a view of everything written so far.
    fn snapshot(&self) -> Arc<dyn Snapshot>;

    /// Whether the tables have changed since the last [`Engine::snapshot`], so that a new one would be read faster.
    fn has_new_tables(&self) -> bool {
        false
    }

    /// Returns a view like [`Engine::snapshot`], prepared for bulk scans of `range`.
    fn snapshot_for_bulk_scan(&self, _range: &KeyRange) -> Arc<dyn Snapshot> {
        self.snapshot()
    }

    /// Flushes what is in memory, as far as that makes bulk scans faster. Writes go on meanwhile.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Takes entries beside the log, as many as `next` gives, until it says how it ends. Durable
    /// and in every later snapshot when it returns; after an error or when it was given up, any
    /// part of it may be.
    fn ingest(&self, next: &mut dyn FnMut() -> Feed) -> Result<()>;

    /// Frees space of a range whose keys nobody uses; see [`Store::discard`](crate::Store::discard).
    fn discard(&self, range: &KeyRange) -> Result<()>;

    /// Prepares a fast next start: moves what only the log holds to its final place. No write
    /// follows; reads go on.
    fn settle(&self) -> Result<()>;

    /// Returns the bytes occupied on disk.
    fn disk_bytes(&self) -> u64;

    /// Returns the memory that is used.
    fn memory(&self) -> StoreMemory {
        StoreMemory::default()
    }

    /// Tells what the disk has room for.
    fn room(&self) -> Room {
        Room::Enough
    }

    /// Whether the engine can go on after it ran out of disk space or descriptors, or its threads ended.
    fn can_reopen(&self) -> bool {
        false
    }

    /// Opens the engine anew from its files, as a restart would. Who still has a snapshot of it is waited for. After an error
    /// it may be tried again; snapshots taken until then may answer with an error.
    fn reopen(&self) -> Result<()> {
        Err(Error::Unavailable("the engine cannot be opened anew".into()))
    }
}

/// Opens the default engine in `dir`, which it locks as long as the engine or one of its
/// snapshots lives.
pub fn open(dir: &Path, options: &EmbeddedOptions) -> Result<Arc<dyn Engine>> {
    Ok(Arc::new(ReopenableEngine::open(dir, options)?))
}
