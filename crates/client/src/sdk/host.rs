//! Containers through the SDK.

use std::time::Duration;

use azure_data_cosmos::models::{ContainerProperties, ThroughputProperties};
use azure_data_cosmos::options::CreateContainerOptions;
use futures::TryStreamExt as _;

use super::{SdkDatabase, found};
use crate::host::properties;
use crate::state::invalid;
use crate::{BoxFuture, ContainerHost, ContainerTemplate, Creation, Error, Fill, Result};

impl ContainerHost for SdkDatabase {
    fn list(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(async move {
            let all = self.database.query_containers("SELECT * FROM c", None).await?;
            let all: Vec<ContainerProperties> = all.try_collect().await?;
            Ok(all.into_iter().map(|it| it.id.into_owned()).collect())
        })
    }

    fn create<'a>(
        &'a self,
        name: &'a str,
        template: &'a ContainerTemplate,
    ) -> BoxFuture<'a, Result<Creation>> {
        Box::pin(async move {
            let is_plain = template.scripts.is_empty() && template.other.is_empty();
            match &self.rest {
                // The SDK has no calls for scripts, and drops properties that it does not know.
                Some(rest) if !is_plain => return rest.create(name, template).await,
                None if !template.scripts.is_empty() => return Err(Error::ScriptsUnsupported),
                _ => {}
            }
            let options = template.throughput.map(|it| {
                let throughput = ThroughputProperties::manual(it.into());
                CreateContainerOptions::default().with_throughput(throughput)
            });
            let properties = typed_properties(name, template)?;
            match self.database.create_container(properties, options).await.map_err(Error::from) {
                Ok(_) => Ok(Creation::Created),
                Err(error) if error.is_service(409) => Ok(Creation::Existed),
                Err(error) => Err(error),
            }
        })
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let Some(client) = found(self.container(&name.into()).await)? else { return Ok(()) };
            found(client.delete(None).await.map_err(Error::from))?;
            self.forget(name);
            Ok(())
        })
    }

    /// The service only says it when asked by a header, which the SDK does not send.
    fn fill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Fill>> {
        match &self.rest {
            Some(rest) => rest.fill(name),
            None => Box::pin(async { Err(Error::FillUnknown) }),
        }
    }

    /// Scripts are only seen with the help of [`SdkDatabase::with_rest`].
    fn template<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<ContainerTemplate>>> {
        Box::pin(async move {
            if let Some(rest) = &self.rest {
                return rest.template(name).await;
            }
            let Some(client) = found(self.container(&name.into()).await)? else { return Ok(None) };
            let properties: ContainerProperties = client.read(None).await?.into_model()?;
            let properties = serde_json::to_value(&properties).map_err(invalid)?;
            Ok(ContainerTemplate::from_properties(&properties))
        })
    }

    fn pause(&self, time: Duration) -> BoxFuture<'_, ()> {
        let time = azure_core::time::Duration::try_from(time);
        Box::pin(async move {
            if let Ok(time) = time {
                azure_core::async_runtime::get_async_runtime().sleep(time).await;
            }
        })
    }
}

fn typed_properties(name: &str, template: &ContainerTemplate) -> Result<ContainerProperties> {
    let wanted = properties(name, template);
    let typed: ContainerProperties = serde_json::from_value(wanted).map_err(invalid)?;
    let kept = serde_json::to_value(&typed).map_err(invalid)?;
    match template.other.keys().find(|it| kept.get(*it).is_none()) {
        Some(lost) => Err(Error::StateInvalid(format!("the SDK cannot set the property {lost:?}"))),
        None => Ok(typed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_becomes_properties() {
        let mut template = ContainerTemplate::new(["/a", "/b"]);
        template.default_ttl_seconds = Some(60);
        let made = typed_properties("c", &template).unwrap();
        assert_eq!(made.partition_key.paths(), ["/a", "/b"]);
        assert_eq!(made.id, "c");
        template.other.insert("computedProperties".to_owned(), serde_json::json!([]));
        assert!(typed_properties("c", &template).is_err(), "nothing is dropped silently");
    }
}
