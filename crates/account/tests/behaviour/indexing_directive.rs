//! `x-ms-indexing-directive`: which items queries find. Everything else finds them all.

use account::{AccountOptions, BatchAction, BatchCall, FeedStart, IndexingDirective, ItemAction};
use model::{Env, RangeId, Value};
use store::EmbeddedOptions;

use crate::support::{CONTAINER, Client, START_MS, call, link, value};

fn writing(client: &Client, indexing: IndexingDirective) -> Client {
    client.with_options(|options| options.indexing = indexing)
}

async fn create(client: &Client, indexing: IndexingDirective, id: &str, n: u32) {
    let body = format!(r#"{{"id":"{id}","pk":"a","n":{n}}}"#);
    writing(client, indexing).items().create(&body).await.expect(201);
}

/// Every kind of query agrees on what there is: filters, scans, orders, times, counts.
async fn check_found(client: &Client, expected: &[&str]) {
    for text in [
        "SELECT * FROM c",
        "SELECT * FROM c WHERE c.n >= 0",
        "SELECT * FROM c WHERE c.pk = 'a' AND c.n IN (0, 1, 2, 3, 4)",
        "SELECT * FROM c WHERE c.n + 0 >= 0",
        "SELECT * FROM c WHERE c._ts > 0",
        "SELECT * FROM c WHERE NOT IS_DEFINED(c.nothing)",
    ] {
        let mut ids = client.items().query(text).await.expect(200).ids();
        ids.sort();
        assert_eq!(ids, expected, "{text}");
    }
    let ordered = "SELECT * FROM c ORDER BY c.n";
    let key = client.items().key(r#"["a"]"#);
    assert_eq!(key.query(ordered).await.expect(200).ids(), expected);
    let largest = expected.last().map_or(0, |id| id.parse::<i64>().unwrap());
    let max = key.query("SELECT VALUE MAX(c.n) FROM c").await.expect(200);
    assert_eq!(max.rows, [Value::from(largest)]);
    let distinct = key.query("SELECT DISTINCT VALUE c.n FROM c").await.expect(200);
    assert_eq!(distinct.rows.len(), expected.len());
    let n = expected.len();
    for (text, expected) in [
        ("SELECT VALUE COUNT(1) FROM c", n),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.n >= 0", n),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'a'", n),
    ] {
        let rows = client.items().query_merged(text, 1).await.expect(200).rows;
        assert_eq!(rows, [Value::from(i64::try_from(expected).unwrap())], "{text}");
    }
}

#[tokio::test]
async fn excluded_items_are_not_found_by_queries() {
    for keeps_indexes in [true, false] {
        let options = AccountOptions { keeps_indexes, ..AccountOptions::default() };
        let client = Client::with(store::open_memory(), options).await;
        client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
        client.create("dbs/d/colls", CONTAINER).await.expect(201);
        create(&client, IndexingDirective::Default, "0", 0).await;
        create(&client, IndexingDirective::Exclude, "1", 1).await;
        create(&client, IndexingDirective::Include, "2", 2).await;
        check_found(&client, &["0", "2"]).await;
        let all = ["0", "1", "2"];
        assert_eq!(client.items().feed().await.ids(), all);
        assert_eq!(client.items().changes(FeedStart::default()).await.ids(), all);
        client.items().key(r#"["a"]"#).read("1").await.expect(200);

        let written = r#"{"id":"2","pk":"a","n":2}"#;
        let key = r#"["a"]"#;
        let out = writing(&client, IndexingDirective::Exclude);
        out.items().key(key).replace("2", written).await.expect(200);
        check_found(&client, &["0"]).await;
        let patch = r#"[{"op":"set","path":"/x","value":1}]"#;
        out.items().key(key).patch("0", patch).await.expect(200);
        client.items().key(key).patch("2", patch).await.expect(200);
        check_found(&client, &["2"]).await;
        client.items().upsert(r#"{"id":"0","pk":"a","n":0}"#).await.expect(200);
        client.items().key(key).delete("1").await.expect(204);
        check_found(&client, &["0", "2"]).await;
        client.account.check_partitions().unwrap();
    }
}

#[tokio::test]
async fn a_policy_that_is_not_automatic_waits_to_be_asked() {
    let client = Client::new(1).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let policy = |text: &str| {
        let key = r#""partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}"#;
        format!(r#"{{"id":"c",{key},"indexingPolicy":{text}}}"#)
    };
    let manual = policy(r#"{"indexingMode":"consistent","automatic":false}"#);
    let old = client.with_options(|options| options.api_version = Some("2017-02-22".into()));
    old.create("dbs/d/colls", &manual).await.expect(201);
    create(&client, IndexingDirective::Default, "0", 0).await;
    create(&client, IndexingDirective::Include, "1", 1).await;
    check_found(&client, &["1"]).await;
    let batch = |indexing| {
        let action = BatchAction::Upsert { body: r#"{"id":"2","pk":"a","n":2}"#.into() };
        vec![BatchCall { indexing, ..call(action) }]
    };
    let items = client.items().key(r#"["a"]"#);
    items.batch(batch(IndexingDirective::Include)).await.expect(200);
    check_found(&client, &["1", "2"]).await;
    items.batch(batch(IndexingDirective::Default)).await.expect(200);
    check_found(&client, &["1"]).await;
    // Without an index there is nothing to be out of.
    let none = policy(r#"{"indexingMode":"none","automatic":false}"#);
    client.replace("dbs/d/colls/c", &none).await.expect(200);
    let all = items.query("SELECT * FROM c WHERE c.n >= 0").await.expect(200);
    assert_eq!(all.ids(), ["0", "1", "2"]);
}

#[tokio::test]
async fn scripts_do_not_find_them_either() {
    let client = Client::with_container(1).await;
    create(&client, IndexingDirective::Exclude, "0", 0).await;
    create(&client, IndexingDirective::Default, "1", 1).await;
    let body = r#"{"id":"p","body":"function () { __.queryDocuments(__.getSelfLink(), 'SELECT * FROM c WHERE c.n < 9', function (e, found) { __.response.setBody(found.length); }); }"}"#;
    client.create("dbs/d/colls/c/sprocs", body).await.expect(201);
    let (procedure, arguments) = ("p".to_owned(), "[]".into());
    let run = ItemAction::Execute { procedure, arguments, wants_log: false };
    let answer = client.items().key(r#"["a"]"#).run(run).await.expect(200);
    assert_eq!(answer.value, value("1"));
}

#[tokio::test]
async fn splits_merges_and_restarts_keep_what_was_said() {
    let dir = tempfile::tempdir().unwrap();
    for seed in [1, 2] {
        let settings = EmbeddedOptions {
            durability: store::Durability::Fsync,
            cache_bytes: store::CACHE_BYTES_DEFAULT,
            direct_reads: store::DirectReads::Compared,
            env: Env::system(),
        };
        let store = store::open_embedded(dir.path(), &settings).unwrap();
        let options = AccountOptions::default();
        let client = Client::at(store, options, Env::fixed(seed, START_MS)).await;
        if seed == 1 {
            client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
            client.create("dbs/d/colls", CONTAINER).await.expect(201);
            create(&client, IndexingDirective::Default, "0", 0).await;
            create(&client, IndexingDirective::Exclude, "1", 1).await;
            for n in 0..20 {
                let body = format!(r#"{{"id":"x","pk":"other {n}","n":-1}}"#);
                let out = writing(&client, IndexingDirective::Exclude);
                out.items().create(&body).await.expect(201);
            }
            let c = link("dbs/d/colls/c");
            let split = client.account.start_split(&c, RangeId(0), None).unwrap();
            client.account.wait_for_relocation(split).await.unwrap();
            check_found(&client, &["0"]).await;
            let ids = client.account.describe_ranges(&c).unwrap();
            let ids: Vec<_> = ids.iter().map(|range| range.id).collect();
            let merge = client.account.start_merge(&c, [ids[0], ids[1]]).unwrap();
            client.account.wait_for_relocation(merge).await.unwrap();
        }
        check_found(&client, &["0"]).await;
        assert_eq!(client.items().feed_all(100).await.len(), 22);
        client.account.check_partitions().unwrap();
        client.account.close().await.unwrap();
    }
}
