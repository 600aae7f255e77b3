//! Values to text and back.

use model::Value;

use super::Call;
use crate::value::{Datum, Maybe, text};

pub(super) fn to_text<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    match arguments.first_mut()?.take()? {
        Datum::NonFinite(number) if number.is_nan() => text("NaN"),
        Datum::NonFinite(number) => text(if number > 0.0 { "Infinity" } else { "-Infinity" }),
        datum => match datum.value()? {
            Value::String(_) => Some(datum),
            value => text(value.to_text()),
        },
    }
}

/// Reads the whole text as strict JSON and keeps it if it has the right type.
fn parse<'e>(arguments: &[Maybe<'_>], keep: impl FnOnce(&Value) -> bool) -> Maybe<'e> {
    let text = arguments.first()?.as_ref()?.as_text()?;
    let value = model::json::parse(text.trim_matches([' ', '\t', '\r', '\n']).as_bytes()).ok()?;
    keep(&value).then_some(Datum::Owned(value))
}

pub(super) fn to_array<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    parse(arguments, |value| matches!(value, Value::Array(_)))
}

pub(super) fn to_object<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    parse(arguments, |value| matches!(value, Value::Object(_)))
}

pub(super) fn to_boolean<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    parse(arguments, |value| matches!(value, Value::Bool(_)))
}

pub(super) fn to_null<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    parse(arguments, |value| matches!(value, Value::Null))
}

pub(super) fn to_number<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    parse(arguments, |value| matches!(value, Value::Number(_)))
}
