//! The nouns of Orrery: ids, resource ids, partition keys and their place in the hash space,
//! JSON values and items, session tokens, charges, statuses, and the injected world (`Env`).
//!
//! Every other crate speaks in these types. The doors are [`json::parse`] and [`ItemBody::parse`]
//! (bytes → values), [`PartitionKeyDefinition`] (item → key → [`Epk`] → range) and [`Failure`]
//! (error → [`Status`]).
//!
//! Invariants:
//! - A value of a type here is well formed: constructors parse, nobody validates later.
//! - Nothing here does I/O, waits, spawns or reads a clock, except [`Env`], which is that seam.
//! - Bytes from outside never panic, recurse without bound or allocate more than a small multiple
//!   of their own length.
//!
//! Deliberately absent: HTTP, storage keys, queries, and anything that knows about accounts.

#![warn(missing_docs)]

pub mod charge;
pub mod env;
pub mod etag;
mod fnv;
pub mod id;
pub mod json;
pub mod lsn;
pub mod partition_key;
pub mod path;
pub mod range_id;
pub mod rid;
pub mod session;
pub mod status;

pub use charge::Charge;
pub use env::Env;
pub use etag::ETag;
pub use fnv::fnv1a;
pub use id::{IdError, check_item_id, check_resource_id};
pub use json::{
    DEPTH_MAX, ITEM_BYTES_MAX, ItemBody, ItemError, JsonError, Number, Object, Value, order,
    with_attachment_properties, with_system_properties, without_links,
};
pub use lsn::Lsn;
pub use partition_key::{
    Component, Epk, EpkError, EpkRange, PartitionKey, PartitionKeyDefinition, PartitionKeyError,
    PartitionKeyKind,
};
pub use path::{PathError, PropertyPath};
pub use range_id::RangeId;
pub use rid::{ChildKind, Rid, RidKind};
pub use session::{SessionEntry, SessionToken, SessionTokenError};
pub use status::{Failure, Status};
