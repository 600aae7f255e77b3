//! How a query would run, as JSON, and what it took if it is to run ([`super::analyze`]).

use std::sync::Arc;

use account::{Explanation, Link};
use model::{Object, PartitionKey, Value};

use super::analyze::{self, Analyzed};
use super::{Failed, invalid, known, number, object};
use crate::error::Error;
use crate::gateway::State;
use crate::parse::text_and_parameters;

pub(super) const PROPERTIES: &[&str] =
    &["query", "parameters", "partitionKey", "format", "analyze", "maxItemCount", "maxCharge"];

/// Explains `{"query": …, "parameters": […], "partitionKey": […]}`.
pub(super) async fn explain(
    state: &Arc<State>,
    container: &Link,
    body: &Value,
) -> Result<Value, Failed> {
    let mut body = known(Some(body), PROPERTIES)?.unwrap_or_default();
    let query = text_and_parameters(&mut body)?;
    let key = body.remove("partitionKey").map(|key| partition_key(&key)).transpose()?;
    let is_tree = match body.get("format").map(Value::as_str) {
        None | Some(Some("text")) => false,
        Some(Some("tree")) => true,
        Some(_) => return Err(invalid("format must be text or tree").into()),
    };
    let runs = match body.get("analyze") {
        None => false,
        Some(value) => value.as_bool().ok_or_else(|| invalid("analyze must be true or false"))?,
    };
    let limits = analyze::Limits::parse(&body)?;
    let explanation = state.account.explain(container, &query, key.as_ref())?;
    let mut shown = show(&explanation, is_tree);
    if runs {
        let is_for_merging = explanation.is_for_merging;
        let analyzed = Analyzed { container, query, key, is_for_merging };
        shown.insert("analyze", analyze::run(state, analyzed, limits).await?);
    }
    Ok(Value::Object(shown))
}

fn partition_key(value: &Value) -> Result<PartitionKey, Error> {
    PartitionKey::from_value(value).map_err(|error| invalid(&error.to_string()))
}

fn show(explanation: &Explanation, is_tree: bool) -> Object {
    let ranges = explanation.asked.iter().map(|range| {
        let mut shown = Object::new();
        shown.insert("id", range.range.to_string());
        shown.insert("plan", range.plan.as_str());
        if is_tree {
            shown.insert("tree", tree(&range.plan));
        }
        Value::Object(shown)
    });
    let usage = &explanation.usage;
    let composites = |list: &[Vec<String>]| list.iter().map(|parts| texts(parts)).collect();
    let index = object([
        ("utilized", texts(&usage.utilized)),
        ("potential", texts(&usage.potential)),
        ("utilizedComposites", Value::Array(composites(&usage.utilized_composites))),
        ("potentialComposites", Value::Array(composites(&usage.potential_composites))),
    ]);
    let mut shown = Object::new();
    shown.insert("ranges", Value::Array(ranges.collect()));
    shown.insert("rangesInAll", number(explanation.n_ranges as u64));
    shown.insert("needsMerge", explanation.needs_merge);
    shown.insert("index", index);
    shown
}

fn texts(list: &[String]) -> Value {
    Value::Array(list.iter().map(|text| text.as_str().into()).collect())
}

/// The plan as an operator with its inputs: a line each, inputs indented by two blanks below what takes them.
fn tree(plan: &str) -> Value {
    let mut lines = plan.lines().peekable();
    operators(&mut lines, 0).into_iter().next().unwrap_or(Value::Null)
}

/// The operators that stand at that depth, up to the next line further out.
fn operators<'p>(
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'p str>>,
    depth: usize,
) -> Vec<Value> {
    let mut found = Vec::new();
    while let Some(line) = lines.next_if(|line| depth_of(line) >= depth) {
        let (name, detail) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let inputs = operators(lines, depth_of(line) + 1);
        found.push(object([
            ("operator", name.into()),
            ("detail", detail.into()),
            ("inputs", Value::Array(inputs)),
        ]));
    }
    found
}

fn depth_of(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count() / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_a_tree() {
        let plan = "sort\n  intersection\n    seek /a = \"x y\"\n    seek /b > 1\n  scan\n";
        let expected = model::json::parse(
            br#"{"operator":"sort","detail":"","inputs":[
                {"operator":"intersection","detail":"","inputs":[
                    {"operator":"seek","detail":"/a = \"x y\"","inputs":[]},
                    {"operator":"seek","detail":"/b > 1","inputs":[]}]},
                {"operator":"scan","detail":"","inputs":[]}]}"#,
        );
        assert_eq!(tree(plan), expected.unwrap());
        assert_eq!(tree(""), Value::Null);
    }
}
