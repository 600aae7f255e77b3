//! Everything that clients can ask for and that we know but do not do is refused, never ignored.
//!
//! The tables are complete on purpose: a new header, route or option starts with a line here.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may panic")]

mod support;

use std::collections::HashSet;

use gateway::{Treatment, header_table};
use http::{HeaderName, HeaderValue, Method};
use support::{Call, Server};

async fn server() -> Server {
    let server = Server::start().await.with_container().await;
    assert_eq!(server.send(Call::create("a", r#"{"id":"1","pk":"a"}"#)).await.status, 201);
    server
}

fn with(mut call: Call, name: &str, value: &str) -> Call {
    let name: HeaderName = name.parse().unwrap();
    call.headers.insert(name, HeaderValue::from_str(value).unwrap());
    call
}

fn read() -> Call {
    Call::get("/dbs/d/colls/c/docs/1").key_header("a")
}

#[tokio::test]
async fn refused_headers_are_refused_on_reads_and_writes() {
    let server = server().await;
    for fact in header_table().filter(|fact| fact.treatment == Treatment::Refused) {
        for call in [read(), Call::create("a", r#"{"id":"2","pk":"a"}"#), Call::get("/dbs")] {
            let reply = server.send(with(call, fact.name, "1")).await;
            reply.assert_error(400);
            assert!(reply.text().contains(fact.name), "{}", reply.text());
        }
    }
    let missing = server.send(Call::get("/dbs/d/colls/c/docs/2").key_header("a")).await;
    assert_eq!(missing.status, 404);
}

#[tokio::test]
async fn ignored_headers_change_nothing() {
    let server = server().await;
    let plain = server.send(read()).await;
    let except = ["host", "expect"];
    for fact in header_table().filter(|fact| fact.treatment == Treatment::Ignored) {
        if except.contains(&fact.name) {
            continue;
        }
        let reply = server.send(with(read(), fact.name, "1")).await;
        assert_eq!((reply.status, &reply.body), (200, &plain.body), "{}", fact.name);
    }
}

/// A request, the value that spoils it, and the status that tells so.
type BadValue = (Call, &'static str, u16);

/// For each used header: a request for which it matters, and a value that must be refused.
#[rustfmt::skip]
fn bad_values() -> Vec<(&'static str, Option<BadValue>)> {
    let feed = || Call::get("/dbs/d/colls/c/docs");
    let changes = || feed().header("a-im", "Incremental Feed");
    let create = || Call::create("a", r#"{"id":"2","pk":"a"}"#);
    let replace = || Call::put("/dbs/d/colls/c/docs/1", r#"{"id":"1","pk":"a"}"#).key_header("a");
    let post = || Call::post("/dbs/d/colls/c/docs", r#"{"query":"SELECT * FROM c"}"#).key_header("a");
    let database = || Call::post("/dbs", r#"{"id":"x"}"#);
    let attachment = || Call::post("/dbs/d/colls/c/docs/1/attachments", "x").key_header("a");
    let permission = || Call::post("/dbs/d/users/u/permissions", r#"{"id":"p","permissionMode":"Read","resource":"dbs/d/colls/c"}"#);
    vec![
        ("authorization", Some((read(), "nonsense", 401))),
        ("x-ms-date", Some((read(), "nonsense", 401))),
        ("date", None),          // used without x-ms-date only: tests/auth.rs
        ("x-ms-version", Some((read(), "2015-01-01", 400))),
        ("x-ms-activity-id", None), // a bad one is replaced
        ("content-type", Some((attachment().header("slug", "x"), "junt/test", 400))),
        ("slug", Some((attachment().header("content-type", "image/png"), "a%2Fb", 400))),
        ("content-encoding", Some((create(), "br", 400))),
        ("accept-encoding", None), // identity is always acceptable
        ("origin", None),        // browsers enforce the answer
        ("x-ms-consistency-level", Some((read(), "Strong", 400))),
        ("x-ms-cosmos-read-consistency-strategy", Some((read(), "Best", 400))),
        ("x-ms-session-token", Some((read(), "x", 400))),
        ("x-ms-documentdb-partitionkey", Some((read(), "x", 400))),
        ("x-ms-documentdb-partitionkeyrangeid", Some((feed(), "99", 410))),
        ("x-ms-start-epk", Some((feed(), "x", 400))),
        ("x-ms-end-epk", Some((feed(), "x", 400))),
        ("x-ms-read-key-type", Some((feed(), "ResourceId", 400))),
        ("x-ms-max-item-count", Some((feed(), "x", 400))),
        ("x-ms-continuation", Some((feed(), "x", 400))),
        ("x-ms-documentdb-responsecontinuationtokenlimitinkb", Some((feed(), "x", 400))),
        ("if-match", Some((replace(), "\"x\"", 412))),
        ("if-none-match", Some((changes(), "x", 400))),
        ("if-modified-since", Some((changes(), "x", 400))),
        ("a-im", Some((feed(), "x", 400))),
        ("x-ms-cosmos-sdk-supportedcapabilities", Some((changes(), "x", 400))),
        ("x-ms-cosmos-changefeed-wire-format-version", Some((changes(), "x", 400))),
        ("prefer", None),        // a wish, by definition
        ("x-ms-documentdb-is-upsert", Some((create(), "x", 400))),
        ("x-ms-indexing-directive", Some((create(), "x", 400))),
        ("x-ms-exclude-system-properties", Some((read(), "x", 400))),
        ("x-ms-documentdb-pre-trigger-include", Some((create(), "x", 400))),
        ("x-ms-documentdb-post-trigger-include", Some((create(), "x", 400))),
        ("x-ms-documentdb-isquery", Some((post(), "x", 400))),
        ("x-ms-documentdb-query", Some((post(), "x", 400))),
        ("x-ms-documentdb-query-enablecrosspartition", Some((post().header("content-type", "application/query+json"), "x", 400))),
        ("x-ms-documentdb-query-parallelizecrosspartitionquery", Some((post().header("content-type", "application/query+json"), "x", 400))),
        ("x-ms-cosmos-populatequeryadvice", Some((post().header("content-type", "application/query+json"), "x", 400))),
        ("x-ms-cosmos-query-optimisticdirectexecute", Some((post().header("content-type", "application/query+json"), "x", 400))),
        ("x-orrery-merge", Some((post().header("content-type", "application/query+json"), "x", 400))),
        ("x-ms-documentdb-query-enable-scan", Some((post().header("content-type", "application/query+json"), "x", 400))),
        ("x-ms-documentdb-force-query-scan", Some((post().header("content-type", "application/query+json"), "x", 400))),
        ("x-ms-documentdb-populatequerymetrics", Some((post().header("content-type", "application/query+json"), "x", 400))),
        ("x-ms-cosmos-populateindexmetrics", Some((post().header("content-type", "application/query+json"), "x", 400))),
        ("x-ms-cosmos-populateindexmetrics-v2", Some((post().header("content-type", "application/query+json"), "x", 400))),
        ("x-ms-cosmos-populatequeryadvice", Some((post().header("content-type", "application/query+json"), "x", 400))),
        ("x-ms-documentdb-content-serialization-format", Some((read(), "x", 400))),
        ("x-ms-cosmos-supported-serialization-formats", None), // a mistake means text
        ("x-ms-cosmos-is-query-plan-request", Some((post(), "x", 400))),
        ("x-ms-cosmos-supported-query-features", Some((Call::post("/dbs/d/colls/c/docs", r#"{"query":"SELECT VALUE COUNT(1) FROM c"}"#).header("x-ms-cosmos-is-query-plan-request", "True"), "Top", 400))),
        ("x-ms-cosmos-is-batch-request", Some((post(), "x", 400))),
        ("x-ms-cosmos-batch-atomic", Some((Call::create("a", r#"[{"operationType":"Read","id":"1"}]"#).header("x-ms-cosmos-is-batch-request", "True"), "x", 400))),
        ("x-ms-cosmos-batch-ordered", Some((post(), "x", 400))),
        ("x-ms-cosmos-batch-continue-on-error", Some((Call::create("a", r#"[{"operationType":"Read","id":"1"}]"#).header("x-ms-cosmos-is-batch-request", "True"), "x", 400))),
        ("x-ms-cosmos-intended-collection-rid", Some((read(), "AQAAAJ0fgTc=", 400))),
        ("x-ms-offer-throughput", Some((database(), "x", 400))),
        ("x-ms-offer-type", Some((database(), "S4", 400))),
        ("x-ms-cosmos-offer-autopilot-settings", Some((database(), "x", 400))),
        ("x-ms-cosmos-migrate-offer-to-autopilot", Some((Call::get("/offers"), "x", 400))),
        ("x-ms-cosmos-migrate-offer-to-manual-throughput", Some((Call::get("/offers"), "x", 400))),
        ("x-ms-documentdb-populatequotainfo", Some((Call::get("/dbs/d/colls/c"), "x", 400))),
        ("x-ms-documentdb-populatepartitionstatistics", Some((Call::get("/dbs/d/colls/c"), "x", 400))),
        ("x-ms-documentdb-expiry-seconds", Some((permission(), "5", 400))),
        ("x-ms-documentdb-script-enable-logging", Some((Call::post("/dbs/d/colls/c/sprocs/s", "[]").key_header("a"), "x", 400))),
        ("x-ms-cosmos-priority-level", Some((read(), "x", 400))),
        ("x-ms-cosmos-throughput-bucket", Some((read(), "x", 400))),
    ]
}

#[tokio::test]
async fn every_used_header_refuses_a_bad_value() {
    let server = server().await;
    server.send(Call::post("/dbs/d/users", r#"{"id":"u"}"#)).await;
    let table = bad_values();
    let covered: HashSet<&str> = table.iter().map(|(name, _)| *name).collect();
    for fact in header_table().filter(|fact| fact.treatment == Treatment::Used) {
        assert!(covered.contains(fact.name), "{} has no line in this table", fact.name);
    }
    for (name, line) in table {
        let Some((call, value, status)) = line else { continue };
        let reply = server.send(with(call, name, value)).await;
        assert_eq!(reply.status, status, "{name}: {}", reply.text());
        reply.assert_error(status);
    }
    let kept = server.send(Call::get("/dbs/d/colls/c/docs")).await;
    assert!(kept.text().contains("\"_count\":1"), "{}", kept.text());
}

#[tokio::test]
async fn every_method_that_a_resource_does_not_have_is_refused() {
    let server = server().await;
    let (get, post, put, patch, delete) =
        (Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE);
    let head = Method::HEAD;
    #[rustfmt::skip]
    let table: [(&str, &[&Method]); 21] = [
        ("/",                                      &[&post, &put, &patch, &delete]),
        ("/dbs",                                   &[&put, &patch, &delete]),
        ("/dbs/d",                                 &[&post, &put, &patch]),
        ("/dbs/d/colls",                           &[&put, &patch, &delete]),
        ("/dbs/d/colls/c",                         &[&post, &patch]),
        ("/dbs/d/colls/c/docs",                    &[&put, &patch, &delete]),
        ("/dbs/d/colls/c/docs/1",                  &[&post]),
        ("/dbs/d/colls/c/pkranges",                &[&post, &put, &patch, &delete]),
        ("/dbs/d/colls/c/conflicts",               &[&post, &put, &patch, &delete]),
        ("/dbs/d/colls/c/conflicts/x",             &[&post, &put, &patch]),
        ("/dbs/d/colls/c/sprocs",                  &[&put, &patch, &delete]),
        ("/dbs/d/colls/c/sprocs/x",                &[&patch]),
        ("/dbs/d/colls/c/triggers/x",              &[&post, &patch]),
        ("/dbs/d/colls/c/udfs/x",                  &[&post, &patch]),
        ("/dbs/d/users/u",                         &[&post, &patch]),
        ("/dbs/d/users/u/permissions/p",           &[&post, &patch]),
        ("/dbs/d/clientencryptionkeys/k",          &[&post, &patch, &delete]),
        ("/offers",                                &[&put, &patch, &delete]),
        ("/offers/x",                              &[&post, &patch, &delete]),
        ("/dbs/d/colls/c/operations/partitionkeydelete", &[&get, &put, &patch, &delete]),
        ("/dbs/d/colls/c/docs/2",                  &[&post]),
    ];
    for (path, methods) in table {
        for method in methods {
            let call = Call { body: "{}".into(), ..Call::new((*method).clone(), path) };
            let reply = server.send(call.key_header("a")).await;
            assert_eq!(reply.status, 405, "{method} {path}: {}", reply.text());
            reply.assert_error(405);
        }
        let reply = server.send(Call::new(head.clone(), path)).await;
        assert_eq!((reply.status, reply.body.len()), (405, 0), "HEAD {path}");
    }
    for method in ["TRACE", "PROPFIND", "BREW"] {
        let call = Call::new(Method::from_bytes(method.as_bytes()).unwrap(), "/dbs/d");
        assert_eq!(server.send(call).await.status, 405, "{method}");
    }
    assert_eq!(server.send(Call::new(Method::CONNECT, "/dbs")).await.status / 100, 4);
}

#[tokio::test]
async fn operations_on_the_wrong_resource_are_refused() {
    let server = server().await;
    let batch = r#"[{"operationType":"Create","resourceBody":{"id":"9","pk":"a"}}]"#;
    let trigger = |call: Call| call.header("x-ms-documentdb-pre-trigger-include", "t");
    let patch = Call {
        body: r#"{"operations":[{"op":"set","path":"/n","value":1}]}"#.into(),
        ..Call::new(Method::PATCH, "/dbs/d/colls/c/docs/1").key_header("a")
    };
    #[rustfmt::skip]
    let table: Vec<(&str, Call, &[u16])> = vec![
        ("a batch of databases",      Call::post("/dbs", batch).header("x-ms-cosmos-is-batch-request", "True"), &[400]),
        ("a plan for databases",      Call::post("/dbs", r#"{"query":"SELECT * FROM c"}"#).header("x-ms-cosmos-is-query-plan-request", "True"), &[400]),
        ("changes of databases",      Call::get("/dbs").header("a-im", "Incremental Feed"), &[400]),
        ("all versions of ranges",    Call::get("/dbs/d/colls/c/pkranges").header("a-im", "Full-Fidelity Feed"), &[400]),
        ("all versions, not enabled", Call::get("/dbs/d/colls/c/docs").header("a-im", "Full-Fidelity Feed").header("if-none-match", "*"), &[400]),
        ("upsert of a database",      Call::post("/dbs", r#"{"id":"x"}"#).header("x-ms-documentdb-is-upsert", "True"), &[400]),
        ("upsert of a container",     Call::post("/dbs/d/colls", r#"{"id":"x","partitionKey":{"paths":["/pk"],"kind":"Hash"}}"#).header("x-ms-documentdb-is-upsert", "True"), &[400]),
        ("a trigger on create",       trigger(Call::create("a", r#"{"id":"9","pk":"a"}"#)), &[400, 501]),
        ("a trigger on patch",        trigger(patch), &[400]),
        ("a trigger on a batch",      trigger(Call::create("a", batch).header("x-ms-cosmos-is-batch-request", "True").header("x-ms-cosmos-batch-atomic", "True")), &[400]),
        ("a trigger on a read",       trigger(read()), &[400]),
        ("a missing procedure",       Call::post("/dbs/d/colls/c/sprocs/none", "[]").key_header("a"), &[400, 404, 501]),
        ("migration both ways",       Call::get("/offers").header("x-ms-cosmos-migrate-offer-to-autopilot", "true").header("x-ms-cosmos-migrate-offer-to-manual-throughput", "true"), &[400]),
        ("a logical partition without key", Call::post("/dbs/d/colls/c/operations/partitionkeydelete", ""), &[400]),
        ("cross-origin preflight",    Call::new(Method::OPTIONS, "/").unsigned().header("origin", "https://x"), &[403]),
    ];
    for (claim, call, expected) in table {
        let reply = server.send(call).await;
        assert!(expected.contains(&reply.status), "{claim}: {} {}", reply.status, reply.text());
        reply.assert_error(reply.status);
    }
    let kept = server.send(Call::get("/dbs/d/colls/c/docs")).await;
    assert!(kept.text().contains("\"_count\":1"), "{}", kept.text());
    assert!(server.send(Call::get("/dbs")).await.text().contains("\"_count\":1"));
}
