//! Resolvers: which container an item belongs to.
//!
//! A resolver is consulted on every call, so its answers come from memory; what needs the network happens in
//! [`PartitionResolver::prepare`], which most resolvers do not have.

mod chained;
mod composite;
mod hash;
mod lookup;
mod managed;
mod range;
mod shared;
mod spillover;
mod transition;

use std::fmt::Debug;
use std::sync::Arc;

use serde_json::Value;

pub use chained::ChainedPartitionResolver;
pub use composite::CompositePartitionResolver;
pub use hash::{HashPartitionResolver, HashPartitionResolverBuilder};
pub use lookup::LookupPartitionResolver;
pub use managed::ManagedPartitionResolver;
pub use range::RangePartitionResolver;
pub use shared::SharedPartitionResolver;
pub use spillover::{SpilloverOptions, SpilloverPartitionResolver};
pub use transition::{ReadMode, TransitionPartitionResolver};

use crate::{BoxFuture, ContainerLink, Key, Range, ResolverState, Result};

/// What a read is about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReadScope {
    /// One key.
    Key(Key),
    /// All keys of a range.
    Range(Range<Key>),
    /// Any of several scopes.
    Several(Vec<ReadScope>),
    /// Everything.
    All,
}

impl ReadScope {
    /// The scope of one key.
    pub fn key(key: impl Into<Key>) -> ReadScope {
        ReadScope::Key(key.into())
    }

    /// The scope of several keys.
    pub fn keys<K: Into<Key>>(keys: impl IntoIterator<Item = K>) -> ReadScope {
        ReadScope::Several(keys.into_iter().map(ReadScope::key).collect())
    }
}

impl From<Range<Key>> for ReadScope {
    fn from(range: Range<Key>) -> ReadScope {
        ReadScope::Range(range)
    }
}

/// Where the one item with a given key and id can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Where it is created, and looked for first.
    pub owner: ContainerLink,
    /// Where else it can be, in the order to look.
    pub others: Vec<ContainerLink>,
    /// Whether the others are being emptied into the owner: a write then moves the item to the owner.
    pub is_moving: bool,
}

/// What a query does with a row that was found in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowRule {
    /// Shows it.
    Keep,
    /// Leaves it out: it is the remainder of a move.
    Drop,
    /// Its item may be in several containers: it is shown once, where the first source has it.
    Moving {
        /// Where it moves from, in the order to look.
        sources: Vec<ContainerLink>,
        /// Where it moves to; what is here counts.
        owner: ContainerLink,
    },
}

/// Maps items and keys to containers.
pub trait PartitionResolver: Debug + Send + Sync {
    /// Returns the key of an item.
    fn key_of(&self, item: &Value) -> Result<Key>;

    /// Returns the container in which an item with this key is created.
    fn container_for_create(&self, key: &Key) -> Result<ContainerLink>;

    /// Returns the containers to read, without repetition, in the order to read them.
    fn containers_for_read(&self, scope: &ReadScope) -> Result<Vec<ContainerLink>>;

    /// Returns what can be saved as JSON and made a resolver again.
    fn state(&self) -> ResolverState;

    /// Returns where an item with this key can be.
    fn placement(&self, key: &Key) -> Result<Placement> {
        let owner = self.container_for_create(key)?;
        Ok(Placement { owner, others: Vec::new(), is_moving: false })
    }

    /// Returns what to do with a row of `key` that was found in `container`.
    fn row_rule(&self, container: &ContainerLink, key: &Key) -> Result<RowRule> {
        let _ = (container, key);
        Ok(RowRule::Keep)
    }

    /// Returns the resolver of this moment, if this one changes by itself: a query keeps to one from its beginning
    /// to its end.
    fn pinned(&self) -> Option<Arc<dyn PartitionResolver>> {
        None
    }

    /// Returns work to be done before the next answer: a check for room, a look at shared state.
    ///
    /// `None`, the usual answer, costs nothing.
    fn prepare(&self) -> Option<BoxFuture<'_, Result<()>>> {
        None
    }
}

/// Reads `scope` one simple scope after the other and joins the answers.
fn union(
    scopes: &[ReadScope],
    mut read: impl FnMut(&ReadScope) -> Result<Vec<ContainerLink>>,
) -> Result<Vec<ContainerLink>> {
    let mut all = Vec::new();
    for scope in scopes {
        for link in read(scope)? {
            crate::link::push_unique(&mut all, &link);
        }
    }
    Ok(all)
}
