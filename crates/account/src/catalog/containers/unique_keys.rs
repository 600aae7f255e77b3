//! Unique key policy: lists of property paths whose values together are unique in a logical partition.

use std::collections::HashSet;

use model::{Object, PropertyPath, Value};

use crate::body;
use crate::error::Result;
use crate::policy_error::PolicyError;

/// Limit: the service's numbers.
const KEYS_MAX: usize = 10;
const PATHS_MAX: usize = 16;

/// Checks the policy and returns it in the service's shape.
pub(super) fn complete(policy: &Object) -> Result<Object> {
    let keys = body::object_list(policy, "uniqueKeys")?;
    if keys.len() > KEYS_MAX {
        return Err(PolicyError::UniqueKeyInvalid { reason: "at most 10 unique keys" }.into());
    }
    let mut completed = Vec::new();
    for key in keys {
        let paths = body::text_list(key, "paths")?;
        if paths.is_empty() || paths.len() > PATHS_MAX {
            return Err(PolicyError::UniqueKeyInvalid { reason: "a key has 1 to 16 paths" }.into());
        }
        let mut seen = HashSet::new();
        for path in &paths {
            if !PropertyPath::parse(path).is_ok_and(|parsed| seen.insert(parsed)) {
                return Err(PolicyError::UniqueKeyPath { path: path.clone() }.into());
            }
        }
        let paths = paths.into_iter().map(Value::from).collect();
        completed.push(Value::Object(body::object([("paths", Value::Array(paths))])));
    }
    Ok(body::object([("uniqueKeys", Value::Array(completed))]))
}

/// The keys of a completed policy.
pub(super) fn keys(policy: Option<&Object>) -> Vec<Vec<PropertyPath>> {
    let list = policy.and_then(|policy| policy.get("uniqueKeys")).and_then(Value::as_array);
    let paths = |key: &Value| {
        let paths = key.get("paths").and_then(Value::as_array).unwrap_or_default();
        paths.iter().filter_map(|path| PropertyPath::parse(path.as_str()?).ok()).collect()
    };
    list.unwrap_or_default().iter().map(paths).collect()
}
