//! One value during evaluation: borrowed from an item or a constant where possible.
//!
//! Hot path: no clone of arrays or objects unless an expression builds a new one.

use std::sync::Arc;

use model::{Number, Object, Value};

use crate::ast;

/// A defined value.
#[derive(Clone, Debug)]
pub(crate) enum Datum<'e> {
    /// Part of an item, a constant or another value that outlives the evaluation.
    Borrowed(&'e Value),
    /// A computed value.
    Owned(Value),
    /// A constant that stands in several places of a query.
    Shared(Arc<Value>),
    /// A double that a JSON number cannot be: NaN or an infinity, which no row may have, or −0, which is 0 in rows.
    Special(f64),
}

const ZERO: &Value = &Value::Number(Number::from_i64(0));

/// A value or undefined.
pub(crate) type Maybe<'e> = Option<Datum<'e>>;

/// Wraps a boolean.
#[expect(clippy::unnecessary_wraps, reason = "functions return Maybe")]
pub(crate) fn boolean<'e>(value: bool) -> Maybe<'e> {
    Some(Datum::Owned(Value::Bool(value)))
}

/// Wraps a text.
#[expect(clippy::unnecessary_wraps, reason = "functions return Maybe")]
pub(crate) fn text<'e>(value: impl Into<String>) -> Maybe<'e> {
    Some(Datum::Owned(Value::String(value.into())))
}

/// Wraps an integer.
#[expect(clippy::unnecessary_wraps, reason = "functions return Maybe")]
pub(crate) fn integer<'e>(value: i64) -> Maybe<'e> {
    Some(Datum::Owned(Value::Number(Number::from_i64(value))))
}

/// Wraps a double.
#[expect(clippy::unnecessary_wraps, reason = "functions return Maybe")]
pub(crate) fn number<'e>(value: f64) -> Maybe<'e> {
    Some(Datum::from_f64(value))
}

