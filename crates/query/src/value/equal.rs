//! Equality and range comparison of the language, over `model::order` and `Value`'s equality.

use std::cmp::Ordering;

use model::Value;

use super::Datum;

/// Returns whether two defined values are equal.
pub(crate) fn equal(left: &Datum<'_>, right: &Datum<'_>) -> bool {
    match (left.value(), right.value()) {
        (Some(left), Some(right)) => equal_values(left, right),
        // At least one is NaN or infinite, so the other can only be equal as a double.
        _ => compare(left, right) == Some(Ordering::Equal),
    }
}

/// Returns whether two values are equal; what has NaN inside equals nothing.
pub(crate) fn equal_values(left: &Value, right: &Value) -> bool {
    left == right && !has_nan(left)
}

/// Says whether a value is NaN or has it inside.
pub(crate) fn has_nan(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_nan(),
        Value::Array(list) => list.iter().any(has_nan),
        Value::Object(object) => object.iter().any(|(_, value)| has_nan(value)),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Orders two values of one type that has an order; `None` stands for undefined.
pub(crate) fn compare(left: &Datum<'_>, right: &Datum<'_>) -> Option<Ordering> {
    match (left.value(), right.value()) {
        (Some(Value::Null), Some(Value::Null)) => Some(Ordering::Equal),
        (Some(Value::Bool(left)), Some(Value::Bool(right))) => Some(left.cmp(right)),
        (Some(left @ Value::Number(_)), Some(right @ Value::Number(_)))
        | (Some(left @ Value::String(_)), Some(right @ Value::String(_))) => {
            Some(model::order(Some(left), Some(right)))
        }
        (Some(_), Some(_)) => None,
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}
