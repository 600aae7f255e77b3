//! Ordering, grouping, aggregates, search and paging through the SDK, against answers worked out here.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::models::ContainerProperties;
use azure_data_cosmos::options::{MaxItemCountHint, QueryOptions};
use azure_data_cosmos::{CosmosError, FeedScope, PartitionKey, Query};
use conformance_rust::{Scratch, run, unique};
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};

/// Item `n`; `mixed` has every type that can be a sort key, and is missing now and then.
fn make(n: i64) -> Value {
    let mut item = json!({
        "id": format!("{n:03}"), "pk": format!("key{}", n % 7), "n": n, "team": format!("t{}", n % 4),
        "a": n % 5, "b": n * 17 % 60,
    });
    let mixed = match n % 6 {
        0 => Value::Null,
        1 => json!(n % 4 == 1),
        2 => json!(n as f64 / 4.0),
        3 => json!(format!("text{n:02}")),
        4 => json!(-n),
        _ => return item,
    };
    item["mixed"] = mixed;
    item
}

fn items() -> Vec<Value> {
    (0..60).map(make).collect()
}

fn indexing() -> Value {
    json!({
        "automatic": true, "indexingMode": "consistent",
        "includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/\"_etag\"/?"}],
    })
}

fn properties(extra: Value) -> ContainerProperties {
    let mut all = json!({
        "id": unique("items"), "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
    });
    for (name, value) in extra.as_object().unwrap() {
        all[name] = value.clone();
    }
    serde_json::from_value(all).unwrap()
}

async fn fill(container: &ContainerClient, items: &[Value]) {
    for item in items {
        let (id, key) = (item["id"].as_str().unwrap(), item["pk"].as_str().unwrap().to_owned());
        container.create_item(key, id, item, None).await.unwrap();
    }
}

async fn rich(scratch: &Scratch) -> ContainerClient {
    let mut policy = indexing();
    policy["compositeIndexes"] = json!([
        [{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}],
    ]);
    let container = scratch.container_with(properties(json!({"indexingPolicy": policy}))).await;
    fill(&container, &items()).await;
    container
}

/// One partition and all of them, each with its items.
fn scopes() -> [(FeedScope, Vec<Value>); 2] {
    let of_key = items().into_iter().filter(|item| item["pk"] == "key3").collect();
    [(FeedScope::partition("key3"), of_key), (FeedScope::full_container(), items())]
}

async fn try_ask(
    container: &ContainerClient,
    text: &str,
    scope: &FeedScope,
) -> Result<Vec<Value>, CosmosError> {
    let rows = container.query_items::<Value>(Query::from(text), scope.clone(), None).await?;
    rows.try_collect().await
}

async fn ask(container: &ContainerClient, text: &str, scope: &FeedScope) -> Vec<Value> {
    try_ask(container, text, scope).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The same for what this SDK may not merge across partitions: then it says so, and there is nothing to compare.
async fn ask_if_merged(
    container: &ContainerClient,
    text: &str,
    scope: &FeedScope,
) -> Option<Vec<Value>> {
    match try_ask(container, text, scope).await {
        Ok(rows) => Some(rows),
        Err(error) => {
            assert!(matches!(scope, FeedScope::Range(_)), "{text}: {error}");
            println!("skipped: this SDK does not merge {text:?}: {error}");
            None
        }
    }
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["id"].as_str().unwrap()).collect()
}

fn number(item: &Value, name: &str) -> i64 {
    item[name].as_i64().unwrap()
}

fn sorted<K: Ord>(items: &[Value], key: impl Fn(&Value) -> K) -> Vec<Value> {
    let mut items = items.to_vec();
    items.sort_by_key(key);
    items
}

