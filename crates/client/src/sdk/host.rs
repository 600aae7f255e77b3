//! Containers through the SDK.

use std::time::Duration;

use azure_data_cosmos::models::{ContainerProperties, ThroughputProperties};
use azure_data_cosmos::options::CreateContainerOptions;
use futures::TryStreamExt as _;
use serde_json::{Value, json};

use super::{SdkDatabase, found};
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
            if !template.scripts.is_empty() {
                return Err(Error::ScriptsUnsupported);
            }
            let options = template.throughput.map(|it| {
                let throughput = ThroughputProperties::manual(it.into());
                CreateContainerOptions::default().with_throughput(throughput)
            });
            let properties = properties(name, template)?;
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

    /// From the quota headers; where the service does not send them the fill is unknown, thus 0.
    fn fill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Fill>> {
        Box::pin(async move {
            let answer = self.container(&name.into()).await?.read(None).await?;
            let size = |header: Option<&str>| header.and_then(collection_size).unwrap_or(0);
            Ok(Fill {
                used_bytes: size(answer.headers().resource_usage()),
                quota_bytes: size(answer.headers().resource_quota()),
            })
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

fn properties(name: &str, template: &ContainerTemplate) -> Result<ContainerProperties> {
    let paths = &template.partition_key_paths;
    let kind = if paths.len() > 1 { "MultiHash" } else { "Hash" };
    let mut properties = json!({
        "id": name,
        "partitionKey": {"paths": paths, "kind": kind, "version": 2},
    });
    if let Some(policy) = &template.indexing_policy {
        properties["indexingPolicy"] = policy.clone();
    }
    if let Some(seconds) = template.default_ttl_seconds {
        properties["defaultTtl"] = Value::from(seconds);
    }
    serde_json::from_value(properties).map_err(|it| Error::StateInvalid(it.to_string()))
}

/// Reads `collectionSize=…`, which is in KB, from `documentSize=0;collectionSize=17;…`.
fn collection_size(header: &str) -> Option<u64> {
    let size = header.split(';').find_map(|it| it.trim().strip_prefix("collectionSize="))?;
    size.parse::<u64>().ok().map(|it| it.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_container_is_found_in_the_header() {
        let header = "functions=0;documentSize=0;documentsSize=12;collectionSize=15;";
        assert_eq!(collection_size(header), Some(15 * 1024));
        assert_eq!(collection_size("documentsSize=12"), None);
        assert_eq!(collection_size("collectionSize=x"), None);
    }

    #[test]
    fn a_template_becomes_properties() {
        let mut template = ContainerTemplate::new(["/a", "/b"]);
        template.default_ttl_seconds = Some(60);
        let made = properties("c", &template).unwrap();
        assert_eq!(made.partition_key.paths(), ["/a", "/b"]);
        assert_eq!(made.id, "c");
    }
}
