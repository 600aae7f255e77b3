//! The smaller properties of a container: conflict policy, geospatial type, times to live, change feed.

use model::{Object, PropertyPath, Value};

use crate::body;
use crate::error::{Error, Result};
use crate::policy_error::PolicyError;

const CONFLICT_MODES: [&str; 2] = ["LastWriterWins", "Custom"];
const GEOSPATIAL_TYPES: [&str; 2] = ["Geography", "Geometry"];

/// Limit: a day of minutes times a month; the service keeps 30 days at most.
const RETENTION_MINUTES_MAX: i64 = 43_200;

pub(super) fn conflict_policy(container: &Object) -> Result<Object> {
    let empty = Object::new();
    let policy = body::optional_object(container, "conflictResolutionPolicy")?.unwrap_or(&empty);
    let mode = match body::optional_text(policy, "mode")? {
        None => "LastWriterWins",
        Some(text) => body::spelled(text, &CONFLICT_MODES).ok_or_else(|| {
            PolicyError::UnknownValue { property: "mode", value: text.to_owned() }
        })?,
    };
    let path = body::optional_text(policy, "conflictResolutionPath")?.unwrap_or_default();
    let procedure = body::optional_text(policy, "conflictResolutionProcedure")?.unwrap_or_default();
    let (path, procedure) = match mode {
        "LastWriterWins" if !procedure.is_empty() => {
            let reason = "LastWriterWins takes a path and no procedure";
            return Err(PolicyError::ConflictInvalid { reason }.into());
        }
        "LastWriterWins" => (if path.is_empty() { "/_ts" } else { path }, ""),
        _ if !path.is_empty() => {
            let reason = "Custom takes a procedure and no path";
            return Err(PolicyError::ConflictInvalid { reason }.into());
        }
        _ => ("", procedure),
    };
    if !path.is_empty() && PropertyPath::parse(path).is_err() {
        let reason = "the path must name a property";
        return Err(PolicyError::ConflictInvalid { reason }.into());
    }
    Ok(body::object([
        ("mode", mode.into()),
        ("conflictResolutionPath", path.into()),
        ("conflictResolutionProcedure", procedure.into()),
    ]))
}

pub(super) fn geospatial(container: &Object) -> Result<&'static str> {
    let config = body::optional_object(container, "geospatialConfig")?;
    let text = match config {
        Some(config) => body::optional_text(config, "type")?,
        None => None,
    };
    let Some(text) = text else { return Ok("Geography") };
    let unknown =
        || PolicyError::UnknownValue { property: "geospatialConfig", value: text.to_owned() };
    Ok(body::spelled(text, &GEOSPATIAL_TYPES).ok_or_else(unknown)?)
}

/// `defaultTtl` and `analyticalStorageTtl`: -1 or a positive 32-bit number of seconds.
pub(super) fn ttl(container: &Object, property: &'static str) -> Result<Option<i32>> {
    let value = match container.get(property) {
        // Wire: no time to live is a property that is not there; a null is refused.
        Some(null @ Value::Null) if property == "defaultTtl" => null,
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    let seconds = body::whole(value).and_then(|seconds| i32::try_from(seconds).ok());
    match seconds {
        Some(seconds) if seconds == -1 || seconds > 0 => Ok(Some(seconds)),
        // Wire: 0 switches the analytical store off.
        Some(0) if property == "analyticalStorageTtl" => Ok(Some(0)),
        _ => Err(PolicyError::TtlInvalid { property, value: value.to_text() }.into()),
    }
}

/// The path of the time from which an item's time to live counts. Wire: only with a `defaultTtl`.
pub(super) fn ttl_path(container: &Object) -> Result<Option<(&str, PropertyPath)>> {
    let Some(text) = body::optional_text(container, "ttlPropertyPath")? else { return Ok(None) };
    if body::present(container, "defaultTtl").is_none() {
        return Err(PolicyError::TtlPathWithoutTtl.into());
    }
    let path = PropertyPath::parse(text).map_err(|_| PolicyError::UnknownValue {
        property: "ttlPropertyPath",
        value: text.to_owned(),
    })?;
    Ok(Some((text, path)))
}

/// Minutes that the all-versions feed keeps its entries.
pub(super) fn retention_minutes(container: &Object) -> Result<Option<i64>> {
    let Some(policy) = body::optional_object(container, "changeFeedPolicy")? else {
        return Ok(None);
    };
    let minutes = body::optional_int(policy, "retentionDuration")?.unwrap_or(0);
    if (0..=RETENTION_MINUTES_MAX).contains(&minutes) {
        Ok(Some(minutes))
    } else {
        Err(Error::PropertyInvalid { property: "retentionDuration".into() })
    }
}

pub(super) fn change_feed_value(minutes: i64) -> Value {
    Value::Object(body::object([("retentionDuration", minutes.into())]))
}
