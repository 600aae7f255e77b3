//! A resolver that several processes share: its state lives in a store, and a change is picked up.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde_json::Value;

use super::{PartitionResolver, Placement, ReadScope, RowRule};
use crate::{
    BoxFuture, ContainerLink, Env, Error, Key, Registry, ResolverState, Result, StateStore,
    StateVersion, load_state, save_state,
};

/// Follows the state in a store. It looks again when `interval` has passed since the last look.
///
/// A repartitioning must wait longer than this interval between publishing a change and relying on it.
#[derive(Debug)]
pub struct SharedPartitionResolver {
    store: Arc<dyn StateStore>,
    registry: Registry,
    interval: Duration,
    env: Env,
    live: RwLock<Live>,
}

#[derive(Debug)]
struct Live {
    resolver: Arc<dyn PartitionResolver>,
    version: StateVersion,
    looked_at: Duration,
}

impl SharedPartitionResolver {
    /// Opens the state in a store; saves `first` there if the store is empty.
    pub async fn open(
        store: Arc<dyn StateStore>,
        first: Option<ResolverState>,
        registry: Registry,
        interval: Duration,
        env: Env,
    ) -> Result<SharedPartitionResolver> {
        let (state, version) = match (load_state(&*store).await?, first) {
            (Some(found), _) => found,
            (None, Some(first)) => match save_state(&*store, &first, None).await {
                Ok(version) => (first, version),
                // Another process was faster; its state counts.
                Err(Error::StateChanged) => {
                    load_state(&*store).await?.ok_or(Error::StateChanged)?
                }
                Err(error) => return Err(error),
            },
            (None, None) => return Err(Error::StateInvalid("the store is empty".to_owned())),
        };
        let resolver = state.build(&registry)?;
        let live = RwLock::new(Live { resolver, version, looked_at: env.monotonic() });
        Ok(SharedPartitionResolver { store, registry, interval, env, live })
    }

    /// Looks now. Returns whether there was a change.
    pub async fn refresh(&self) -> Result<bool> {
        let (state, version) = load_state(&*self.store).await?.ok_or(Error::StateChanged)?;
        let now = self.env.monotonic();
        if self.live.read().version == version {
            self.live.write().looked_at = now;
            return Ok(false);
        }
        let resolver = state.build(&self.registry)?;
        *self.live.write() = Live { resolver, version, looked_at: now };
        Ok(true)
    }

    /// Replaces the state for everybody; fails if somebody else has changed it since the last look.
    pub async fn publish(&self, state: &ResolverState) -> Result<()> {
        let resolver = state.build(&self.registry)?;
        let expected = self.live.read().version.clone();
        let version = save_state(&*self.store, state, Some(&expected)).await?;
        *self.live.write() = Live { resolver, version, looked_at: self.env.monotonic() };
        Ok(())
    }

    /// Returns the resolver of the moment.
    pub fn current(&self) -> Arc<dyn PartitionResolver> {
        self.live.read().resolver.clone()
    }
}

impl PartitionResolver for SharedPartitionResolver {
    fn key_of(&self, item: &Value) -> Result<Key> {
        self.current().key_of(item)
    }

    fn container_for_create(&self, key: &Key) -> Result<ContainerLink> {
        self.current().container_for_create(key)
    }

    fn containers_for_read(&self, scope: &ReadScope) -> Result<Vec<ContainerLink>> {
        self.current().containers_for_read(scope)
    }

    fn placement(&self, key: &Key) -> Result<Placement> {
        self.current().placement(key)
    }

    fn row_rule(&self, container: &ContainerLink, key: &Key) -> Result<RowRule> {
        self.current().row_rule(container, key)
    }

    fn pinned(&self) -> Option<Arc<dyn PartitionResolver>> {
        let current = self.current();
        current.pinned().or(Some(current))
    }

    fn prepare(&self) -> Option<BoxFuture<'_, Result<()>>> {
        let is_due =
            self.env.monotonic().saturating_sub(self.live.read().looked_at) >= self.interval;
        let inner = self.current();
        if !is_due && inner.prepare().is_none() {
            return None;
        }
        Some(Box::pin(async move {
            if is_due {
                self.refresh().await?;
            }
            match self.current().prepare() {
                Some(work) => work.await,
                None => Ok(()),
            }
        }))
    }

    fn state(&self) -> ResolverState {
        self.current().state()
    }
}
