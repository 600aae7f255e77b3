//! The state of resolvers as versioned JSON.
//!
//! Invariant: a state that was written by this version or an older one gives the same containers again.

mod container;
mod file;
mod registry;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use container::ContainerStateStore;
pub use file::FileStateStore;
pub use registry::Registry;

use crate::{
    BoxFuture, ChainedPartitionResolver, CompositePartitionResolver, ContainerLink,
    ContainerTemplate, Error, HashPartitionResolver, Key, KeySource, LookupPartitionResolver,
    ManagedPartitionResolver, Naming, PartitionResolver, Range, RangePartitionResolver, ReadMode,
    Result, RingRule, SpilloverOptions, SpilloverPartitionResolver, TransitionPartitionResolver,
};

/// The version that this crate writes.
const VERSION: u64 = 1;

// Limit: chains of resolvers are written by people; what is deeper is a mistake or an attack.
const DEPTH_MAX: usize = 32;

/// Everything a resolver knows, in a form that can be saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "resolver", rename_all = "camelCase")]
#[non_exhaustive]
pub enum ResolverState {
    /// [`HashPartitionResolver`].
    Hash(HashState),
    /// [`RangePartitionResolver`].
    Range {
        /// Where keys come from.
        key: KeySource,
        /// The map, in the order of reads.
        ranges: Vec<RangeEntry>,
    },
    /// [`LookupPartitionResolver`].
    Lookup {
        /// Where keys come from.
        key: KeySource,
        /// The table, in the order of reads.
        entries: Vec<(Key, ContainerLink)>,
        /// The container of all other keys.
        otherwise: Option<ContainerLink>,
    },
    /// [`ManagedPartitionResolver`].
    Managed(ManagedState),
    /// [`SpilloverPartitionResolver`].
    Spillover(SpilloverState),
    /// [`TransitionPartitionResolver`].
    Transition {
        /// The scheme that items move away from.
        current: Box<ResolverState>,
        /// The scheme that items move to.
        next: Box<ResolverState>,
        /// Which of them is read.
        mode: ReadMode,
    },
    /// [`ChainedPartitionResolver`].
    Chained {
        /// In the order of questions.
        resolvers: Vec<ResolverState>,
    },
    /// [`CompositePartitionResolver`].
    Composite {
        /// Where keys come from.
        key: KeySource,
        /// Chooses the branch.
        outer: Box<ResolverState>,
        /// The branches by name.
        branches: BTreeMap<String, ResolverState>,
    },
}

/// The state of a hash ring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HashState {
    /// Where keys come from.
    pub key: KeySource,
    /// The containers; their order matters to the compatible rings.
    pub containers: Vec<ContainerLink>,
    /// Points of each container.
    pub virtual_nodes: usize,
    /// The name of the hash.
    pub hash: String,
    /// The rule of the ring.
    pub rule: RingRule,
}

/// One range and its container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RangeEntry {
    /// The range.
    pub range: Range<Key>,
    /// Its container.
    pub container: ContainerLink,
}

/// The state of a managed resolver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManagedState {
    /// The ring.
    pub hash: HashState,
    /// The names of the containers.
    pub naming: Naming,
    /// What new containers look like.
    pub template: ContainerTemplate,
}

/// The state of a spillover resolver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpilloverState {
    /// When and how containers are made.
    pub options: SpilloverOptions,
    /// The numbers of the containers there are.
    pub numbers: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    version: u64,
    #[serde(flatten)]
    state: serde_json::Value,
}

impl ResolverState {
    /// Writes the state with its version.
    pub fn to_value(&self) -> Result<Value> {
        let state = serde_json::to_value(self).map_err(invalid)?;
        serde_json::to_value(Envelope { version: VERSION, state }).map_err(invalid)
    }

