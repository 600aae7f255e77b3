//! Client-side partitioning over several containers, and synthetic partition keys.
//!
//! A [`PartitionResolver`] says which container of a database an item belongs to: by hash, by range, by
//! lookup, by what still has room, or by a combination of these. A [`PartitionedDatabase`] is the door: it
//! creates, reads, replaces, deletes and queries items through a resolver. [`repartition`] moves items when
//! containers come or go, while the application runs. [`rekey`] copies a container into one with another
//! partition key. [`Concat`], [`RandomSuffix`] and [`HashedSuffix`] write
//! a synthetic partition key into items and plan the reads that belong to it.
//!
//! Everything but the modules `sdk` and `rest` is free of network code: it reaches items through [`ItemStore`],
//! containers through [`ContainerHost`] and changes through [`ChangeFeed`]. The feature `sdk` implements them on
//! the official Rust SDK, the feature `rest` on signed requests of our own.
//!
//! Invariants: the same state and the same key give the same container on every platform and in every
//! version; an item is never deleted from one container before its copy in another is verified.
//!
//! ```
//! use orrery_client::{HashPartitionResolver, Key, KeySource, PartitionResolver};
//! # fn main() -> Result<(), orrery_client::Error> {
//! let resolver = HashPartitionResolver::builder(KeySource::path("/user/id")?)
//!     .containers(["users-0", "users-1", "users-2"])
//!     .build()?;
//! let item = serde_json::json!({"id": "1", "user": {"id": "anna"}});
//! let container = resolver.container_for_create(&resolver.key_of(&item)?)?;
//! assert_eq!(container, resolver.container_for_create(&Key::from("anna"))?);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod changes;
mod database;
pub mod distribution;
#[cfg(all(doctest, feature = "rest", feature = "derive"))]
mod docs;
mod error;
mod host;
mod items;
mod join;
mod key;
mod link;
mod range;
mod range_map;
pub mod rekey;
pub mod repartition;
mod resolver;
#[cfg(feature = "rest")]
pub mod rest;
mod ring;
#[cfg(feature = "sdk")]
pub mod sdk;
mod state;
mod synthetic;

pub use changes::{ChangeFeed, ChangePage};
#[cfg(feature = "derive")]
pub use client_derive::Partitioned;
pub use database::{
    Address, Continuation, PartitionedDatabase, QueryPage, QueryRun, Scheme, Schemes,
};
pub use error::{Error, Result};
pub use host::{
    ContainerHost, ContainerTemplate, Creation, Fill, Naming, Retry, Script, ScriptKind,
};
pub use items::{ItemPage, ItemStore, PageRequest, Statement, Stored};
pub use key::{JsonPath, Key, KeySource, Named, Number};
pub use link::ContainerLink;
pub use model::Env;
pub use range::Range;
pub use range_map::RangeMap;
pub use resolver::{
    ChainedPartitionResolver, CompositePartitionResolver, HashPartitionResolver,
    HashPartitionResolverBuilder, LookupPartitionResolver, ManagedPartitionResolver,
    PartitionResolver, Placement, RangePartitionResolver, ReadMode, ReadScope, RowRule,
    SharedPartitionResolver, SpilloverOptions, SpilloverPartitionResolver,
    TransitionPartitionResolver,
};
pub use ring::{HashGenerator, Md5, Murmur3, Ring, RingRule, XxHash};
pub use state::{
    ContainerStateStore, FileStateStore, HashState, ManagedState, RangeEntry, Registry,
    ResolverState, SpilloverState, StateStore, StateVersion, load_state, save_state,
};
pub use synthetic::{
    Backfill, Concat, HashedSuffix, Partitioned, RandomSuffix, ReadPlan, SyntheticKey, backfill,
};

/// A boxed future: what the traits of this crate return, so that they can be used as trait objects.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
