//! Queries and the change feed through the official Rust SDK, over all ranges.

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::models::ChangeFeedItem;
use azure_data_cosmos::options::{ChangeFeedOptions, ChangeFeedStartFrom};
use azure_data_cosmos::{FeedScope, Query};
use conformance_rust::{Scratch, item, run};
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};

async fn filled(scratch: &Scratch) -> ContainerClient {
    let container = scratch.container("/pk").await;
    for n in 0..30 {
        let (id, pk) = (format!("i{n}"), format!("k{}", n % 10));
        let body = json!({"id": id, "pk": pk, "n": n});
        container.create_item(pk.clone(), &id, &body, None).await.unwrap();
    }
    container
}

async fn rows(container: &ContainerClient, text: &str, scope: FeedScope) -> Vec<Value> {
    let stream = container.query_items::<Value>(Query::from(text), scope, None).await.unwrap();
    stream.try_collect().await.unwrap()
}

#[test]
fn queries_reach_every_range() {
    run(async {
        let scratch = Scratch::new().await;
        let container = filled(&scratch).await;
        assert_eq!(
            rows(&container, "SELECT * FROM c", FeedScope::full_container()).await.len(),
            30
        );
        assert_eq!(rows(&container, "SELECT * FROM c", FeedScope::partition("k3")).await.len(), 3);
        let sorted = rows(
            &container,
            "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
            FeedScope::full_container(),
        )
        .await;
        let expected: Vec<Value> = (0..30).rev().map(|n| json!(n)).collect();
        assert_eq!(sorted, expected);
        scratch.finish().await;
    });
}

#[test]
fn one_range_at_a_time_gives_everything_once() {
    run(async {
        let scratch = Scratch::new().await;
        let container = filled(&scratch).await;
        let mut ids = Vec::new();
        for range in container.read_feed_ranges(None).await.unwrap() {
            for row in rows(&container, "SELECT VALUE c.id FROM c", FeedScope::range(range)).await {
                ids.push(row.as_str().unwrap().to_owned());
            }
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 30);
        scratch.finish().await;
    });
}

#[test]
fn the_change_feed_has_each_item_once_and_goes_on() {
    run(async {
        let scratch = Scratch::new().await;
        let container = filled(&scratch).await;
        container
            .upsert_item("k3", "i3", &json!({"id": "i3", "pk": "k3", "v": 2}), None)
            .await
            .unwrap();
        let (seen, token) = drain(&container, None).await;
        assert_eq!(seen.len(), 30);
        container.create_item("z", "later", &item("later", "z"), None).await.unwrap();
        let options = ChangeFeedOptions::default().with_continuation_token(token);
        let (seen, _) = drain(&container, Some(options)).await;
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].current().unwrap()["id"], "later");
        scratch.finish().await;
    });
}

async fn drain(
    container: &ContainerClient,
    options: Option<ChangeFeedOptions>,
) -> (Vec<ChangeFeedItem<Value>>, azure_data_cosmos::feed::ContinuationToken) {
    let mut pages = container
        .query_change_feed::<Value>(
            FeedScope::full_container(),
            ChangeFeedStartFrom::Beginning,
            options,
        )
        .await
        .unwrap();
    let mut seen = Vec::new();
    let mut n_empty = 0;
    // The feed has no end; after a round of empty pages there is nothing new.
    while n_empty <= conformance_rust::min_partitions() {
        let page = pages.next().await.unwrap().unwrap();
        n_empty = if page.items().is_empty() { n_empty + 1 } else { 0 };
        seen.extend(page.into_items());
    }
    let token = pages.to_continuation_token().unwrap();
    (seen, token)
}
