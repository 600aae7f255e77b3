//! Change feed: scopes, starts, positions, both modes.

use std::collections::BTreeSet;
use std::time::Duration;

use account::FeedStart;
use model::Value;

use crate::support::{Answer, Client, Items};

fn after(answer: &Answer) -> FeedStart {
    let etag = answer.facts.etag.as_ref().expect("an etag on every answer");
    FeedStart { after: Some(etag.as_str().to_owned()), ..FeedStart::default() }
}

/// Reads until 304; returns the ids in order and the last answer.
async fn drain(items: &Items<'_>, start: FeedStart) -> (Vec<String>, Answer) {
    let mut ids = Vec::new();
    let mut answer = items.changes(start).await;
    for _ in 0..1000 {
        ids.extend(answer.ids());
        if answer.status.code == 304 {
            return (ids, answer);
        }
        answer.status = model::Status::OK;
        answer = items.changes(after(&answer)).await;
    }
    panic!("no 304");
}

async fn filled(n_ranges: u32) -> Client {
    let client = Client::with_container(n_ranges).await;
    for n in 0..40 {
        client.items().create(&format!(r#"{{"id":"{n}","pk":"k{}"}}"#, n % 8)).await.expect(201);
    }
    client
}

#[tokio::test]
async fn a_range_feed_tells_each_item_once_in_order() {
    let client = filled(1).await;
    let small = client.with_options(|options| options.items_max = Some(7));
    let (ids, last) = drain(&small.items().range(0), FeedStart::default()).await;
    assert_eq!(ids, (0..40).map(|n| n.to_string()).collect::<Vec<_>>());
    let etag = last.facts.etag.as_ref().unwrap().as_str();
    assert_eq!(etag, format!("\"{}\"", last.facts.lsn.unwrap().0));
    client.items().key(r#"["k1"]"#).replace("1", r#"{"id":"1","pk":"k1","v":2}"#).await.expect(200);
    client.items().key(r#"["k2"]"#).delete("2").await.expect(204);
    let next = client.items().range(0).changes(after(&last)).await.expect(200);
    assert_eq!(next.ids(), ["1"]);
    assert!(next.rows[0].get("_lsn").and_then(Value::as_i64).is_some());
    client.items().range(0).changes(after(&next)).await.expect(304);
}

#[tokio::test]
async fn the_whole_container_has_one_position() {
    let client = filled(5).await;
    let small = client.with_options(|options| options.items_max = Some(6));
    let (ids, last) = drain(&small.items(), FeedStart::default()).await;
    assert_eq!(ids.len(), 40);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 40);
    client.items().create(r#"{"id":"new","pk":"zzz"}"#).await.expect(201);
    let next = client.items().changes(after(&last)).await.expect(200);
    assert_eq!(next.ids(), ["new"]);
    client.items().changes(after(&next)).await.expect(304);
    let foreign = FeedStart { after: Some("\"nonsense\"".into()), ..FeedStart::default() };
    client.items().changes(foreign).await.expect(400);
}

#[tokio::test]
async fn a_container_of_one_range_has_a_number_for_its_position() {
    let client = filled(1).await;
    let (ids, last) = drain(&client.items(), FeedStart::default()).await;
    assert_eq!(ids.len(), 40);
    let text = last.facts.etag.as_ref().unwrap().as_str().trim_matches('"').to_owned();
    assert!(text.parse::<u64>().is_ok(), "{text}");
    client.items().create(r#"{"id":"new","pk":"zzz"}"#).await.expect(201);
    assert_eq!(client.items().changes(after(&last)).await.expect(200).ids(), ["new"]);
}

#[tokio::test]
async fn a_key_feed_tells_its_own() {
    let client = filled(3).await;
    let (ids, _) = drain(&client.items().key(r#"["k3"]"#), FeedStart::default()).await;
    assert_eq!(ids, ["3", "11", "19", "27", "35"]);
}

#[tokio::test]
async fn a_feed_starts_now_or_at_a_time() {
    let client = filled(2).await;
    let now = FeedStart { is_now: true, ..FeedStart::default() };
    let position = client.items().changes(now).await.expect(304);
    let time = client.env.now_seconds();
    client.env.advance(Duration::from_secs(10));
    client.items().create(r#"{"id":"later","pk":"k1"}"#).await.expect(201);
    assert_eq!(client.items().changes(after(&position)).await.expect(200).ids(), ["later"]);
    let since = |seconds| FeedStart { later_than_seconds: Some(seconds), ..FeedStart::default() };
    let (ids, last) = drain(&client.items(), since(time)).await;
    assert_eq!(ids, ["later"]);
    let both = FeedStart { later_than_seconds: Some(time), ..after(&last) };
    client.items().changes(both).await.expect(304);
    let keyed = client.items().key(r#"["k1"]"#);
    let first = keyed.changes(since(time - 1)).await.expect(200);
    client.items().create(r#"{"id":"last","pk":"k1"}"#).await.expect(201);
    let later_time = Some(client.env.now_seconds() + 5);
    let both = FeedStart { later_than_seconds: later_time, ..after(&first) };
    assert_eq!(
        keyed.changes(both).await.expect(200).ids(),
        ["last"],
        "a position wins over a time"
    );
    let (all, _) = drain(&client.items(), since(time - 1)).await;
    assert_eq!(all.len(), 42);
}

#[tokio::test]
async fn all_versions_must_be_enabled_and_start_somewhere() {
    let client = filled(1).await;
    let now = || FeedStart { is_now: true, ..FeedStart::default() };
    let refused = client.items().range(0).versions(now()).await.expect(400);
    assert!(
        refused.message.contains("All Versions and Deletes")
            && refused.message.contains("must be enabled")
    );
    let body = r#"{"id":"v","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"changeFeedPolicy":{"retentionDuration":10}}"#;
    client.create("dbs/d/colls", body).await.expect(201);
    let items = client.items_of("dbs/d/colls/v");
    items.versions(FeedStart::default()).await.expect(400);
    let timed = FeedStart { later_than_seconds: Some(1), ..now() };
    items.versions(timed).await.expect(400);
    let start = items.versions(now()).await.expect(304);
    items.create(r#"{"id":"1","pk":"a","v":1}"#).await.expect(201);
    let keyed = items.clone().key(r#"["a"]"#);
    keyed.replace("1", r#"{"id":"1","pk":"a","v":2}"#).await.expect(200);
    keyed.delete("1").await.expect(204);
    let entries = items.versions(after(&start)).await.expect(200);
    let kinds: Vec<_> = entries
        .rows
        .iter()
        .map(|row| row.get("metadata").unwrap().get("operationType").unwrap().as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["create", "replace", "delete"]);
    items.versions(after(&entries)).await.expect(304);
    assert_eq!(
        items.changes(FeedStart::default()).await.status.code,
        304,
        "deleted items are gone"
    );
}