impl<'e> Datum<'e> {
    /// Makes a number of a double.
    pub(crate) fn from_f64(value: f64) -> Datum<'e> {
        let is_negative_zero = value == 0.0 && value.is_sign_negative();
        match Number::from_f64(value) {
            Some(number) if !is_negative_zero => Datum::Owned(Value::Number(number)),
            _ => Datum::Special(value),
        }
    }

    /// Returns the JSON value; `None` for numbers that JSON cannot hold.
    pub(crate) fn value(&self) -> Option<&Value> {
        match self {
            Datum::Borrowed(Value::Number(number)) | Datum::Owned(Value::Number(number))
                if !number.is_finite() =>
            {
                None
            }
            Datum::Borrowed(value) => Some(value),
            Datum::Owned(value) => Some(value),
            Datum::Shared(value) => Some(value),
            Datum::Special(double) => (*double == 0.0).then_some(ZERO),
        }
    }

    /// Returns the JSON value as an owned one, moving it where possible. Inside it may be numbers that JSON cannot hold.
    pub(crate) fn into_value(self) -> Option<Value> {
        match self {
            Datum::Special(double) => (double == 0.0).then(|| ZERO.clone()),
            datum => Some(datum.into_element())
                .filter(|value| !matches!(value, Value::Number(number) if !number.is_finite())),
        }
    }

    /// Returns the value as part of an array or object that a query computes with.
    pub(crate) fn into_element(self) -> Value {
        match self {
            Datum::Borrowed(value) => value.clone(),
            Datum::Owned(value) => value,
            Datum::Shared(value) => Arc::unwrap_or_clone(value),
            Datum::Special(double) => Value::Number(Number::computed(double)),
        }
    }

    /// Returns the number.
    pub(crate) fn as_f64(&self) -> Option<f64> {
        match self {
            Datum::Special(double) => Some(*double),
            Datum::Borrowed(Value::Number(number)) | Datum::Owned(Value::Number(number)) => {
                Some(number.as_f64())
            }
            Datum::Shared(value) => value.as_f64(),
            Datum::Borrowed(_) | Datum::Owned(_) => None,
        }
    }

    /// Returns the integer if the number is kept as one.
    pub(crate) fn kept_integer(&self) -> Option<i64> {
        match self {
            Datum::Borrowed(Value::Number(number)) | Datum::Owned(Value::Number(number)) => {
                number.kept_integer()
            }
            Datum::Shared(value) => value.as_number()?.kept_integer(),
            _ => None,
        }
    }

    /// Returns the number if it is an integer: one that is kept as such, or a double that stands for no other.
    pub(crate) fn as_integer(&self) -> Option<i64> {
        // Limit: from 2^53 on, a double can stand for integers that it is not.
        const SAFE_MAX: u64 = (1 << 53) - 1;
        match self.value()? {
            Value::Number(number) => number.kept_integer().or_else(|| {
                exact_integer(number).filter(|integer| integer.unsigned_abs() <= SAFE_MAX)
            }),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.value()? {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self.value()? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Value]> {
        match self.value()? {
            Value::Array(list) => Some(list),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&Object> {
        match self.value()? {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Follows one step down.
    pub(crate) fn child(self, step: &Step) -> Maybe<'e> {
        match self {
            Datum::Borrowed(value) => step.of(value).map(Datum::Borrowed),
            Datum::Owned(value) => step.take(value).map(Datum::Owned),
            Datum::Shared(value) => step.of(&value).cloned().map(Datum::Owned),
            Datum::Special(_) => None,
        }
    }
}

/// Says whether JSON can hold all numbers of a value.
pub(crate) fn is_finite(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_finite(),
        Value::Array(list) => list.iter().all(is_finite),
        Value::Object(object) => object.iter().all(|(_, value)| is_finite(value)),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// A bound step of a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// A member of an object.
    Name(String),
    /// An element of an array.
    Index(usize),
    /// An indexer that fits neither objects nor arrays: always undefined.
    Never,
}

impl Step {
    /// Returns the part of `value` that the step names.
    pub(crate) fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match (self, value) {
            (Step::Name(name), Value::Object(object)) => object.get(name),
            (Step::Index(index), Value::Array(list)) => list.get(*index),
            _ => None,
        }
    }

    /// Returns the part of `value` that the step names, and drops the rest.
    fn take(&self, value: Value) -> Option<Value> {
        match (self, value) {
            (Step::Name(name), Value::Object(mut object)) => object.remove(name),
            (Step::Index(index), Value::Array(mut list)) => {
                (*index < list.len()).then(|| list.swap_remove(*index))
            }
            _ => None,
        }
    }

    /// Makes a step of a constant indexer.
    pub(crate) fn from_constant(index: Option<&Value>) -> Step {
        match index {
            Some(Value::String(name)) => Step::Name(name.clone()),
            Some(Value::Number(number)) => {
                let index = exact_integer(number).and_then(|index| usize::try_from(index).ok());
                index.map_or(Step::Never, Step::Index)
            }
            _ => Step::Never,
        }
    }

    /// Makes a step of a written one; `None` when the indexer has to be computed.
    pub(crate) fn from_ast(step: &ast::Step) -> Option<Step> {
        match step {
            ast::Step::Dot(name) | ast::Step::Name(name) => Some(Step::Name(name.clone())),
            ast::Step::Index(index) => {
                Some(usize::try_from(*index).map_or(Step::Never, Step::Index))
            }
            ast::Step::Computed(_) => None,
        }
    }
}

/// 2^63, the first double that no 64-bit integer reaches.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// Returns the integer a number stands for, `1.0` included.
pub(crate) fn exact_integer(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let double = number.as_f64();
        // 2^63 itself does not fit; every integral double below it does.
        let fits = double.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(&double);
        #[expect(clippy::cast_possible_truncation, reason = "checked just above")]
        fits.then_some(double as i64)
    })
}
