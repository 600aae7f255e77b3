//! A row of a page.

use bytes::Bytes;
use model::Value;
use model::json::tree_bytes_max;

use crate::context::estimated_bytes;
use crate::value::value_key;

/// One row: a computed value, or the text of an item that is returned as it is or of an object that was written at once.
#[derive(Clone, Debug)]
pub enum Row {
    /// A value.
    Value(Value),
    /// The text of a value.
    Text(Bytes),
    /// The text of an object whose members were computed, and what [`Row::n_bytes`] says of it.
    Written(Vec<u8>, usize),
}

impl From<Value> for Row {
    fn from(value: Value) -> Row {
        Row::Value(value)
    }
}

impl Row {
    /// Returns the JSON texts of rows. Computed ones stand one after another, which costs less than a place for each.
    pub fn texts(rows: &[Row]) -> Vec<Bytes> {
        let mut written = Vec::with_capacity(rows.iter().map(Row::computed_bytes).sum());
        let mut lengths = Vec::with_capacity(rows.len());
        for row in rows {
            let start = written.len();
            match row {
                Row::Value(value) => value.write_to(&mut written),
                Row::Text(_) => {}
                Row::Written(text, _) => written.extend_from_slice(text),
            }
            lengths.push(written.len() - start);
        }
        let mut written = Bytes::from(written);
        let text = |(row, length): (&Row, usize)| match row {
            Row::Text(text) => text.clone(),
            Row::Value(_) | Row::Written(..) => written.split_to(length),
        };
        rows.iter().zip(lengths).map(text).collect()
    }

    /// About the length of the text, unless it exists.
    fn computed_bytes(&self) -> usize {
        match self {
            Row::Value(value) => estimated_bytes(value),
            Row::Text(_) => 0,
            Row::Written(text, _) => text.len(),
        }
    }

    /// Returns what the value takes at most that a text is read to.
    pub(crate) fn value_bytes_max(&self) -> usize {
        match self {
            Row::Value(_) => 0,
            Row::Text(text) => tree_bytes_max(text),
            Row::Written(text, _) => tree_bytes_max(text),
        }
    }

    /// Returns the value.
    pub fn into_value(self) -> Value {
        match self {
            Row::Value(value) => value,
            // Invariant: the text of an item was checked when it was written, and ours is JSON.
            Row::Text(text) => model::json::parse(&text).unwrap_or_default(),
            Row::Written(text, _) => model::json::parse(&text).unwrap_or_default(),
        }
    }

    /// Returns the bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Row::Value(value) => value.heap_bytes(),
            Row::Text(text) => text.len(),
            Row::Written(text, _) => text.capacity(),
        }
    }

    /// What rows with equal values have in common.
    pub(crate) fn key(&self) -> Vec<u8> {
        match self {
            Row::Value(value) => value_key(Some(value)),
            Row::Text(_) | Row::Written(..) => value_key(Some(&self.clone().into_value())),
        }
    }

    /// About the length of the text.
    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Row::Value(value) => estimated_bytes(value),
            Row::Text(text) => text.len(),
            Row::Written(_, n_bytes) => *n_bytes,
        }
    }
}
