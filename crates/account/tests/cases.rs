//! Runs `cases/query/*.case` through the account four ways: with and without indexes, on one range and on four that
//! the server merges. Rows must agree; only the charge may differ, and it is what the ranges were charged together.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

#[path = "../../query/tests/case_file/mod.rs"]
mod case_file;
mod support;

use account::{AccountOptions, IndexMetrics, ItemAction, QueryText};
use case_file::{Case, Container, Expected};
use model::{Charge, Value};
use support::{Answer, Client};

/// What a client that can do everything announces.
const FEATURES: &str = "Aggregate,CountIf,DCount,Distinct,GroupBy,HybridSearch,ListAndSetAggregate,\
    MultipleAggregates,MultipleOrderBy,NonStreamingOrderBy,NonValueAggregate,OffsetAndLimit,OrderBy,\
    Top,WeightedRankFusion";

/// The least that a page of a query costs.
const VISIT: Charge = Charge::from_hundredths(225);

/// One of the four ways.
#[derive(Debug, Clone, Copy)]
struct Way {
    keeps_indexes: bool,
    n_ranges: u32,
}

async fn filled(container: &Container, way: Way) -> Client {
    let options = AccountOptions {
        min_partitions: way.n_ranges,
        keeps_indexes: way.keeps_indexes,
        ..AccountOptions::default()
    };
    let client = Client::with(store::open_memory(), options).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let paths = container.key_paths.iter().map(|path| Value::from(path.as_str())).collect();
    let kind = if container.key_paths.len() > 1 { "MultiHash" } else { "Hash" };
    let mut body = model::Object::new();
    body.insert("id", "c");
    body.insert(
        "partitionKey",
        model::object! { "paths" => Value::Array(paths), "kind" => kind, "version" => 2 },
    );
    let members = [
        ("indexingPolicy", &container.policy),
        ("computedProperties", &container.computed),
        ("vectorEmbeddingPolicy", &container.vectors),
        ("fullTextPolicy", &container.full_text),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            body.insert(name, value.clone());
        }
    }
    client.create("dbs/d/colls", &Value::Object(body).to_text()).await.expect(201);
    for (name, text) in &container.udfs {
        let body = model::object! { "id" => name.as_str(), "body" => text.as_str() };
        client.create("dbs/d/colls/c/udfs", &body.to_text()).await.expect(201);
    }
    for item in &container.items {
        client.items().create(&item.to_text()).await.expect(201);
    }
    client
}

async fn page(
    client: &Client,
    case: &Case,
    items_max: u32,
    continuation: Option<String>,
) -> Answer {
    let client = client.with_options(|options| {
        options.items_max = Some(items_max);
        options.wants_analysis = true;
        options.continuation = continuation;
    });
    let mut items = client.items();
    if let Some(scope) = &case.scope {
        let key = if scope.as_array().is_some() {
            scope.clone()
        } else {
            Value::Array(vec![scope.clone()])
        };
        items = items.key(&key.to_text());
    }
    let query = QueryText {
        text: case.query.clone(),
        parameters: case.parameters.clone(),
        resume_filter: case.resume.clone(),
        merge: case.direct.is_none().then_some(2),
        wants_plan: false,
        is_optimistic: false,
    };
    let action = ItemAction::Query {
        query,
        cross_partition: case.direct.is_none_or(|direct| direct.is_cross_partition),
        wants_query_metrics: true,
        wants_index_metrics: IndexMetrics::V1,
    };
    items.run(action).await
}

/// Follows continuations to the end.
async fn rows(client: &Client, case: &Case, items_max: u32) -> Result<Vec<Value>, Answer> {
    let (mut rows, mut continuation) = (Vec::new(), None);
    for _ in 0..10_000 {
        let before = used(client);
        let page = page(client, case, items_max, continuation.take()).await;
        if page.status.code != 200 {
            return Err(page);
        }
        let parts = used(client).saturating_sub(before);
        // A query that no range can answer is still looked at.
        let is_nowhere = parts == Charge::ZERO && page.facts.charge == VISIT;
        assert!(is_nowhere || parts == page.facts.charge, "{}: {parts}", case.query);
        let analysis = page.facts.analysis.as_ref().unwrap();
        let parts: Charge = analysis.ranges.iter().map(account::RangeAnalysis::charge).sum();
        assert_eq!(parts, page.facts.charge, "{}: the parts of its price", case.query);
        assert!(page.facts.charge >= VISIT, "{}: {}", case.query, page.facts.charge);
        rows.extend(page.rows.iter().map(bare));
        continuation = page.facts.continuation;
        if continuation.is_none() {
            return Ok(rows);
        }
    }
    panic!("{} does not end", case.query);
}

/// What all ranges were charged so far.
fn used(client: &Client) -> Charge {
    client.account.metrics().ranges.iter().map(|range| range.charge).sum()
}

