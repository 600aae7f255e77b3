//! Sort keys: the order of ORDER BY, and their form in resume filters and continuations.

use std::cmp::Ordering;

use model::{Object, Value};

use crate::bind::tree::OrderKey;
use crate::index::Term;
use crate::value::{Hash128, structural_hash};

/// Bytes that a character takes in JSON, at most: `\u0000`.
pub(crate) const CHAR_BYTES_MAX: usize = 6;

/// Bytes around a text in JSON.
pub(crate) const QUOTES: usize = 2;

/// One value to sort by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SortKey {
    Undefined,
    /// Null, boolean, number or text.
    Primitive(Value),
    /// Arrays sort by a hash, among themselves.
    Array(Hash128),
    /// Objects sort by a hash, among themselves.
    Object(Hash128),
}

impl SortKey {
    pub(crate) fn new(value: Option<&Value>) -> SortKey {
        match value {
            None => SortKey::Undefined,
            Some(value @ Value::Array(_)) => SortKey::Array(structural_hash(value)),
            Some(value @ Value::Object(_)) => SortKey::Object(structural_hash(value)),
            Some(value) => SortKey::Primitive(value.clone()),
        }
    }

    /// Returns the term under which the index has the key.
    pub(crate) fn term(&self) -> Option<Term> {
        match self {
            SortKey::Undefined => None,
            SortKey::Primitive(value) => Some(Term::of(value)),
            SortKey::Array(_) => Some(Term::of(&Value::Array(Vec::new()))),
            SortKey::Object(_) => Some(Term::of(&Value::Object(Object::new()))),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            SortKey::Undefined => 0,
            SortKey::Primitive(_) => 1,
            SortKey::Array(_) => 2,
            SortKey::Object(_) => 3,
        }
    }

    /// Orders ascending: undefined, null, booleans, numbers, texts, arrays, objects.
    pub(crate) fn order(&self, other: &SortKey) -> Ordering {
        match (self, other) {
            (SortKey::Primitive(left), SortKey::Primitive(right)) => {
                model::order(Some(left), Some(right))
            }
            (SortKey::Array(left), SortKey::Array(right))
            | (SortKey::Object(left), SortKey::Object(right)) => left.order(*right),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// Reads the wire form: `[]` is undefined, `{"type","low","high"}` an array or object.
    pub(crate) fn from_wire(value: &Value) -> Option<SortKey> {
        match value {
            Value::Array(list) => list.is_empty().then_some(SortKey::Undefined),
            Value::Object(object) => {
                let half = |name| Some(object.get(name)?.as_i64()?.cast_unsigned());
                let hash = Hash128 { low: half("low")?, high: half("high")? };
                match object.get("type")?.as_str()? {
                    "array" => Some(SortKey::Array(hash)),
                    "object" => Some(SortKey::Object(hash)),
                    _ => None,
                }
            }
            value => Some(SortKey::Primitive(value.clone())),
        }
    }

    /// Returns a length that the text of the wire form surely does not exceed.
    pub(crate) fn wire_bytes_max(&self) -> usize {
        match self {
            SortKey::Primitive(Value::String(text)) => {
                text.chars().count().saturating_mul(CHAR_BYTES_MAX) + QUOTES
            }
            SortKey::Undefined | SortKey::Primitive(_) => 32,
            SortKey::Array(_) | SortKey::Object(_) => 96,
        }
    }

    /// Returns what [`SortKey::wire_bytes_max`] surely does not exceed for a key that a term of so many bytes holds, alone
    /// or with others; the term must stand for one value.
    pub(crate) fn wire_bytes_max_in(term_bytes: usize) -> usize {
        /// What is no text, or the quotes of one.
        const OTHER_BYTES_MAX: usize = 96;
        term_bytes.saturating_mul(CHAR_BYTES_MAX) + OTHER_BYTES_MAX
    }

    pub(crate) fn to_wire(&self) -> Value {
        let hashed = |kind: &str, hash: &Hash128| {
            let mut object = Object::new();
            object.insert("type", kind);
            object.insert("low", hash.low.cast_signed());
            object.insert("high", hash.high.cast_signed());
            Value::Object(object)
        };
        match self {
            SortKey::Undefined => Value::Array(Vec::new()),
            SortKey::Primitive(value) => value.clone(),
            SortKey::Array(hash) => hashed("array", hash),
            SortKey::Object(hash) => hashed("object", hash),
        }
    }
}

/// Where a row stands: its keys, then the item, then the row within the item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowPosition {
    pub(crate) keys: Vec<SortKey>,
    pub(crate) number: u64,
    pub(crate) row: u64,
}

impl RowPosition {
    /// Returns the bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        let below = |key: &SortKey| match key {
            SortKey::Primitive(value) => value.heap_bytes(),
            SortKey::Undefined | SortKey::Array(_) | SortKey::Object(_) => 0,
        };
        self.keys.len() * size_of::<SortKey>() + self.keys.iter().map(below).sum::<usize>()
    }
}

/// The directions of the keys.
#[derive(Debug)]
pub(crate) struct SortOrder {
    keys: Vec<Direction>,
}

#[derive(Debug)]
struct Direction {
    descending: bool,
    undefined_last: bool,
}

impl SortOrder {
    pub(crate) fn new(keys: &[OrderKey]) -> SortOrder {
        let direction = |key: &OrderKey| Direction {
            descending: key.descending,
            undefined_last: key.undefined_last,
        };
        SortOrder { keys: keys.iter().map(direction).collect() }
    }

    /// The order of rows by how far they are from the best score; those without a score come last.
    pub(crate) fn best_first() -> SortOrder {
        SortOrder { keys: vec![Direction { descending: false, undefined_last: true }] }
    }

    /// Adds keys that ascend, below the others.
    pub(crate) fn then_ascending(mut self, n_keys: usize) -> SortOrder {
        let ascending = || Direction { descending: false, undefined_last: false };
        self.keys.extend(std::iter::repeat_with(ascending).take(n_keys));
        self
    }

    #[cfg(test)]
    pub(crate) fn of(descending: &[bool]) -> SortOrder {
        let direction =
            |descending: &bool| Direction { descending: *descending, undefined_last: false };
        SortOrder { keys: descending.iter().map(direction).collect() }
    }

    pub(crate) fn n_keys(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn compare_keys(&self, left: &[SortKey], right: &[SortKey]) -> Ordering {
        for ((left, right), direction) in left.iter().zip(right).zip(&self.keys) {
            let order = direction.compare(left, right);
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Compares values of one key.
    pub(crate) fn compare_key(&self, at: usize, left: &SortKey, right: &SortKey) -> Ordering {
        self.keys.get(at).map_or(Ordering::Equal, |direction| direction.compare(left, right))
    }

    /// Wire: ties come by rid, ascending or descending as the first key does.
    pub(crate) fn compare_numbers(&self, left: u64, right: u64) -> Ordering {
        let order = left.cmp(&right);
        if self.keys.first().is_some_and(|key| key.descending) { order.reverse() } else { order }
    }

    pub(crate) fn compare(&self, left: &RowPosition, right: &RowPosition) -> Ordering {
        self.compare_keys(&left.keys, &right.keys)
            .then_with(|| self.compare_numbers(left.number, right.number))
            .then_with(|| left.row.cmp(&right.row))
    }
}

impl Direction {
    fn compare(&self, left: &SortKey, right: &SortKey) -> Ordering {
        if self.undefined_last && (*left == SortKey::Undefined) != (*right == SortKey::Undefined) {
            return right.rank().cmp(&left.rank());
        }
        let order = left.order(right);
        if self.descending { order.reverse() } else { order }
    }
}
