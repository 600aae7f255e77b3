//! Databases and names: create, read, list, delete, addressing by name and by rid.

use model::Value;

use crate::support::Client;

#[tokio::test]
async fn a_database_shows_what_the_service_shows() {
    let client = Client::new(1).await;
    let created = client.create("dbs", r#"{"id":"d","extra":1}"#).await.expect(201);
    let names: Vec<&str> =
        created.value.as_object().unwrap().iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["id", "_rid", "_self", "_etag", "_colls", "_users", "_ts"]);
    assert_eq!(created.text("_self"), format!("dbs/{}/", created.text("_rid")));
    assert_eq!(created.facts.etag.as_ref().unwrap().as_str(), created.text("_etag"));
    let read = client.read("dbs/d").await.expect(200);
    assert_eq!(read.value, created.value);
    client.delete("dbs/d").await.expect(204);
    client.read("dbs/d").await.expect_sub(404, 0);
}

#[tokio::test]
async fn malformed_creates_are_refused() {
    let client = Client::new(1).await;
    #[rustfmt::skip]
    let table = [
        ("", "valid request payload"), ("[]", "valid request payload"), ("{\"id\":", "valid request payload"),
        ("{}", "required properties - 'id; ' - are missing"),
        ("{\"id\":null}", "required properties - 'id; ' - are missing"),
        ("{\"id\":7}", "One of the specified inputs is invalid"),
        ("{\"id\":\"\"}", "less than '255' characters"), ("{\"id\":\"a/b\"}", "invalid"),
        ("{\"id\":\"a \"}", "invalid"),
    ];
    for (body, message) in table {
        let answer = client.create("dbs", body).await.expect(400);
        assert!(answer.message.contains(message), "{body}: {}", answer.message);
    }
    assert_eq!(client.list("dbs").await.rows.len(), 0);
}

