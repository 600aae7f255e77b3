//! Composite indexes: lists of at least two property paths with an order each.

use std::collections::HashSet;

use model::{Object, PropertyPath, Value};

use crate::body;
use crate::error::{Error, Result};
use crate::policy_error::PolicyError;

/// Limit: the service's numbers.
const INDEXES_MAX: usize = 100;
const PATHS_MAX: usize = 8;
const ORDERS: [&str; 2] = ["ascending", "descending"];

pub(super) fn complete(policy: &Object) -> Result<Vec<Value>> {
    let indexes = body::list(policy, "compositeIndexes")?;
    if indexes.len() > INDEXES_MAX {
        let count = indexes.len();
        let what = "composite indexes";
        return Err(PolicyError::TooMany { what, count, max: INDEXES_MAX }.into());
    }
    indexes.iter().map(complete_one).collect()
}

fn complete_one(index: &Value) -> Result<Value> {
    let Value::Array(entries) = index else {
        return Err(Error::PropertyInvalid { property: "compositeIndexes".into() });
    };
    if entries.len() < 2 {
        return Err(PolicyError::CompositeTooShort.into());
    }
    if entries.len() > PATHS_MAX {
        let count = entries.len();
        let what = "paths in a composite index";
        return Err(PolicyError::TooMany { what, count, max: PATHS_MAX }.into());
    }
    let mut seen = HashSet::new();
    let completed = entries.iter().map(|entry| complete_path(entry, &mut seen));
    Ok(Value::Array(completed.collect::<Result<Vec<_>>>()?))
}

fn complete_path(entry: &Value, seen: &mut HashSet<PropertyPath>) -> Result<Value> {
    let Value::Object(entry) = entry else {
        return Err(Error::PropertyInvalid { property: "compositeIndexes".into() });
    };
    let path = body::required_text(entry, "path")?;
    let parsed = PropertyPath::parse(path);
    if !parsed.is_ok_and(|parsed| seen.insert(parsed)) {
        return Err(PolicyError::CompositePath { path: path.to_owned() }.into());
    }
    let order = match body::optional_text(entry, "order")? {
        None => "ascending",
        Some(text) => body::spelled(text, &ORDERS).ok_or_else(|| PolicyError::UnknownValue {
            property: "order",
            value: text.to_owned(),
        })?,
    };
    Ok(Value::Object(body::object([("path", path.into()), ("order", order.into())])))
}
