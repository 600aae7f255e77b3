//! The spillover resolver: no scheme; a new container is made when the last one is nearly full.
//!
//! Invariant: containers are only ever added, in the order of their numbers. Several clients may run it on
//! one database: whoever loses the race to create the next container takes the winner's.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{PartitionResolver, Placement, ReadScope};
use crate::host::ensure;
use crate::state::SpilloverState;
use crate::{
    BoxFuture, ContainerHost, ContainerLink, ContainerTemplate, Env, Error, Key, Naming,
    ResolverState, Result, Retry,
};

/// When and how a spillover resolver makes containers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpilloverOptions {
    /// The names of its containers.
    pub naming: Naming,
    /// What new containers look like.
    pub template: ContainerTemplate,
    /// The share of the quota at which the next container is made, 0.9 by default.
    pub fill_factor: f64,
    /// How long a look at the last container is believed, an hour by default.
    pub check_interval_ms: u64,
}

impl SpilloverOptions {
    /// The defaults of the old resolver: prefix "Collection.", factor 0.9, one look an hour.
    pub fn new(template: ContainerTemplate) -> SpilloverOptions {
        SpilloverOptions {
            naming: Naming::new("Collection."),
            template,
            fill_factor: 0.9,
            check_interval_ms: 3_600_000,
        }
    }
}

/// Creates in the last container, reads from all.
#[derive(Debug)]
pub struct SpilloverPartitionResolver {
    options: SpilloverOptions,
    host: Arc<dyn ContainerHost>,
    env: Env,
    live: RwLock<Live>,
}

#[derive(Debug, Default)]
struct Live {
    // The numbers of the containers, growing.
    numbers: Vec<u64>,
    // When the last look was taken, or begun: one caller looks, the others go on with what is known.
    checked_at: Option<Duration>,
}

impl SpilloverPartitionResolver {
    /// Finds the containers there are, makes the first if there is none.
    pub async fn open(
        host: Arc<dyn ContainerHost>,
        options: SpilloverOptions,
        env: Env,
    ) -> Result<SpilloverPartitionResolver> {
        let resolver = SpilloverPartitionResolver::restore(host, options, Vec::new(), env);
        resolver.check().await?;
        Ok(resolver)
    }

    /// Makes a resolver from what is known, without asking the service.
    pub(crate) fn restore(
        host: Arc<dyn ContainerHost>,
        options: SpilloverOptions,
        numbers: Vec<u64>,
        env: Env,
    ) -> SpilloverPartitionResolver {
        let live = RwLock::new(Live { numbers, checked_at: None });
        SpilloverPartitionResolver { options, host, env, live }
    }

    /// Looks at the list of containers and at the last one now, and makes the next if it is needed.
    pub async fn check(&self) -> Result<()> {
        let numbers = self.list().await?;
        let next = match numbers.last() {
            None => Some(0),
            Some(last) => {
                let fill = self.host.fill(&self.options.naming.name(*last)).await?;
                fill.reaches(self.options.fill_factor).then_some(last + 1)
            }
        };
        let numbers = match next {
            None => numbers,
            Some(next) => {
                let name = self.options.naming.name(next);
                ensure(&*self.host, &name, &self.options.template, &Retry::default()).await?;
                // Another client may have gone further meanwhile.
                self.list().await?
            }
        };
        let mut live = self.live.write();
        // Invariant: a slower look never takes back what a faster one found.
        if numbers.len() >= live.numbers.len() {
            live.numbers = numbers;
        }
        live.checked_at = Some(self.env.monotonic());
        Ok(())
    }

    async fn list(&self) -> Result<Vec<u64>> {
        let names = self.host.list().await?;
        let mut numbers: Vec<u64> =
            names.iter().filter_map(|it| self.options.naming.number(it)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Returns whether it is time to look; if so, the others no longer have to.
    fn claim_check(&self) -> bool {
        let interval = Duration::from_millis(self.options.check_interval_ms);
        let now = self.env.monotonic();
        let mut live = self.live.write();
        let is_due = live.checked_at.is_none_or(|at| now.saturating_sub(at) >= interval);
        if is_due {
            live.checked_at = Some(now);
        }
        is_due
    }

    fn is_due(&self) -> bool {
        let interval = Duration::from_millis(self.options.check_interval_ms);
        let live = self.live.read();
        live.checked_at.is_none_or(|at| self.env.monotonic().saturating_sub(at) >= interval)
    }

    fn link(&self, number: u64) -> ContainerLink {
        self.options.naming.name(number).into()
    }
}

impl PartitionResolver for SpilloverPartitionResolver {
    fn key_of(&self, _: &Value) -> Result<Key> {
        Ok(Key::Null)
    }

    fn container_for_create(&self, key: &Key) -> Result<ContainerLink> {
        let last = self.live.read().numbers.last().copied();
        last.map(|it| self.link(it)).ok_or_else(|| Error::NoContainer { key: key.to_string() })
    }

    fn containers_for_read(&self, _: &ReadScope) -> Result<Vec<ContainerLink>> {
        Ok(self.live.read().numbers.iter().map(|it| self.link(*it)).collect())
    }

    /// Any container can hold the item; the newest is the likeliest.
    fn placement(&self, key: &Key) -> Result<Placement> {
        let mut links = self.containers_for_read(&ReadScope::All)?;
        let owner = links.pop().ok_or_else(|| Error::NoContainer { key: key.to_string() })?;
        links.reverse();
        Ok(Placement { owner, others: links, is_moving: false })
    }

    fn prepare(&self) -> Option<BoxFuture<'_, Result<()>>> {
        if !self.is_due() || !self.claim_check() {
            return None;
        }
        Some(Box::pin(async move {
            let result = self.check().await;
            if result.is_err() {
                // The next caller looks again, instead of nobody for an hour.
                self.live.write().checked_at = None;
            }
            result
        }))
    }

    fn state(&self) -> ResolverState {
        ResolverState::Spillover(SpilloverState {
            options: self.options.clone(),
            numbers: self.live.read().numbers.clone(),
        })
    }
}
