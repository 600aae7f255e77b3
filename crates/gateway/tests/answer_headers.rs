//! Walks the table of headers: for every kind of answer a request that gets it, which must have the headers of its row
//! and no others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may panic")]

mod support;

use std::collections::{BTreeSet, HashMap};

use account::{Account, AccountOptions, Enforcement};
use http::Method;
use model::{Env, Value};
use support::{Call, Reply, START_MS, Server};

/// Headers that depend on the request and not on the kind of answer, and those of the server below.
const ANYWHERE: &[&str] = &[
    "date",
    "content-length",
    "x-ms-substatus",
    "x-ms-retry-after-ms",
    "x-ms-cosmos-min-throughput",
];

const ITEMS: &str = "/dbs/d/colls/c/docs";

/// Compares answers with the table.
struct Walk {
    table: HashMap<&'static str, BTreeSet<&'static str>>,
    seen: BTreeSet<&'static str>,
    failures: Vec<String>,
}

impl Walk {
    fn new() -> Walk {
        let table = gateway::answer_table();
        let table = table.map(|(name, headers)| (name, headers.into_iter().collect())).collect();
        Walk { table, seen: BTreeSet::new(), failures: Vec::new() }
    }

    /// Sends a request that must get this kind of answer.
    async fn step(
        &mut self,
        server: &Server,
        kind: &'static str,
        status: u16,
        call: Call,
    ) -> Reply {
        let is_post = call.method == Method::POST;
        let reply = server.send(call).await;
        assert_eq!(reply.status, status, "{kind}: {}", reply.text());
        self.compare(kind, is_post, &reply);
        reply
    }

    fn compare(&mut self, kind: &'static str, is_post: bool, reply: &Reply) {
        self.seen.insert(kind);
        let mut expected =
            self.table.get(kind).unwrap_or_else(|| panic!("{kind} is no row")).clone();
        if is_post {
            expected.remove("content-location");
        }
        let names = reply.headers.keys().map(http::HeaderName::as_str);
        let found: BTreeSet<&str> = names.filter(|name| !ANYWHERE.contains(name)).collect();
        let missing: Vec<_> = expected.difference(&found).collect();
        let extra: Vec<_> = found.difference(&expected).collect();
        if !missing.is_empty() || !extra.is_empty() {
            self.failures.push(format!("{kind}: missing {missing:?}, extra {extra:?}"));
        }
    }
}

