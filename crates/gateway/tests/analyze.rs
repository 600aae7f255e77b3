//! What a query took, part by part, against what its pages were charged: every case of `cases/query` that has rows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

#[path = "../../query/tests/case_file/mod.rs"]
mod case_file;
mod support;

use case_file::{Case, Container, Expected};
use model::{Charge, Object, Value};
use support::{Call, Client, Protocol, Reply, Server, read_only_key};

const PAGE_ROWS: &str = "3";

async fn created(client: &mut Client, path: &str, body: &str) {
    let reply = client.send(Call::post(path, body.to_owned())).await;
    assert_eq!(reply.status, 201, "{path} {body}: {}", reply.text());
}

/// Makes the container `c` of a case file in a database of its own.
async fn fill(client: &mut Client, database: &str, container: &Container) {
    created(client, "/dbs", &format!(r#"{{"id":"{database}"}}"#)).await;
    let paths = container.key_paths.iter().map(|path| Value::from(path.as_str())).collect();
    let kind = if container.key_paths.len() > 1 { "MultiHash" } else { "Hash" };
    let definition =
        model::object! { "paths" => Value::Array(paths), "kind" => kind, "version" => 2 };
    let mut body = Object::new();
    body.insert("id", "c");
    body.insert("partitionKey", definition);
    for (name, value) in [
        ("indexingPolicy", &container.policy),
        ("computedProperties", &container.computed),
        ("vectorEmbeddingPolicy", &container.vectors),
        ("fullTextPolicy", &container.full_text),
    ] {
        if let Some(value) = value {
            body.insert(name, value.clone());
        }
    }
    let colls = format!("/dbs/{database}/colls");
    created(client, &colls, &Value::Object(body).to_text()).await;
    for (name, text) in &container.udfs {
        let body = model::object! { "id" => name.as_str(), "body" => text.as_str() };
        created(client, &format!("{colls}/c/udfs"), &body.to_text()).await;
    }
    for item in &container.items {
        created(client, &format!("{colls}/c/docs"), &item.to_text()).await;
    }
}

fn body_of(case: &Case) -> Object {
    let parameters = case.parameters.iter().map(|(name, value)| {
        model::object! { "name" => name.as_str(), "value" => value.clone() }
    });
    let mut body = Object::new();
    body.insert("query", case.query.as_str());
    body.insert("parameters", Value::Array(parameters.collect()));
    body
}

/// The partition key that the case names.
fn key_of(case: &Case) -> Option<Value> {
    let scope = case.scope.as_ref()?;
    let is_list = scope.as_array().is_some();
    Some(if is_list { scope.clone() } else { Value::Array(vec![scope.clone()]) })
}

async fn page(client: &mut Client, path: &str, case: &Case, merges: bool, from: &str) -> Reply {
    let mut call = Call::post(path, Value::Object(body_of(case)).to_text())
        .header("content-type", "application/query+json")
        .header("x-ms-documentdb-isquery", "true")
        .header("x-ms-documentdb-query-enablecrosspartition", "true")
        .header("x-ms-max-item-count", PAGE_ROWS);
    if let Some(key) = key_of(case) {
        let key = model::PartitionKey::from_value(&key).unwrap().to_header();
        call = call.header("x-ms-documentdb-partitionkey", &key);
    }
    if merges {
        call = call.header("x-orrery-merge", "true");
    }
    if !from.is_empty() {
        call = call.header("x-ms-continuation", from);
    }
    client.send(call).await
}

/// The charges that the headers of all pages name; `None` if the query is refused.
async fn charges(client: &mut Client, path: &str, case: &Case) -> Option<Vec<String>> {
    let mut merges = false;
    let (mut charges, mut from) = (Vec::new(), String::new());
    loop {
        let reply = page(client, path, case, merges, &from).await;
        if reply.status == 400 && !merges && charges.is_empty() {
            merges = true;
            continue;
        }
        if reply.status != 200 {
            return None;
        }
        charges.push(reply.header("x-ms-request-charge").unwrap().to_owned());
        match reply.header("x-ms-continuation") {
            Some(next) => next.clone_into(&mut from),
            None => return Some(charges),
        }
    }
}

fn parts(value: &Value, name: &str) -> u64 {
    u64::try_from(value.get(name).and_then(Value::as_i64).unwrap_or_else(|| panic!("{name}")))
        .unwrap()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).unwrap_or_else(|| panic!("{name}"))
}

fn sum(list: &[Value]) -> u64 {
    list.iter().map(|it| parts(it, "chargeParts")).sum()
}

/// Checks that the parts are the ranges, the ranges the whole, and the whole the pages.
fn check_sums(analyzed: &Value) {
    let whole = parts(analyzed, "chargeParts");
    assert_eq!(sum(list(analyzed, "parts")), whole, "parts of all ranges");
    assert_eq!(sum(list(analyzed, "pages")), whole, "pages");
    let ranges = list(analyzed, "ranges");
    assert_eq!(sum(ranges), whole, "ranges");
    for range in ranges {
        assert_eq!(sum(list(range, "parts")), parts(range, "chargeParts"), "parts of a range");
    }
    for part in list(analyzed, "parts") {
        let name = part.get("name").and_then(Value::as_str).unwrap();
        let of_ranges = ranges.iter().flat_map(|range| list(range, "parts"));
        let own = of_ranges.filter(|it| it.get("name").and_then(Value::as_str) == Some(name));
        assert_eq!(own.map(|it| parts(it, "chargeParts")).sum::<u64>(), parts(part, "chargeParts"));
    }
}

#[tokio::test]
async fn parts_add_up_to_the_charge_of_every_case() {
    let server = Server::start_over(3, |_| {}).await;
    let mut client = Client::connect(&server, Protocol::Http1).await;
    let bearer = format!("Bearer {}", read_only_key());
    let (mut n_cases, mut n_merged, mut n_pages) = (0, 0, 0);
    let containers = case_file::files().into_iter().flat_map(|file| case_file::read(&file));
    for (number, container) in containers.enumerate() {
        let database = format!("d{number}");
        fill(&mut client, &database, &container).await;
        let docs = format!("/dbs/{database}/colls/c/docs");
        let explain = format!("/_orrery/dbs/{database}/colls/c/explain");
        for case in &container.cases {
            let has_rows = matches!(case.expected, Expected::Rows { .. });
            if !has_rows || case.resume.is_some() || case.direct.is_some() {
                continue;
            }
            let shown = format!("{} {}", case.name, case.query);
            let Some(charges) = charges(&mut client, &docs, case).await else {
                panic!("{shown} is refused");
            };
            let mut body = body_of(case);
            body.insert("analyze", true);
            body.insert("format", "tree");
            body.insert("maxItemCount", 3);
            if let Some(key) = key_of(case) {
                body.insert("partitionKey", key);
            }
            let call = Call::post(&explain, Value::Object(body).to_text()).unsigned();
            let reply = client.send(call.header("authorization", &bearer)).await;
            assert_eq!(reply.status, 200, "{shown}: {}", reply.text());
            let answer = reply.json();
            let analyzed = answer.get("analyze").unwrap();
            check_sums(analyzed);
            assert_eq!(analyzed.get("isComplete"), Some(&Value::Bool(true)), "{shown}");
            let pages = list(analyzed, "pages");
            let text =
                |page: &Value| page.get("charge").and_then(Value::as_str).unwrap().to_owned();
            assert_eq!(pages.iter().map(text).collect::<Vec<_>>(), charges, "{shown}");
            for page in pages {
                let exact = Charge::from_parts(parts(page, "chargeParts"));
                assert_eq!(exact.to_string(), text(page), "{shown}");
            }
            for range in list(&answer, "ranges") {
                let operator = range.get("tree").and_then(|tree| tree.get("operator"));
                assert!(operator.and_then(Value::as_str).is_some(), "{shown}: {}", reply.text());
            }
            n_cases += 1;
            n_pages += pages.len();
            n_merged += usize::from(analyzed.get("isMerged") == Some(&Value::Bool(true)));
        }
    }
    assert!(
        n_cases >= 350 && n_merged >= 50 && n_pages > n_cases,
        "{n_cases} {n_merged} {n_pages}"
    );
}

#[tokio::test]
async fn a_run_tells_what_each_range_did_and_ends_where_it_is_told() {
    let server = Server::start_over(3, |_| {}).await.with_container().await;
    let mut client = Client::connect(&server, Protocol::Http1).await;
    for item in 0..40 {
        let body = format!(r#"{{"id":"{item}","pk":"k{item}","n":{item}}}"#);
        assert_eq!(client.send(Call::create(&format!("k{item}"), body)).await.status, 201);
    }
    let bearer = format!("Bearer {}", read_only_key());
    let explain = |body: &str| {
        let call = Call::post("/_orrery/dbs/d/colls/c/explain", body.to_owned()).unsigned();
        call.header("authorization", &bearer)
    };
    let text = r#"{"query":"SELECT * FROM c WHERE c.n >= 0","analyze":true,"maxItemCount":5"#;
    let all = client.send(explain(&format!("{text}}}"))).await.json();
    assert!(all.get("ranges").and_then(Value::as_array).unwrap()[0].get("tree").is_none());
    let all = all.get("analyze").unwrap();
    let count = |value: &Value, name: &str| parts(value, name);
    assert_eq!((count(all, "items"), count(all, "rows"), count(all, "lookUps")), (40, 40, 1));
    let ranges = list(all, "ranges");
    assert_eq!(ranges.len(), 3);
    assert_eq!(ranges.iter().map(|range| count(range, "items")).sum::<u64>(), 40);
    assert!(ranges.iter().all(|range| range.get("ms").and_then(Value::as_f64).is_some()));
    // One page, and no more than was allowed.
    let short = client.send(explain(&format!("{text},\"maxCharge\":1}}"))).await.json();
    let short = short.get("analyze").unwrap();
    assert_eq!(list(short, "pages").len(), 1);
    assert_eq!(short.get("isComplete"), Some(&Value::Bool(false)));
    check_sums(short);
    // It was paid for.
    let ranges = Call::get("/_orrery/dbs/d/colls/c/ranges").unsigned();
    let ranges = client.send(ranges.header("authorization", &bearer)).await.json();
    let used = list(&ranges, "ranges").iter().map(|it| it.get("charge").unwrap().as_f64().unwrap());
    let writes = 40.0 * 6.29;
    assert!(used.sum::<f64>() > writes + 2.25 * 4.0);
    for bad in [
        r#"{"query":"SELECT 1","format":"x"}"#,
        r#"{"query":"SELECT 1","analyze":1}"#,
        r#"{"query":"SELECT 1","analyze":true,"maxItemCount":0}"#,
        r#"{"query":"SELECT 1","analyze":true,"maxItemCount":10001}"#,
        r#"{"query":"SELECT 1","analyze":true,"maxCharge":-1}"#,
        r#"{"query":"SELECT","analyze":true}"#,
    ] {
        client.send(explain(bad)).await.assert_error(400);
    }
}
