//! Where keys lie, also under definitions that no container has yet.

use account::{Account, Link};
use model::{PartitionKey, PartitionKeyDefinition, Value};

use super::{Failed, invalid, object};

pub(super) const PROPERTIES: &[&str] = &["definition", "keys"];

// Limit: keys of one call.
const KEYS_MAX: usize = 1000;

/// Answers `{"definition": {"paths": […], "kind": …, "version": …}, "keys": [[…], …]}`.
pub(super) fn of_keys(body: &Value) -> Result<Value, Failed> {
    let definition = body.get("definition").ok_or_else(|| invalid("definition is missing"))?;
    let definition = PartitionKeyDefinition::from_value(definition);
    let definition = definition.map_err(|error| invalid(&error.to_string()))?;
    let keys = body.get("keys").and_then(Value::as_array);
    let keys = keys.ok_or_else(|| invalid("keys must be an array of partition keys"))?;
    if keys.len() > KEYS_MAX {
        return Err(invalid("at most 1000 keys can be asked for at once").into());
    }
    let place = |key: &Value| {
        let key = PartitionKey::from_value(key).map_err(|error| invalid(&error.to_string()))?;
        if key.components().len() > definition.path_texts.len() {
            return Err(invalid("a key has more values than the definition has paths"));
        }
        let epk = definition.epk(&key);
        let place = definition.place(&epk);
        Ok(object([("epk", epk.to_string().into()), ("place", place.into())]))
    };
    let places = keys.iter().map(place).collect::<Result<_, _>>()?;
    Ok(object([("places", Value::Array(places))]))
}

/// Answers `GET …/paths`: what the index knows, for completion.
pub(super) fn paths(account: &Account, container: &Link) -> Result<Value, Failed> {
    let paths = account.indexed_paths(container)?;
    let paths = paths.into_iter().map(|found| {
        let kinds = found.kinds.iter().map(|kind| (*kind).into()).collect();
        object([("path", found.path.into()), ("kinds", Value::Array(kinds))])
    });
    Ok(object([("paths", Value::Array(paths.collect()))]))
}
