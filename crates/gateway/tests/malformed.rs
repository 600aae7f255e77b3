//! Bad input: the right status, a JSON body, a living server, nothing changed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may panic")]

mod support;

use bytes::Bytes;
use gateway::hybrid_row::{Operation, encode_operations};
use http::Method;
use support::{Call, Server, status_of};

/// A server with one item, and a digest of everything it holds.
async fn server() -> Server {
    let server = Server::start().await.with_container().await;
    let made = server.send(Call::create("a", r#"{"id":"1","pk":"a","n":1}"#)).await;
    assert_eq!(made.status, 201);
    server
}

async fn contents(server: &Server) -> String {
    let mut contents = String::new();
    for path in [
        "/dbs",
        "/dbs/d/colls",
        "/dbs/d/colls/c/docs",
        "/dbs/d/users",
        "/dbs/d/colls/c/sprocs",
        "/offers",
    ] {
        let reply = server.send(Call::get(path)).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        contents.push_str(&reply.text());
    }
    contents
}

fn patch(body: impl Into<Bytes>) -> Call {
    let call = Call::new(Method::PATCH, "/dbs/d/colls/c/docs/1").key_header("a");
    Call { body: body.into(), ..call }
}

fn batch(body: impl Into<Bytes>) -> Call {
    Call::create("a", body)
        .header("x-ms-cosmos-is-batch-request", "True")
        .header("x-ms-cosmos-batch-atomic", "True")
}

fn item(body: impl Into<Bytes>) -> Call {
    Call::create("a", body)
}

fn read() -> Call {
    Call::get("/dbs/d/colls/c/docs/1").key_header("a")
}

fn feed() -> Call {
    Call::get("/dbs/d/colls/c/docs")
}

fn query(body: impl Into<Bytes>) -> Call {
    Call::post("/dbs/d/colls/c/docs", body).header("content-type", "application/query+json")
}

#[tokio::test]
async fn bad_bodies_are_refused_and_change_nothing() {
    let server = server().await;
    let before = contents(&server).await;
    let deep =
        format!("{{\"id\":\"x\",\"pk\":\"a\",\"x\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let long_id = format!("{{\"id\":\"{}\",\"pk\":\"a\"}}", "x".repeat(1024));
    let many = format!("[{}]", [r#"{"operationType":"Read","id":"1"}"#; 101].join(","));
    let large = format!(
        "[{{\"operationType\":\"Create\",\"resourceBody\":{{\"id\":\"x\",\"pk\":\"a\",\"x\":\"{}\"}}}}]",
        "x".repeat(3 << 20)
    );
    let large_item = format!("{{\"id\":\"x\",\"pk\":\"a\",\"x\":\"{}\"}}", "x".repeat(2 << 20));
    #[rustfmt::skip]
    let table: Vec<(&str, Call, u16)> = vec![
        ("no body",                item(""), 400),
        ("not JSON",               item("{"), 400),
        ("not UTF-8",              item(&b"{\"id\":\"x\",\"pk\":\"a\",\"x\":\"\xff\"}"[..]), 400),
        ("an array",               item("[]"), 400),
        ("a number",               item("1"), 400),
        ("trailing text",          item(r#"{"id":"x","pk":"a"} x"#), 400),
        ("NaN",                    item(r#"{"id":"x","pk":"a","n":NaN}"#), 400),
        ("a number out of range",  item(r#"{"id":"x","pk":"a","n":1e400}"#), 400),
        ("too deep",               item(deep), 400),
        ("no id",                  item(r#"{"pk":"a"}"#), 400),
        ("id not a string",        item(r#"{"id":1,"pk":"a"}"#), 400),
        ("empty id",               item(r#"{"id":"","pk":"a"}"#), 400),
        ("id of half a character", item(r#"{"id":"a\ud800","pk":"a"}"#), 400),
        ("id too long",            item(long_id), 400),
        ("ttl zero",               item(r#"{"id":"x","pk":"a","ttl":0}"#), 400),
        ("ttl text",               item(r#"{"id":"x","pk":"a","ttl":"1"}"#), 400),
        ("another key",            item(r#"{"id":"x","pk":"b"}"#), 400),
        ("too large",              item(large_item), 413),
        ("binary JSON, a number",  item(&b"\x80\x01"[..]), 400),
        ("binary JSON, cut",       item(&b"\x80\xEA\x0A\x82id\x81x\x82pk\x81"[..]), 400),
        ("binary JSON, damaged",   item(&b"\x80\xFF\xFF\xFF"[..]), 400),
        ("binary JSON replace",    Call::put("/dbs/d/colls/c/docs/1", &b"\x80"[..]).key_header("a"), 400),
        ("replace with an array",  Call::put("/dbs/d/colls/c/docs/1", "[]").key_header("a"), 400),
        ("patch nothing",          patch(""), 400),
        ("patch not JSON",         patch("{"), 400),
        ("patch without operations", patch("{}"), 400),
        ("patch empty",            patch(r#"{"operations":[]}"#), 400),
        ("patch unknown",          patch(r#"{"operations":[{"op":"burn","path":"/n"}]}"#), 400),
        ("patch without path",     patch(r#"{"operations":[{"op":"set","value":1}]}"#), 400),
        ("patch the id",           patch(r#"{"operations":[{"op":"set","path":"/id","value":"2"}]}"#), 400),
        ("patch the key",          patch(r#"{"operations":[{"op":"set","path":"/pk","value":"b"}]}"#), 400),
        ("patch eleven",           patch(format!("{{\"operations\":[{}]}}", [r#"{"op":"incr","path":"/n","value":1}"#; 11].join(","))), 400),
        ("patch a missing parent", patch(r#"{"operations":[{"op":"add","path":"/a/b","value":1}]}"#), 400),
        ("patch half",             patch(r#"{"operations":[{"op":"incr","path":"/n","value":1},{"op":"remove","path":"/none"}]}"#), 400),
        ("batch of nothing",       batch("[]"), 400),
        ("batch not an array",     batch("{}"), 400),
        ("batch not JSON",         batch("[{"), 400),
        ("batch too long",         batch(many), 400),
        ("batch too large",        batch(large), 413),
        ("batch unknown",          batch(r#"[{"operationType":"Burn","id":"1"}]"#), 400),
        ("batch unknown member",   batch(r#"[{"operationType":"Read","id":"1","timeToLiveInSeconds":1}]"#), 400),
        ("query nothing",          query(""), 400),
        ("query not JSON",         query("SELECT 1"), 400),
        ("query without text",     query("{}"), 400),
        ("query bad parameters",   query(r#"{"query":"SELECT 1","parameters":[{"name":"x","value":1}]}"#), 400),
        ("query repeated parameter", query(r#"{"query":"SELECT 1","parameters":[{"name":"@x","value":1},{"name":"@x","value":1}]}"#), 400),
        ("query bad text",         query(r#"{"query":"SELEC 1"}"#).key_header("a"), 400),
        ("database not JSON",      Call::post("/dbs", "x"), 400),
        ("database without id",    Call::post("/dbs", "{}"), 400),
        ("database bad id",        Call::post("/dbs", r#"{"id":"a/b"}"#), 400),
        ("database id too long",   Call::post("/dbs", format!("{{\"id\":\"{}\"}}", "x".repeat(256))), 400),
        ("database id a number",   Call::post("/dbs", r#"{"id":7}"#), 400),
        ("container without key",  Call::post("/dbs/d/colls", r#"{"id":"x"}"#), 400),
        ("container bad paths",    Call::post("/dbs/d/colls", r#"{"id":"x","partitionKey":{"paths":["pk"],"kind":"Hash"}}"#), 400),
        ("container bad kind",     Call::post("/dbs/d/colls", r#"{"id":"x","partitionKey":{"paths":["/pk"],"kind":"Magic"}}"#), 400),
        ("user without id",        Call::post("/dbs/d/users", "{}"), 400),
        ("script without body",    Call::post("/dbs/d/colls/c/sprocs", r#"{"id":"s"}"#), 400),
    ];
    for (claim, call, status) in table {
        let reply = server.send(call).await;
        assert_eq!(reply.status, status, "{claim}: {}", reply.text());
        reply.assert_error(status);
    }
    assert_eq!(contents(&server).await, before);
}

#[tokio::test]
async fn bad_headers_are_refused() {
    let server = server().await;
    let before = contents(&server).await;
    let key = |value: &str| {
        Call::get("/dbs/d/colls/c/docs/1").header("x-ms-documentdb-partitionkey", value)
    };
    let long_key = format!("[\"{}\"]", "k".repeat(3000));
    #[rustfmt::skip]
    let table: Vec<(&str, Call, u16)> = vec![
        ("page size text",      feed().header("x-ms-max-item-count", "abc"), 400),
        ("page size negative",  feed().header("x-ms-max-item-count", "-5"), 400),
        ("page size huge",      feed().header("x-ms-max-item-count", "99999999999999999999"), 400),
        ("continuation",        feed().header("x-ms-continuation", "nonsense"), 400),
        ("continuation limit",  feed().header("x-ms-documentdb-responsecontinuationtokenlimitinkb", "0"), 400),
        ("session token",       read().header("x-ms-session-token", "garbage"), 400),
        ("session token open",  read().header("x-ms-session-token", "0:"), 400),
        ("consistency",         read().header("x-ms-consistency-level", "Perhaps"), 400),
        ("consistency strong",  read().header("x-ms-consistency-level", "Strong"), 400),
        ("key not JSON",        key("a"), 400),
        ("key not an array",    key("\"a\""), 400),
        ("key open",            key("[\"a\""), 400),
        ("key of an array",     key("[[]]"), 400),
        ("key of an object",    key("[{\"a\":1}]"), 400),
        ("key too many",        key("[\"a\",\"b\"]"), 400),
        ("key too long",        key(&long_key), 400),
        ("no key",              Call::get("/dbs/d/colls/c/docs/1"), 400),
        ("range id",            feed().header("x-ms-documentdb-partitionkeyrangeid", "x"), 400),
        ("range unknown",       feed().header("x-ms-documentdb-partitionkeyrangeid", "4711"), 410),
        ("epk not hex",         feed().header("x-ms-start-epk", "xyz").header("x-ms-end-epk", "FF"), 400),
        ("epk odd",             feed().header("x-ms-start-epk", "").header("x-ms-end-epk", "F"), 400),
        ("epk reversed",        feed().header("x-ms-start-epk", "3F").header("x-ms-end-epk", "1F"), 400),
        ("key type",            feed().header("x-ms-read-key-type", "EffectivePartitionKey"), 400),
        ("bucket",              read().header("x-ms-cosmos-throughput-bucket", "9"), 400),
        ("priority",            read().header("x-ms-cosmos-priority-level", "Urgent"), 400),
        ("feed mode",           feed().header("a-im", "Some Feed"), 400),
        ("feed date",           feed().header("a-im", "Incremental Feed").header("if-modified-since", "today"), 400),
        ("feed position",       feed().header("a-im", "Incremental Feed").header("if-none-match", "\"x\""), 400),
        ("feed version",        feed().header("x-ms-cosmos-changefeed-wire-format-version", "1999-01-01"), 400),
        ("boolean",             item(r#"{"id":"x","pk":"a"}"#).header("x-ms-documentdb-is-upsert", "maybe"), 400),
        ("directive",           item(r#"{"id":"x","pk":"a"}"#).header("x-ms-indexing-directive", "Never"), 400),
        ("throughput text",     Call::post("/dbs", r#"{"id":"x"}"#).header("x-ms-offer-throughput", "lots"), 400),
        ("throughput both",     Call::post("/dbs", r#"{"id":"x"}"#).header("x-ms-offer-throughput", "400").header("x-ms-cosmos-offer-autopilot-settings", "{\"maxThroughput\":4000}"), 400),
        ("autoscale not JSON",  Call::post("/dbs", r#"{"id":"x"}"#).header("x-ms-cosmos-offer-autopilot-settings", "4000"), 400),
        ("stale rid",           read().header("x-ms-cosmos-intended-collection-rid", "AQAAAJ0fgTc="), 400),
        ("a header twice",      read().header("x-ms-session-token", "0:-1#1").header("x-ms-session-token", "0:-1#2"), 400),
        ("a key twice",         read().header("x-ms-documentdb-partitionkey", "[\"b\"]"), 400),
        ("not UTF-8",           Call { headers: [("x-ms-session-token".parse().unwrap(), http::HeaderValue::from_bytes(b"\xff").unwrap())].into_iter().collect(), ..read() }, 400),
        ("expired precondition", Call::put("/dbs/d/colls/c/docs/1", r#"{"id":"1","pk":"a"}"#).key_header("a").header("if-match", "\"no\""), 412),
    ];
    for (claim, call, status) in table {
        let reply = server.send(call).await;
        assert_eq!(reply.status, status, "{claim}: {}", reply.text());
        reply.assert_error(status);
    }
    let page = server.send(feed().header("x-ms-max-item-count", "abc")).await.text();
    assert!(page.contains("The input PageSize abc is invalid."), "{page}");
    assert_eq!(contents(&server).await, before);
}

#[tokio::test]
async fn damaged_hybrid_rows_are_refused_and_change_nothing() {
    let server = server().await;
    let before = contents(&server).await;
    let operation = Operation {
        kind: 0,
        partition_key: Some("[\"a\"]".to_owned()),
        body: Some(Bytes::from_static(br#"{"id":"row","pk":"a"}"#)),
        ..Operation::default()
    };
    let good = encode_operations(std::slice::from_ref(&operation));
    for length in (1..good.len()).step_by(3) {
        server.send(batch(good[..length].to_vec())).await.assert_error(400);
    }
    for index in [0, 3, 12, 16, 20, 30, good.len() - 1] {
        let mut bad = good.clone();
        bad[index] ^= 0x40;
        server.send(batch(bad)).await.assert_error(400);
    }
    let unknown = Operation { kind: 3, ..operation.clone() };
    server.send(batch(encode_operations(&[unknown]))).await.assert_error(400);
    let many = vec![operation; 101];
    server.send(batch(encode_operations(&many))).await.assert_error(400);
    server.send(batch(encode_operations(&[]))).await.assert_error(400);
    assert_eq!(contents(&server).await, before);
}

#[tokio::test]
async fn requests_that_are_not_http_do_not_hurt() {
    let server = server().await;
    #[rustfmt::skip]
    let table: [(&str, &[u8], &[u16]); 16] = [
        ("noise",                 b"\x00\x01\x02\x03\r\n\r\n", &[400]),
        ("half a preface",        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", &[400]),
        ("no version",            b"GET /\r\n\r\n", &[400]),
        ("wrong version",         b"GET / HTTP/9.9\r\nhost: x\r\n\r\n", &[400]),
        ("no host",               b"GET / HTTP/1.1\r\n\r\n", &[200, 400]),
        ("header without colon",  b"GET / HTTP/1.1\r\nhost x\r\n\r\n", &[400]),
        ("space before colon",    b"GET / HTTP/1.1\r\nhost : x\r\n\r\n", &[400]),
        ("folded header",         b"GET / HTTP/1.1\r\nhost: x\r\nx-a: b\r\n c\r\n\r\n", &[400]),
        ("NUL in a header",       b"GET / HTTP/1.1\r\nhost: x\r\nx-a: \x00\r\n\r\n", &[400]),
        ("two lengths",           b"POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", &[400]),
        ("negative length",       b"POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", &[400]),
        ("huge length",           b"POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999999\r\n\r\n", &[400]),
        ("length and chunks",     b"POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /dbs HTTP/1.1\r\nhost: x\r\n\r\n", &[400, 401]),
        ("chunks not last",       b"POST /dbs HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n", &[400, 401]),
        ("bad chunk size",        b"POST /dbs HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", &[400, 401]),
        ("TLS alert",             b"\x15\x03\x01\x00\x02\x02\x28", &[400]),
    ];
    for (claim, bytes, expected) in table {
        let answer = server.raw(bytes).await;
        let status = status_of(&answer).map(|code| code.as_u16());
        assert!(status.is_some_and(|status| expected.contains(&status)), "{claim}: {answer:?}");
        server.assert_alive().await;
    }
    // A broken handshake is a closed connection.
    assert!(!server.raw(b"\x16\x03\x01\x00\x05hello").await.contains("HTTP"));
    server.assert_alive().await;
}

#[tokio::test]
async fn bad_paths_answer_400() {
    let server = server().await;
    #[rustfmt::skip]
    let table = [
        ("/foo", 400), ("/dbs/d/docs", 400), ("/dbs/d/colls/c/nothing", 400), ("/dbs/a%2Fb", 400), ("/dbs/%FF", 400),
        ("/dbs/d/colls/c/docs/1/x", 400), ("/dbs//colls", 400), ("/dbs/d?x=1", 400), ("/dbs/d/colls/c/docs?y", 400), ("/a/b/c/d/e/f/g/h/i/j/k", 400),
        ("/addresses/", 400), ("/addresses/?$resolveFor=%2F..%2Fx", 401), ("/dbs/d/colls/c/docs/1/attachments/", 400), ("/dbs/d/colls/c/docs/1/attachments/a/b", 400), ("/media", 400), ("/media/zzzz", 404), ("/dbs/d/colls/c/pkranges/0", 400),
        ("/dbs/..", 404), ("/dbs/%00", 404), ("/dbs/none", 404), ("/dbs/none/colls/c", 404), ("/offers/zzzz", 404),
    ];
    for (path, status) in table {
        let reply = server.send(Call::get(path)).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
        reply.assert_error(status);
    }
}
