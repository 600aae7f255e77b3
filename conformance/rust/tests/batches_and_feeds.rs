//! Transactional batches, queries and the change feed.

use std::collections::BTreeSet;

use azure_core::http::Etag;
use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::feed::FeedScope;
use azure_data_cosmos::models::{ChangeFeedItem, ChangeFeedPolicy};
use azure_data_cosmos::options::{
    BatchReplaceOptions, ChangeFeedMode, ChangeFeedOptions, ChangeFeedStartFrom, Precondition,
};
use azure_data_cosmos::{Query, TransactionalBatch};
use conformance_rust::*;
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};

#[test]
fn a_batch_commits_together() -> Result {
    run(async {
        let scratch = Scratch::new().await;
        let made = scratch.container_with(properties(&["/pk"])).await;
        let container = &made;
        for id in ["old", "gone"] {
            container.create_item("a", id, json!({"id": id, "pk": "a", "n": 1}), None).await?;
        }
        let batch = TransactionalBatch::new("a")
            .create_item(json!({"id": "new", "pk": "a"}))?
            .upsert_item(json!({"id": "up", "pk": "a"}), None)?
            .replace_item("old", json!({"id": "old", "pk": "a", "n": 2}), None)?
            .read_item("old", None)
            .delete_item("gone", None);
        let response = container.execute_transactional_batch(batch, None).await?;
        assert!(response.headers().session_token().is_some());
        let response = response.into_model()?;
        let statuses: Vec<u16> = response.results().iter().map(|it| it.status_code()).collect();
        assert_eq!(statuses, [201, 201, 200, 200, 204]);
        let read: Value = response.results()[3].into_model()?.ok_or("no body")?;
        assert_eq!(read["n"], 2);
        scratch.finish().await;
        Ok(())
    })
}

#[test]
fn a_batch_rolls_back_together() -> Result {
    run(async {
        let scratch = Scratch::new().await;
        let made = scratch.container_with(properties(&["/pk"])).await;
        let container = &made;
        let taken = json!({"id": "taken", "pk": "a"});
        container.create_item("a", "taken", &taken, None).await?;
        let stale = BatchReplaceOptions::default()
            .with_precondition(Precondition::if_match(Etag::from("\"other\"")));
        let batches = [
            (
                TransactionalBatch::new("a")
                    .create_item(json!({"id": "first", "pk": "a"}))?
                    .create_item(&taken)?,
                409,
            ),
            (
                TransactionalBatch::new("a")
                    .create_item(json!({"id": "first", "pk": "a"}))?
                    .delete_item("nowhere", None),
                404,
            ),
            (
                TransactionalBatch::new("a")
                    .create_item(json!({"id": "first", "pk": "a"}))?
                    .replace_item("taken", &taken, Some(stale))?,
                412,
            ),
        ];
        for (batch, status) in batches {
            let response =
                container.execute_transactional_batch(batch, None).await?.into_model()?;
            let statuses: Vec<u16> = response.results().iter().map(|it| it.status_code()).collect();
            assert_eq!(statuses, [424, status]);
            assert_eq!(failure(container.read_item("a", "first", None).await).0, 404);
        }
        scratch.finish().await;
        Ok(())
    })
}

async fn fill(container: &ContainerClient, n: usize) -> Result {
    for index in 0..n {
        let (id, key) = (format!("i{index}"), format!("k{}", index % 10));
        let item = json!({"id": id, "pk": key, "n": index});
        container.create_item(key, &id, item, None).await?;
    }
    Ok(())
}

#[test]
fn queries_run_over_one_and_over_all_partitions() -> Result {
    run(async {
        let scratch = Scratch::new().await;
        let made = scratch.container_with(properties(&["/pk"])).await;
        let container = &made;
        fill(container, 40).await?;
        let one: Vec<Value> = container
            .query_items("SELECT * FROM c", FeedScope::partition("k3"), None)
            .await?
            .try_collect()
            .await?;
        assert_eq!(one.len(), 4);
        let query = Query::from("SELECT * FROM c WHERE c.n >= @n").with_parameter("@n", 30)?;
        let filtered: Vec<Value> = container
            .query_items(query, FeedScope::full_container(), None)
            .await?
            .try_collect()
            .await?;
        assert_eq!(filtered.len(), 10);
        let all: Vec<Value> = container
            .query_items("SELECT * FROM c", FeedScope::full_container(), None)
            .await?
            .try_collect()
            .await?;
        assert_eq!(all.len(), 40);
        scratch.finish().await;
        Ok(())
    })
}

