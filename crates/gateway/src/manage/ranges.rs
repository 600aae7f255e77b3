//! The ranges of containers with their sizes and their heat, as JSON.

use std::sync::Arc;

use account::{Account, ContainerHeat, Link, RangeDescription, RangeHeat};
use model::{Charge, Object, RangeId, Value};

use super::{invalid, number, object, relocations, route};
use crate::error::Error;

/// Every container.
pub(super) fn all(account: &Arc<Account>) -> Result<Value, account::Error> {
    let mut containers = Vec::new();
    for (database, container) in account.container_names() {
        match of(account, &route::link(&database, &container)) {
            Ok(shown) => containers.push(shown),
            // Deleted meanwhile.
            Err(account::Error::NotFound | account::Error::OwnerNotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(object([("containers", Value::Array(containers))]))
}

/// One container.
pub(super) fn of(account: &Arc<Account>, link: &Link) -> Result<Value, account::Error> {
    let (heat, ranges) = (account.heat(link)?, account.describe_ranges(link)?);
    let name = |at: usize| link.segments.get(at).map_or("", |(_, name)| name.as_str());
    Ok(show(name(0), name(1), &heat, &ranges))
}

fn show(
    database: &str,
    container: &str,
    heat: &ContainerHeat,
    ranges: &[RangeDescription],
) -> Value {
    let ranges = ranges.iter().map(|range| {
        let heat = heat.ranges.iter().find(|(id, _)| *id == range.id).map(|(_, heat)| heat);
        show_range(range, heat)
    });
    object([
        ("database", database.into()),
        ("container", container.into()),
        ("provisioned", heat.provisioned.map_or(Value::Null, Value::from)),
        ("isShared", heat.is_shared.into()),
        ("normalised", heat.normalised.into()),
        ("ranges", Value::Array(ranges.collect())),
    ])
}

/// Request units per second by range: `{"ranges": {"0": 6000, "1": 2000}}`. An empty body makes them equal again.
pub(super) fn shares(body: &Value) -> Result<Vec<(RangeId, f64)>, Error> {
    let Some(ranges) = body.get("ranges") else { return Ok(Vec::new()) };
    let invalid = || invalid("ranges must be an object of range ids and numbers");
    let Value::Object(ranges) = ranges else { return Err(invalid()) };
    let share = |(name, units): (&str, &Value)| Some((RangeId::parse(name)?, units.as_f64()?));
    ranges.iter().map(|entry| share(entry).ok_or_else(invalid)).collect()
}

/// `heat` is absent when the range has come between two looks.
fn show_range(range: &RangeDescription, heat: Option<&RangeHeat>) -> Value {
    let mut shown = Object::new();
    shown.insert("id", range.id.to_string());
    relocations::describe(range, &mut shown);
    if let Some(heat) = heat {
        show_heat(heat, &mut shown);
    }
    Value::Object(shown)
}

fn show_heat(heat: &RangeHeat, shown: &mut Object) {
    let seconds = heat.seconds.iter().copied().map(units).collect();
    let minutes = heat.minutes.iter().map(|minute| {
        object([
            ("charge", units(minute.charge)),
            ("peak", units(minute.peak)),
            ("throttled", number(minute.n_throttled)),
        ])
    });
    let hottest = heat.hottest.iter().map(|hot| {
        object([
            ("partitionKey", hot.key.to_value()),
            ("charge", units(hot.charge)),
            ("uncertain", units(hot.uncertain)),
        ])
    });
    let entries = [
        ("provisioned", heat.provisioned.map_or(Value::Null, Value::from)),
        ("normalised", heat.normalised.into()),
        ("peak", heat.peak().into()),
        ("charge", units(heat.total)),
        ("throttled", number(heat.n_throttled)),
        ("seconds", Value::Array(seconds)),
        ("minutes", Value::Array(minutes.collect())),
        ("hottest", Value::Array(hottest.collect())),
        ("watched", units(heat.watched)),
    ];
    for (name, value) in entries {
        shown.insert(name, value);
    }
}

/// Request units as a number.
#[expect(clippy::cast_precision_loss, reason = "charges stay far below 2^52 hundredths")]
pub(super) fn units(charge: Charge) -> Value {
    (charge.hundredths() as f64 / 100.0).into()
}
