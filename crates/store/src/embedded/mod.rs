//! The embedded store: one directory, one log-structured tree, one committer.
//!
//! ```text
//! commit() ─→ queue ─→ committer: conditions → one engine write → one sync → publish → answer all
//! snapshot() ─→ published snapshot
//! ingest() ─→ thread: tables → committer publishes → answer
//! ```
//!
//! The engine alone has no group commit: it syncs under its log lock. So one thread drains the
//! batches that wait and makes them one engine batch with one sync. It is also the only writer,
//! which is what makes conditions and commit order simple.
//!
//! Back pressure: order is fixed when `commit` is called, so a batch enters the queue at the call
//! and the caller waits in the [`Commit`](crate::Commit), which holds no thread. A batch in the
//! queue is memory its caller had to hold anyway. The queue is still bounded in count and bytes;
//! beyond the bound `commit` answers `Unavailable` at once. It never blocks and never reorders.

mod committer;
mod directory;
pub mod engine;
mod group;
mod ingest;
mod lsm;
mod open;
mod queue;
mod space;
mod store;

use std::time::Duration;

use model::Env;

pub(crate) use lsm::fuzz_log;
pub use open::{open_embedded, open_on};

/// Room for cached blocks that suits a laptop and a CI job. Taken as blocks are read, not at start.
pub const CACHE_BYTES_DEFAULT: u64 = 64 << 20;

/// When an acknowledged batch is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Before it is acknowledged.
    Fsync,
    /// At the latest this long after: the end of the process loses nothing, the end of the
    /// machine loses at most the interval.
    Relaxed {
        /// The longest time between a write and its sync.
        interval: Duration,
    },
}

/// Whether scans bypass the iterators of the engine, which halves what a short query or a copy costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DirectReads {
    /// They do, where the version of the snapshot is still there.
    #[default]
    On,
    /// Every scan is the engine's.
    Off,
    /// Both are made and compared, entry by entry: a scan that differs ends with [`Error::Corrupt`](crate::Error).
    Compared,
}

/// How to open an embedded store.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    /// When an acknowledged batch is on disk.
    pub durability: Durability,
    /// The most memory for cached blocks; see [`CACHE_BYTES_DEFAULT`].
    pub cache_bytes: u64,
    /// Whether scans bypass the iterators of the engine.
    pub direct_reads: DirectReads,
    /// Measures latencies and the interval of `Relaxed`.
    pub env: Env,
}
