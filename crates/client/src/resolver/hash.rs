//! The hash resolver: keys spread evenly, and adding a container moves only what the new one gets.

use std::sync::Arc;

use serde_json::Value;

use super::{PartitionResolver, ReadScope, union};
use crate::state::HashState;
use crate::{
    ContainerLink, HashGenerator, Key, KeySource, Md5, Murmur3, ResolverState, Result, Ring,
    RingRule,
};

/// Points on the ring for each container, unless chosen otherwise.
pub(crate) const VIRTUAL_NODES: usize = 16;

/// Places items by a consistent hash of their key.
#[derive(Clone, Debug)]
pub struct HashPartitionResolver {
    source: KeySource,
    ring: Ring,
}

impl HashPartitionResolver {
    /// Begins a resolver with MD5 and 16 virtual nodes, the number of the articles; the SDKs of their time had 128.
    pub fn builder(source: KeySource) -> HashPartitionResolverBuilder {
        HashPartitionResolverBuilder {
            source,
            links: Vec::new(),
            virtual_nodes: VIRTUAL_NODES,
            hash: Arc::new(Md5),
            rule: RingRule::Successor,
        }
    }

    /// Returns the ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Returns the same resolver over other containers: same key, hash, rule and virtual nodes.
    pub fn with_containers(
        &self,
        links: impl IntoIterator<Item = impl Into<ContainerLink>>,
    ) -> Result<HashPartitionResolver> {
        let links = links.into_iter().map(Into::into).collect();
        let ring = Ring::new(
            links,
            self.ring.virtual_nodes(),
            self.ring.hash().clone(),
            self.ring.rule(),
        )?;
        Ok(HashPartitionResolver { source: self.source.clone(), ring })
    }

    pub(crate) fn hash_state(&self) -> HashState {
        HashState {
            key: self.source.clone(),
            containers: self.ring.links().to_vec(),
            virtual_nodes: self.ring.virtual_nodes(),
            hash: self.ring.hash().name().to_owned(),
            rule: self.ring.rule(),
        }
    }
}

impl PartitionResolver for HashPartitionResolver {
    fn key_of(&self, item: &Value) -> Result<Key> {
        self.source.key_of(item)
    }

    fn container_for_create(&self, key: &Key) -> Result<ContainerLink> {
        Ok(self.ring.owner(key).clone())
    }

    /// A range of more than one key is spread over all containers: a hash does not keep order.
    fn containers_for_read(&self, scope: &ReadScope) -> Result<Vec<ContainerLink>> {
        match scope {
            ReadScope::Key(key) => Ok(vec![self.ring.owner(key).clone()]),
            ReadScope::Range(range) => Ok(match range.as_point() {
                Some(key) => vec![self.ring.owner(key).clone()],
                None => self.ring.links().to_vec(),
            }),
            ReadScope::Several(scopes) => union(scopes, |it| self.containers_for_read(it)),
            ReadScope::All => Ok(self.ring.links().to_vec()),
        }
    }

    fn state(&self) -> ResolverState {
        ResolverState::Hash(self.hash_state())
    }
}

/// Collects what a hash resolver is made of.
#[derive(Clone, Debug)]
pub struct HashPartitionResolverBuilder {
    source: KeySource,
    links: Vec<ContainerLink>,
    virtual_nodes: usize,
    hash: Arc<dyn HashGenerator>,
    rule: RingRule,
}

impl HashPartitionResolverBuilder {
    /// Adds containers.
    #[must_use]
    pub fn containers(mut self, links: impl IntoIterator<Item = impl Into<ContainerLink>>) -> Self {
        self.links.extend(links.into_iter().map(Into::into));
        self
    }

    /// Sets the points of each container: more are more even, and cost memory and time to build.
    #[must_use]
    pub fn virtual_nodes(mut self, n_nodes: usize) -> Self {
        self.virtual_nodes = n_nodes;
        self
    }

    /// Sets the hash.
    #[must_use]
    pub fn hash(mut self, hash: impl HashGenerator + 'static) -> Self {
        self.hash = Arc::new(hash);
        self
    }

    /// Sets the hash, already shared.
    #[must_use]
    pub fn shared_hash(mut self, hash: Arc<dyn HashGenerator>) -> Self {
        self.hash = hash;
        self
    }

    /// Sets the rule of the ring.
    #[must_use]
    pub fn rule(mut self, rule: RingRule) -> Self {
        self.rule = rule;
        self
    }

    /// Finds items where the Node, Python and Java SDKs put them: their hash, rule and 128 virtual nodes.
    #[must_use]
    pub fn node_python_java(self) -> Self {
        self.hash(Murmur3).rule(RingRule::NodePythonJava).virtual_nodes(128)
    }

    /// Makes the resolver.
    pub fn build(self) -> Result<HashPartitionResolver> {
        let ring = Ring::new(self.links, self.virtual_nodes, self.hash, self.rule)?;
        Ok(HashPartitionResolver { source: self.source, ring })
    }
}
