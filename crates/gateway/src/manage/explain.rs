//! How a query would run, as JSON.

use account::{Account, Explanation, Link};
use model::{PartitionKey, Value};

use super::{Failed, invalid, known, number, object};
use crate::error::Error;
use crate::parse::text_and_parameters;

pub(super) const PROPERTIES: &[&str] = &["query", "parameters", "partitionKey"];

/// Explains `{"query": …, "parameters": […], "partitionKey": […]}`.
pub(super) fn explain(account: &Account, container: &Link, body: &Value) -> Result<Value, Failed> {
    let mut body = known(Some(body), PROPERTIES)?.unwrap_or_default();
    let query = text_and_parameters(&mut body)?;
    let key = body.remove("partitionKey").map(|key| partition_key(&key)).transpose()?;
    Ok(show(&account.explain(container, &query, key.as_ref())?))
}

fn partition_key(value: &Value) -> Result<PartitionKey, Error> {
    PartitionKey::from_value(value).map_err(|error| invalid(&error.to_string()))
}

fn show(explanation: &Explanation) -> Value {
    let ranges = explanation.asked.iter().map(|range| {
        object([("id", range.range.to_string().into()), ("plan", range.plan.as_str().into())])
    });
    let usage = &explanation.usage;
    let composites = |list: &[Vec<String>]| list.iter().map(|parts| texts(parts)).collect();
    let index = object([
        ("utilized", texts(&usage.utilized)),
        ("potential", texts(&usage.potential)),
        ("utilizedComposites", Value::Array(composites(&usage.utilized_composites))),
        ("potentialComposites", Value::Array(composites(&usage.potential_composites))),
    ]);
    object([
        ("ranges", Value::Array(ranges.collect())),
        ("rangesInAll", number(explanation.n_ranges as u64)),
        ("needsMerge", explanation.needs_merge.into()),
        ("index", index),
    ])
}

fn texts(list: &[String]) -> Value {
    Value::Array(list.iter().map(|text| text.as_str().into()).collect())
}
