//! Synthetic partition keys: written into items, and read by plan.
//!
//! Invariant: the same item and the same scheme give the same key on every platform and in every version
//! (random suffixes apart). A scheme is serialisable: keep it beside the data, with its number of suffixes.

mod backfill;
mod concat;
mod partitioned;
mod plan;
mod suffix;

use serde::Serialize;
use serde_json::Value;

pub use backfill::{Backfill, backfill};
pub use concat::Concat;
pub use partitioned::Partitioned;
pub use plan::ReadPlan;
pub use suffix::{HashedSuffix, RandomSuffix};

use crate::{Error, JsonPath, Key, Result};

// Limit: what the service accepts as one partition key value with large keys on.
const KEY_BYTES_MAX: usize = 2048;

/// Writes a synthetic key into items.
pub trait SyntheticKey {
    /// Returns the property that holds the key: the partition key path of the container.
    fn property(&self) -> &JsonPath;

    /// Makes the key of an item from its other properties.
    fn make(&self, item: &Value) -> Result<String>;

    /// Writes the key into an item and returns it.
    fn apply(&self, item: &mut Value) -> Result<String> {
        let key = self.make(item)?;
        write(self.property(), item, key)
    }

    /// Serialises a value and writes the key into the result.
    fn to_item<T: Serialize>(&self, value: &T) -> Result<Value>
    where
        Self: Sized,
    {
        let mut item = serde_json::to_value(value).map_err(|_| Error::ItemInvalid)?;
        self.apply(&mut item)?;
        Ok(item)
    }
}

/// Writes a key into an item, unless it is too long.
fn write(property: &JsonPath, item: &mut Value, key: String) -> Result<String> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::KeyTooLong { bytes: key.len(), bytes_max: KEY_BYTES_MAX });
    }
    property.set(item, Value::String(key.clone()))?;
    Ok(key)
}

/// The text of a part: texts as they are, numbers in one fixed format.
fn part_text(key: &Key) -> Result<String> {
    match key {
        Key::Text(_) | Key::Number(_) | Key::Bool(_) | Key::Null => {
            Ok(key.hash_text().into_owned())
        }
        Key::Undefined | Key::List(_) => Err(Error::KeyNotScalar { path: key.to_string() }),
    }
}

fn part_at(path: &JsonPath, item: &Value) -> Result<String> {
    let text = || path.clone().into();
    let value = path.find(item).ok_or_else(|| Error::KeyMissing { path: text() })?;
    let key = Key::from_value(value).ok_or_else(|| Error::KeyNotScalar { path: text() })?;
    part_text(&key)
}
