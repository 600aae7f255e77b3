//! Batches over the wire, in both forms.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may panic")]

mod support;

use bytes::Bytes;
use gateway::hybrid_row::{Operation, ResultRow, decode_results, encode_operations};
use model::Value;
use support::{Call, Reply, Server};

const CREATE: i32 = 0;
const PATCH: i32 = 1;
const READ: i32 = 2;
const DELETE: i32 = 4;
const REPLACE: i32 = 5;
const UPSERT: i32 = 20;

fn atomic(body: impl Into<Bytes>) -> Call {
    Call::create("a", body)
        .header("x-ms-cosmos-is-batch-request", "True")
        .header("x-ms-cosmos-batch-atomic", "True")
        .header("x-ms-cosmos-batch-ordered", "True")
}

fn operation(kind: i32, id: &str, body: Option<&str>) -> Operation {
    let body = body.map(|body| Bytes::copy_from_slice(body.as_bytes()));
    Operation { kind, id: Some(id.to_owned()), body, ..Operation::default() }
}

fn statuses(reply: &Reply) -> Vec<i64> {
    let rows = reply.json();
    let status = |row: &Value| row.get("statusCode").and_then(Value::as_f64).unwrap();
    #[expect(clippy::cast_possible_truncation, reason = "status codes are small")]
    rows.as_array().unwrap().iter().map(|row| status(row) as i64).collect()
}

fn rows(reply: &Reply) -> Vec<ResultRow> {
    decode_results(&reply.body).unwrap()
}

#[tokio::test]
async fn a_json_batch_is_one_transaction() {
    let server = Server::start().await.with_container().await;
    let body = r#"[
        {"operationType":"Create","resourceBody":{"id":"1","pk":"a","n":1.0}},
        {"operationType":"Upsert","resourceBody":{"id":"2","pk":"a"}},
        {"operationType":"Read","id":"1"},
        {"operationType":"Replace","id":"2","resourceBody":{"id":"2","pk":"a","x":1}},
        {"operationType":"Patch","id":"1","resourceBody":{"operations":[{"op":"incr","path":"/n","value":1}]}},
        {"operationType":"Delete","id":"2"}]"#;
    let reply = server.send(atomic(body)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(statuses(&reply), [201, 201, 200, 200, 200, 204]);
    assert!(reply.header("x-ms-session-token").is_some());
    let rows = reply.json();
    let rows = rows.as_array().unwrap();
    assert!(rows[0].get("eTag").is_some() && rows[0].get("resourceBody").is_some());
    assert!(rows[5].get("resourceBody").is_none());

    let failing = r#"[
        {"operationType":"Create","resourceBody":{"id":"3","pk":"a"}},
        {"operationType":"Create","resourceBody":{"id":"1","pk":"a"}},
        {"operationType":"Delete","id":"1"}]"#;
    let reply = server.send(atomic(failing)).await;
    assert_eq!((reply.status, statuses(&reply)), (207, vec![424, 409, 424]));
    assert_eq!(server.send(Call::get("/dbs/d/colls/c/docs/3").key_header("a")).await.status, 404);

    let other_key = r#"[{"operationType":"Create","resourceBody":{"id":"4","pk":"b"}},{"operationType":"Read","id":"1"}]"#;
    let reply = server.send(atomic(other_key)).await;
    assert_eq!((reply.status, reply.substatus()), (207, 1001), "{}", reply.text());
    assert_eq!(statuses(&reply), [400, 424]);
}

#[tokio::test]
async fn minimal_batches_return_no_written_items() {
    let server = Server::start().await.with_container().await;
    let body = r#"[{"operationType":"Create","resourceBody":{"id":"1","pk":"a"}},{"operationType":"Read","id":"1"}]"#;
    let reply = server.send(atomic(body).header("prefer", "return=minimal")).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let rows = reply.json();
    let rows = rows.as_array().unwrap();
    assert!(rows[0].get("resourceBody").is_none(), "{}", reply.text());
    assert!(rows[1].get("resourceBody").is_some(), "{}", reply.text());
}

