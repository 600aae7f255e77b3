//! Changing the containers of a scheme while the application reads and writes.
//!
//! A [`Repartitioner`] first plans: what moves, from where to where, how much. A job then goes through the
//! [`Phase`]s. Each step can be repeated, and the job is saved after each, so a run that was killed anywhere
//! is continued by the next one.
//!
//! ```text
//! Planned    missing containers are made; a transition with ReadBoth is published; clients notice
//! Copying    each item that moves is created at its new place with a mark, which is removed after a look back
//!            at the source; what is there already wins
//! Verifying  every source is read again until nothing is missing, and marks that were left are looked at
//!            a transition with ReadNext is published; clients notice
//! Deleting   each moved item is deleted, after one more look at its copy; emptied containers are dropped
//! Done       the next scheme alone is published
//! ```
//!
//! Invariants: nothing is deleted before its copy is seen at its new place. The next scheme always has a
//! container, so the last container is never dropped. The application's own writes win over copies. A copy with a
//! mark does not count, so an item that the application deletes while it is copied stays deleted, even if the run is
//! killed before it looks back.
//!
//! What it relies on: all writers go through a [`PartitionedDatabase`](crate::PartitionedDatabase) with a
//! [`SharedPartitionResolver`](crate::SharedPartitionResolver) that looks at least once within
//! [`Options::grace`].

mod copy;
mod job;
mod plan;
mod run;

use std::sync::Arc;
use std::time::Duration;

pub use job::{Job, Phase, Progress};
pub use plan::{Move, Plan};

use crate::{
    ContainerHost, Error, ItemStore, KeySource, PartitionResolver, Registry, ResolverState, Result,
    Scheme, StateStore, load_state,
};

/// Why a repartitioning is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Another one is not finished; `run` continues it.
    #[error("another repartitioning is not finished")]
    Unfinished,
    /// The store holds no scheme to change.
    #[error("the store holds no scheme")]
    NoState,
    /// There is nothing to continue.
    #[error("no repartitioning was begun")]
    NotBegun,
    /// Items would have no container in the next scheme.
    #[error("{0} items have no container in the next scheme")]
    Homeless(u64),
    /// The next scheme names a container that does not exist, and nobody can make it.
    #[error("container {0} does not exist, and the next scheme has no template to make it")]
    ContainerMissing(String),
    /// The published state is neither the one before nor one of this job.
    #[error("the published state was changed by somebody else")]
    StateChanged,
    /// The scheme cannot be moved: its containers do not follow from keys.
    #[error("a spillover scheme places items by time, not by key")]
    Spillover,
    /// Copies and sources still differed after many passes.
    #[error("sources kept changing: writers do not follow the published state")]
    Unsettled,
}

/// How a repartitioning is done.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long to wait after publishing a change, until every client has noticed it.
    pub grace: Duration,
    /// Items read at once.
    pub page_items: u32,
    /// Where the partition key of the service stands, if it is not the key of the resolver.
    pub partition: Option<KeySource>,
}

impl Default for Options {
    fn default() -> Options {
        Options { grace: Duration::from_secs(60), page_items: 100, partition: None }
    }
}

/// Moves items when the containers of a scheme change.
#[derive(Debug)]
pub struct Repartitioner {
    items: Arc<dyn ItemStore>,
    host: Arc<dyn ContainerHost>,
    states: Arc<dyn StateStore>,
    jobs: Arc<dyn StateStore>,
    registry: Registry,
    options: Options,
}

impl Repartitioner {
    /// Works on the items and containers of one database, and on the scheme that `states` holds.
    ///
    /// `jobs` holds how far a change is. It is guarded like the state: of two managers that run one job, the
    /// slower one stops with [`Error::StateChanged`].
    pub fn new(
        items: Arc<dyn ItemStore>,
        host: Arc<dyn ContainerHost>,
        states: Arc<dyn StateStore>,
        jobs: Arc<dyn StateStore>,
        registry: Registry,
        options: Options,
    ) -> Repartitioner {
        Repartitioner { items, host, states, jobs, registry, options }
    }

    /// Returns the next state of a managed ring with one container more, or one less.
    pub async fn resized(&self, by: i64) -> Result<ResolverState> {
        let (state, _) = load_state(&*self.states).await?.ok_or(Refusal::NoState)?;
        let ResolverState::Managed(managed) = state else {
            return Err(Error::StateInvalid(
                "only a managed ring can be resized by number".to_owned(),
            ));
        };
        let count = i64::try_from(managed.hash.containers.len()).unwrap_or(i64::MAX);
        let count = u64::try_from(count.saturating_add(by)).unwrap_or(0);
        let resolver = crate::ManagedPartitionResolver::restore(
            managed.hash.build(&self.registry)?,
            managed.naming,
            managed.template,
        );
        Ok(resolver.with_count(count)?.state())
    }

    fn scheme(&self, state: &ResolverState) -> Result<Scheme> {
        if matches!(state, ResolverState::Spillover(_)) {
            return Err(Refusal::Spillover.into());
        }
        let resolver: Arc<dyn PartitionResolver> = state.build(&self.registry)?;
        let scheme = Scheme::new(resolver);
        Ok(match &self.options.partition {
            Some(source) => scheme.partition(source.clone()),
            None => scheme,
        })
    }
}
