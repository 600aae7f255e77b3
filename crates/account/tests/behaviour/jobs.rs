//! Background jobs: expiry, reclaim; metrics; reset.

use std::time::Duration;

use account::AccountOptions;

use crate::support::Client;

#[tokio::test]
async fn expired_items_are_dead_at_once_and_removed_later() {
    let client = Client::new(2).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let body =
        r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":60}"#;
    client.create("dbs/d/colls", body).await.expect(201);
    for n in 0..20 {
        client.items().create(&format!(r#"{{"id":"{n}","pk":"{n}"}}"#)).await.expect(201);
    }
    client.items().create(r#"{"id":"ever","pk":"x","ttl":-1}"#).await.expect(201);
    client.env.advance(Duration::from_secs(61));
    assert_eq!(client.items().feed().await.ids(), ["ever"]);
    let n_items = || client.account.metrics().ranges.iter().map(|range| range.n_items).sum::<u64>();
    assert_eq!(n_items(), 21);
    client.account.run_jobs_once().await.unwrap();
    assert_eq!(n_items(), 1);
}

#[tokio::test]
async fn bytes_of_deleted_containers_are_reclaimed_even_after_a_restart() {
    let store = store::open_memory();
    let client = Client::with(store.clone(), AccountOptions::default()).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    for n in 0..50 {
        client.items().create(&format!(r#"{{"id":"{n}","pk":"a"}}"#)).await.expect(201);
    }
    client.delete("dbs/d").await.expect(204);
    assert_eq!(client.account.metrics().n_partitions_to_reclaim, 1);
    let n_entries = || {
        let snapshot = store.snapshot();
        let all = store::KeyRange::prefix(&[]);
        snapshot.scan(all, store::Direction::Forward).count()
    };
    assert!(n_entries() > 100);
    let again = Client::with(store.clone(), AccountOptions::default()).await;
    assert_eq!(again.account.metrics().n_partitions_to_reclaim, 1);
    again.account.run_jobs_once().await.unwrap();
    assert_eq!(again.account.metrics().n_partitions_to_reclaim, 0);
    assert_eq!(n_entries(), 1, "the head of the catalog alone");
}

#[tokio::test]
async fn jobs_stop_when_told() {
    let client = Client::with_container(1).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let account = client.account.clone();
    let jobs = tokio::spawn(account.run_jobs(async move {
        let _ = stopped.await;
    }));
    stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(5), jobs).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_reset_leaves_an_empty_account_and_void_tokens() {
    let client = Client::with_container(2).await;
    client.create("dbs/d/users", r#"{"id":"u"}"#).await.expect(201);
    let body = r#"{"id":"p","permissionMode":"All","resource":"dbs/d/colls/c"}"#;
    let token = client.create("dbs/d/users/u/permissions", body).await.expect(201).text("_token");
    client.account.reset().await.unwrap();
    assert_eq!(client.list("dbs").await.rows.len(), 0);
    assert_eq!(client.list("offers").await.rows.len(), 0);
    assert!(client.account.open_token(&token).is_err());
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    assert_eq!(client.items().feed().await.rows.len(), 0);
}

#[tokio::test]
async fn operations_are_counted() {
    let client = Client::with_container(2).await;
    client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(409);
    let metrics = client.account.metrics();
    let count = |operation: &str, code: u16| {
        let found =
            metrics.operations.iter().find(|one| one.operation == operation && one.code == code);
        found.map_or(0, |one| one.count)
    };
    assert_eq!((count("item_create", 201), count("item_create", 409)), (1, 1));
    assert_eq!(count("resource_create", 201), 2);
    assert_eq!((metrics.n_databases, metrics.n_containers, metrics.ranges.len()), (1, 1, 2));
    assert!(
        metrics
            .charges
            .iter()
            .any(|(operation, charge)| *operation == "item_create" && charge.hundredths() > 0)
    );
}
