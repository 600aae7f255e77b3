//! Several partitioning schemes in one database, by name.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::Value;

use super::PartitionedDatabase;
use crate::{Error, ItemStore, Key, KeySource, PartitionResolver, Result};

/// A resolver, and where the partition key of the service stands if it is not the key of the resolver.
#[derive(Clone, Debug)]
pub struct Scheme {
    pub(crate) resolver: Arc<dyn PartitionResolver>,
    pub(crate) partition: Option<KeySource>,
}

impl Scheme {
    /// A scheme whose key is also the partition key of its containers.
    pub fn new(resolver: Arc<dyn PartitionResolver>) -> Scheme {
        Scheme { resolver, partition: None }
    }

    /// Says where the partition key of the containers stands. A spillover scheme needs this.
    #[must_use]
    pub fn partition(mut self, source: KeySource) -> Scheme {
        self.partition = Some(source);
        self
    }

    /// Returns the key of an item, and its partition key of the service.
    pub(crate) fn keys_of(&self, item: &Value) -> Result<(Key, Key)> {
        let key = self.resolver.key_of(item)?;
        let partition = match &self.partition {
            Some(source) => source.key_of(item)?,
            None => key.clone(),
        };
        Ok((key, partition))
    }
}

/// The schemes of a client, by database and by name.
#[derive(Clone, Debug, Default)]
pub struct Schemes {
    all: Arc<RwLock<HashMap<(String, String), Scheme>>>,
}

impl Schemes {
    /// Registers a scheme; an earlier one of the same database and name is replaced, others stay.
    pub fn register(&self, database: &str, name: &str, scheme: Scheme) {
        self.all.write().insert(place(database, name), scheme);
    }

    /// Returns a scheme.
    pub fn get(&self, database: &str, name: &str) -> Result<Scheme> {
        let found = self.all.read().get(&place(database, name)).cloned();
        found.ok_or_else(|| Error::NotRegistered { database: database.into(), scheme: name.into() })
    }

    /// Opens a database with a registered scheme.
    pub fn open(
        &self,
        items: Arc<dyn ItemStore>,
        database: &str,
        name: &str,
    ) -> Result<PartitionedDatabase> {
        Ok(PartitionedDatabase::new(items, self.get(database, name)?))
    }
}

/// Names and links of a database mean the same: `app`, `dbs/app` and `/dbs/app/`.
fn place(database: &str, name: &str) -> (String, String) {
    let database = database.trim_matches('/');
    let database = database.strip_prefix("dbs/").unwrap_or(database);
    (database.to_owned(), name.to_owned())
}
