//! What a partition must know of its container, and the parts of it that a caller can name.

use std::sync::Arc;
use std::time::Duration;

use model::{Epk, EpkRange, PartitionKey, PartitionKeyDefinition, PropertyPath, Rid};
use query::index::IndexPolicy;

use crate::IndexingDirective;

// Limit: 20 GB of items per logical partition, as on the service (403, sub-status 1014).
pub const LOGICAL_BYTES_MAX: u64 = 20 << 30;

/// The settings of a container as its partitions use them; swapped whole when the container is replaced.
#[derive(Debug, Clone)]
pub struct Settings {
    pub container: Rid,
    /// `dbs/<rid>/colls/<rid>/`, the start of every `_self`.
    pub container_link: Arc<str>,
    pub definition: PartitionKeyDefinition,
    /// Each unique key is a list of paths. Never changes in the life of a container.
    pub unique_keys: Vec<Vec<PropertyPath>>,
    /// `None`: nothing expires. `-1`: only items with a `ttl` of their own. Otherwise seconds.
    pub default_ttl: Option<i32>,
    /// Where an item says from when its time counts, in seconds of the epoch; else from its last write.
    pub ttl_path: Option<Arc<PropertyPath>>,
    /// How long the all-versions feed keeps entries; `None` writes none.
    pub version_retention: Option<Duration>,
    pub logical_bytes_max: u64,
    /// Whether writes pay for index terms.
    pub is_indexed: bool,
    /// Whether queries find items whose writer did not say.
    pub is_automatic: bool,
    /// Which paths are indexed. A new policy is reached by `Partition::rebuild_index`.
    pub index_policy: IndexPolicy,
}

impl Settings {
    /// Says whether an item that is written so is kept from queries.
    pub(crate) fn hides(&self, indexing: IndexingDirective) -> bool {
        self.is_indexed
            && match indexing {
                IndexingDirective::Default => !self.is_automatic,
                IndexingDirective::Include => false,
                IndexingDirective::Exclude => true,
            }
    }
}

/// One logical partition. `epk` must be the effective partition key of `key`.
#[derive(Debug, Clone)]
pub struct Logical {
    pub key: PartitionKey,
    pub epk: Epk,
}

impl Logical {
    /// Returns the logical partition of `key`.
    pub fn new(definition: &PartitionKeyDefinition, key: PartitionKey) -> Logical {
        let epk = definition.epk(&key);
        Logical { key, epk }
    }
}

/// The items that a scan or a feed covers.
#[derive(Debug, Clone)]
pub enum Scope {
    /// Every item of the partition.
    All,
    /// The items whose effective partition key lies in the range.
    Epks(EpkRange),
    /// The items of one logical partition.
    Logical(Logical),
}
