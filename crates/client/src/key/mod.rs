//! Keys: what a resolver decides by. A key is a JSON scalar, or a list of keys.

mod number;
mod source;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub use number::Number;
pub use source::{JsonPath, KeySource, Named};

use crate::{Error, Result};

// Limit: as deep as a JSON value of the service may be; a key beyond it cannot have come from an item.
const DEPTH_MAX: usize = 128;

/// A partition key as resolvers see it.
///
/// Keys are ordered: undefined, null, booleans, numbers by value, texts by code point, lists element by element.
/// Types that are not here (dates, identifiers) are mapped to one of these in an order-preserving way, for
/// example a date to its ISO 8601 text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Key {
    /// Nothing: the partition key, to the service, of an item that lacks the property.
    ///
    /// Wire: an empty object, as in the header `[{}]`.
    Undefined,
    /// JSON null, and the key of resolvers that do not look at items.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// Several keys: a composite or hierarchical key.
    List(Vec<Key>),
}

impl Key {
    /// Reads a key from JSON. An object is not a key, but for the empty one, which is [`Key::Undefined`].
    pub fn from_value(value: &Value) -> Option<Key> {
        Key::from_value_at(value, 0)
    }

    fn from_value_at(value: &Value, depth: usize) -> Option<Key> {
        match value {
            Value::Null => Some(Key::Null),
            Value::Bool(it) => Some(Key::Bool(*it)),
            Value::Number(it) => Number::from_json(it).map(Key::Number),
            Value::String(it) => Some(Key::Text(it.clone())),
            Value::Array(items) if depth < DEPTH_MAX => {
                let keys = items.iter().map(|it| Key::from_value_at(it, depth + 1));
                keys.collect::<Option<Vec<_>>>().map(Key::List)
            }
            Value::Object(it) if it.is_empty() => Some(Key::Undefined),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Returns the key as JSON.
    pub fn to_value(&self) -> Value {
        match self {
            Key::Undefined => Value::Object(serde_json::Map::new()),
            Key::Null => Value::Null,
            Key::Bool(it) => Value::Bool(*it),
            Key::Number(it) => it.to_json(),
            Key::Text(it) => Value::String(it.clone()),
            Key::List(items) => Value::Array(items.iter().map(Key::to_value).collect()),
        }
    }

    /// Returns the text that is hashed: a text itself, anything else as JSON with fixed number format.
    ///
    /// The number 1 and the text "1" therefore share a place on a ring, which is harmless: a ring only has
    /// to be deterministic. The old SDKs accepted texts only.
    pub fn hash_text(&self) -> Cow<'_, str> {
        match self {
            Key::Text(it) => Cow::Borrowed(it),
            Key::Undefined | Key::Null | Key::Bool(_) | Key::Number(_) | Key::List(_) => {
                Cow::Owned(self.to_string())
            }
        }
    }

    /// Returns the components: those of a list, or the key itself.
    pub fn components(&self) -> &[Key] {
        match self {
            Key::List(items) => items,
            Key::Undefined | Key::Null | Key::Bool(_) | Key::Number(_) | Key::Text(_) => {
                std::slice::from_ref(self)
            }
        }
    }

    /// Makes one key of several components: a list, or the component itself if there is one.
    pub fn from_components(mut components: Vec<Key>) -> Key {
        match components.len() {
            1 => components.remove(0),
            _ => Key::List(components),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Key::Undefined => 0,
            Key::Null => 1,
            Key::Bool(_) => 2,
            Key::Number(_) => 3,
            Key::Text(_) => 4,
            Key::List(_) => 5,
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        match (self, other) {
            (Key::Bool(a), Key::Bool(b)) => a.cmp(b),
            (Key::Number(a), Key::Number(b)) => a.cmp(b),
            (Key::Text(a), Key::Text(b)) => a.cmp(b),
            (Key::List(a), Key::List(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// JSON text; numbers in their fixed format.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Undefined => f.write_str("{}"),
            Key::Null => f.write_str("null"),
            Key::Bool(it) => it.fmt(f),
            Key::Number(it) => it.fmt(f),
            Key::Text(it) => f.write_str(&Value::String(it.clone()).to_string()),
            Key::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        f.write_str(",")?;
                    }
                    item.fmt(f)?;
                }
                f.write_str("]")
            }
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key::Text(text.to_owned())
    }
}

impl From<String> for Key {
    fn from(text: String) -> Key {
        Key::Text(text)
    }
}

impl From<bool> for Key {
    fn from(value: bool) -> Key {
        Key::Bool(value)
    }
}

impl From<i64> for Key {
    fn from(value: i64) -> Key {
        Key::Number(value.into())
    }
}

impl From<i32> for Key {
    fn from(value: i32) -> Key {
        Key::Number(i64::from(value).into())
    }
}

impl From<u32> for Key {
    fn from(value: u32) -> Key {
        Key::Number(i64::from(value).into())
    }
}

impl TryFrom<f64> for Key {
    type Error = Error;

    fn try_from(value: f64) -> Result<Key> {
        Number::from_f64(value).map(Key::Number).ok_or(Error::NumberNotFinite)
    }
}

impl<A: Into<Key>, B: Into<Key>> From<(A, B)> for Key {
    fn from((a, b): (A, B)) -> Key {
        Key::List(vec![a.into(), b.into()])
    }
}

impl<A: Into<Key>, B: Into<Key>, C: Into<Key>> From<(A, B, C)> for Key {
    fn from((a, b, c): (A, B, C)) -> Key {
        Key::List(vec![a.into(), b.into(), c.into()])
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Key, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Key::from_value(&value).ok_or_else(|| serde::de::Error::custom("an object is not a key"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_by_type_then_value() {
        let texts = [
            "{}", "null", "false", "true", "-1", "1.5", "9", "10", "\"\"", "\"9\"", "\"a\"", "[1]",
            "[1,0]",
        ];
        let keys: Vec<Key> = texts.iter().map(|it| serde_json::from_str(it).unwrap()).collect();
        for (i, a) in keys.iter().enumerate() {
            for (j, b) in keys.iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{a} vs {b}");
            }
        }
    }

    #[test]
    fn an_object_is_not_a_key() {
        assert!(serde_json::from_str::<Key>(r#"[{"a":1}]"#).is_err());
        assert_eq!(serde_json::from_str::<Key>("{}").unwrap(), Key::Undefined);
    }

    #[test]
    fn only_texts_are_hashed_without_quotes() {
        assert_eq!(Key::from("a").hash_text(), "a");
        assert_eq!(Key::from(("a", 2018)).hash_text(), r#"["a",2018]"#);
    }
}
