//! The logical partitions of a container, ranked, as JSON.

use account::{
    Account, LOGICAL_ROWS_MAX, Link, LogicalMeasure, LogicalQuery, LogicalReport, LogicalRow,
};
use model::{PartitionKey, Value, json};

use super::parameters::Parameters;
use super::ranges::units;
use super::{Failed, invalid, number, object};
use crate::error::Error;

const ROWS_DEFAULT: usize = 100;

pub(super) const PARAMETERS: &[&str] = &["by", "top", "prefix", "from"];

/// Answers `GET …/logical?by=bytes|items|charge&top=&prefix=&from=`.
pub(super) fn list(
    account: &Account,
    container: &Link,
    parameters: &Parameters,
) -> Result<Value, Failed> {
    let query = query(parameters)?;
    Ok(show(&account.logical_partitions(container, &query)?))
}

fn query(parameters: &Parameters) -> Result<LogicalQuery, Error> {
    let by = match parameters.get("by").unwrap_or("bytes") {
        "bytes" => LogicalMeasure::Bytes,
        "items" => LogicalMeasure::Items,
        "charge" => LogicalMeasure::Charge,
        _ => return Err(invalid("by must be bytes, items or charge")),
    };
    let n_rows = match parameters.get("top") {
        None => ROWS_DEFAULT,
        Some(text) => {
            let n_rows = text.parse().ok().filter(|n| (1..=LOGICAL_ROWS_MAX).contains(n));
            n_rows.ok_or_else(|| invalid("top must be a number from 1 to 1000"))?
        }
    };
    let after = parameters.get("from").map(position).transpose()?;
    Ok(LogicalQuery { by, n_rows, prefix: parameters.get("prefix").map(str::to_owned), after })
}

/// What `next` of a page says: the measure of its last row and its key.
fn position(text: &str) -> Result<(u64, PartitionKey), Error> {
    let invalid = || invalid("from must be what `next` of a page said");
    let (measure, key) = text.split_once(':').ok_or_else(invalid)?;
    let key = json::parse(key.as_bytes()).map_err(|_| invalid())?;
    let key = PartitionKey::from_value(&key).map_err(|_| invalid())?;
    Ok((measure.parse().map_err(|_| invalid())?, key))
}

fn show(report: &LogicalReport) -> Value {
    let spread = &report.spread;
    let last = report.rows.last().filter(|_| report.has_more);
    let next = last.map(|row| format!("{}:{}", row.measure, row.key.to_header()));
    let counts = spread.histogram.iter().map(|n| number(*n)).collect();
    let lorenz =
        spread.lorenz.iter().map(|(x, y)| Value::Array(vec![(*x).into(), (*y).into()])).collect();
    let [first, hundredth, tenth] = spread.top_shares;
    let summary = object([
        ("logicalPartitions", number(spread.n_logical)),
        ("total", number(spread.total)),
        ("gini", spread.gini.into()),
        ("largestShare", first.into()),
        ("topHundredthShare", hundredth.into()),
        ("topTenthShare", tenth.into()),
        ("histogram", Value::Array(counts)),
        ("lorenz", Value::Array(lorenz)),
    ]);
    object([
        ("summary", summary),
        ("slices", Value::Array(report.slices.iter().map(|n| number(*n)).collect())),
        ("rows", Value::Array(report.rows.iter().map(show_row).collect())),
        ("next", next.map_or(Value::Null, Value::from)),
    ])
}

fn show_row(row: &LogicalRow) -> Value {
    object([
        ("partitionKey", row.key.to_value()),
        ("epk", row.epk.to_string().into()),
        ("place", row.place.into()),
        ("range", row.range.to_string().into()),
        ("items", number(row.n_items)),
        ("bytes", number(row.bytes)),
        ("lsn", number(row.lsn.0)),
        ("charge", row.charge.map_or(Value::Null, units)),
    ])
}
