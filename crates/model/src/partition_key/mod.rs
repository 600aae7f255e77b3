//! Partition keys: their definition, their values, and their place in the hash space.
//!
//! item → [`PartitionKeyDefinition::extract`] → [`PartitionKey`] → [`PartitionKeyDefinition::epk`]
//! → [`Epk`] → the [`EpkRange`] that contains it.
//!
//! Clients hash for themselves, so every byte here is fixed by them; `tests/epk_vectors.rs` checks
//! against values that other implementations and the service have given.

mod boundaries;
mod definition;
mod encoding;
mod epk;
mod error;
pub mod hash;
mod key;
mod range;

pub use boundaries::RANGES_MAX;
pub use definition::{PATHS_MAX, PartitionKeyDefinition, PartitionKeyKind};
pub use epk::{Epk, EpkError};
pub use error::PartitionKeyError;
pub use key::{Component, KEY_BYTES_MAX, PartitionKey};
pub use range::EpkRange;
