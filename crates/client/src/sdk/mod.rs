//! Items and containers of a running account, through the official Rust SDK.
//!
//! The SDK retries throttled requests itself; what still fails comes out as [`Error::Service`].

mod changes;
mod host;
mod items;
mod stream;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use azure_data_cosmos::clients::{ContainerClient, DatabaseClient};
use azure_data_cosmos::models::PartitionKeyValue;
use azure_data_cosmos::{CosmosError, PartitionKey};
use parking_lot::RwLock;

use crate::rest::RestDatabase;
use crate::{ContainerLink, Error, Key, Result};

/// One database of an account. Clones share their connections.
#[derive(Clone)]
pub struct SdkDatabase {
    database: Arc<DatabaseClient>,
    containers: Arc<RwLock<HashMap<String, ContainerClient>>>,
    rest: Option<RestDatabase>,
}

impl fmt::Debug for SdkDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SdkDatabase").field("name", &self.database.name()).finish_non_exhaustive()
    }
}

impl SdkDatabase {
    /// Uses a database of the SDK.
    pub fn new(database: DatabaseClient) -> SdkDatabase {
        SdkDatabase { database: Arc::new(database), containers: Arc::default(), rest: None }
    }

    /// Takes signed requests to the same database for what the SDK has no calls for: scripts in templates.
    #[must_use]
    pub fn with_rest(mut self, database: RestDatabase) -> SdkDatabase {
        self.rest = Some(database);
        self
    }

    /// Returns the client of a container; the first call for each asks the service.
    pub async fn container(&self, link: &ContainerLink) -> Result<ContainerClient> {
        if let Some(found) = self.containers.read().get(link.name()) {
            return Ok(found.clone());
        }
        let made = self.database.container_client(link.name().to_owned(), None).await?;
        self.containers.write().insert(link.name().to_owned(), made.clone());
        Ok(made)
    }

    fn forget(&self, name: &str) {
        self.containers.write().remove(name);
    }
}

impl From<CosmosError> for Error {
    fn from(error: CosmosError) -> Error {
        let status = error.status();
        Error::Service {
            status: status.status_code().into(),
            sub_status: status.sub_status().map_or(0, |it| it.value().into()),
            message: error.to_string(),
            retry_after: None,
        }
    }
}

/// Turns a key into the partition key of the service: a list is a hierarchical key.
fn partition_key(key: &Key) -> Result<PartitionKey> {
    let components = key.components().iter().map(component).collect::<Result<Vec<_>>>()?;
    PartitionKey::try_from(components).map_err(Error::from)
}

fn component(key: &Key) -> Result<PartitionKeyValue> {
    match key {
        Key::Undefined => Ok(PartitionKeyValue::UNDEFINED),
        Key::Null => Ok(PartitionKeyValue::NULL),
        Key::Bool(it) => Ok((*it).into()),
        Key::Number(it) => {
            PartitionKeyValue::try_from(it.as_f64()).map_err(|_| Error::NumberNotFinite)
        }
        Key::Text(it) => Ok(it.clone().into()),
        Key::List(_) => Err(Error::KeyNotScalar { path: key.to_string() }),
    }
}

/// Makes "not found" an absence.
fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(it) => Ok(Some(it)),
        Err(error) if error.is_service(404) => Ok(None),
        Err(error) => Err(error),
    }
}