    /// Writes the state with its version as text.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(&self.to_value()?).map_err(invalid)
    }

    /// Reads a state; one of a newer version is refused.
    pub fn from_value(document: Value) -> Result<ResolverState> {
        let envelope: Envelope = serde_json::from_value(document).map_err(invalid)?;
        if envelope.version == 0 || envelope.version > VERSION {
            return Err(Error::StateVersion { found: envelope.version, supported: VERSION });
        }
        serde_json::from_value(envelope.state).map_err(invalid)
    }

    /// Reads a state from text; one of a newer version is refused.
    pub fn from_json(text: &str) -> Result<ResolverState> {
        ResolverState::from_value(serde_json::from_str(text).map_err(invalid)?)
    }

    /// Returns what tells the places of items under this scheme from those under another.
    ///
    /// A move changes it at one moment, when the next scheme begins to be read. A spillover scheme keeps it, for items
    /// stay where they are when a container is added.
    pub(crate) fn view(&self) -> Result<String> {
        let text = serde_json::to_string(&self.viewed()).map_err(invalid)?;
        Ok(format!("{:016x}", xxhash_rust::xxh64::xxh64(text.as_bytes(), 0)))
    }

    fn viewed(&self) -> ResolverState {
        let all = |states: &[ResolverState]| states.iter().map(ResolverState::viewed).collect();
        match self {
            ResolverState::Transition {
                current,
                mode: ReadMode::ReadBoth | ReadMode::ReadCurrent,
                ..
            } => current.viewed(),
            ResolverState::Transition { next, .. } => next.viewed(),
            ResolverState::Managed(it) => ResolverState::Hash(it.hash.clone()),
            ResolverState::Spillover(it) => ResolverState::Spillover(SpilloverState {
                options: it.options.clone(),
                numbers: Vec::new(),
            }),
            ResolverState::Chained { resolvers } => {
                ResolverState::Chained { resolvers: all(resolvers) }
            }
            ResolverState::Composite { key, outer, branches } => ResolverState::Composite {
                key: key.clone(),
                outer: Box::new(outer.viewed()),
                branches: branches.iter().map(|(name, it)| (name.clone(), it.viewed())).collect(),
            },
            ResolverState::Hash(_) | ResolverState::Range { .. } | ResolverState::Lookup { .. } => {
                self.clone()
            }
        }
    }

    /// Makes the resolver. Closures, own hashes and container hosts come from the registry.
    pub fn build(&self, registry: &Registry) -> Result<Arc<dyn PartitionResolver>> {
        self.build_at(registry, 0)
    }

    fn build_at(&self, registry: &Registry, depth: usize) -> Result<Arc<dyn PartitionResolver>> {
        if depth > DEPTH_MAX {
            return Err(Error::TooDeep { depth_max: DEPTH_MAX });
        }
        let inner = |state: &ResolverState| state.build_at(registry, depth + 1);
        Ok(match self {
            ResolverState::Hash(state) => Arc::new(state.build(registry)?),
            ResolverState::Range { key, ranges } => {
                let entries = ranges.iter().map(|it| (it.range.clone(), it.container.clone()));
                Arc::new(RangePartitionResolver::new(registry.bind(key)?, entries)?)
            }
            ResolverState::Lookup { key, entries, otherwise } => {
                let lookup =
                    LookupPartitionResolver::new(registry.bind(key)?, entries.iter().cloned())?;
                Arc::new(match otherwise {
                    Some(link) => lookup.otherwise(link.clone()),
                    None => lookup,
                })
            }
            ResolverState::Managed(state) => Arc::new(ManagedPartitionResolver::restore(
                state.hash.build(registry)?,
                state.naming.clone(),
                state.template.clone(),
            )),
            ResolverState::Spillover(state) => Arc::new(SpilloverPartitionResolver::restore(
                registry.host()?,
                state.options.clone(),
                state.numbers.clone(),
                registry.env().clone(),
            )),
            ResolverState::Transition { current, next, mode } => {
                Arc::new(TransitionPartitionResolver::new(inner(current)?, inner(next)?, *mode))
            }
            ResolverState::Chained { resolvers } => {
                let resolvers = resolvers.iter().map(inner).collect::<Result<Vec<_>>>()?;
                Arc::new(ChainedPartitionResolver::new(resolvers)?)
            }
            ResolverState::Composite { key, outer, branches } => {
                let branches = branches.iter().map(|(name, it)| Ok((name.clone(), inner(it)?)));
                let branches = branches.collect::<Result<Vec<_>>>()?;
                let source = registry.bind(key)?;
                Arc::new(CompositePartitionResolver::new(source, inner(outer)?, branches)?)
            }
        })
    }
}

impl HashState {
    pub(crate) fn build(&self, registry: &Registry) -> Result<HashPartitionResolver> {
        HashPartitionResolver::builder(registry.bind(&self.key)?)
            .containers(self.containers.iter().cloned())
            .virtual_nodes(self.virtual_nodes)
            .shared_hash(registry.hash(&self.hash)?)
            .rule(self.rule)
            .build()
    }
}

/// What tells one version of a stored document from another: an etag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateVersion(pub String);

/// A place for one JSON document that several processes share: the state of a resolver, or a job.
pub trait StateStore: Debug + Send + Sync {
    /// Returns the document and its version, `None` if nothing was saved yet.
    fn load(&self) -> BoxFuture<'_, Result<Option<(Value, StateVersion)>>>;

    /// Replaces the document if its version is still `expected` (`None`: if there is none yet).
    ///
    /// # Errors
    /// [`Error::StateChanged`] if somebody else was faster.
    fn save<'a>(
        &'a self,
        document: &'a Value,
        expected: Option<&'a StateVersion>,
    ) -> BoxFuture<'a, Result<StateVersion>>;
}

/// Loads the state of a resolver.
pub async fn load_state(store: &dyn StateStore) -> Result<Option<(ResolverState, StateVersion)>> {
    let Some((document, version)) = store.load().await? else { return Ok(None) };
    Ok(Some((ResolverState::from_value(document)?, version)))
}

/// Saves the state of a resolver if the version in the store is still `expected`.
pub async fn save_state(
    store: &dyn StateStore,
    state: &ResolverState,
    expected: Option<&StateVersion>,
) -> Result<StateVersion> {
    store.save(&state.to_value()?, expected).await
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
pub(crate) fn invalid(error: serde_json::Error) -> Error {
    Error::StateInvalid(error.to_string())
}
