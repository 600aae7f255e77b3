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
    /// Returns the JSON texts of rows. Those of values are written one after another, which costs less than a place for
    /// each.
    pub fn texts(rows: &[Row]) -> Vec<Bytes> {
        let values = || rows.iter().filter_map(Row::as_value);
        let mut written = Vec::with_capacity(values().map(|value| estimated_bytes(value)).sum());
        let mut lengths = Vec::with_capacity(rows.len());
        for value in values() {
            let start = written.len();
            value.write_to(&mut written);
            lengths.push(written.len() - start);
        }
        let (mut written, mut lengths) = (Bytes::from(written), lengths.into_iter());
        let text = |row: &Row| match row {
            Row::Text(text) => text.clone(),
            Row::Value(_) => written.split_to(lengths.next().unwrap_or_default()),
        };
        rows.iter().map(text).collect()
    }

    fn as_value(&self) -> Option<&Value> {
        match self {
            Row::Value(value) => Some(value),
            Row::Text(_) => None,
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
