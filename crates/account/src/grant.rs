//! What a resource token grants, once its seal and its lifetime have been checked.

use model::{PartitionKey, Rid};

/// The rights of a permission's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantMode {
    Read,
    All,
}

/// What a sealed token grants: one resource and everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The permission that the token was minted from.
    pub permission: Rid,
    /// As written in the permission: names (`dbs/d/colls/c`) or rids (`dbs/AQAAAA==/colls/…/`).
    pub resource: String,
    /// The number of the resource when the token was minted: another one that came to its name later is not granted.
    pub target: Option<u64>,
    pub mode: GrantMode,
    /// Restricts the grant to one logical partition.
    pub key: Option<PartitionKey>,
    pub expires_seconds: u64,
}