/// Reads pages until one is empty; returns ids and the place to go on from.
async fn changes(
    container: &ContainerClient,
    scope: FeedScope,
    start: ChangeFeedStartFrom,
    options: Option<ChangeFeedOptions>,
) -> Result<(Vec<ChangeFeedItem<Value>>, azure_data_cosmos::feed::ContinuationToken)> {
    let mut pages = container.query_change_feed::<Value>(scope, start, options).await?;
    let mut items = Vec::new();
    // Every range answers once with nothing when it has no more.
    let mut n_empty = 0;
    while n_empty <= 2 * min_partitions() {
        let Some(page) = pages.next().await else { break };
        let page = page?.into_items();
        n_empty = if page.is_empty() { n_empty + 1 } else { 0 };
        items.extend(page);
    }
    Ok((items, pages.to_continuation_token()?))
}

fn ids(items: &[ChangeFeedItem<Value>]) -> BTreeSet<String> {
    items.iter().filter_map(|it| it.current()?["id"].as_str().map(str::to_owned)).collect()
}

#[test]
fn the_change_feed_holds_each_item_once() -> Result {
    run(async {
        let scratch = Scratch::new().await;
        let made = scratch.container_with(properties(&["/pk"])).await;
        let container = &made;
        fill(container, 40).await?;
        let (items, place) =
            changes(container, FeedScope::full_container(), ChangeFeedStartFrom::Beginning, None)
                .await?;
        assert_eq!(items.len(), 40);
        assert_eq!(ids(&items).len(), 40);
        let next = json!({"id": "i5", "pk": "k5", "n": -1});
        container.replace_item("k5", "i5", next, None).await?;
        let options = ChangeFeedOptions::default().with_continuation_token(place);
        let (items, _) = changes(
            container,
            FeedScope::full_container(),
            ChangeFeedStartFrom::Beginning,
            Some(options),
        )
        .await?;
        assert_eq!(ids(&items), BTreeSet::from(["i5".to_owned()]));
        let (items, _) =
            changes(container, FeedScope::partition("k2"), ChangeFeedStartFrom::Beginning, None)
                .await?;
        assert_eq!(items.len(), 4);
        scratch.finish().await;
        Ok(())
    })
}

#[test]
fn the_change_feed_starts_now_or_at_a_time() -> Result {
    run(async {
        let scratch = Scratch::new().await;
        let made = scratch.container_with(properties(&["/pk"])).await;
        let container = &made;
        fill(container, 10).await?;
        let (items, place) =
            changes(container, FeedScope::full_container(), ChangeFeedStartFrom::Now, None).await?;
        assert!(items.is_empty());
        container.create_item("k1", "later", json!({"id": "later", "pk": "k1"}), None).await?;
        let options = ChangeFeedOptions::default().with_continuation_token(place);
        let (items, _) = changes(
            container,
            FeedScope::full_container(),
            ChangeFeedStartFrom::Now,
            Some(options),
        )
        .await?;
        assert_eq!(ids(&items), BTreeSet::from(["later".to_owned()]));
        let past = time::OffsetDateTime::now_utc() - time::Duration::hours(1);
        let (items, _) = changes(
            container,
            FeedScope::full_container(),
            ChangeFeedStartFrom::PointInTime(past),
            None,
        )
        .await?;
        assert_eq!(items.len(), 11);
        scratch.finish().await;
        Ok(())
    })
}

#[test]
fn all_versions_and_deletes_are_seen() -> Result {
    run(async {
        let policy = ChangeFeedPolicy::default()
            .with_retention_duration(std::time::Duration::from_secs(600));
        let scratch = Scratch::new().await;
        let made =
            scratch.container_with(properties(&["/pk"]).with_change_feed_policy(policy)).await;
        let container = &made;
        let mode = || ChangeFeedOptions::default().with_mode(ChangeFeedMode::AllVersionsAndDeletes);
        let scope = FeedScope::full_container;
        let (_, place) =
            changes(container, scope(), ChangeFeedStartFrom::Now, Some(mode())).await?;
        container.create_item("a", "1", json!({"id": "1", "pk": "a", "n": 1}), None).await?;
        container.replace_item("a", "1", json!({"id": "1", "pk": "a", "n": 2}), None).await?;
        container.delete_item("a", "1", None).await?;
        let options = mode().with_continuation_token(place);
        let (items, _) =
            changes(container, scope(), ChangeFeedStartFrom::Now, Some(options)).await?;
        let kinds: Vec<String> =
            items.iter().map(|it| format!("{:?}", it.operation_type())).collect();
        assert_eq!(kinds.len(), 3, "{kinds:?}");
        assert_eq!(items[1].current().map(|it| &it["n"]), Some(&json!(2)));
        scratch.finish().await;
        Ok(())
    })
}
