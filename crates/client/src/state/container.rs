//! A document in an item, so that several machines share it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{StateStore, StateVersion};
use crate::{BoxFuture, ContainerLink, Error, ItemStore, Key, Result};

/// Keeps a document as one item of a container whose partition key is `/id`. Its etag guards changes.
#[derive(Clone, Debug)]
pub struct ContainerStateStore {
    items: Arc<dyn ItemStore>,
    container: ContainerLink,
    id: String,
}

impl ContainerStateStore {
    /// Uses the item with this id.
    pub fn new(
        items: Arc<dyn ItemStore>,
        container: impl Into<ContainerLink>,
        id: impl Into<String>,
    ) -> ContainerStateStore {
        ContainerStateStore { items, container: container.into(), id: id.into() }
    }
}

impl StateStore for ContainerStateStore {
    fn load(&self) -> BoxFuture<'_, Result<Option<(Value, StateVersion)>>> {
        Box::pin(async move {
            let key = Key::from(self.id.as_str());
            let found = self.items.read(&self.container, &key, &self.id).await?;
            let Some(mut found) = found else { return Ok(None) };
            let document = found.item.get_mut("state").map(Value::take).unwrap_or_default();
            Ok(Some((document, StateVersion(found.etag))))
        })
    }

    fn save<'a>(
        &'a self,
        document: &'a Value,
        expected: Option<&'a StateVersion>,
    ) -> BoxFuture<'a, Result<StateVersion>> {
        Box::pin(async move {
            let key = Key::from(self.id.as_str());
            let item = json!({"id": self.id, "state": document});
            let saved = match expected {
                None => self.items.create(&self.container, &key, &item).await.map(Some),
                Some(StateVersion(etag)) => {
                    self.items.replace(&self.container, &key, &item, Some(etag)).await
                }
            };
            match saved {
                Ok(Some(etag)) => Ok(StateVersion(etag)),
                Ok(None) => Err(Error::StateChanged),
                Err(error) if error.is_service(409) || error.is_service(412) => {
                    Err(Error::StateChanged)
                }
                Err(error) => Err(error),
            }
        })
    }
}