/// What is half a character in the text is U+FFFD afterwards: two ids could become one.
#[tokio::test]
async fn no_resource_has_an_id_with_half_a_character() {
    let client = Client::new(1).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    client.create("dbs/d/users", r#"{"id":"u"}"#).await.expect(201);
    for (feed, rest) in [
        ("dbs", ""),
        ("dbs/d/colls", r#","partitionKey":{"paths":["/pk"],"kind":"Hash"}"#),
        ("dbs/d/users", ""),
        ("dbs/d/users/u/permissions", r#","permissionMode":"Read","resource":"dbs/d/colls/c""#),
        ("dbs/d/colls/c/sprocs", r#","body":"function () {}""#),
        ("dbs/d/colls/c/udfs", r#","body":"function () {}""#),
        (
            "dbs/d/colls/c/triggers",
            r#","body":"function () {}","triggerType":"Pre","triggerOperation":"All""#,
        ),
    ] {
        for id in [r"\ud800", r"x\udc00y", r"\ude00\ud83d"] {
            let body = format!(r#"{{"id":"{id}"{rest}}}"#);
            let answer = client.create(feed, &body).await.expect(400);
            assert!(answer.message.contains("half a character"), "{body}: {}", answer.message);
        }
        let whole = format!(r#"{{"id":"\ud83d\ude00"{rest}}}"#);
        client.create(feed, &whole).await.expect(201);
    }
    let user = client.replace("dbs/d/users/u", r#"{"id":"\ud800"}"#).await;
    user.expect(400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_creates_of_one_name_one_wins() {
    let client = Client::new(3).await;
    let all: Vec<_> = (0..24)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                let database = client.create("dbs", r#"{"id":"d"}"#).await.status.code;
                let container =
                    client.create("dbs/d/colls", crate::support::CONTAINER).await.status.code;
                (database, container)
            })
        })
        .collect();
    let (mut databases, mut containers) = (Vec::new(), Vec::new());
    for task in all {
        let (database, container) = task.await.unwrap();
        databases.push(database);
        containers.push(container);
    }
    for codes in [databases, containers] {
        assert_eq!(codes.iter().filter(|code| **code == 201).count(), 1, "{codes:?}");
        assert!(codes.iter().all(|code| [201, 409].contains(code)), "{codes:?}");
    }
    assert_eq!(client.list("dbs/d/colls").await.rows.len(), 1);
}

#[tokio::test]
async fn everything_is_found_by_rid_too() {
    let client = Client::with_container(1).await;
    let container = client.read("dbs/d/colls/c").await.expect(200);
    let by_rid = client.read(&container.text("_self")).await.expect(200);
    assert_eq!(by_rid.value, container.value);
    client.create("dbs/d/users", r#"{"id":"u"}"#).await.expect(201);
    let permission = r#"{"id":"p","permissionMode":"Read","resource":"dbs/d/colls/c"}"#;
    client.create("dbs/d/users/u/permissions", permission).await.expect(201);
    client.create("dbs/d/colls/c/sprocs", r#"{"id":"s","body":"function(){}"}"#).await.expect(201);
    for path in ["dbs/d", "dbs/d/users/u", "dbs/d/users/u/permissions/p", "dbs/d/colls/c/sprocs/s"]
    {
        let link = client.read(path).await.expect(200).text("_self");
        let read = client.read(&link).await.expect(200);
        assert_eq!(Some(read.text("id").as_str()), path.rsplit('/').next());
    }
    let mixed = container.text("_self").replace(&container.text("_rid"), "c");
    client.read(&mixed).await.expect(404);
}

#[tokio::test]
async fn a_name_wins_over_a_rid() {
    let client = Client::new(1).await;
    let first = client.create("dbs", r#"{"id":"first"}"#).await.expect(201);
    let rid = first.text("_rid");
    client.create("dbs", &format!(r#"{{"id":"{rid}"}}"#)).await.expect(201);
    assert_eq!(client.read(&format!("dbs/{rid}")).await.expect(200).text("id"), rid);
}

#[tokio::test]
async fn a_missing_owner_has_its_own_sub_status() {
    let client = Client::with_container(1).await;
    client.read("dbs/x").await.expect_sub(404, 0);
    client.read("dbs/x/colls/c").await.expect_sub(404, 1003);
    client.read("dbs/d/colls/x").await.expect_sub(404, 0);
    client.list("dbs/x/colls").await.expect_sub(404, 1003);
    client.create("dbs/x/colls", crate::support::CONTAINER).await.expect_sub(404, 1003);
    client.read("dbs/d/colls/x/sprocs/s").await.expect_sub(404, 1003);
    client.items_of("dbs/d/colls/x").key(r#"["a"]"#).read("1").await.expect_sub(404, 0);
    client.ranges("dbs/d/colls/x", None, true).await.expect_sub(404, 1003);
    client.items().key(r#"["a"]"#).read("1").await.expect_sub(404, 0);
}

#[tokio::test]
async fn feeds_are_paged_in_the_order_of_rids() {
    let client = Client::new(1).await;
    for id in ["b", "a", "d", "c"] {
        client.create("dbs", &format!(r#"{{"id":"{id}"}}"#)).await.expect(201);
    }
    let mut rids: Vec<(u64, String)> = Vec::new();
    for row in client.list("dbs").await.rows {
        let text = |name: &str| row.get(name).unwrap().as_str().unwrap().to_owned();
        let rid = model::Rid::parse(&text("_rid")).unwrap();
        let number =
            rid.as_bytes().iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        rids.push((number, text("id")));
    }
    assert!(rids.is_sorted(), "{rids:?}");
    let ids: Vec<&str> = rids.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(ids.len(), 4);
    let query = client.query_resources("dbs", "SELECT VALUE d.id FROM dbs d").await.rows;
    assert_eq!(query, ids.iter().map(|id| model::Value::from(*id)).collect::<Vec<_>>());
    let pages = client.with_options(|options| options.items_max = Some(3));
    let first = pages.list("dbs").await;
    assert_eq!(first.ids(), ids[..3]);
    let token = first.facts.continuation.unwrap();
    let rest = pages.with_options(|options| options.continuation = Some(token.clone()));
    let second = rest.list("dbs").await;
    assert_eq!((second.ids(), second.facts.continuation), (vec![ids[3].to_owned()], None));
    rest.list("offers").await.expect(400);
    let forged = pages.with_options(|options| options.continuation = Some("AAAA".into()));
    assert!(forged.list("dbs").await.expect(400).message.contains("Invalid Continuation Token"));
}

#[tokio::test]
async fn preconditions_guard_metadata() {
    let client = Client::with_container(1).await;
    let etag = client.read("dbs/d/colls/c").await.text("_etag");
    let unchanged = client.with_options(|options| options.if_none_match = Some(etag.clone()));
    unchanged.read("dbs/d/colls/c").await.expect(304);
    let stale = client.with_options(|options| options.if_match = Some("\"other\"".into()));
    stale.replace("dbs/d/colls/c", crate::support::CONTAINER).await.expect(412);
    stale.delete("dbs/d/colls/c").await.expect(412);
    let fresh = client.with_options(|options| options.if_match = Some(etag.clone()));
    let replaced = fresh.replace("dbs/d/colls/c", crate::support::CONTAINER).await.expect(200);
    assert_ne!(replaced.text("_etag"), etag);
    client.delete("dbs/d").await.expect(204);
}

#[tokio::test]
async fn users_are_renamed_and_upserted() {
    let client = Client::with_container(1).await;
    client.create("dbs/d/users", r#"{"id":"u"}"#).await.expect(201);
    client.create("dbs/d/users", r#"{"id":"u"}"#).await.expect(409);
    client.create_or_upsert("dbs/d/users", r#"{"id":"u"}"#, true).await.expect(200);
    client.create_or_upsert("dbs/d/users", r#"{"id":"v"}"#, true).await.expect(201);
    client.replace("dbs/d/users/u", r#"{"id":"v"}"#).await.expect(409);
    let renamed = client.replace("dbs/d/users/u", r#"{"id":"w"}"#).await.expect(200);
    assert_eq!(renamed.value.get("_permissions"), Some(&Value::from("permissions/")));
    client.read("dbs/d/users/u").await.expect(404);
    client.read("dbs/d/users/w").await.expect(200);
    client.create_or_upsert("dbs", r#"{"id":"x"}"#, true).await.expect(405);
    client.replace("dbs/d", r#"{"id":"x"}"#).await.expect(405);
}

#[tokio::test]
async fn recreating_a_container_gives_a_new_rid_and_empty_ranges() {
    let client = Client::with_container(2).await;
    let old = client.read("dbs/d/colls/c").await.text("_rid");
    client.items().key(r#"["a"]"#).create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    client.delete("dbs/d/colls/c").await.expect(204);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    assert_ne!(client.read("dbs/d/colls/c").await.text("_rid"), old);
    client.items().key(r#"["a"]"#).read("1").await.expect(404);
    let stale = client.with_options(|options| options.intended_container_rid = Some(old.clone()));
    stale.items().key(r#"["a"]"#).read("1").await.expect_sub(400, 1024);
    stale.ranges("dbs/d/colls/c", None, true).await.expect_sub(400, 1024);
    stale.read("dbs/d/colls/c").await.expect_sub(400, 1024);
}

#[tokio::test]
async fn conflicts_are_an_empty_feed() {
    let client = Client::with_container(1).await;
    assert_eq!(client.list("dbs/d/colls/c/conflicts").await.expect(200).rows.len(), 0);
    client.read("dbs/d/colls/c/conflicts/x").await.expect_sub(404, 0);
    client.delete("dbs/d/colls/c/conflicts/x").await.expect_sub(404, 0);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_memory_and_store_together() {
    let store = store::open_memory();
    let client = Client::with(store.clone(), account::AccountOptions::default()).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    {
        let mut create = Box::pin(client.create("dbs/d/colls", crate::support::CONTAINER));
        let waker = std::task::Waker::noop();
        let _ = create.as_mut().poll(&mut std::task::Context::from_waker(waker));
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let again = Client::with(store, account::AccountOptions::default()).await;
    assert_eq!(client.list("dbs/d/colls").await.ids(), ["c"]);
    assert_eq!(again.list("dbs/d/colls").await.rows, client.list("dbs/d/colls").await.rows);
    client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
}
