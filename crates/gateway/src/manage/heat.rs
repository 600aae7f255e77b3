//! Where in the hash space the load was, and when, as JSON.

use account::{Account, HeatCell, HeatColumn, HeatMap, Link};
use model::Value;

use super::parameters::Parameters;
use super::{Failed, number, object};

pub(super) const PARAMETERS: &[&str] = &["from", "to"];

/// What is shown when nobody says from when.
const SPAN_SECONDS: u64 = 3600;

/// Answers `GET …/heat?from=&to=`, both in seconds since 1970.
pub(super) fn map(
    account: &Account,
    container: &Link,
    parameters: &Parameters,
) -> Result<Value, Failed> {
    let now = account.now_ms() / 1000;
    let to = parameters.seconds("to")?.unwrap_or(now);
    let from = parameters.seconds("from")?.unwrap_or_else(|| to.saturating_sub(SPAN_SECONDS - 1));
    Ok(show(from, to, &account.heat_map(container, from, to)?))
}

fn show(from: u64, to: u64, map: &HeatMap) -> Value {
    let ranges = map.ranges.ranges.iter().map(|(id, heat)| {
        object([
            ("id", id.to_string().into()),
            ("provisioned", heat.provisioned.map_or(Value::Null, Value::from)),
        ])
    });
    object([
        ("from", number(from)),
        ("to", number(to)),
        ("slices", 256.into()),
        ("columnSeconds", number(map.width)),
        ("provisioned", map.ranges.provisioned.map_or(Value::Null, Value::from)),
        ("ranges", Value::Array(ranges.collect())),
        ("columns", Value::Array(map.columns.iter().map(show_column).collect())),
    ])
}

fn show_column(column: &HeatColumn) -> Value {
    let cells = column.cells.iter().map(|(slice, cell)| {
        let HeatCell { read, write, n_throttled } = *cell;
        let units = |hundredths: u32| Value::from(f64::from(hundredths) / 100.0);
        let slice = i64::from(*slice).into();
        Value::Array(vec![slice, units(read), units(write), i64::from(n_throttled).into()])
    });
    object([("at", number(column.at)), ("cells", Value::Array(cells.collect()))])
}
