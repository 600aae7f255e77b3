//! Replicated logs ("journals") that the servers of a cluster share, and who may append to which.
//!
//! A journal is one physical partition, or the catalog: numbered entries, and now and then a base, which is the whole state
//! as of one number. The doors are three traits of one engine: [`Journal`] (entries), [`Bases`] and [`Sessions`];
//! [`Engine`] is all three.
//! [`postgres`] is the engine of servers, [`memory`] one for tests and simulation that
//! fails on demand. [`lease`] says who may answer from memory.
//!
//! Invariants, for every engine:
//! - Fencing by epoch: an entry is appended only under the epoch that its journal has at that moment, and only behind the
//!   entry that it names. So there are no gaps, and entries never change.
//! - Only an acknowledged commit proves anything: what a read shows may still vanish in a failover of the engine.
//! - An open that is acknowledged has seen every append that was or will ever be acknowledged under earlier epochs.
//! - A base is there whole or not at all, and trimming keeps what any of the two newest confirmed bases needs.
//!
//! Deliberately absent: what entries mean (the replicated store), clocks of the engine, locks held between calls.
#![warn(missing_docs)]

mod base;
mod contract;
mod entry;
mod error;
mod ids;
pub mod lease;
mod member;
pub mod memory;
pub mod postgres;
mod primary;

pub use base::{Base, BaseDigest, CHUNK_BYTES_MAX};
pub use contract::{Answer, Bases, Engine, Journal, Sessions, ready};
pub use entry::{
    Append, ENTRY_BYTES_MAX, Entry, FORMAT, JournalRow, Last, Open, Opened, Outcome, ProvenLook,
    ReadEntries,
};
pub use error::{Error, Result};
pub use ids::{BaseId, Chain, Epoch, JournalId, Position, SessionId};
pub use member::{Beat, ClusterFacts, Member, NewMember, Registered};
pub use primary::{Primary, Settled};
