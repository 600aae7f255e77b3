//! ONE physical partition over a store: items, change feed, expiry, unique keys, charges, transactions.
//!
//! The door is [`Partition::apply`] (and [`Partition::apply_batch`]); reads go through
//! [`Partition::read`], [`Partition::page`], [`Partition::changes`], [`Partition::versions`] and
//! [`Partition::source`].
//!
//! Invariants, checked by [`Partition::check_consistency`]:
//! - Everything a write changes (item, key, member, feed entry, expiry, unique keys, counters, head) is one
//!   store batch with one LSN. LSN order is commit order is visibility order.
//! - A commit depends on the exact head it was built on. A writer that lost the partition, or built on a
//!   commit that failed, therefore writes nothing.
//! - Readers see acknowledged state only. Writers also see what is submitted and not yet acknowledged; if such
//!   state makes a write fail, the failure is answered only after that state is durable.
//! - An expired item, or one whose logical partition was deleted, is dead at once for every reader and writer,
//!   whenever its bytes are removed.
//! - `keys.rs` is the only code that builds or splits store keys; `docs/storage-format.md` describes them.
//!
//! Deliberately absent: which partition owns a key, sessions, throttling (account) and HTTP (gateway).

mod apply;
mod attachments;
mod call;
pub mod charge;
mod consistency;
mod destroy;
mod error;
mod expiry;
mod feed;
mod index;
mod keys;
mod near_full;
mod partition;
mod patch;
mod purge;
mod reader;
mod record;
pub mod relocate;
mod scan;
mod scripted;
mod settings;
mod source;
mod statistics;
mod transaction;
mod writer;

pub use attachments::{
    ATTACHMENTS_MAX, AttachmentBody, AttachmentCall, AttachmentContent, AttachmentOp,
    AttachmentPage, AttachmentSource, FoundAttachment, FoundMedia, MEDIA_BYTES_MAX, Media,
    MediaFacts,
};
pub use call::{
    Applied, BatchApplied, ChangePage, IndexingDirective, ItemCall, ItemOp, ItemOutcome, ItemPage,
    PageLimits,
};
pub use consistency::Report;
pub use error::{Error, Result};
pub use index::IndexedPath;
pub use partition::{Partition, Watch};
pub use patch::{PATCH_OPERATIONS_MAX, Patch};
pub use scripted::{
    Executed, ExecutionFailed, OnDemand, Procedure, Surroundings, Triggered, TriggeredCall,
};
pub use settings::{LOGICAL_BYTES_MAX, Logical, Scope, Settings};
pub use source::PartitionSource;
pub use statistics::{LogicalStatistics, Statistics, Usage};
pub use transaction::BATCH_OPERATIONS_MAX;

/// The script engine, for those who hand scripts to a partition: layers above do not name it.
pub mod scripts {
    pub use script::{Error, Limits, Operation, Runtime, Script, call_udf};
}