#[test]
fn one_key_or_several_order() {
    run(async {
        let scratch = Scratch::new().await;
        let container = rich(&scratch).await;
        for (scope, items) in scopes() {
            let check = async |clause: &str, expected: Vec<Value>| {
                let found =
                    ask(&container, &format!("SELECT * FROM c ORDER BY {clause}"), &scope).await;
                assert_eq!(ids(&found), ids(&expected), "{clause}");
            };
            check("c.b", sorted(&items, |item| number(item, "b"))).await;
            check("c.b DESC", sorted(&items, |item| Reverse(number(item, "b")))).await;
            let pair = |item: &Value| (number(item, "a"), Reverse(number(item, "b")));
            check("c.a ASC, c.b DESC", sorted(&items, pair)).await;
            check("c.a DESC, c.b ASC", sorted(&items, |item| Reverse(pair(item)))).await;
        }
        let (one, _) = &scopes()[0];
        let refused = try_ask(&container, "SELECT * FROM c ORDER BY c.n, c.b", one).await;
        assert_eq!(conformance_rust::failure(refused).0, 400);
        scratch.finish().await;
    });
}

/// By type, then by value.
fn compare_mixed(left: &Value, right: &Value) -> Ordering {
    let kind = |item: &Value| match item.get("mixed") {
        None => 0,
        Some(Value::Null) => 1,
        Some(Value::Bool(_)) => 2,
        Some(Value::Number(_)) => 3,
        Some(_) => 4,
    };
    let (a, b) = (&left["mixed"], &right["mixed"]);
    kind(left).cmp(&kind(right)).then_with(|| match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => a.as_f64().unwrap().total_cmp(&b.as_f64().unwrap()),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        _ => Ordering::Equal,
    })
}

#[test]
fn types_come_before_values() {
    run(async {
        let scratch = Scratch::new().await;
        let container = rich(&scratch).await;
        for (scope, items) in scopes() {
            let text = "SELECT * FROM c ORDER BY c.mixed";
            let found = ask(&container, text, &scope).await;
            assert_eq!(found.len(), items.len());
            for pair in found.windows(2) {
                assert_ne!(compare_mixed(&pair[0], &pair[1]), Ordering::Greater, "{pair:?}");
            }
        }
        scratch.finish().await;
    });
}

#[test]
fn ordered_pages_resume_from_their_token() {
    run(async {
        let scratch = Scratch::new().await;
        let container = rich(&scratch).await;
        for (scope, items) in scopes() {
            for (clause, sign) in [("c.b", 1), ("c.b DESC", -1)] {
                let text = format!("SELECT * FROM c ORDER BY {clause}");
                let mut found: Vec<Value> = Vec::new();
                let mut token = None;
                loop {
                    let size = MaxItemCountHint::Limit(NonZeroU32::new(7).unwrap());
                    let mut options = QueryOptions::default().with_max_item_count(size);
                    if let Some(token) = token.take() {
                        options = options.with_continuation_token(token);
                    }
                    // Every page by a query of its own, as a web page would do it.
                    let query = Query::from(text.as_str());
                    let rows = container.query_items::<Value>(query, scope.clone(), Some(options));
                    let mut pages = rows.await.unwrap().into_pages();
                    let Some(page) = pages.next().await else { break };
                    let page = page.unwrap();
                    assert!(page.items().len() <= 7);
                    token = Some(pages.to_continuation_token().unwrap());
                    found.extend(page.into_items());
                    assert!(found.len() <= items.len(), "rows come twice");
                }
                let expected = sorted(&items, |item| sign * number(item, "b"));
                assert_eq!(ids(&found), ids(&expected), "{clause}");
            }
        }
        scratch.finish().await;
    });
}

#[test]
fn offset_limit_and_top_cut() {
    run(async {
        let scratch = Scratch::new().await;
        let container = rich(&scratch).await;
        for (scope, items) in scopes() {
            let mut down: Vec<i64> = items.iter().map(|item| number(item, "n")).collect();
            down.sort_by_key(|n| Reverse(*n));
            let cut = "SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 2 LIMIT 4";
            assert_eq!(ask(&container, cut, &scope).await, down[2..6]);
            let top = "SELECT TOP 5 VALUE c.n FROM c ORDER BY c.n DESC";
            assert_eq!(ask(&container, top, &scope).await, down[..5]);
            assert_eq!(ask(&container, "SELECT TOP 3 * FROM c", &scope).await.len(), 3);
            assert_eq!(ask(&container, "SELECT * FROM c OFFSET 1 LIMIT 3", &scope).await.len(), 3);
        }
        scratch.finish().await;
    });
}

