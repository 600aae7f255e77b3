//! Transactional batch and bulk.

use account::BatchCall;
use bytes::Bytes;
use model::RangeId;

use crate::support::{Client, call, create_call, delete_call, key, read_call, upsert_call};

fn codes(answer: &crate::support::Answer) -> Vec<u16> {
    answer.batch.iter().map(|result| result.status.code).collect()
}

#[tokio::test]
async fn a_batch_is_all_or_nothing() {
    for n_ranges in [1, 3] {
        let client = Client::with_container(n_ranges).await;
        let items = client.items().key(r#"["a"]"#);
        let patch = account::BatchAction::Patch {
            id: "1".into(),
            body: Bytes::from_static(br#"{"operations":[{"op":"incr","path":"/n","value":2}]}"#),
        };
        let done = items
            .batch(vec![
                create_call(r#"{"id":"1","pk":"a","n":1}"#),
                upsert_call(r#"{"id":"2","pk":"a"}"#),
                call(patch),
                read_call("1"),
                delete_call("2"),
            ])
            .await
            .expect(200);
        assert_eq!(codes(&done), [201, 201, 200, 200, 204]);
        let read = model::json::parse(done.batch[3].body.as_ref().unwrap()).unwrap();
        assert_eq!(read.get("n").and_then(model::Value::as_i64), Some(3));
        let failed = items
            .batch(vec![
                create_call(r#"{"id":"3","pk":"a"}"#),
                create_call(r#"{"id":"1","pk":"a"}"#),
                delete_call("1"),
            ])
            .await
            .expect(207);
        assert_eq!(codes(&failed), [424, 409, 424]);
        assert!(failed.facts.session.is_some());
        assert_eq!(items.feed().await.ids(), ["1"]);
    }
}

#[tokio::test]
async fn a_foreign_key_fails_its_operation_and_the_batch() {
    let client = Client::with_container(2).await;
    let items = client.items().key(r#"["a"]"#);
    let failed = items
        .batch(vec![create_call(r#"{"id":"1","pk":"a"}"#), create_call(r#"{"id":"2","pk":"b"}"#)])
        .await
        .expect_sub(207, 1001);
    assert_eq!(codes(&failed), [424, 400]);
    let malformed = items.batch(vec![create_call("{"), read_call("1")]).await.expect(207);
    assert_eq!(codes(&malformed), [400, 424]);
    assert_eq!(client.items().feed().await.rows.len(), 0);
}

#[tokio::test]
async fn batches_have_limits() {
    let client = Client::with_container(1).await;
    let items = client.items().key(r#"["a"]"#);
    let empty = items.batch(Vec::new()).await.expect(400);
    assert!(empty.message.contains("Batch request has no operations."));
    let many = items.batch((0..101).map(|_| read_call("1")).collect()).await.expect(400);
    assert!(many.message.contains("Batch request has more operations than what is supported."));
    let body = format!(r#"{{"id":"1","pk":"a","x":"{}"}}"#, "x".repeat(1 << 20));
    items.batch(vec![create_call(&body), upsert_call(&body)]).await.expect(413);
    client.items().batch(vec![read_call("1")]).await.expect(400);
    let all = (0..100).map(|id| create_call(&format!(r#"{{"id":"{id}","pk":"a"}}"#))).collect();
    let before = items.feed().await.facts.lsn.unwrap();
    let done = items.batch(all).await.expect(200);
    assert_eq!(done.batch.len(), 100);
    assert_eq!(done.facts.lsn.unwrap().0, before.0 + 1, "one commit");
}

#[tokio::test]
async fn minimal_results_leave_out_what_was_written() {
    let client = Client::with_container(1).await;
    let mut create = create_call(r#"{"id":"1","pk":"a"}"#);
    create.minimal = true;
    let mut read = read_call("1");
    read.minimal = true;
    let done = client.items().key(r#"["a"]"#).batch(vec![create, read]).await.expect(200);
    assert!(done.batch[0].body.is_none() && done.batch[0].etag.is_some());
    assert!(done.batch[1].body.is_some());
}

#[tokio::test]
async fn bulk_operations_are_independent_and_ordered() {
    let client = Client::with_container(1).await;
    let mut read = read_call("1");
    read.key = Some(key(r#"["a"]"#));
    let mut lost = read_call("nothing");
    lost.key = Some(key(r#"["z"]"#));
    let done = client
        .items()
        .range(0)
        .bulk(vec![
            create_call(r#"{"id":"1","pk":"a"}"#),
            create_call(r#"{"id":"1","pk":"a"}"#),
            upsert_call(r#"{"id":"1","pk":"a","v":2}"#),
            create_call(r#"{"id":"2","pk":"b"}"#),
            read,
            lost,
            create_call("not json"),
            delete_call("1"),
        ])
        .await
        .expect(207);
    assert_eq!(codes(&done), [201, 409, 200, 201, 200, 404, 400, 400]);
    assert_eq!(done.facts.range, Some(RangeId(0)));
    assert_eq!(client.items().feed().await.rows.len(), 2);
}

#[tokio::test]
async fn bulk_stops_at_the_first_failure_if_told_so() {
    let client = Client::with_container(1).await;
    let calls = vec![
        create_call(r#"{"id":"1","pk":"a"}"#),
        create_call(r#"{"id":"1","pk":"a"}"#),
        create_call(r#"{"id":"2","pk":"a"}"#),
    ];
    let action = account::ItemAction::Batch { calls, is_atomic: false, continue_on_error: false };
    let done = client.items().range(0).run(action).await.expect(207);
    assert_eq!(codes(&done), [201, 409, 424]);
    assert_eq!(client.items().feed().await.rows.len(), 1);
}

#[tokio::test]
async fn a_key_outside_the_named_range_is_gone() {
    let client = Client::with_container(8).await;
    let calls: Vec<_> =
        (0..32).map(|n| create_call(&format!(r#"{{"id":"{n}","pk":"k{n}"}}"#))).collect();
    let done = client.items().range(3).bulk(calls).await.expect(207);
    let (mut written, mut gone) = (0, 0);
    for result in &done.batch {
        match (result.status.code, result.status.sub) {
            (201, 0) => written += 1,
            (410, 1002) => gone += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(written > 0 && gone > 0);
    assert_eq!(client.items().range(3).feed().await.rows.len(), written);
    assert_eq!(client.items().feed().await.rows.len(), written);
}

#[tokio::test]
async fn a_read_of_what_has_not_changed_is_304_in_a_207() {
    let client = Client::with_container(1).await;
    let items = client.items().key(r#"["a"]"#);
    let created = items.create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    let etag = created.facts.etag.unwrap().as_str().to_owned();
    let conditions = |if_match: Option<&str>, if_none_match: Option<&str>| {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        BatchCall {
            if_match: owned(if_match),
            if_none_match: owned(if_none_match),
            ..read_call("1")
        }
    };
    for call in [conditions(Some(&etag), None), conditions(None, Some(&etag))] {
        let create = create_call(&format!(r#"{{"id":"{}","pk":"a"}}"#, call.if_match.is_some()));
        let answer = items.batch(vec![call.clone(), create]).await.expect(207);
        assert_eq!(codes(&answer), [304, 201], "304 undoes nothing");
        assert!(answer.batch[0].body.is_none() && answer.batch[0].etag.is_some());
        let bulk = items.bulk(vec![call]).await.expect(207);
        assert_eq!(codes(&bulk), [304]);
    }
    for call in [conditions(Some("\"other\""), None), conditions(None, Some("\"other\""))] {
        assert_eq!(codes(&items.batch(vec![call]).await.expect(200)), [200]);
    }
}

#[tokio::test]
async fn a_batch_that_reads_honours_the_session() {
    let client = Client::with_container(1).await;
    client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    let token = model::SessionToken::parse("0:-1#9999").unwrap();
    let ahead = client.with_options(|options| options.session = Some(token));
    let items = ahead.items().key(r#"["a"]"#);
    items.batch(vec![read_call("1")]).await.expect_sub(404, 1002);
    let write = upsert_call(r#"{"id":"2","pk":"a"}"#);
    items.batch(vec![write.clone(), read_call("1")]).await.expect_sub(404, 1002);
    items.batch(vec![write.clone()]).await.expect(200);
    let bulk = items.bulk(vec![write, read_call("1")]).await.expect(207);
    assert_eq!(codes(&bulk), [200, 404]);
}

#[tokio::test]
async fn an_answer_that_would_be_too_large_is_413_before_anything_is_written() {
    let client = Client::with_container(1).await;
    let items = client.items().key(r#"["a"]"#);
    let text = "x".repeat(1 << 20);
    for id in 0..5 {
        items.create(&format!(r#"{{"id":"{id}","pk":"a","x":"{text}"}}"#)).await.expect(201);
    }
    let reads = |n: u32| (0..n).map(|id| read_call(&id.to_string())).collect::<Vec<_>>();
    items.batch(reads(3)).await.expect(200);
    let mut calls = vec![create_call(r#"{"id":"new","pk":"a"}"#)];
    calls.extend(reads(5));
    items.batch(calls.clone()).await.expect_sub(413, 3402);
    items.read("new").await.expect(404);
    let bulk = items.bulk(calls).await.expect_sub(207, 3402);
    assert_eq!(codes(&bulk), [201, 200, 200, 200, 413, 413]);
    let patch = |id: u32| BatchCall {
        minimal: true,
        ..call(account::BatchAction::Patch {
            id: id.to_string(),
            body: Bytes::from_static(br#"{"operations":[{"op":"add","path":"/n","value":2}]}"#),
        })
    };
    items.batch((0..5).map(patch).collect()).await.expect(200);
}
