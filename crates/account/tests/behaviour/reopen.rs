//! Everything is still there after a restart on the embedded store.

use account::{AccountOptions, FeedStart};
use model::Env;
use store::EmbeddedOptions;

use crate::support::Client;

async fn open(dir: &std::path::Path, seed: u64) -> Client {
    let settings = EmbeddedOptions {
        durability: store::Durability::Fsync,
        cache_bytes: store::CACHE_BYTES_DEFAULT,
        direct_reads: store::DirectReads::Compared,
        env: Env::system(),
    };
    let store = store::open_embedded(dir, &settings).unwrap();
    let options = AccountOptions { min_partitions: 3, ..AccountOptions::default() };
    Client::at(store, options, Env::fixed(seed, crate::support::START_MS)).await
}

#[tokio::test]
async fn a_restart_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (container, ranges, feed, offers, token, continuation, position, n_first);
    {
        let client = open(dir.path(), 1).await;
        client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
        let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
            "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}}"#;
        client.create("dbs/d/colls", body).await.expect(201);
        client.create("dbs", r#"{"id":"gone"}"#).await.expect(201);
        client.delete("dbs/gone").await.expect(204);
        client.create("dbs/d/users", r#"{"id":"u"}"#).await.expect(201);
        client.create("dbs/d/colls/c/udfs", r#"{"id":"f","body":"x"}"#).await.expect(201);
        let permission = r#"{"id":"p","permissionMode":"All","resource":"dbs/d/colls/c"}"#;
        token =
            client.create("dbs/d/users/u/permissions", permission).await.expect(201).text("_token");
        for n in 0..30 {
            let body = format!(r#"{{"id":"{n}","pk":"k{}","u":{n}}}"#, n % 5);
            client.items().create(&body).await.expect(201);
        }
        container = client.read("dbs/d/colls/c").await.value;
        ranges = client.ranges("dbs/d/colls/c", None, true).await;
        feed = client.items().feed_all(100).await;
        offers = client.list("offers").await.rows;
        let small = client.with_options(|options| options.items_max = Some(10));
        let first = small.items().feed().await;
        (n_first, continuation) = (first.rows.len(), first.facts.continuation);
        let now = FeedStart { is_now: true, ..FeedStart::default() };
        position = client.items().changes(now).await.facts.etag.unwrap();
        client.account.close().await.unwrap();
    }
    let client = open(dir.path(), 2).await;
    assert_eq!(client.list("dbs").await.ids(), ["d"]);
    assert_eq!(client.read("dbs/d/colls/c").await.value, container);
    let again = client.ranges("dbs/d/colls/c", None, true).await;
    assert_eq!((again.rows, again.facts.etag), (ranges.rows, ranges.facts.etag));
    assert_eq!(client.items().feed_all(100).await, feed);
    assert_eq!(client.list("offers").await.rows, offers);
    assert_eq!(client.list("dbs/d/colls/c/udfs").await.ids(), ["f"]);
    assert!(client.account.open_token(&token).is_ok(), "tokens survive");
    let rest = client.items().feed_from(continuation, 100).await;
    assert_eq!(rest.len(), feed.len() - n_first, "continuations survive");
    let start = FeedStart { after: Some(position.as_str().to_owned()), ..FeedStart::default() };
    client.items().changes(start).await.expect(304);
    client.items().create(r#"{"id":"x","pk":"k0","u":0}"#).await.expect(409);
    client.items().create(r#"{"id":"x","pk":"k0","u":99}"#).await.expect(201);
    let created = client
        .create("dbs/d/colls", &crate::support::CONTAINER.replace("\"c\"", "\"e\""))
        .await
        .expect(201);
    assert_ne!(created.text("_rid"), container.get("_rid").unwrap().as_str().unwrap());
}
