//! The lookup resolver: a container for each tenant, region or application.

use std::collections::HashMap;

use serde_json::Value;

use super::{PartitionResolver, ReadScope, union};
use crate::link::push_unique;
use crate::{ContainerLink, Error, Key, KeySource, ResolverState, Result};

/// Places items by a table of keys.
#[derive(Clone, Debug)]
pub struct LookupPartitionResolver {
    source: KeySource,
    // In the order given, which is the order of reads.
    entries: Vec<(Key, ContainerLink)>,
    table: HashMap<Key, ContainerLink>,
    otherwise: Option<ContainerLink>,
}

impl LookupPartitionResolver {
    /// Makes a resolver. Several keys may name one container; a key may stand only once.
    pub fn new<K: Into<Key>, L: Into<ContainerLink>>(
        source: KeySource,
        entries: impl IntoIterator<Item = (K, L)>,
    ) -> Result<LookupPartitionResolver> {
        let entries: Vec<(Key, ContainerLink)> =
            entries.into_iter().map(|(key, link)| (key.into(), link.into())).collect();
        if entries.is_empty() {
            return Err(Error::NoContainers);
        }
        let table: HashMap<_, _> = entries.iter().cloned().collect();
        if table.len() < entries.len() {
            return Err(Error::StateInvalid("a lookup key is listed twice".to_owned()));
        }
        Ok(LookupPartitionResolver { source, entries, table, otherwise: None })
    }

    /// Sends all keys that are not in the table to one container.
    #[must_use]
    pub fn otherwise(mut self, link: impl Into<ContainerLink>) -> LookupPartitionResolver {
        self.otherwise = Some(link.into());
        self
    }

    fn find(&self, key: &Key) -> Option<&ContainerLink> {
        self.table.get(key).or(self.otherwise.as_ref())
    }

    fn matching(&self, matches: impl Fn(&Key) -> bool) -> Vec<ContainerLink> {
        let mut links = Vec::new();
        let found = self.entries.iter().filter(|(key, _)| matches(key)).map(|(_, link)| link);
        found.chain(&self.otherwise).for_each(|it| push_unique(&mut links, it));
        links
    }
}

impl PartitionResolver for LookupPartitionResolver {
    fn key_of(&self, item: &Value) -> Result<Key> {
        self.source.key_of(item)
    }

    fn container_for_create(&self, key: &Key) -> Result<ContainerLink> {
        self.find(key).cloned().ok_or_else(|| Error::NoContainer { key: key.to_string() })
    }

    fn containers_for_read(&self, scope: &ReadScope) -> Result<Vec<ContainerLink>> {
        match scope {
            ReadScope::Key(key) => Ok(self.find(key).cloned().into_iter().collect()),
            ReadScope::Range(range) => Ok(self.matching(|key| range.contains(key))),
            ReadScope::Several(scopes) => union(scopes, |it| self.containers_for_read(it)),
            ReadScope::All => Ok(self.matching(|_| true)),
        }
    }

    fn state(&self) -> ResolverState {
        ResolverState::Lookup {
            key: self.source.clone(),
            entries: self.entries.clone(),
            otherwise: self.otherwise.clone(),
        }
    }
}
