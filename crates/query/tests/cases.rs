//! Runs `cases/query/*.case` on memory sources: index on and off, one range, several page sizes, and three ranges
//! merged by the plan as an SDK would.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod case_file;
mod client;
mod indexed;

use std::sync::Arc;

use case_file::{Case, Container, Expected};
use client::{MemorySource, run_all, run_plan, stored};
use indexed::IndexedSource;
use model::{Env, Failure, PartitionKey, PartitionKeyDefinition, Rid, Value};
use query::{
    ComputedProperty, DistanceFunction, Features, FullTextPolicy, OrderPolicy, PrepareOptions,
    Refusal, ResumeFilter, Statement, UdfHost, VectorEmbedding, index::IndexPolicy,
};

/// The functions that cases define, without JavaScript.
#[derive(Debug)]
struct FakeUdfs(Vec<String>);

impl UdfHost for FakeUdfs {
    fn exists(&self, name: &str) -> bool {
        self.0.iter().any(|own| own == name)
    }

    fn call(&self, name: &str, arguments: &[Option<Value>]) -> Result<Option<Value>, String> {
        match (name, arguments) {
            ("plusOne", [Some(value)]) => Ok(value.as_f64().map(|x| Value::from(x + 1.0))),
            _ => Err(format!("no fake for udf.{name}")),
        }
    }
}

fn options(container: &Container, case: &Case) -> PrepareOptions {
    let mut options = PrepareOptions::new(Env::fixed(1, 1_700_000_000_000));
    options.order_policy = container.policy.as_ref().map(OrderPolicy::from_policy);
    let computed = container.computed.as_ref().and_then(Value::as_array).unwrap_or_default();
    options.computed_properties = computed
        .iter()
        .map(|property| {
            let text = |name: &str| property.get(name).and_then(Value::as_str).unwrap();
            ComputedProperty::parse(text("name"), text("query")).unwrap()
        })
        .collect();
    let vectors = container.vectors.as_ref().and_then(|policy| policy.get("vectorEmbeddings"));
    let embedding = |entry: &Value| VectorEmbedding {
        path: vec![entry.get("path").unwrap().as_str().unwrap().trim_start_matches('/').into()],
        distance: DistanceFunction::parse(entry.get("distanceFunction").unwrap().as_str().unwrap())
            .unwrap(),
        dimensions: entry.get("dimensions").and_then(Value::as_i64).and_then(|n| n.try_into().ok()),
    };
    options.vector_embeddings =
        vectors.and_then(Value::as_array).unwrap_or_default().iter().map(embedding).collect();
    options.full_text = full_text(container);
    let names = container.udfs.iter().map(|(name, _)| name.clone()).collect();
    options.udf_host = Some(Arc::new(FakeUdfs(names)));
    options.resume_filter =
        case.resume.as_ref().map(|value| ResumeFilter::from_wire(value).unwrap());
    options
}

fn full_text(container: &Container) -> FullTextPolicy {
    container.full_text.as_ref().map(FullTextPolicy::from_policy).unwrap_or_default()
}

fn index_policy(container: &Container) -> IndexPolicy {
    let policy = container.policy.as_ref();
    policy.map_or_else(IndexPolicy::all, |it| IndexPolicy::of_container(it, &full_text(container)))
}

fn definition(container: &Container) -> PartitionKeyDefinition {
    let paths: Vec<&str> = container.key_paths.iter().map(String::as_str).collect();
    PartitionKeyDefinition::new(&paths).unwrap()
}

fn source(container: &Container) -> MemorySource {
    let parent = Rid::container(1, 1);
    let items = (1..).zip(&container.items).map(|(number, item)| {
        let mut value = item.clone();
        let object = value.as_object_mut().unwrap();
        object.insert("_rid", Rid::item(&parent, number).to_string());
        object.insert("_ts", 1);
        stored(number, &value.to_text())
    });
    MemorySource { items: items.collect() }
}

fn indexed(container: &Container) -> IndexedSource {
    IndexedSource::new(&source(container).items, index_policy(container))
}