#[tokio::test]
async fn a_hybrid_row_batch_is_answered_in_kind() {
    let server = Server::start().await.with_container().await;
    let item = |id: &str| format!("{{\"id\":\"{id}\",\"pk\":\"a\",\"n\":1}}");
    let patch = r#"{"operations":[{"op":"incr","path":"/n","value":1}]}"#;
    let operations = [
        operation(CREATE, "1", Some(&item("1"))),
        operation(UPSERT, "2", Some(&item("2"))),
        operation(READ, "1", None),
        operation(REPLACE, "2", Some(&item("2"))),
        operation(PATCH, "1", Some(patch)),
        operation(DELETE, "2", None),
    ];
    let reply = server.send(atomic(encode_operations(&operations))).await;
    assert_eq!((reply.status, reply.body.first()), (200, Some(&0x81)), "{}", reply.text());
    let results = rows(&reply);
    let codes: Vec<i32> = results.iter().map(|row| row.status).collect();
    assert_eq!(codes, [201, 201, 200, 200, 200, 204]);
    for row in &results[..5] {
        assert!(row.etag.as_ref().is_some_and(|etag| etag.starts_with('"')), "{row:?}");
        assert!(row.body.as_ref().is_some_and(|body| model::json::parse(body).is_ok()));
        assert!(row.charge.is_some_and(|charge| charge > 0.0));
    }
    let patched = server.send(Call::get("/dbs/d/colls/c/docs/1").key_header("a")).await;
    assert!(patched.text().contains("\"n\":2"), "{}", patched.text());

    let failing =
        [operation(CREATE, "3", Some(&item("3"))), operation(CREATE, "1", Some(&item("1")))];
    let reply = server.send(atomic(encode_operations(&failing))).await;
    let codes: Vec<i32> = rows(&reply).iter().map(|row| row.status).collect();
    assert_eq!((reply.status, codes), (207, vec![424, 409]));
    // Refusals of the whole request stay JSON.
    server.send(atomic(encode_operations(&[]))).await.assert_error(400);
}

/// The range that holds partition key `a`.
async fn range_of(server: &Server) -> String {
    let made = server.send(Call::create("a", r#"{"id":"probe","pk":"a"}"#)).await;
    made.header("x-ms-documentdb-partitionkeyrangeid").unwrap().to_owned()
}

#[tokio::test]
async fn bulk_operations_are_independent_in_both_forms() {
    let server = Server::start().await.with_container().await;
    let range = range_of(&server).await;
    let bulk = |body: Bytes, range: &str| {
        Call::post("/dbs/d/colls/c/docs", body)
            .header("x-ms-cosmos-is-batch-request", "True")
            .header("x-ms-cosmos-batch-atomic", "False")
            .header("x-ms-cosmos-batch-continue-on-error", "True")
            .header("x-ms-documentdb-partitionkeyrangeid", range)
    };
    let json = r#"[
        {"operationType":"Create","resourceBody":{"id":"1","pk":"a"},"partitionKey":"[\"a\"]"},
        {"operationType":"Create","resourceBody":{"id":"1","pk":"a"},"partitionKey":"[\"a\"]"},
        {"operationType":"Read","id":"none","partitionKey":"[\"a\"]"},
        {"operationType":"Read","id":"1","partitionKey":"[\"a\"]"}]"#;
    let reply = server.send(bulk(json.into(), &range)).await;
    assert_eq!(reply.status, 207, "{}", reply.text());
    assert_eq!(statuses(&reply), [201, 409, 404, 200]);

    let with_key =
        |operation: Operation| Operation { partition_key: Some("[\"a\"]".to_owned()), ..operation };
    let binary = encode_operations(&[
        with_key(operation(CREATE, "2", Some(r#"{"id":"2","pk":"a"}"#))),
        with_key(operation(READ, "1", None)),
    ]);
    let reply = server.send(bulk(binary.into(), &range)).await;
    let codes: Vec<i32> = rows(&reply).iter().map(|row| row.status).collect();
    assert_eq!((reply.status, codes), (200, vec![201, 200]));

    let gone = server.send(bulk(json.into(), "99")).await;
    gone.assert_error(410);
    assert_eq!(gone.substatus(), 1002);
}
