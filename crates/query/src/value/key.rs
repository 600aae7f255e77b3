//! Canonical bytes of a value: two values are equal exactly when their keys are.
//!
//! Used for DISTINCT, GROUP BY, sets and long IN lists.

use model::Value;

use super::datum::exact_integer;

/// Returns the key of a value or of undefined.
pub(crate) fn value_key(value: Option<&Value>) -> Vec<u8> {
    let mut key = Vec::with_capacity(16);
    push_key(value, &mut key);
    key
}

/// Returns the memory that the key of a value takes at most, on the way there included.
pub(crate) fn key_bytes_max(value: &Value) -> usize {
    /// A list that grows stands beside its predecessor.
    const GROWTH: usize = 3;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 16,
        value => value.heap_bytes().saturating_mul(GROWTH),
    }
}

/// Appends the key; keys are self-delimiting, so a sequence of them is a key of the sequence.
pub(crate) fn push_key(value: Option<&Value>, key: &mut Vec<u8>) {
    match value {
        None => key.push(0),
        Some(Value::Null) => key.push(1),
        Some(Value::Bool(false)) => key.push(2),
        Some(Value::Bool(true)) => key.push(3),
        Some(Value::Number(number)) => {
            if let Some(integer) = exact_integer(number) {
                key.push(4);
                key.extend_from_slice(&integer.to_be_bytes());
            } else {
                key.push(5);
                key.extend_from_slice(&number.as_f64().to_be_bytes());
            }
        }
        Some(Value::String(text)) => {
            key.push(6);
            push_text(text, key);
        }
        Some(Value::Array(list)) => {
            key.push(7);
            push_length(list.len(), key);
            for element in list {
                push_key(Some(element), key);
            }
        }
        Some(Value::Object(object)) => {
            key.push(8);
            push_length(object.len(), key);
            let mut members: Vec<_> = object.iter().collect();
            members.sort_unstable_by(|left, right| left.0.cmp(right.0));
            for (name, value) in members {
                push_text(name, key);
                push_key(Some(value), key);
            }
        }
    }
}

fn push_text(text: &str, key: &mut Vec<u8>) {
    push_length(text.len(), key);
    key.extend_from_slice(text.as_bytes());
}

fn push_length(length: usize, key: &mut Vec<u8>) {
    key.extend_from_slice(&u64::try_from(length).unwrap_or(u64::MAX).to_be_bytes());
}
