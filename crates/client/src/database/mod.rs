//! A database whose items are spread over several containers.
//!
//! Invariant: during a transition the copy in the next container counts, if there is one without a mark.

mod judge;
mod moving;
mod query;
mod scheme;

use std::sync::Arc;

use serde_json::Value;

pub use query::{Continuation, QueryPage, QueryRun};
pub use scheme::{Scheme, Schemes};

use crate::items::{id_of, source_of};
use crate::{Error, ItemStore, Key, PartitionResolver, ReadScope, Result, Statement, Stored};

/// Names one item: its id, its key, and its partition key of the service if that is not the key.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    id: String,
    key: Key,
    partition: Option<Key>,
}

impl Address {
    /// The item with this id and key.
    pub fn new(id: impl Into<String>, key: impl Into<Key>) -> Address {
        Address { id: id.into(), key: key.into(), partition: None }
    }

    /// Sets the partition key of the service, where it is not the key of the resolver.
    #[must_use]
    pub fn partition(mut self, partition: impl Into<Key>) -> Address {
        self.partition = Some(partition.into());
        self
    }

    fn service_partition(&self) -> &Key {
        self.partition.as_ref().unwrap_or(&self.key)
    }
}

/// Creates, reads, replaces, deletes and queries items through a resolver.
#[derive(Clone, Debug)]
pub struct PartitionedDatabase {
    items: Arc<dyn ItemStore>,
    scheme: Scheme,
}

impl PartitionedDatabase {
    /// Opens a database with a scheme.
    pub fn new(items: Arc<dyn ItemStore>, scheme: Scheme) -> PartitionedDatabase {
        PartitionedDatabase { items, scheme }
    }

    /// Returns the resolver.
    pub fn resolver(&self) -> &Arc<dyn PartitionResolver> {
        &self.scheme.resolver
    }

    async fn prepare(&self) -> Result<()> {
        match self.scheme.resolver.prepare() {
            Some(work) => work.await,
            None => Ok(()),
        }
    }

    /// Creates an item and returns its etag. Status 409 if there is one with its key and id.
    pub async fn create(&self, item: &Value) -> Result<String> {
        self.prepare().await?;
        let (key, partition) = self.scheme.keys_of(item)?;
        let place = self.scheme.resolver.placement(&key)?;
        if place.is_moving {
            return self.create_moving(&place, &partition, item).await;
        }
        self.items.create(&place.owner, &partition, item).await
    }

    /// Creates or replaces an item and returns its etag.
    pub async fn upsert(&self, item: &Value) -> Result<String> {
        self.prepare().await?;
        let (key, partition) = self.scheme.keys_of(item)?;
        let place = self.scheme.resolver.placement(&key)?;
        if !place.is_moving && !place.others.is_empty() {
            for link in std::iter::once(&place.owner).chain(&place.others) {
                if let Some(etag) = self.items.replace(link, &partition, item, None).await? {
                    return Ok(etag);
                }
            }
        }
        self.items.upsert(&place.owner, &partition, item).await
    }

    /// Reads an item; `None` if there is none.
    pub async fn read(&self, at: &Address) -> Result<Option<Stored>> {
        self.prepare().await?;
        let place = self.scheme.resolver.placement(&at.key)?;
        let readable = self.scheme.resolver.containers_for_read(&ReadScope::Key(at.key.clone()))?;
        let candidates = std::iter::once(&place.owner).chain(&place.others);
        for link in candidates.filter(|it| readable.contains(it)) {
            let found = self.items.read(link, at.service_partition(), &at.id).await?;
            match found {
                Some(copy) if place.is_moving && source_of(&copy.item).is_some() => {
                    return Ok(self.look(&place, at).await?.counting());
                }
                Some(found) => return Ok(Some(found)),
                None => {}
            }
        }
        Ok(None)
    }

    /// Replaces an item, only if its etag is still `if_match` where given, and returns its new etag.
    ///
    /// # Errors
    /// Status 404 if there is none, 412 if it has changed; [`Error::KeyChanged`] if the body has another key.
    pub async fn replace(
        &self,
        at: &Address,
        item: &Value,
        if_match: Option<&str>,
    ) -> Result<String> {
        self.prepare().await?;
        self.check_key(at, item)?;
        let place = self.scheme.resolver.placement(&at.key)?;
        if place.is_moving {
            return self.replace_moving(&place, at, item, if_match).await;
        }
        for link in std::iter::once(&place.owner).chain(&place.others) {
            let replaced = self.items.replace(link, at.service_partition(), item, if_match).await?;
            if let Some(etag) = replaced {
                return Ok(etag);
            }
        }
        Err(Error::service(404, "there is no such item"))
    }

    fn check_key(&self, at: &Address, item: &Value) -> Result<()> {
        let found = self.scheme.resolver.key_of(item)?;
        if found != at.key && found != Key::Null {
            let (expected, found) = (at.key.to_string(), found.to_string());
            return Err(Error::KeyChanged { expected, found });
        }
        if id_of(item)? == at.id { Ok(()) } else { Err(Error::ItemInvalid) }
    }

    /// Deletes an item, only if its etag is still `if_match` where given. Returns whether there was one.
    pub async fn delete(&self, at: &Address, if_match: Option<&str>) -> Result<bool> {
        self.prepare().await?;
        let place = self.scheme.resolver.placement(&at.key)?;
        if place.is_moving {
            return self.delete_moving(&place, at, if_match).await;
        }
        for link in std::iter::once(&place.owner).chain(&place.others) {
            if self.items.delete(link, at.service_partition(), &at.id, if_match).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Begins a query over the containers of a scope.
    ///
    /// Containers are read one after the other unless [`QueryRun::parallelism`] says otherwise. Rows of
    /// different containers are not merged: `ORDER BY` and aggregates hold within one container. During a
    /// transition an item that is in two containers is shown once, provided that the rows carry its id and
    /// what its key is made of.
    pub async fn query(&self, statement: Statement, scope: &ReadScope) -> Result<QueryRun> {
        self.prepare().await?;
        let database = self.pinned();
        let links = database.scheme.resolver.containers_for_read(scope)?;
        Ok(QueryRun::new(database, statement, scope, links))
    }

    /// Goes on with a query where a continuation says.
    ///
    /// # Errors
    /// [`Error::ContinuationInvalid`] if another query made it; [`Error::ContinuationExpired`] if items have moved
    /// since to where the query has been or to where it would not come: begin it again.
    pub async fn resume(
        &self,
        statement: Statement,
        scope: &ReadScope,
        continuation: &Continuation,
    ) -> Result<QueryRun> {
        self.prepare().await?;
        QueryRun::resume(self.pinned(), statement, scope, continuation)
    }

    /// The same database with the resolver of this moment.
    fn pinned(&self) -> PartitionedDatabase {
        let mut database = self.clone();
        if let Some(resolver) = self.scheme.resolver.pinned() {
            database.scheme.resolver = resolver;
        }
        database
    }
}