#[test]
fn aggregates_groups_and_distinct_values_add_up() {
    run(async {
        let scratch = Scratch::new().await;
        let container = rich(&scratch).await;
        for (scope, items) in scopes() {
            let numbers: Vec<i64> = items.iter().map(|item| number(item, "n")).collect();
            let sum: i64 = numbers.iter().sum();
            for (text, expected) in [
                ("COUNT(1)", numbers.len() as f64),
                ("SUM(c.n)", sum as f64),
                ("AVG(c.n)", sum as f64 / numbers.len() as f64),
                ("MIN(c.n)", *numbers.iter().min().unwrap() as f64),
                ("MAX(c.n)", *numbers.iter().max().unwrap() as f64),
            ] {
                let text = format!("SELECT VALUE {text} FROM c");
                let Some(rows) = ask_if_merged(&container, &text, &scope).await else { continue };
                assert_eq!(rows.len(), 1, "{text}");
                assert!((rows[0].as_f64().unwrap() - expected).abs() < 1e-9, "{text}: {rows:?}");
            }
            let teams: BTreeSet<&str> =
                items.iter().map(|item| item["team"].as_str().unwrap()).collect();
            let text = "SELECT DISTINCT TOP 100 VALUE c.team FROM c";
            if let Some(rows) = ask_if_merged(&container, text, &scope).await {
                assert_eq!(rows.len(), teams.len());
                assert_eq!(
                    rows.iter().map(|row| row.as_str().unwrap()).collect::<BTreeSet<_>>(),
                    teams
                );
            }
            let text = "SELECT c.team, COUNT(1) AS n, SUM(c.n) AS s FROM c GROUP BY c.team";
            if let Some(rows) = ask_if_merged(&container, text, &scope).await {
                let mut expected: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
                for item in &items {
                    let group = expected.entry(item["team"].as_str().unwrap()).or_default();
                    *group = (group.0 + 1, group.1 + number(item, "n"));
                }
                let found: BTreeMap<&str, (i64, i64)> = rows
                    .iter()
                    .map(|row| {
                        (row["team"].as_str().unwrap(), (number(row, "n"), number(row, "s")))
                    })
                    .collect();
                assert_eq!(found, expected);
            }
        }
        scratch.finish().await;
    });
}

#[test]
fn a_prefix_of_a_hierarchical_key_scopes_a_query() {
    run(async {
        let scratch = Scratch::new().await;
        let paths = conformance_rust::properties(&["/tenant", "/user"]);
        let container = scratch.container_with(paths).await;
        for n in 0..12 {
            let (id, tenant, user) =
                (format!("{n:02}"), format!("t{}", n % 2), format!("u{}", n % 3));
            let item = json!({"id": id, "tenant": tenant, "user": user, "n": n * 5 % 12});
            container
                .create_item(PartitionKey::from((tenant, user)), &id, &item, None)
                .await
                .unwrap();
        }
        let text = "SELECT VALUE c.id FROM c WHERE c.tenant = 't1'";
        let mut found = ask(&container, text, &FeedScope::full_container()).await;
        found.sort_by_key(|id| id.as_str().map(str::to_owned));
        assert_eq!(found, ["01", "03", "05", "07", "09", "11"]);
        let prefix = FeedScope::partition(PartitionKey::from("t1"));
        let text = "SELECT VALUE c.id FROM c ORDER BY c.n";
        if let Some(found) = ask_or_say(&container, text, &prefix).await {
            let mut expected: Vec<i64> = (0..12).filter(|n| n % 2 == 1).collect();
            expected.sort_by_key(|n| n * 5 % 12);
            let expected: Vec<String> = expected.iter().map(|n| format!("{n:02}")).collect();
            assert_eq!(found, expected);
        }
        let whole = FeedScope::partition(PartitionKey::from(("t1", "u2")));
        assert_eq!(
            ask(&container, "SELECT VALUE c.id FROM c ORDER BY c.id", &whole).await,
            ["05", "11"]
        );
        scratch.finish().await;
    });
}

