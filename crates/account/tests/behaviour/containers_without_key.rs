//! Containers without a partition key, as clients of API versions before 2018-12-31 make and use them.

use account::{AccountOptions, FeedStart, ItemAction};
use model::{Env, RangeId, Value};
use store::EmbeddedOptions;

use crate::support::{Client, START_MS, link, value};

const SYSTEM_KEY: &str =
    r#"{"paths":["/_partitionKey"],"kind":"Hash","version":1,"systemKey":true}"#;
/// From the first API version to the last one that knows such containers.
const OLD_VERSIONS: [&str; 5] =
    ["2014-08-21", "2015-12-16", "2017-02-22", "2018-06-18", "2018-09-17"];

fn of_version(client: &Client, version: &str) -> Client {
    client.with_options(|options| options.api_version = Some(version.into()))
}

/// An account with many ranges for each new container, and one container without a key in it.
async fn old_client() -> Client {
    let client = Client::new(4).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let old = of_version(&client, "2018-09-17");
    old.create("dbs/d/colls", r#"{"id":"c"}"#).await.expect(201);
    old
}

#[tokio::test]
async fn old_clients_see_no_key_and_newer_ones_that_of_the_system() {
    let client = old_client().await;
    for version in OLD_VERSIONS {
        let old = of_version(&client, version);
        let shown = [
            old.read("dbs/d/colls/c").await.expect(200).value,
            old.list("dbs/d/colls").await.expect(200).rows.remove(0),
            old.query_resources("dbs/d/colls", "SELECT * FROM c").await.rows.remove(0),
            old.create("dbs/d/colls", r#"{"id":"again"}"#).await.expect(201).value,
            old.replace("dbs/d/colls/again", r#"{"id":"again","defaultTtl":5}"#).await.value,
        ];
        for shown in shown {
            assert_eq!(shown.get("partitionKey"), None, "{version}: {}", shown.to_text());
        }
        old.delete("dbs/d/colls/again").await.expect(204);
    }
    for version in ["2018-12-31", "2020-07-15"] {
        let new = of_version(&client, version);
        let shown = new.read("dbs/d/colls/c").await.expect(200).value;
        assert_eq!(shown.get("partitionKey"), Some(&value(SYSTEM_KEY)), "{version}");
        let same = format!(r#"{{"id":"c","partitionKey":{SYSTEM_KEY},"defaultTtl":-1}}"#);
        new.replace("dbs/d/colls/c", &same).await.expect(200);
    }
    let keyed = r#"{"id":"keyed","partitionKey":{"paths":["/pk"],"kind":"Hash"}}"#;
    client.create("dbs/d/colls", keyed).await.expect(201);
    let shown = client.read("dbs/d/colls/keyed").await.expect(200).value;
    assert!(shown.get("partitionKey").is_some(), "keys that a user chose are shown");
}

#[tokio::test]
async fn items_are_written_and_read_without_a_key() {
    let client = old_client().await;
    for version in OLD_VERSIONS {
        let old = of_version(&client, version);
        let items = old.items();
        let created = items.create(r#"{"id":"1","city":"Bonn"}"#).await.expect(201);
        items.create(r#"{"id":"1"}"#).await.expect(409);
        items.upsert(r#"{"id":"1","city":"Ulm"}"#).await.expect(200);
        assert_eq!(items.read("1").await.expect(200).text("city"), "Ulm");
        items.replace("1", r#"{"id":"1","city":"Kiel"}"#).await.expect(200);
        let by_rid = client.read("dbs/d/colls/c").await.text("_self");
        let by_rid = old.items_of(&by_rid);
        let rid = created.text("_rid");
        assert_eq!(by_rid.read(&rid).await.expect(200).text("city"), "Kiel");
        by_rid.replace(&rid, r#"{"id":"1","city":"Jena"}"#).await.expect(200);
        by_rid.delete(&rid).await.expect(204);
        items.read("1").await.expect(404);
    }
}

/// Wire: the resolvers of the npm package send the key that they resolve by.
#[tokio::test]
async fn a_key_that_an_old_client_sends_is_ignored() {
    let client = old_client().await;
    let items = client.items().key(r#"["Bonn"]"#);
    items.create(r#"{"id":"1","city":"Bonn"}"#).await.expect(201);
    items.read("1").await.expect(200);
    assert_eq!(items.query_with("SELECT * FROM c", false).await.expect(200).ids(), ["1"]);
    assert_eq!(client.items().feed().await.expect(200).ids(), ["1"]);
    items.replace("1", r#"{"id":"1","city":"Ulm"}"#).await.expect(200);
    items.delete("1").await.expect(204);
}

#[tokio::test]
async fn procedures_run_without_a_key() {
    let client = old_client().await;
    let body = r#"{"id":"p","body":"function (name) {
        var context = getContext(), items = context.getCollection();
        items.createDocument(items.getSelfLink(), { id: name }, {}, function (error, item) {
            if (error) throw error;
            context.getResponse().setBody(item.id);
        });
    }"}"#
        .replace('\n', " ");
    client.create("dbs/d/colls/c/sprocs", &body).await.expect(201);
    let execute = |key: Option<&'static str>, name: &'static str| {
        let items = client.items();
        let items = match key {
            Some(key) => items.key(key),
            None => items,
        };
        let arguments = format!(r#"["{name}"]"#).into();
        async move {
            let procedure = "p".to_owned();
            items.run(ItemAction::Execute { procedure, arguments, wants_log: false }).await
        }
    };
    assert_eq!(execute(None, "a").await.expect(200).value, value(r#""a""#));
    assert_eq!(execute(Some(r#"["x"]"#), "b").await.expect(200).value, value(r#""b""#));
    client.items().read("b").await.expect(200);
}

#[tokio::test]
async fn queries_are_served_whole_without_a_key_and_without_crossing() {
    let client = old_client().await;
    for n in 0..20 {
        let body = format!(r#"{{"id":"{n:02}","n":{},"team":"t{}"}}"#, (n * 7) % 20, n % 3);
        client.items().create(&body).await.expect(201);
    }
    #[rustfmt::skip]
    let table = [
        ("SELECT VALUE COUNT(1) FROM c",                        "[20]"),
        ("SELECT VALUE SUM(c.n) FROM c WHERE c.n < 4",          "[6]"),
        ("SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n",          "[0,1,2]"),
        ("SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 1 LIMIT 2", "[18,17]"),
        ("SELECT VALUE c.n FROM c WHERE c.id = '03'",           "[1]"),
        ("SELECT DISTINCT VALUE c.team FROM c ORDER BY c.team", r#"["t0","t1","t2"]"#),
        ("SELECT COUNT(1) AS n FROM c GROUP BY c.team",         r#"[{"n":7},{"n":7},{"n":6}]"#),
    ];
    for (query, expected) in table {
        for is_crossing in [false, true] {
            for items in [client.items(), client.items().range(0)] {
                let answer = items.query_with(query, is_crossing).await.expect(200);
                assert_eq!(Value::Array(answer.rows), value(expected), "{query}");
                assert_eq!(answer.facts.range, Some(RangeId(0)), "{query}");
            }
        }
    }
    let mut seen = Vec::new();
    let mut continuation = None;
    loop {
        let paged = client.with_options(|options| {
            options.items_max = Some(6);
            options.continuation.clone_from(&continuation);
        });
        let page = paged.items().query_with("SELECT VALUE c.n FROM c ORDER BY c.n", false).await;
        let page = page.expect(200);
        seen.extend(page.rows.iter().filter_map(Value::as_i64));
        continuation = page.facts.continuation;
        if continuation.is_none() {
            break;
        }
    }
    assert_eq!(seen, (0..20).collect::<Vec<_>>());
}

/// Wire: what a newer client writes with a key of its own is out of reach for old ones.
#[tokio::test]
async fn newer_clients_share_the_container() {
    let old = old_client().await;
    let new = of_version(&old, "2020-07-15");
    old.items().create(r#"{"id":"old"}"#).await.expect(201);
    new.items().key("[]").create(r#"{"id":"new"}"#).await.expect(201);
    let keyed = new.items().key(r#"["x"]"#);
    keyed.create(r#"{"id":"keyed","_partitionKey":"x"}"#).await.expect(201);
    assert_eq!(new.items().key("[]").read("old").await.expect(200).text("id"), "old");
    new.items().read("old").await.expect(400);
    new.items().query_with("SELECT * FROM c", false).await.expect(400);
    assert_eq!(new.items().query("SELECT * FROM c").await.expect(200).ids().len(), 3);
    old.items().read("new").await.expect(200);
    old.items().read("keyed").await.expect(404);
    let all = "SELECT * FROM c ORDER BY c.id";
    assert_eq!(old.items().query_with(all, false).await.expect(200).ids(), ["new", "old"]);
    assert_eq!(old.items().feed().await.expect(200).ids(), ["old", "new"]);
    let changes = old.items().changes(FeedStart::default()).await.expect(200);
    assert_eq!(changes.ids(), ["old", "new"]);
    let mixed = old.items().create(r#"{"id":"1","_partitionKey":"x"}"#).await;
    mixed.expect_sub(400, 1001);
}

/// What deletes a whole logical partition, or is newer than such clients, goes by the key that was sent.
#[tokio::test]
async fn only_what_such_clients_know_does_without_a_key() {
    let old = old_client().await;
    old.items().create(r#"{"id":"1"}"#).await.expect(201);
    old.items().run(ItemAction::DeleteLogicalPartition).await.expect(400);
    old.items().key(r#"["x"]"#).run(ItemAction::DeleteLogicalPartition).await.expect(200);
    old.items().read("1").await.expect(200);
    old.items().batch(vec![crate::support::read_call("1")]).await.expect(400);
}

#[tokio::test]
async fn there_is_one_physical_partition_for_ever() {
    let client = old_client().await;
    assert_eq!(client.ranges("dbs/d/colls/c", None, true).await.rows.len(), 1);
    let units = |units| {
        client.with_options(|options| {
            options.throughput = Some(account::ThroughputRequest::Manual(units));
        })
    };
    units(10_000).create("dbs/d/colls", r#"{"id":"fast"}"#).await.expect(201);
    assert_eq!(client.ranges("dbs/d/colls/fast", None, true).await.rows.len(), 1);
    let quota = client.read("dbs/d/colls/c").await.facts.quota.unwrap();
    assert!(quota.contains("collectionSize=20971520;"), "20 GB: {quota}");
    let refused = units(10_100).create("dbs/d/colls", r#"{"id":"faster"}"#).await.expect(400);
    assert!(refused.message.contains("between 400 and 10000 inclusive"), "{}", refused.message);
    let new = of_version(&client, "2020-07-15");
    for n in 0..40 {
        let body = format!(r#"{{"id":"{n}","_partitionKey":"k{n}"}}"#);
        let key = format!(r#"["k{n}"]"#);
        new.items().key(&key).create(&body).await.expect(201);
    }
    let split = client.account.start_split(&link("dbs/d/colls/c"), RangeId(0), None);
    assert!(split.unwrap_err().to_string().contains("without a partition key"));
    client.account.run_jobs_once().await.unwrap();
    assert_eq!(client.ranges("dbs/d/colls/c", None, true).await.rows.len(), 1);
}

#[tokio::test]
async fn a_restart_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for seed in [1, 2] {
        let settings = EmbeddedOptions {
            durability: store::Durability::Fsync,
            cache_bytes: store::CACHE_BYTES_DEFAULT,
            direct_reads: store::DirectReads::Compared,
            env: Env::system(),
        };
        let store = store::open_embedded(dir.path(), &settings).unwrap();
        let options = AccountOptions { min_partitions: 3, ..AccountOptions::default() };
        let client = Client::at(store, options, Env::fixed(seed, START_MS)).await;
        let old = of_version(&client, "2016-07-11");
        if seed == 1 {
            old.create("dbs", r#"{"id":"d"}"#).await.expect(201);
            old.create("dbs/d/colls", r#"{"id":"c"}"#).await.expect(201);
            old.items().create(r#"{"id":"1","n":1}"#).await.expect(201);
        }
        assert_eq!(old.read("dbs/d/colls/c").await.expect(200).value.get("partitionKey"), None);
        old.items().read("1").await.expect(200);
        let sum = old.items().query_with("SELECT VALUE SUM(c.n) FROM c", false).await.expect(200);
        assert_eq!(sum.rows, [value("1")]);
        let new = client.read("dbs/d/colls/c").await.expect(200).value;
        assert_eq!(new.get("partitionKey"), Some(&value(SYSTEM_KEY)));
        client.items().key("[]").read("1").await.expect(200);
        client.account.close().await.unwrap();
    }
}
