//! Item operations: keys, routing, addressing, preconditions, sessions.

use std::collections::BTreeSet;

use account::{AccountOptions, Consistency, ItemAction};
use model::{Charge, SessionToken, Value};

use crate::support::{Client, stronger};

const A: &str = r#"["a"]"#;

#[tokio::test]
async fn items_live_by_key_and_id() {
    for n_ranges in [1, 5] {
        let client = Client::with_container(n_ranges).await;
        let items = |key: &str| client.items().key(key);
        let created = items(r#"["a"]"#).create(r#"{"id":"1","pk":"a","n":1.50}"#).await.expect(201);
        assert_eq!(created.facts.owner_path.as_deref(), Some("dbs/d/colls/c"));
        assert!(created.facts.owner_rid.is_some() && created.facts.range.is_some());
        assert!(created.facts.charge.hundredths() > 0);
        items(r#"["b"]"#).create(r#"{"id":"1","pk":"b"}"#).await.expect(201);
        let again = items(r#"["a"]"#).create(r#"{"id":"1","pk":"a"}"#).await.expect(409);
        assert!(again.facts.session.is_some(), "SDKs record sessions of conflicts");
        let read = items(r#"["a"]"#).read("1").await.expect(200);
        assert_eq!(read.value, created.value);
        assert_eq!(read.text("_etag"), read.facts.etag.unwrap().as_str());
        items(r#"["a"]"#).upsert(r#"{"id":"1","pk":"a","n":2}"#).await.expect(200);
        items(r#"["a"]"#).replace("1", r#"{"id":"2","pk":"a"}"#).await.expect(200);
        items(r#"["a"]"#).read("1").await.expect(404);
        items(r#"["a"]"#)
            .patch("2", r#"{"operations":[{"op":"add","path":"/x","value":1}]}"#)
            .await
            .expect(200);
        let missing = items(r#"["c"]"#).read("2").await.expect_sub(404, 0);
        assert!(missing.facts.session.is_some());
        items(r#"["a"]"#).delete("2").await.expect(204);
        items(r#"["a"]"#).delete("2").await.expect(404);
        items(r#"["b"]"#).read("1").await.expect(200);
    }
}

#[tokio::test]
async fn keys_come_from_the_header_or_the_body_and_must_agree() {
    let client = Client::with_container(3).await;
    let pk = |key: &str| client.items().key(key);
    client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    pk(r#"["a"]"#).read("1").await.expect(200);
    let mismatch = pk(r#"["b"]"#).create(r#"{"id":"2","pk":"a"}"#).await.expect_sub(400, 1001);
    assert!(mismatch.message.contains("doesn't match the one specified in the header"));
    pk(r#"["b"]"#).upsert(r#"{"id":"2","pk":"a"}"#).await.expect_sub(400, 1001);
    pk(r#"["a"]"#).replace("1", r#"{"id":"1","pk":"b"}"#).await.expect_sub(400, 1001);
    let none = client.items().read("1").await.expect_sub(400, 1001);
    assert!(none.message.contains("fewer components than defined"));
    client.items().delete("1").await.expect(400);
    client.items().replace("1", r#"{"id":"1","pk":"a"}"#).await.expect(400);
    pk(r#"["a","b"]"#).read("1").await.expect_sub(400, 0);
    let few = pk("[]").read("1").await.expect_sub(400, 1001);
    assert!(few.message.contains("fewer components than defined"));
    client.items().create(r#"{"id":"3","pk":{"a":1}}"#).await.expect(201);
    pk("[{}]").create(r#"{"id":"5","pk":[1]}"#).await.expect(201);
    pk("[{}]").read("3").await.expect(200);
    client.items().create(r#"{"id":"4"}"#).await.expect(201);
    pk("[{}]").read("4").await.expect(200);
    client.items().create(r#"{"id":"4","pk":null}"#).await.expect(201);
    pk("[null]").read("4").await.expect(200);
    client.items().create(r#"{"id":"4","pk":1}"#).await.expect(201);
    pk("[1.0]").read("4").await.expect(200);
    pk(r#"["1"]"#).read("4").await.expect(404);
}

#[tokio::test]
async fn hierarchical_keys_need_every_level() {
    let client = Client::new(4).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let body =
        r#"{"id":"c","partitionKey":{"paths":["/t","/u","/s"],"kind":"MultiHash","version":2}}"#;
    client.create("dbs/d/colls", body).await.expect(201);
    for (id, u) in [("1", "x"), ("2", "y"), ("3", "x")] {
        let body = format!(r#"{{"id":"{id}","t":"a","u":"{u}","s":"{id}"}}"#);
        client.items().create(&body).await.expect(201);
    }
    client.items().create(r#"{"id":"4","t":"b","u":"x","s":"4"}"#).await.expect(201);
    client.items().key(r#"["a","x","1"]"#).read("1").await.expect(200);
    client.items().key(r#"["a","x"]"#).read("1").await.expect_sub(400, 1001);
    let calls = vec![crate::support::create_call(r#"{"id":"5","t":"a","u":"x","s":"1"}"#)];
    let part = client.items().key(r#"["a","x"]"#).batch(calls).await.expect_sub(400, 1001);
    assert!(part.message.contains("Partition key provided either doesn't correspond"));
    let purge = client.items().key(r#"["a"]"#).run(ItemAction::DeleteLogicalPartition).await;
    let refused = purge.expect_sub(400, 1001);
    assert!(refused.message.contains(
        "Partition key provided either doesn't correspond to definition in the collection or doesn't match"
    ));
    let mut ids = client.items().key(r#"["a"]"#).feed().await.expect(200).ids();
    ids.sort();
    assert_eq!(ids, ["1", "2", "3"]);
    let mut ids = client.items().key(r#"["a","x"]"#).feed().await.expect(200).ids();
    ids.sort();
    assert_eq!(ids, ["1", "3"]);
}

#[tokio::test]
async fn the_id_may_be_the_partition_key() {
    let client = Client::new(3).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let body = r#"{"id":"c","partitionKey":{"paths":["/id"],"kind":"Hash","version":2}}"#;
    client.create("dbs/d/colls", body).await.expect(201);
    client.items().create(r#"{"id":"x"}"#).await.expect(201);
    client.items().create(r#"{"id":"x"}"#).await.expect(409);
    client.items().key(r#"["x"]"#).read("x").await.expect(200);
}

#[tokio::test]
async fn items_are_addressed_by_rid() {
    let client = Client::with_container(4).await;
    let container = client.read("dbs/d/colls/c").await.text("_self");
    for (id, pk) in [("1", "a"), ("2", "b"), ("3", "c")] {
        let body = format!(r#"{{"id":"{id}","pk":"{pk}"}}"#);
        let rid = client.items().create(&body).await.expect(201).text("_rid");
        let by_rid = client.items_of(&container);
        let key = format!(r#"["{pk}"]"#);
        assert_eq!(by_rid.clone().key(&key).read(&rid).await.expect(200).text("id"), id);
        assert_eq!(by_rid.read(&rid).await.expect(200).text("id"), id);
        by_rid.clone().key(r#"["z"]"#).read(&rid).await.expect(404);
        by_rid.clone().key(&key).read(id).await.expect(404);
        by_rid.clone().key(&key).delete(&rid).await.expect(204);
        by_rid.key(&key).read(&rid).await.expect(404);
    }
}

#[tokio::test]
async fn an_item_with_a_slash_in_its_id_is_found_by_rid_and_query_only() {
    let client = Client::with_container(1).await;
    let items = client.items().key(A);
    let created = items.create(r#"{"id":"Invalid#/\\?Id","pk":"a"}"#).await.expect(201);
    items.read("Invalid#/\\?Id").await.expect(404);
    items.replace("Invalid#/\\?Id", r#"{"id":"x","pk":"a"}"#).await.expect(404);
    items.delete("Invalid#/\\?Id").await.expect(404);
    let rows =
        items.query("SELECT VALUE c.id FROM c WHERE CONTAINS(c.id, '/')").await.expect(200).rows;
    assert_eq!(rows.len(), 1);
    let by_rid = client.items_of(created.text("_self").rsplit_once("/docs/").unwrap().0);
    by_rid.key(A).replace(&created.text("_rid"), r#"{"id":"x","pk":"a"}"#).await.expect(200);
    items.read("x").await.expect(200);
}

#[tokio::test]
async fn items_with_raw_characters_and_names_twice_are_one_for_everybody() {
    let client = Client::with_container(1).await;
    let items = client.items().key(A);
    items.create("{\"id\":\"1\",\"pk\":\"a\",\"t\":\"x\ty\",\"n\":1,\"n\":2}").await.expect(201);
    assert_eq!(items.read("1").await.expect(200).value.get("n").unwrap().as_i64(), Some(2));
    for query in
        ["SELECT VALUE c.t FROM c WHERE c.n = 2", "SELECT VALUE c.t FROM c WHERE c.t = 'x\\ty'"]
    {
        assert_eq!(
            items.query(query).await.expect(200).rows,
            [crate::support::value(r#""x\ty""#)],
            "{query}"
        );
    }
    assert!(items.query("SELECT * FROM c WHERE c.n = 1").await.expect(200).rows.is_empty());
    let patch = "[{\"op\":\"incr\",\"path\":\"/n\",\"value\":1},{\"op\":\"set\",\"path\":\"/u\",\"value\":\"a\nb\"}]";
    let patched = items.patch("1", patch).await.expect(200).value;
    assert_eq!(patched.get("n").unwrap().as_i64(), Some(3));
    assert_eq!(patched.get("u").unwrap().as_str(), Some("a\nb"));
    let batch = items
        .batch(vec![crate::support::create_call(
            "{\"id\":\"2\",\"pk\":\"a\",\"m\":\"\r\",\"m\":\"\t\"}",
        )])
        .await;
    batch.expect(200);
    assert_eq!(items.read("2").await.expect(200).text("m"), "\t");
}

#[tokio::test]
async fn a_replace_of_nothing_is_404_whatever_its_body_says() {
    let client = Client::with_container(1).await;
    let items = client.items().key(A);
    for body in ["", "{", r#"{"id":"1","pk":"b"}"#, r#"{"id":"1","pk":"a"}"#] {
        items.replace("1", body).await.expect(404);
    }
    items.create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    items.replace("1", "").await.expect(400);
    items.replace("1", r#"{"id":"1","pk":"b"}"#).await.expect_sub(400, 1001);
}

#[tokio::test]
async fn a_create_names_its_key_since_containers_must_have_one() {
    let client = Client::with_container(1).await;
    for (version, code) in [("2018-09-17", 201), ("2018-12-31", 400), ("2020-07-15", 400)] {
        let client = client.with_options(|options| options.api_version = Some(version.into()));
        let answer =
            client.items().create(&format!(r#"{{"id":"{version}","pk":"a"}}"#)).await.expect(code);
        if code == 400 {
            assert_eq!(answer.status.sub, 1001);
            assert!(answer.message.contains("fewer components than defined in the the collection"));
        }
        client
            .items()
            .key(A)
            .create(&format!(r#"{{"id":"{version}!","pk":"a"}}"#))
            .await
            .expect(201);
    }
}

#[tokio::test]
async fn bad_bodies_are_refused_with_the_service_words() {
    let client = Client::with_container(1).await;
    let large = format!(r#"{{"id":"1","pk":"a","x":"{}"}}"#, "x".repeat(2 << 20));
    let long_id = format!(r#"{{"id":"{}","pk":"a"}}"#, "x".repeat(1024));
    #[rustfmt::skip]
    let table = [
        ("", 400, ""), ("[]", 400, ""), ("{", 400, ""), (r#"{"pk":"a"}"#, 400, "'id; ' - are missing"),
        (r#"{"id":1,"pk":"a"}"#, 400, ""), (r#"{"id":"","pk":"a"}"#, 400, ""), (r#"{"id":"a\ud800","pk":"a"}"#, 400, "half a character"),
        (r#"{"id":"1","pk":"a","x":1e400}"#, 400, ""), (r#"{"id":"1","pk":"a","ttl":0}"#, 400, ""),
        (&long_id, 400, "less than '1024' characters"), (&large, 413, "Request size is too large"),
    ];
    for (body, code, message) in table {
        let answer = client.items().create(body).await;
        assert_eq!(answer.status.code, code, "{body:.60}: {}", answer.message);
        assert!(answer.message.contains(message), "{body:.60}: {}", answer.message);
    }
    assert_eq!(client.items().feed().await.rows.len(), 0);
}

#[tokio::test]
async fn preconditions_reach_the_item() {
    let client = Client::with_container(2).await;
    let items = client.items().key(r#"["a"]"#);
    let etag = items.create(r#"{"id":"1","pk":"a"}"#).await.expect(201).text("_etag");
    let unless = client.with_options(|options| options.if_none_match = Some(etag.clone()));
    unless.items().key(r#"["a"]"#).read("1").await.expect(304);
    let stale = client.with_options(|options| options.if_match = Some("\"x\"".into()));
    let failed = stale.items().key(r#"["a"]"#).delete("1").await.expect(412);
    assert!(failed.message.contains("one of the specified precondition is not met"));
    assert!(failed.facts.session.is_some());
    let fresh = client.with_options(|options| options.if_match = Some(etag.clone()));
    fresh.items().key(r#"["a"]"#).replace("1", r#"{"id":"1","pk":"a","v":2}"#).await.expect(200);
    fresh.items().key(r#"["a"]"#).replace("1", r#"{"id":"1","pk":"a"}"#).await.expect(412);
}

#[tokio::test]
async fn old_clients_get_session_tokens_without_a_version_and_may_send_both_forms() {
    let client = Client::with_container(1).await;
    #[rustfmt::skip]
    let table = [
        (Some("2014-08-21"), "0:"), (Some("2017-11-15"), "0:"), (Some("2018-06-18"), "0:-1#"), (Some("2020-07-15"), "0:-1#"),
        (None, "0:-1#"),
    ];
    for (n, (version, start)) in table.into_iter().enumerate() {
        let client = client.with_options(|options| options.api_version = version.map(Into::into));
        let body = format!(r#"{{"id":"{n}","pk":"a"}}"#);
        let written = client.items().key(A).create(&body).await.expect(201);
        let lsn = written.facts.lsn.unwrap().0;
        assert_eq!(written.facts.session.unwrap().to_string(), format!("{start}{lsn}"));
        let again = client.items().key(A).create(&body).await.expect(409);
        assert_eq!(again.facts.session.unwrap().to_string(), format!("{start}{lsn}"));
        let feed = client.items().feed().await.expect(200);
        assert_eq!(feed.facts.session.unwrap().to_string(), format!("{start}{lsn}"));
        for (token, code) in [("0:1", 200), ("0:-1#1", 200), ("0:99", 404), ("0:-1#99", 404)] {
            let token = SessionToken::parse(token).unwrap();
            let client = client.with_options(|options| options.session = Some(token));
            client.items().key(r#"["a"]"#).read(&n.to_string()).await.expect(code);
        }
    }
}

#[tokio::test]
async fn sessions_are_honoured() {
    let client = Client::with_container(1).await;
    let written = client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    let token = written.facts.session.unwrap();
    assert_eq!(token.to_string(), format!("0:-1#{}", written.facts.lsn.unwrap().0));
    let with = |text: &str| {
        let token = SessionToken::parse(text).unwrap();
        client.with_options(|options| options.session = Some(token))
    };
    let read = |client: Client| async move { client.items().key(r#"["a"]"#).read("1").await };
    read(with(&token.to_string())).await.expect(200);
    let ahead = read(with("0:-1#9999")).await.expect_sub(404, 1002);
    assert!(
        ahead.message.contains("The read session is not available for the input session token.")
    );
    assert!(ahead.facts.session.is_some() && ahead.facts.lsn.is_some());
    read(with("0:3#1")).await.expect_sub(404, 1002);
    read(with("7:-1#9999")).await.expect(200);
    let weak =
        with("0:-1#9999").with_options(|options| options.consistency = Some(Consistency::Eventual));
    read(weak).await.expect(200);
    with("0:-1#9999").items().feed().await.expect_sub(404, 1002);
    with("0:-1#9999").items().create(r#"{"id":"2","pk":"a"}"#).await.expect(201);
}

#[tokio::test]
async fn consistency_may_be_weakened_only() {
    let client = Client::with_container(1).await;
    let strong = client.with_options(|options| options.consistency = Some(stronger()));
    let refused = strong.items().feed().await.expect(400);
    assert!(refused.message.contains("Strong"));
    for level in [Consistency::Session, Consistency::ConsistentPrefix, Consistency::Eventual] {
        let weaker = client.with_options(|options| options.consistency = Some(level));
        weaker.items().feed().await.expect(200);
    }
    let options =
        AccountOptions { default_consistency: Consistency::Strong, ..AccountOptions::default() };
    let client = Client::with(store::open_memory(), options).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    let strong = client.with_options(|options| options.consistency = Some(Consistency::Strong));
    strong.items().feed().await.expect(200);
}

#[tokio::test]
async fn reads_of_a_quorum_cost_twice_and_ranges_are_charged_so() {
    let options = AccountOptions {
        default_consistency: Consistency::Strong,
        min_partitions: 3,
        ..AccountOptions::default()
    };
    let client = Client::with(store::open_memory(), options).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    for id in 0..9 {
        let body = format!(r#"{{"id":"{id}","pk":"{id}"}}"#);
        let created = client.items().create(&body).await.expect(201).facts.charge;
        assert_eq!(created.to_string(), "5.9", "writes cost the same");
    }
    let used =
        || -> Charge { client.account.metrics().ranges.iter().map(|range| range.charge).sum() };
    let mut charges = Vec::new();
    for level in [Consistency::Session, Consistency::Strong] {
        let client = client.with_options(|options| options.consistency = Some(level));
        let items = client.items();
        let before = used();
        let answers = [
            items.query("SELECT * FROM c").await,
            items.feed().await,
            client.items().key("[\"1\"]").read("1").await,
        ];
        let own = answers.map(|answer| answer.expect(200).facts.charge);
        assert_eq!(used().saturating_sub(before), own.iter().sum(), "{level:?}");
        charges.push(own);
    }
    assert_eq!(charges[0].map(|charge| charge * 2), charges[1]);
}

#[tokio::test]
async fn a_logical_partition_is_deleted_whole() {
    let client = Client::with_container(3).await;
    for (id, pk) in [("1", "a"), ("2", "a"), ("3", "b")] {
        client.items().create(&format!(r#"{{"id":"{id}","pk":"{pk}"}}"#)).await.expect(201);
    }
    client.items().run(ItemAction::DeleteLogicalPartition).await.expect(400);
    client.items().key(r#"["a"]"#).run(ItemAction::DeleteLogicalPartition).await.expect(200);
    let ids = || async {
        let rows = client.items().feed_all(1000).await;
        let id = |row: &Value| row.get("id").unwrap().as_str().unwrap().to_owned();
        rows.iter().map(id).collect::<BTreeSet<_>>()
    };
    assert_eq!(ids().await, BTreeSet::from(["3".to_owned()]));
    client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    client.account.run_jobs_once().await.unwrap();
    assert_eq!(ids().await, BTreeSet::from(["1", "3"].map(String::from)));
}

#[tokio::test]
async fn numbers_keep_their_text() {
    let client = Client::with_container(1).await;
    let body = r#"{"id":"1","pk":"a","n":[1.0,1e2,18446744073709551615,-0.0]}"#;
    client.items().create(body).await.expect(201);
    let operation = account::Operation::Item(account::ItemOperation {
        container: crate::support::link("dbs/d/colls/c"),
        key: Some(crate::support::key(r#"["a"]"#)),
        range: None,
        epks: None,
        action: ItemAction::Read { id: "1".into() },
    });
    let call = account::Call {
        principal: account::Principal::Master,
        operation,
        options: client.options.clone(),
    };
    let outcome = client.account.execute(call).await.unwrap();
    let account::Body::Resource(bytes) = outcome.body else { panic!("no body") };
    let text = std::str::from_utf8(&bytes).unwrap();
    assert!(text.contains("[1.0,1e2,18446744073709551615,-0.0]"), "{text}");
    assert!(matches!(model::json::parse(&bytes), Ok(Value::Object(_))));
}