/// System properties are not part of what cases compare.
fn bare(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let own =
                object.iter().filter(|(name, _)| !model::json::SYSTEM_PROPERTIES.contains(name));
            Value::Object(own.map(|(name, value)| (name, bare(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(bare).collect()),
        other => other.clone(),
    }
}

/// The failure of the plan or, where there is one, of the query.
async fn failure(client: &Client, case: &Case) -> Result<Answer, String> {
    let query = QueryText {
        text: case.query.clone(),
        parameters: case.parameters.clone(),
        ..QueryText::default()
    };
    let plan = ItemAction::QueryPlan { query, supported_features: FEATURES.to_owned() };
    let plan = client.items().run(plan).await;
    if plan.status.code != 200 {
        return Ok(plan);
    }
    match rows(client, case, 100).await {
        Ok(rows) => Err(format!("no error but {rows:?}")),
        Err(answer) => Ok(answer),
    }
}

/// Puts the elements of arrays in order: those that an aggregate collected come as the ranges do.
fn sorted(row: &Value) -> Value {
    match row {
        Value::Array(list) => {
            let mut list = list.clone();
            list.sort_by_key(Value::to_text);
            Value::Array(list)
        }
        Value::Object(object) => {
            Value::Object(object.iter().map(|(name, value)| (name, sorted(value))).collect())
        }
        other => other.clone(),
    }
}

fn is_same_bag(left: &[Value], right: &[Value]) -> bool {
    let mut left = left.to_vec();
    let is_subset = right.iter().all(|value| {
        let at = left.iter().position(|own| own == value);
        at.map(|at| left.remove(at)).is_some()
    });
    is_subset && left.is_empty()
}

async fn check(client: &Client, case: &Case, way: Way) -> Result<(), String> {
    match &case.expected {
        // What the planner says is checked where it is made.
        Expected::Document(_) | Expected::Plan(_) => Ok(()),
        Expected::Error { status, sub_status, text, .. } => {
            let answer = failure(client, case).await?;
            // Wire: over several ranges an aggregate without VALUE has a text of its own.
            let is_bare = answer.message.contains("only supports 'VALUE <AggregateFunc>'");
            let is_same = answer.status.code == *status
                && sub_status.is_none_or(|sub| is_bare || answer.status.sub == sub)
                && (is_bare || answer.message.contains(text.as_str()));
            if is_same { Ok(()) } else { Err(answer.message) }
        }
        Expected::Rows { rows: expected, unordered } => {
            let text = case.query.to_uppercase();
            let has_order = text.contains("ORDER BY");
            // Without an order, which rows come first depends on the ranges.
            let is_cut = !has_order && (text.contains("TOP ") || text.contains("OFFSET "));
            let is_collected = text.contains("MAKELIST") || text.contains("MAKESET");
            let in_form = |rows: &[Value]| -> Vec<Value> {
                if is_collected { rows.iter().map(sorted).collect() } else { rows.to_vec() }
            };
            let expected = in_form(expected);
            for items_max in [1, 3, 100] {
                let found = rows(client, case, items_max).await.map_err(|answer| answer.message)?;
                let found = in_form(&found);
                let is_same = if way.n_ranges > 1 && is_cut {
                    found.len() == expected.len()
                } else if has_order && !unordered {
                    found == expected
                } else {
                    is_same_bag(&found, &expected)
                };
                if !is_same {
                    let text = |rows: &[Value]| {
                        rows.iter().map(Value::to_text).collect::<Vec<_>>().join(" ")
                    };
                    let (found, expected) = (text(&found), text(&expected));
                    return Err(format!("pages of {items_max}: {found}\n  expected {expected}"));
                }
            }
            Ok(())
        }
    }
}

async fn run_all(way: Way) {
    let (mut n_cases, mut failures) = (0, Vec::new());
    for path in case_file::files() {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        for container in case_file::read(&path) {
            let client = filled(&container, way).await;
            for case in &container.cases {
                n_cases += 1;
                if let Err(problem) = check(&client, case, way).await {
                    failures.push(format!(
                        "{file}:{} {}\n  {}\n  {problem}",
                        case.line, case.name, case.query
                    ));
                }
            }
        }
    }
    assert!(n_cases >= 480, "only {n_cases} cases were found");
    assert!(failures.is_empty(), "{} of {n_cases}:\n{}", failures.len(), failures.join("\n"));
}

#[tokio::test]
async fn cases_hold_on_one_range_with_indexes() {
    run_all(Way { keeps_indexes: true, n_ranges: 1 }).await;
}

#[tokio::test]
async fn cases_hold_on_one_range_without_indexes() {
    run_all(Way { keeps_indexes: false, n_ranges: 1 }).await;
}

#[tokio::test]
async fn cases_hold_on_four_ranges_with_indexes() {
    run_all(Way { keeps_indexes: true, n_ranges: 4 }).await;
}

#[tokio::test]
async fn cases_hold_on_four_ranges_without_indexes() {
    run_all(Way { keeps_indexes: false, n_ranges: 4 }).await;
}
