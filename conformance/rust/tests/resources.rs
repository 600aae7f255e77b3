//! Databases, containers and throughput.

use azure_data_cosmos::models::{
    CompositeIndex, CompositeIndexOrder, CompositeIndexProperty, IndexingMode, IndexingPolicy,
    ThroughputProperties, TimeToLive, UniqueKey, UniqueKeyPolicy,
};
use azure_data_cosmos::options::CreateContainerOptions;
use conformance_rust::*;
use futures::TryStreamExt as _;

#[test]
fn bad_names_are_refused() -> Result {
    run(async {
        let client = client(&key()).await?;
        for id in ["a/b", "a#b", "a?b", &"x".repeat(256)] {
            assert_eq!(failure(client.create_database(id, None).await).0, 400, "{id}");
        }
        Ok(())
    })
}

#[test]
fn a_container_keeps_its_properties() -> Result {
    run(async {
        let policy = IndexingPolicy::default()
            .with_indexing_mode(IndexingMode::Consistent)
            .with_included_path("/*")
            .with_excluded_path("/blob/*")
            .with_composite_index(
                CompositeIndex::default()
                    .with_property(CompositeIndexProperty::new(
                        "/a",
                        CompositeIndexOrder::Ascending,
                    ))
                    .with_property(CompositeIndexProperty::new(
                        "/b",
                        CompositeIndexOrder::Descending,
                    )),
            );
        let wanted = properties(&["/pk"])
            .with_default_ttl(TimeToLive::Seconds(3600))
            .with_indexing_policy(policy)
            .with_unique_key_policy(
                UniqueKeyPolicy::default()
                    .with_unique_key(UniqueKey::default().with_path("/email")),
            );
        let scratch = Scratch::new().await;
        let made = scratch.container_with(wanted.clone()).await;
        let mut read = made.read(None).await?.into_model()?;
        assert_eq!(read.id, wanted.id);
        assert_eq!(read.default_ttl, TimeToLive::Seconds(3600));
        assert_eq!(read.partition_key.paths(), ["/pk"]);
        let policy = read.indexing_policy.clone().ok_or("no indexing policy")?;
        assert_eq!(policy.composite_indexes.len(), 1);
        assert!(read.unique_key_policy.is_some());
        assert!(read.conflict_resolution_policy.is_some());

        read.default_ttl = TimeToLive::NoDefault;
        let replaced = made.replace(read, None).await?.into_model()?;
        assert_eq!(replaced.default_ttl, TimeToLive::NoDefault);

        let mut changed = properties(&["/other"]);
        changed.id = wanted.id.clone();
        assert!(matches!(failure(made.replace(changed, None).await).0, 400 | 403));

        let again = scratch.database.create_container(wanted, None).await;
        assert_eq!(failure(again).0, 409);
        let all: Vec<_> =
            scratch.database.query_containers("SELECT * FROM c", None).await?.try_collect().await?;
        assert_eq!(all.len(), 1);
        made.delete(None).await?;
        assert_eq!(failure(made.read(None).await).0, 404);
        scratch.finish().await;
        Ok(())
    })
}

#[test]
fn a_container_in_a_missing_database_is_not_found() -> Result {
    run(async {
        let database = client(&key()).await?.database_client(unique("nowhere"));
        let result = database.create_container(properties(&["/pk"]), None).await;
        assert_eq!(failure(result), (404, 1003));
        Ok(())
    })
}

#[test]
fn autoscale_throughput_is_read() -> Result {
    run(async {
        let scratch = Scratch::new().await;
        let properties = properties(&["/pk"]);
        let name = properties.id.to_string();
        let options = CreateContainerOptions::default()
            .with_throughput(ThroughputProperties::autoscale(5000, None));
        scratch.database.create_container(properties, Some(options)).await?;
        let made = scratch.database.container_client(name, None).await?;
        let read = made.read_throughput(None).await?.ok_or("no throughput")?;
        assert_eq!(read.autoscale_maximum(), Some(5000));
        scratch.finish().await;
        Ok(())
    })
}

#[test]
fn a_read_only_key_reads_only() -> Result {
    run(async {
        let scratch = Scratch::new().await;
        let reader = client(&setting("ORRERY_READ_ONLY_KEY")).await?;
        let name = scratch.database.name().ok_or("no name")?.to_owned();
        reader.database_client(name.as_str()).read(None).await?;
        assert_eq!(failure(reader.create_database(&unique("rust-no"), None).await).0, 403);
        scratch.finish().await;
        Ok(())
    })
}

#[test]
fn resources_are_reached_by_rid() -> Result {
    run(async {
        let scratch = Scratch::new().await;
        let made = scratch.container_with(properties(&["/pk"])).await;
        let container = made.read(None).await?.into_model()?;
        let database = scratch.database.read(None).await?.into_model()?;
        let database_rid = database.system_properties.resource_id.ok_or("no rid")?;
        let container_rid = container.system_properties.resource_id.ok_or("no rid")?;
        let by_rid = scratch
            .client
            .database_client(azure_data_cosmos::ResourceId::from(database_rid))
            .container_client(azure_data_cosmos::ResourceId::from(container_rid), None)
            .await?;
        by_rid.create_item("a", "1", serde_json::json!({"id": "1", "pk": "a"}), None).await?;
        made.read_item("a", "1", None).await?;
        scratch.finish().await;
        Ok(())
    })
}