async fn ask_or_say(
    container: &ContainerClient,
    text: &str,
    scope: &FeedScope,
) -> Option<Vec<Value>> {
    match try_ask(container, text, scope).await {
        Ok(rows) => Some(rows),
        Err(error) => {
            println!("skipped: this SDK does not scope by a prefix: {error}");
            None
        }
    }
}

const TARGET: [f64; 4] = [0.5, -0.25, 1.0, 0.125];

/// A vector, and a text of constant length that says "comet" once more each time.
fn document(n: usize) -> Value {
    let vector: Vec<f64> = (0..TARGET.len())
        .map(|axis| (n as f64 * 0.7 + axis as f64).sin() * (1 + n % 3) as f64)
        .collect();
    let words: Vec<String> = (0..24)
        .map(|k| if k <= n { "comet".to_owned() } else { format!("filler{}", k - n) })
        .collect();
    json!({"id": format!("{n:02}"), "pk": "k", "n": n, "v": vector, "text": words.join(" "), "said": n + 1})
}

fn distance(item: &Value) -> f64 {
    let axis = |n: usize| item["v"][n].as_f64().unwrap() - TARGET[n];
    (0..TARGET.len()).map(|n| axis(n) * axis(n)).sum::<f64>().sqrt()
}

#[test]
fn vectors_and_texts_are_searched() {
    run(async {
        let scratch = Scratch::new().await;
        let mut policy = indexing();
        policy["vectorIndexes"] = json!([{"path": "/v", "type": "flat"}]);
        policy["fullTextIndexes"] = json!([{"path": "/text"}]);
        let container = scratch
            .container_with(properties(json!({
                "indexingPolicy": policy,
                "vectorEmbeddingPolicy": {"vectorEmbeddings": [
                    {"path": "/v", "dataType": "float32", "dimensions": 4, "distanceFunction": "euclidean"},
                ]},
                "fullTextPolicy": {
                    "defaultLanguage": "en-US", "fullTextPaths": [{"path": "/text", "language": "en-US"}],
                },
            })))
            .await;
        let documents: Vec<Value> = (0..12).map(document).collect();
        fill(&container, &documents).await;
        let mut nearest = documents.clone();
        nearest.sort_by(|left, right| distance(left).total_cmp(&distance(right)));
        let loudest = sorted(&documents, |item| Reverse(number(item, "said")));
        let near = format!("VectorDistance(c.v, {TARGET:?})");
        for scope in [FeedScope::partition("k"), FeedScope::full_container()] {
            let text = "SELECT VALUE c.id FROM c WHERE FullTextContains(c.text, 'filler14')";
            assert_eq!(ask(&container, text, &scope).await.len(), 10);
            for (text, expected) in [
                (format!("SELECT TOP 5 * FROM c ORDER BY {near}"), &nearest),
                (
                    "SELECT TOP 5 * FROM c ORDER BY RANK FullTextScore(c.text, 'comet')".to_owned(),
                    &loudest,
                ),
            ] {
                let Some(found) = ask_if_merged(&container, &text, &scope).await else { continue };
                assert_eq!(ids(&found), ids(&expected[..5]), "{text}");
            }
            let text = format!(
                "SELECT TOP 12 * FROM c ORDER BY RANK RRF(FullTextScore(c.text, 'comet'), {near})"
            );
            let Some(found) = ask_if_merged(&container, &text, &scope).await else { continue };
            let place = |order: &[Value], id: &str| {
                ids(order).iter().position(|it| *it == id).unwrap() + 61
            };
            let score =
                |id: &str| 1.0 / place(&nearest, id) as f64 + 1.0 / place(&loudest, id) as f64;
            assert_eq!(found.len(), 12);
            for pair in ids(&found).windows(2) {
                assert!(score(pair[0]) > score(pair[1]) - 1e-9, "{pair:?}");
            }
        }
        scratch.finish().await;
    });
}
