//! The managed resolver: a hash ring whose containers are made from a template.

use std::sync::Arc;

use serde_json::Value;

use super::{HashPartitionResolver, HashPartitionResolverBuilder, PartitionResolver, ReadScope};
use crate::host::ensure;
use crate::state::ManagedState;
use crate::{
    ContainerHost, ContainerLink, ContainerTemplate, Key, Naming, ResolverState, Result, Retry,
};

/// A hash resolver over containers of one naming scheme and one template.
#[derive(Clone, Debug)]
pub struct ManagedPartitionResolver {
    hash: HashPartitionResolver,
    naming: Naming,
    template: ContainerTemplate,
}

impl ManagedPartitionResolver {
    /// Makes the containers that are missing, then the resolver.
    ///
    /// Waits and tries again when the service limits the rate of creation. Safe with several clients: a
    /// container that another one has made is taken as it is.
    pub async fn create(
        host: &dyn ContainerHost,
        builder: HashPartitionResolverBuilder,
        naming: Naming,
        template: ContainerTemplate,
        n_containers: u64,
    ) -> Result<ManagedPartitionResolver> {
        for index in 0..n_containers {
            ensure(host, &naming.name(index), &template, &Retry::default()).await?;
        }
        let hash = builder.containers((0..n_containers).map(|it| naming.name(it))).build()?;
        Ok(ManagedPartitionResolver { hash, naming, template })
    }

    /// Returns the resolver for another number of containers, without making them: the plan of a change.
    ///
    /// Template, naming and hash stay the same.
    pub fn with_count(&self, n_containers: u64) -> Result<ManagedPartitionResolver> {
        let names = (0..n_containers).map(|it| self.naming.name(it));
        let hash = self.hash.with_containers(names)?;
        Ok(ManagedPartitionResolver { hash, ..self.clone() })
    }

    /// Returns the number of containers.
    pub fn n_containers(&self) -> usize {
        self.hash.ring().links().len()
    }

    /// Returns the template.
    pub fn template(&self) -> &ContainerTemplate {
        &self.template
    }

    pub(crate) fn restore(
        hash: HashPartitionResolver,
        naming: Naming,
        template: ContainerTemplate,
    ) -> ManagedPartitionResolver {
        ManagedPartitionResolver { hash, naming, template }
    }

    /// Returns this resolver as a trait object.
    pub fn shared(self) -> Arc<dyn PartitionResolver> {
        Arc::new(self)
    }
}

impl PartitionResolver for ManagedPartitionResolver {
    fn key_of(&self, item: &Value) -> Result<Key> {
        self.hash.key_of(item)
    }

    fn container_for_create(&self, key: &Key) -> Result<ContainerLink> {
        self.hash.container_for_create(key)
    }

    fn containers_for_read(&self, scope: &ReadScope) -> Result<Vec<ContainerLink>> {
        self.hash.containers_for_read(scope)
    }

    fn state(&self) -> ResolverState {
        ResolverState::Managed(ManagedState {
            hash: self.hash.hash_state(),
            naming: self.naming.clone(),
            template: self.template.clone(),
        })
    }
}