/// System properties are not part of what cases compare.
fn bare(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let own = object.iter().filter(|(name, _)| !matches!(*name, "_rid" | "_ts"));
            Value::Object(own.map(|(name, value)| (name, bare(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(bare).collect()),
        other => other.clone(),
    }
}

fn compare(expected: &[Value], rows: &[Value], is_ordered: bool) -> Result<(), String> {
    let rows: Vec<Value> = rows.iter().map(bare).collect();
    let same = if is_ordered {
        rows == expected
    } else {
        let mut left = rows.clone();
        for value in expected {
            match left.iter().position(|own| own == value) {
                Some(index) => drop(left.remove(index)),
                None => return Err(format!("{rows:?} lacks {value}")),
            }
        }
        left.is_empty()
    };
    let text = |rows: &[Value]| rows.iter().map(Value::to_text).collect::<Vec<_>>().join(" ");
    if same { Ok(()) } else { Err(format!("got {} expected {}", text(&rows), text(expected))) }
}

fn run_case(container: &Container, case: &Case) -> Result<(), String> {
    let options = options(container, case);
    let definition = definition(container);
    let features = Features::all().without("HybridSearchSkipOrderByRewrite");
    let plan = query::query_plan(&case.query, &case.parameters, &options, &definition, &features);
    match &case.expected {
        Expected::Document(expected) => {
            let plan = plan.map_err(|error| error.to_service_message())?;
            compare_plan(expected, &plan, &definition)
        }
        Expected::Error { status, sub_status, code, text } => {
            let error = match plan {
                Err(error) => error,
                Ok(_) => match outcome(container, case, &options, &definition) {
                    Ok(rows) => return Err(format!("no error but {rows:?}")),
                    Err(Outcome::Refused(refusal)) => {
                        let own = refusal.status();
                        let matches = own.code == *status
                            && sub_status.is_none_or(|sub| own.sub == sub)
                            && refusal.message().contains(text.as_str());
                        return if matches { Ok(()) } else { Err(format!("{refusal:?}")) };
                    }
                    Err(Outcome::Failed(error)) => error,
                },
            };
            let message = error.to_service_message();
            let has_code = code.as_ref().is_none_or(|code| {
                error.diagnostics().iter().any(|one| one.code.to_string() == *code)
            });
            let has_text =
                error.diagnostics().iter().any(|one| one.message.contains(text.as_str()))
                    || message.contains(text.as_str());
            if error.status().code == *status && has_code && has_text {
                Ok(())
            } else {
                Err(message)
            }
        }
        Expected::Plan(expected) => {
            let statement = Statement::prepare(&case.query, &case.parameters, &options)
                .map_err(|error| error.to_service_message())?;
            let plan = statement.explain(&indexed(container)).unwrap();
            let is_same = plan.trim_end() == expected;
            if is_same { Ok(()) } else { Err(format!("got\n{plan}expected\n{expected}")) }
        }
        Expected::Rows { rows: expected, unordered } => {
            let plan = plan.map_err(|error| error.to_service_message())?;
            let is_ordered = case.query.to_uppercase().contains("ORDER BY") && !unordered;
            let rows = outcome(container, case, &options, &definition)
                .map_err(|outcome| format!("{outcome:?}"))?;
            compare(expected, &rows, is_ordered)?;
            if case.resume.is_some() || plan.get("queryInfo").is_none() {
                return Ok(());
            }
            let whole = source(container);
            for n_ranges in [1, 3] {
                let ranges: Vec<MemorySource> = if container.items.is_empty() {
                    vec![MemorySource::default()]
                } else {
                    (0..n_ranges).map(|range| nth_range(&whole, range, n_ranges)).collect()
                };
                let rows = run_plan(&plan, &case.query, &case.parameters, &options, &ranges)
                    .map_err(|error| format!("by plan: {}", error.to_service_message()))?;
                // Ties across ranges come in another order, so rows with equal keys are a bag.
                compare(expected, &rows, is_ordered && n_ranges == 1)
                    .map_err(|problem| format!("by plan over {n_ranges}: {problem} {plan}"))?;
            }
            Ok(())
        }
    }
}

fn nth_range(whole: &MemorySource, range: u64, n_ranges: u64) -> MemorySource {
    let own = whole.items.iter().filter(|item| item.number % n_ranges == range);
    MemorySource { items: own.cloned().collect() }
}

#[derive(Debug)]
enum Outcome {
    Refused(Refusal),
    Failed(query::Error),
}

fn outcome(
    container: &Container,
    case: &Case,
    options: &PrepareOptions,
    definition: &PartitionKeyDefinition,
) -> Result<Vec<Value>, Outcome> {
    let statement =
        Statement::prepare(&case.query, &case.parameters, options).map_err(Outcome::Failed)?;
    if let Some(direct) = case.direct {
        let ranges = query::epk_ranges(&statement, definition);
        if statement.reads_items() {
            assert_eq!(ranges, [model::EpkRange::full()], "handshake cases fan out");
        }
        if !direct.is_cross_partition {
            return Err(Outcome::Refused(Refusal::CrossPartitionDisabled));
        }
        if let Some(refusal) = query::needs_gateway_refusal(&statement) {
            return Err(Outcome::Refused(refusal));
        }
    }
    let source = source(container);
    let rows = run_all(&statement, &source, 100).map_err(Outcome::Failed)?;
    let text = case.query.to_uppercase();
    // Rows that are made of all items have one order in one page and another in several, unless they are told.
    let is_collected = text.contains("GROUP BY") || text.contains("FROM (");
    let is_steady = !is_collected || text.contains("ORDER BY");
    let expected: Vec<Value> = rows.iter().map(bare).collect();
    let check = |other: &[Value], is_steady: bool, how: &dyn std::fmt::Display| {
        let problem = compare(&expected, other, is_steady);
        assert!(problem.is_ok(), "{}: {how}: {problem:?}", case.query);
    };
    for items_max in [1, 2, 3] {
        let paged = run_all(&statement, &source, items_max).map_err(Outcome::Failed)?;
        check(&paged, is_steady, &format_args!("pages of {items_max}"));
    }
    // The index changes what is read, never what is answered.
    let mut indexed = indexed(container);
    for (finds_undefined, is_exact) in [(true, true), (false, false)] {
        (indexed.finds_undefined, indexed.is_exact) = (finds_undefined, is_exact);
        for items_max in [1, 2, 3, 100] {
            let other = run_all(&statement, &indexed, items_max).map_err(Outcome::Failed)?;
            let is_same = is_steady || items_max == 100;
            check(&other, is_same, &format_args!("with an index, pages of {items_max}"));
        }
    }
    // Ranges that the server merges are one source: rows, pages and order are the same.
    let whole = &source;
    for degree in [1, 3] {
        let plain = (0..4).map(|range| nth_range(whole, range, 4)).collect();
        let plain = query::UnionSource::new(plain, degree);
        let policy = index_policy(container);
        let with_index =
            |range| IndexedSource::new(&nth_range(whole, range, 4).items, policy.clone());
        let with_index = query::UnionSource::new((0..4).map(with_index).collect(), degree);
        for items_max in [2, 100] {
            for merged in [&plain as &dyn query::ItemSource, &with_index] {
                let other = run_all(&statement, merged, items_max).map_err(Outcome::Failed)?;
                // Groups of parts that are read at once come in the order of the parts.
                check(&other, !is_collected, &format_args!("merged, {degree} at once"));
            }
        }
    }
    Ok(rows)
}

fn compare_plan(
    expected: &Value,
    plan: &Value,
    definition: &PartitionKeyDefinition,
) -> Result<(), String> {
    for (name, value) in expected.as_object().unwrap().iter() {
        match name {
            "queryRanges" => {
                let mut ranges: Vec<Value> = value
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|range| wire_range(range, definition))
                    .collect();
                ranges.sort_by(|left, right| model::order(left.get("min"), right.get("min")));
                if plan.get("queryRanges") != Some(&Value::Array(ranges.clone())) {
                    return Err(format!(
                        "ranges {:?} expected {ranges:?}",
                        plan.get("queryRanges")
                    ));
                }
            }
            "queryInfoSubset" => subset(value, plan.get("queryInfo").unwrap())?,
            name => subset(value, plan.get(name).ok_or_else(|| plan.to_text())?)?,
        }
    }
    Ok(())
}

/// Returns whether `own` has every member of `expected`.
fn subset(expected: &Value, own: &Value) -> Result<(), String> {
    match (expected, own) {
        (Value::Object(expected), Value::Object(own)) => {
            for (name, value) in expected.iter() {
                let own = own.get(name).ok_or_else(|| format!("no member {name}"))?;
                subset(value, own).map_err(|problem| format!("{name}: {problem}"))?;
            }
            Ok(())
        }
        (Value::Array(expected), Value::Array(own)) if expected.len() == own.len() => {
            expected.iter().zip(own).try_for_each(|(expected, own)| subset(expected, own))
        }
        _ if expected == own => Ok(()),
        _ => Err(format!("got {own}\nexpected {expected}")),
    }
}

fn wire_range(range: &Value, definition: &PartitionKeyDefinition) -> Value {
    let end = |name: &str| match range.get(name).unwrap() {
        Value::String(_) => Value::from("FF"),
        Value::Array(list) if list.is_empty() => Value::from(""),
        list => {
            let key = PartitionKey::from_value(list).unwrap();
            Value::from(definition.epk(&key).to_string())
        }
    };
    let mut range = range.clone();
    let (min, max) = (end("min"), end("max"));
    let object = range.as_object_mut().unwrap();
    object.insert("min", min);
    object.insert("max", max);
    range
}

/// Writes what the cases of a file answer now into it: rows, plan texts. Errors and documents are written by hand.
fn bless(path: &std::path::Path) {
    let mut text = std::fs::read_to_string(path).unwrap();
    // From the end, so that the lines of earlier cases stay where they are.
    let containers = case_file::read(path);
    let all = containers
        .iter()
        .flat_map(|container| container.cases.iter().map(move |case| (container, case)));
    for (container, case) in all.collect::<Vec<_>>().into_iter().rev() {
        let Some(answer) = answer(container, case) else { continue };
        let mut lines: Vec<&str> = text.lines().collect();
        let verdict = (case.line..lines.len()).find(|at| lines[*at].starts_with("----")).unwrap();
        let end = (verdict + 1..lines.len()).find(|at| lines[*at].is_empty());
        let answer: Vec<&str> = answer.iter().map(String::as_str).collect();
        lines.splice(verdict + 1..end.unwrap_or(lines.len()), answer);
        text = lines.join("\n") + "\n";
    }
    std::fs::write(path, text).unwrap();
}

/// The lines below `----`; `None` where a case is not blessed.
fn answer(container: &Container, case: &Case) -> Option<Vec<String>> {
    let options = options(container, case);
    match &case.expected {
        Expected::Error { .. } | Expected::Document(_) => None,
        Expected::Plan(_) => {
            let statement = Statement::prepare(&case.query, &case.parameters, &options).ok()?;
            let plan = statement.explain(&indexed(container)).ok()?;
            Some(plan.lines().map(str::to_string).collect())
        }
        Expected::Rows { .. } => {
            let rows = outcome(container, case, &options, &definition(container)).ok()?;
            Some(rows.iter().map(|row| bare(row).to_text()).collect())
        }
    }
}

/// `ORRERY_BLESS` names case files, or `all`: see `cargo xtask cases --bless`.
fn bless_if_asked() -> bool {
    let Ok(wanted) = std::env::var("ORRERY_BLESS") else { return false };
    let names: Vec<&str> = wanted.split(',').collect();
    let is_wanted = |path: &std::path::Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        names.iter().any(|own| *own == "all" || own.ends_with(&name))
    };
    let files: Vec<_> = case_file::files().into_iter().filter(|path| is_wanted(path)).collect();
    assert!(!files.is_empty(), "no case file is named {wanted}");
    for path in &files {
        bless(path);
    }
    true
}

#[test]
fn every_case_holds() {
    if bless_if_asked() {
        return;
    }
    let mut n_cases = 0;
    let mut failures = Vec::new();
    for path in case_file::files() {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        for container in case_file::read(&path) {
            for case in &container.cases {
                n_cases += 1;
                if let Err(problem) = run_case(&container, case) {
                    failures.push(format!(
                        "{file}:{} {}\n  {}\n  {problem}",
                        case.line, case.name, case.query
                    ));
                }
            }
        }
    }
    assert!(n_cases >= 394, "only {n_cases} cases were found");
    assert!(failures.is_empty(), "{} of {n_cases} fail:\n{}", failures.len(), failures.join("\n"));
}
