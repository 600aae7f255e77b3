//! One value during evaluation: borrowed from an item or a constant where possible.
//!
//! Hot path: no clone of arrays or objects unless an expression builds a new one.

use model::{Number, Object, Value};

use crate::ast;

/// A defined value.
#[derive(Clone, Debug)]
pub(crate) enum Datum<'e> {
    /// Part of an item, a constant or another value that outlives the evaluation.
    Borrowed(&'e Value),
    /// A computed value.
    Owned(Value),
    /// NaN or an infinity: a number inside expressions, dropped like undefined from rows.
    NonFinite(f64),
}

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

/// Wraps a double; integral ones print without a fraction.
#[expect(clippy::unnecessary_wraps, reason = "functions return Maybe")]
pub(crate) fn number<'e>(value: f64) -> Maybe<'e> {
    Some(Datum::from_f64(value))
}

impl<'e> Datum<'e> {
    /// Makes a number of a double.
    pub(crate) fn from_f64(value: f64) -> Datum<'e> {
        match finite_number(value) {
            Some(number) => Datum::Owned(Value::Number(number)),
            None => Datum::NonFinite(value),
        }
    }

    /// Returns the JSON value; `None` for numbers that JSON cannot hold.
    pub(crate) fn value(&self) -> Option<&Value> {
        match self {
            Datum::Borrowed(value) => Some(value),
            Datum::Owned(value) => Some(value),
            Datum::NonFinite(_) => None,
        }
    }

    /// Returns the JSON value as an owned one, moving it where possible.
    pub(crate) fn into_value(self) -> Option<Value> {
        match self {
            Datum::Borrowed(value) => Some(value.clone()),
            Datum::Owned(value) => Some(value),
            Datum::NonFinite(_) => None,
        }
    }

    /// Returns the number.
    pub(crate) fn as_f64(&self) -> Option<f64> {
        match (self, self.value()) {
            (Datum::NonFinite(number), _) => Some(*number),
            (_, Some(Value::Number(number))) => Some(number.as_f64()),
            _ => None,
        }
    }

    /// Returns the number if it is an integer that fits.
    pub(crate) fn as_integer(&self) -> Option<i64> {
        match self.value()? {
            Value::Number(number) => exact_integer(number),
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
            Datum::Owned(value) => step.of(&value).cloned().map(Datum::Owned),
            Datum::NonFinite(_) => None,
        }
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

/// Makes a finite number; integers print without a fraction.
pub(crate) fn finite_number(value: f64) -> Option<Number> {
    // Limit: beyond 2^53 a double is no longer exactly the integer its digits suggest.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
        #[expect(clippy::cast_possible_truncation, reason = "integral and within 2^53")]
        return Some(Number::from_i64(value as i64));
    }
    Number::from_f64(value)
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
