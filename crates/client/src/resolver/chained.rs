//! The chained resolver: ask one resolver after the other until one is responsible.
//!
//! For example a lookup of the few large tenants, then a hash for all others.

use std::sync::Arc;

use serde_json::Value;

use super::{PartitionResolver, Placement, ReadScope, RowRule, union};
use crate::{BoxFuture, ContainerLink, Error, Key, ResolverState, Result};

/// Takes the first resolver that has a container for the key.
#[derive(Clone, Debug)]
pub struct ChainedPartitionResolver {
    links: Vec<Arc<dyn PartitionResolver>>,
}

impl ChainedPartitionResolver {
    /// Makes a chain; the order is the order of questions.
    pub fn new(
        resolvers: impl IntoIterator<Item = Arc<dyn PartitionResolver>>,
    ) -> Result<ChainedPartitionResolver> {
        let links: Vec<_> = resolvers.into_iter().collect();
        if links.is_empty() {
            Err(Error::NoContainers)
        } else {
            Ok(ChainedPartitionResolver { links })
        }
    }

    /// Returns the first answer that is not "no container" or "no key".
    fn first<T>(&self, ask: impl Fn(&dyn PartitionResolver) -> Result<T>) -> Result<T> {
        let mut refusal = Error::NoContainers;
        for resolver in &self.links {
            match ask(&**resolver) {
                Err(error @ (Error::NoContainer { .. } | Error::KeyMissing { .. })) => {
                    refusal = error;
                }
                answer => return answer,
            }
        }
        Err(refusal)
    }
}

impl PartitionResolver for ChainedPartitionResolver {
    /// The key of the first resolver that finds one and has a container for it.
    fn key_of(&self, item: &Value) -> Result<Key> {
        self.first(|it| {
            let key = it.key_of(item)?;
            it.container_for_create(&key).map(|_| key)
        })
    }

    fn container_for_create(&self, key: &Key) -> Result<ContainerLink> {
        self.first(|it| it.container_for_create(key))
    }

    fn containers_for_read(&self, scope: &ReadScope) -> Result<Vec<ContainerLink>> {
        match scope {
            ReadScope::Key(key) => {
                let answer = self.first(|it| {
                    it.container_for_create(key)?;
                    it.containers_for_read(scope)
                });
                match answer {
                    Err(Error::NoContainer { .. }) => Ok(Vec::new()),
                    answer => answer,
                }
            }
            ReadScope::Several(scopes) => union(scopes, |it| self.containers_for_read(it)),
            ReadScope::Range(_) | ReadScope::All => {
                let mut all = Vec::new();
                for resolver in &self.links {
                    let links = resolver.containers_for_read(scope)?;
                    for link in &links {
                        crate::link::push_unique(&mut all, link);
                    }
                }
                Ok(all)
            }
        }
    }

    fn placement(&self, key: &Key) -> Result<Placement> {
        self.first(|it| it.placement(key))
    }

    fn row_rule(&self, container: &ContainerLink, key: &Key) -> Result<RowRule> {
        self.first(|it| {
            it.container_for_create(key)?;
            it.row_rule(container, key)
        })
    }

    fn prepare(&self) -> Option<BoxFuture<'_, Result<()>>> {
        let work: Vec<_> = self.links.iter().filter_map(|it| it.prepare()).collect();
        if work.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            for it in work {
                it.await?;
            }
            Ok(())
        }))
    }

    fn state(&self) -> ResolverState {
        ResolverState::Chained { resolvers: self.links.iter().map(|it| it.state()).collect() }
    }
}