fn query(text: &str) -> Call {
    let body = format!(r#"{{"query":"{text}"}}"#);
    Call::post(ITEMS, body)
        .header("x-ms-documentdb-isquery", "true")
        .header("content-type", "application/query+json")
}

fn batch(body: &str) -> Call {
    Call::post(ITEMS, body.to_owned())
        .key_header("a")
        .header("x-ms-cosmos-is-batch-request", "true")
        .header("x-ms-cosmos-batch-atomic", "true")
}

fn text(reply: &Reply, name: &str) -> String {
    reply.json().get(name).and_then(Value::as_str).expect("member").to_owned()
}

#[tokio::test]
async fn every_kind_of_answer_has_the_headers_of_its_row() {
    let server = Server::start().await.with_container().await;
    let mut walk = Walk::new();
    metadata(&mut walk, &server).await;
    offers(&mut walk, &server).await;
    scripts(&mut walk, &server).await;
    items(&mut walk, &server).await;
    queries(&mut walk, &server).await;
    refusals(&mut walk, &server).await;
    throttled(&mut walk).await;
    assert!(walk.failures.is_empty(), "\n{}", walk.failures.join("\n"));
    let all: BTreeSet<_> = walk.table.keys().copied().collect();
    assert_eq!(walk.seen, all, "a row that no request here shows");
}

async fn metadata(walk: &mut Walk, server: &Server) {
    walk.step(server, "Account", 200, Call::get("/")).await;
    walk.step(server, "Page", 200, Call::get("/ready")).await;
    walk.step(server, "DatabaseCreate", 201, Call::post("/dbs", r#"{"id":"x"}"#)).await;
    walk.step(server, "DatabaseRead", 200, Call::get("/dbs/x")).await;
    walk.step(server, "Databases", 200, Call::get("/dbs")).await;
    walk.step(server, "DatabaseDelete", 204, Call::delete("/dbs/x")).await;
    let container = r#"{"id":"y","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    let made =
        walk.step(server, "ContainerCreate", 201, Call::post("/dbs/d/colls", container)).await;
    assert_eq!(made.header("x-ms-alt-content-path"), Some("dbs/d"));
    assert_eq!(made.header("x-ms-share-throughput"), Some("false"));
    walk.step(server, "ContainerRefused", 409, Call::post("/dbs/d/colls", container)).await;
    walk.step(server, "ContainerRead", 200, Call::get("/dbs/d/colls/y")).await;
    walk.step(server, "ContainerReplace", 200, Call::put("/dbs/d/colls/y", container)).await;
    walk.step(server, "Children", 200, Call::get("/dbs/d/colls")).await;
    walk.step(server, "Ranges", 200, Call::get("/dbs/d/colls/y/pkranges")).await;
    let since = Call::get("/dbs/d/colls/y/pkranges").header("a-im", "Incremental Feed");
    walk.step(server, "RangesSince", 200, since).await;
    walk.step(server, "ContainerDelete", 204, Call::delete("/dbs/d/colls/y")).await;
    walk.step(server, "ResourceCreate", 201, Call::post("/dbs/d/users", r#"{"id":"u"}"#)).await;
    walk.step(server, "Children", 200, Call::get("/dbs/d/users")).await;
    walk.step(server, "ResourceRead", 200, Call::get("/dbs/d/users/u")).await;
    walk.step(server, "ResourceReplace", 200, Call::put("/dbs/d/users/u", r#"{"id":"v"}"#)).await;
    walk.step(server, "ResourceDelete", 204, Call::delete("/dbs/d/users/v")).await;
}

async fn offers(walk: &mut Walk, server: &Server) {
    let list = walk.step(server, "Offers", 200, Call::get("/offers")).await.json();
    let offer = list
        .get("Offers")
        .and_then(Value::as_array)
        .and_then(|offers| offers.first())
        .expect("offer")
        .clone();
    let path = format!("/offers/{}", offer.get("id").and_then(Value::as_str).expect("id"));
    walk.step(server, "Offer", 200, Call::get(&path)).await;
    walk.step(server, "OfferReplace", 200, Call::put(&path, offer.to_text())).await;
}

async fn scripts(walk: &mut Walk, server: &Server) {
    let udfs = "/dbs/d/colls/c/udfs";
    let udf = r#"{"id":"bad","body":"function () { throw new Error('no'); }"}"#;
    let made = walk.step(server, "ScriptCreate", 201, Call::post(udfs, udf)).await;
    assert_eq!(made.header("x-ms-resource-quota"), Some("functions=50;"));
    walk.step(server, "Scripts", 200, Call::get(udfs)).await;
    walk.step(server, "ScriptRead", 200, Call::get("/dbs/d/colls/c/udfs/bad")).await;
    walk.step(server, "ScriptReplace", 200, Call::put("/dbs/d/colls/c/udfs/bad", udf)).await;
    let conflicts = walk.step(server, "Scripts", 200, Call::get("/dbs/d/colls/c/conflicts")).await;
    assert_eq!(conflicts.header("x-ms-resource-quota"), Some("conflicts=0;"));
    let procedure = r#"{"id":"p","body":"function () { getContext().getResponse().setBody(1); }"}"#;
    let made = Call::post("/dbs/d/colls/c/sprocs", procedure);
    let made = walk.step(server, "ScriptCreate", 201, made).await;
    assert_eq!(made.header("x-ms-resource-quota"), Some("storedProcedures=100;"));
    let execute = Call::post("/dbs/d/colls/c/sprocs/p", "[]").key_header("a");
    let executed = walk.step(server, "Execute", 200, execute).await;
    assert_eq!(executed.header("x-ms-alt-content-path"), Some("dbs/d/colls/c/sprocs/p"));
    walk.step(server, "ScriptDelete", 204, Call::delete("/dbs/d/colls/c/sprocs/p")).await;
}

async fn attachments(walk: &mut Walk, server: &Server, item: &str) {
    let feed = format!("{item}/attachments");
    let body = r#"{"id":"l","contentType":"a/b","media":"x"}"#;
    let create = || Call::post(&feed, body).key_header("a");
    let created = walk.step(server, "AttachmentCreate", 201, create()).await;
    walk.step(server, "WriteRefused", 409, create()).await;
    let upload = Call::post(&feed, "bytes").key_header("a").header("slug", "m");
    let upload = walk.step(server, "AttachmentUpload", 201, upload).await;
    let one = format!("{feed}/l");
    walk.step(server, "AttachmentRead", 200, Call::get(&one).key_header("a")).await;
    let known = Call::get(&one).key_header("a").header("if-none-match", &text(&created, "_etag"));
    walk.step(server, "AttachmentUnchanged", 304, known).await;
    walk.step(server, "AttachmentReplace", 200, Call::put(&one, body).key_header("a")).await;
    walk.step(server, "Attachments", 200, Call::get(&feed).key_header("a")).await;
    let find = Call::post(&feed, r#"{"query":"SELECT * FROM c"}"#).key_header("a");
    let find = find.header("content-type", "application/query+json");
    walk.step(server, "Query", 200, find).await;
    let media = text(&upload, "media");
    walk.step(server, "MediaReplace", 200, Call::put(&media, "other")).await;
    let read = walk.step(server, "MediaRead", 200, Call::get(&media)).await;
    assert_eq!(read.header("content-type"), Some("application/octet-stream"));
    walk.step(server, "AttachmentDelete", 204, Call::delete(&one).key_header("a")).await;
    walk.step(server, "ReadRefused", 404, Call::get(&one).key_header("a")).await;
}

async fn items(walk: &mut Walk, server: &Server) {
    let item = r#"{"id":"1","pk":"a"}"#;
    let created = walk.step(server, "ItemCreate", 201, Call::create("a", item)).await;
    let lsn: u64 = created.header("lsn").expect("lsn").parse().expect("number");
    assert_eq!(created.header("x-ms-quorum-acked-lsn"), Some(&*(lsn - 1).to_string()));
    let quota =
        "documentSize=10240;documentsSize=10485760;documentsCount=-1;collectionSize=10485760;";
    assert_eq!(created.header("x-ms-resource-quota"), Some(quota));
    let usage = "documentSize=0;documentsSize=1;documentsCount=0;collectionSize=1;";
    assert_eq!(created.header("x-ms-resource-usage"), Some(usage));
    let path = format!("{ITEMS}/1");
    let read = walk.step(server, "ItemRead", 200, Call::get(&path).key_header("a")).await;
    let location = format!("http://{}{path}", server.address);
    assert_eq!(read.header("content-location"), Some(&*location));
    let known = Call::get(&path).key_header("a").header("if-none-match", &text(&created, "_etag"));
    let unchanged = walk.step(server, "ItemUnchanged", 304, known).await;
    assert_eq!(unchanged.header("content-type"), Some("application/json"));
    walk.step(server, "ItemReplace", 200, Call::put(&path, item).key_header("a")).await;
    attachments(walk, server, &path).await;
    walk.step(server, "WriteRefused", 409, Call::create("a", item)).await;
    walk.step(server, "ReadRefused", 404, Call::get(&format!("{ITEMS}/none")).key_header("a"))
        .await;
    let read = r#"[{"operationType":"Read","id":"1"}]"#;
    walk.step(server, "Batch", 200, batch(read)).await;
    let clash = r#"[{"operationType":"Create","resourceBody":{"id":"1","pk":"a"}}]"#;
    walk.step(server, "BatchFailed", 207, batch(clash)).await;
    let many = format!("[{}]", [r#"{"operationType":"Read","id":"1"}"#; 101].join(","));
    walk.step(server, "BatchTooLong", 400, batch(&many)).await;
    walk.step(server, "ItemDelete", 204, Call::delete(&path).key_header("a")).await;
    let purge = Call::post("/dbs/d/colls/c/operations/partitionkeydelete", "").key_header("b");
    walk.step(server, "DeleteLogicalPartition", 200, purge).await;
}

async fn queries(walk: &mut Walk, server: &Server) {
    server.send(Call::create("a", r#"{"id":"2","pk":"a"}"#)).await;
    walk.step(server, "Query", 200, query("SELECT * FROM c").key_header("a")).await;
    walk.step(server, "QueryRefused", 400, query("SELECT udf.bad() FROM c").key_header("a")).await;
    let plan = query("SELECT * FROM c ORDER BY c.x")
        .header("x-ms-cosmos-is-query-plan-request", "True")
        .header("x-ms-cosmos-supported-query-features", "OrderBy");
    walk.step(server, "QueryPlan", 200, plan).await;
    walk.step(server, "ReadFeed", 200, Call::get(ITEMS).key_header("a")).await;
    let changes = Call::get(ITEMS).key_header("a").header("a-im", "Incremental Feed");
    walk.step(server, "ChangeFeed", 200, changes).await;
}

async fn refusals(walk: &mut Walk, server: &Server) {
    walk.step(server, "Refused", 400, Call::get("/nonsense")).await;
    walk.step(server, "Refused", 401, Call::get("/dbs/d").unsigned()).await;
    walk.step(server, "Refused", 400, query("SELECT FROM").key_header("a")).await;
    let unservable = query("SELECT * FROM c ORDER BY c.x")
        .header("x-ms-documentdb-query-enablecrosspartition", "true");
    let reply = walk.step(server, "Refused", 400, unservable).await;
    assert_eq!(reply.substatus(), 1004);
    walk.step(server, "Refused", 405, Call::put("/dbs", "{}")).await;
    walk.step(server, "Invalid", 400, Call::get(ITEMS).header("x-ms-max-item-count", "abc")).await;
    let missing = walk.step(server, "CatalogRefused", 404, Call::get("/dbs/none")).await;
    assert_eq!(missing.header("x-ms-request-charge"), Some("2"));
    let missing = walk
        .step(server, "CatalogRefused", 404, Call::post("/dbs/d/colls/none/docs", r#"{"id":"1"}"#))
        .await;
    assert_eq!(missing.substatus(), 0);
    let taken =
        walk.step(server, "DatabaseRefused", 409, Call::post("/dbs", r#"{"id":"d"}"#)).await;
    assert_ne!(taken.header("x-ms-request-charge"), Some("0"));
    let large = format!(r#"{{"id":"l","pk":"a","t":"{}"}}"#, "x".repeat(3 << 20));
    walk.step(server, "TooLarge", 413, Call::create("a", large)).await;
}

async fn throttled(walk: &mut Walk) {
    let env = Env::fixed(7, START_MS);
    let options = AccountOptions { enforcement: Enforcement::On, ..AccountOptions::default() };
    let account = Account::open(store::open_memory(), options, env.clone()).await.expect("account");
    let server = Server::start_on(account, env, |_| {}).await.with_container().await;
    for number in 0..1000 {
        let item = format!(r#"{{"id":"{number}","pk":"a"}}"#);
        let reply = server.send(Call::create("a", item)).await;
        if reply.status == 429 {
            assert_eq!(reply.header("x-ms-request-charge"), Some("0.38"));
            walk.compare("Throttled", true, &reply);
            return;
        }
    }
    panic!("nothing was refused");
}
