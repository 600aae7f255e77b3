//! A row of a page.

use bytes::Bytes;
use model::Value;

use crate::context::estimated_bytes;
use crate::value::value_key;

/// One row: a computed value, or the text of an item that is returned as it is.
#[derive(Clone, Debug)]
pub enum Row {
    /// A value.
    Value(Value),
    /// The text of a value.
    Text(Bytes),
}

impl From<Value> for Row {
    fn from(value: Value) -> Row {
        Row::Value(value)
    }
}

impl Row {
    /// Returns the JSON text.
    pub fn to_bytes(&self) -> Bytes {
        match self {
            Row::Value(value) => {
                let mut bytes = Vec::new();
                value.write_to(&mut bytes);
                bytes.into()
            }
            Row::Text(text) => text.clone(),
        }
    }

    /// Returns the value.
    pub fn into_value(self) -> Value {
        match self {
            Row::Value(value) => value,
            // Invariant: the text of an item was checked when it was written.
            Row::Text(text) => model::json::parse(&text).unwrap_or_default(),
        }
    }

    /// What rows with equal values have in common.
    pub(crate) fn key(&self) -> Vec<u8> {
        match self {
            Row::Value(value) => value_key(Some(value)),
            Row::Text(_) => value_key(Some(&self.clone().into_value())),
        }
    }

    /// About the length of the text.
    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Row::Value(value) => estimated_bytes(value),
            Row::Text(text) => text.len(),
        }
    }
}
