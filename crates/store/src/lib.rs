//! Ordered transactional bytes: the floor that physical partitions stand on.
//!
//! The door is [`Store`]: a [`Snapshot`] to read, a [`Batch`] to commit, a [`Commit`] to wait for.
//! Two stores live here: [`open_memory`] and [`open_embedded`]. They pass one contract suite
//! (`tests/contract.rs`), so the layers above cannot tell them apart.
//!
//! Invariants, for every store:
//! - Commit order is call order. A batch becomes visible and durable whole or not at all.
//! - A snapshot holds everything acknowledged before it was taken and never changes.
//! - Nothing is visible before it is as durable as the store promises.
//! - A batch whose conditions do not hold at its turn changes nothing and answers
//!   [`Error::Conflict`].
//! - What is loaded ([`Store::ingest`]) is exempt from this until its load has finished.
//! - After a failed write or sync a store is poisoned: it serves reads and refuses every commit.
//!
//! Deliberately absent: any meaning of keys and values (`partition` builds them), HTTP, async reads
//! (see `docs/decisions/0001-async-boundary.md`), exact range deletes and replication.
#![warn(missing_docs)]

mod background;
mod batch;
mod bulk_scan;
mod commit;
mod contract;
mod embedded;
mod error;
pub mod fuzz;
mod ingest;
mod key_range;
mod latency;
mod memory;
mod statistics;

pub use background::{lower_priority, yield_if_due};
pub use batch::{BATCH_BYTES_MAX, Batch, Condition, KEY_BYTES_MAX, Write};
pub use bulk_scan::BulkScan;
pub use commit::{Acknowledge, Commit};
pub use contract::{KeyValue, Scan, Snapshot, Store};
pub use embedded::{
    CACHE_BYTES_DEFAULT, DirectReads, Durability, EmbeddedOptions, engine, open_embedded, open_on,
};
pub use error::{Error, Result};
pub use ingest::{Ingest, ingest_by_commits};
pub use key_range::{Direction, KeyRange};
pub use latency::Latencies;
pub use memory::open_memory;
pub use statistics::{StoreMemory, StoreStatistics};
