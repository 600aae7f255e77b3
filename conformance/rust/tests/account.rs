//! Databases, containers, throughput and keys through the official Rust SDK.

use azure_data_cosmos::Query;
use azure_data_cosmos::models::{
    ContainerProperties, IndexingMode, IndexingPolicy, ThroughputProperties, TimeToLive, UniqueKey,
    UniqueKeyPolicy,
};
use azure_data_cosmos::options::CreateContainerOptions;
use conformance_rust::{Scratch, client, failed_with, min_partitions, run, unique};
use futures::TryStreamExt;

#[test]
fn databases_are_created_read_listed_and_deleted() {
    run(async {
        let client = client(&conformance_rust::key()).await.unwrap();
        let name = unique("db");
        client.create_database(&name, None).await.unwrap();
        failed_with(409, client.create_database(&name, None).await);
        let read =
            client.database_client(name.clone()).read(None).await.unwrap().into_model().unwrap();
        assert_eq!(read.id.as_deref(), Some(name.as_str()));
        let query =
            Query::from("SELECT * FROM r WHERE r.id = @id").with_parameter("@id", &name).unwrap();
        let found: Vec<_> =
            client.query_databases(query, None).await.unwrap().try_collect().await.unwrap();
        assert_eq!(found.len(), 1);
        client.database_client(name.clone()).delete(None).await.unwrap();
        failed_with(404, client.database_client(name).read(None).await);
    });
}

#[test]
fn containers_keep_their_properties() {
    run(async {
        let scratch = Scratch::new().await;
        let properties = ContainerProperties::new(unique("c"), "/tenant".into())
            .with_indexing_policy(
                IndexingPolicy::default()
                    .with_indexing_mode(IndexingMode::Consistent)
                    .with_included_path("/*")
                    .with_excluded_path("/blob/*"),
            )
            .with_unique_key_policy(
                UniqueKeyPolicy::default()
                    .with_unique_key(UniqueKey::default().with_path("/email")),
            )
            .with_default_ttl(60);
        let container = scratch.container_with(properties).await;
        let read = container.read(None).await.unwrap().into_model().unwrap();
        assert_eq!(read.partition_key.paths(), ["/tenant"]);
        let policy = read.indexing_policy.clone().unwrap();
        assert!(policy.excluded_paths.iter().any(|excluded| excluded.path == "/\"_etag\"/?"));
        assert_eq!(read.unique_key_policy.clone().unwrap().unique_keys[0].paths, ["/email"]);

        let replaced = container.replace(read.with_default_ttl(90), None).await.unwrap();
        assert_eq!(replaced.into_model().unwrap().default_ttl, TimeToLive::Seconds(90));
        container.delete(None).await.unwrap();
        failed_with(404, container.read(None).await);
        scratch.finish().await;
    });
}

#[test]
fn throughput_is_read_and_replaced() {
    run(async {
        let scratch = Scratch::new().await;
        let name = unique("c");
        let options =
            CreateContainerOptions::default().with_throughput(ThroughputProperties::manual(500));
        scratch
            .database
            .create_container(ContainerProperties::new(name.clone(), "/pk".into()), Some(options))
            .await
            .unwrap();
        let container = scratch.database.container_client(name, None).await.unwrap();
        let read = container.read_throughput(None).await.unwrap().expect("it has its own");
        assert_eq!(read.throughput(), Some(500));
        container
            .begin_replace_throughput(ThroughputProperties::manual(700), None)
            .await
            .unwrap()
            .await
            .unwrap();
        let read = container.read_throughput(None).await.unwrap().expect("it has its own");
        assert_eq!(read.throughput(), Some(700));
        scratch.finish().await;
    });
}

#[test]
fn feed_ranges_count_the_physical_partitions() {
    run(async {
        let scratch = Scratch::new().await;
        let container = scratch.container("/pk").await;
        let ranges = container.read_feed_ranges(None).await.unwrap();
        assert_eq!(ranges.len(), min_partitions());
        let of_key = container.feed_range_from_partition_key("a", None).await.unwrap();
        assert_eq!(ranges.iter().filter(|range| of_key[0].is_subset_of(range)).count(), 1);
        scratch.finish().await;
    });
}

#[test]
fn a_wrong_key_is_refused() {
    run(async {
        let wrong = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        match client(wrong).await {
            Err(error) => assert_eq!(u16::from(error.status().status_code()), 401),
            Ok(client) => {
                failed_with(401, client.database_client("any").read(None).await);
            }
        }
    });
}
