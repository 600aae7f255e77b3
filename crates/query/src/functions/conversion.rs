//! Values to text and back.

use model::Value;

use super::Call;
use crate::value::{Datum, Maybe, text};

pub(super) fn to_text<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    match arguments.first_mut()?.take()? {
        Datum::Special(double) if double.is_nan() => text("NaN"),
        Datum::Special(double) if double.is_infinite() => {
            text(if double > 0.0 { "Infinity" } else { "-Infinity" })
        }
        Datum::Special(_) => text("-0"),
        datum => match datum.value()? {
            Value::String(_) => Some(datum),
            value => text(value.to_computed_text()),
        },
    }
}

/// Reads the whole text as JSON and keeps it if it has the right type.
fn parse<'e>(arguments: &[Maybe<'_>], keep: impl FnOnce(&Value) -> bool) -> Maybe<'e> {
    read(trimmed(arguments)?, keep)
}

fn trimmed<'v>(arguments: &'v [Maybe<'_>]) -> Option<&'v str> {
    let text = arguments.first()?.as_ref()?.as_text()?;
    Some(text.trim_matches([' ', '\t', '\r', '\n']))
}

fn read<'e>(text: &str, keep: impl FnOnce(&Value) -> bool) -> Maybe<'e> {
    let mut value = model::json::parse(text.as_bytes()).ok()?;
    value.respell_numbers();
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
    // Zeros in front are no JSON, but the service takes them.
    let text = trimmed(arguments)?;
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let significant = digits.trim_start_matches('0');
    let is_whole = significant.starts_with(|first: char| first.is_ascii_digit());
    let zero = if is_whole || significant.len() == digits.len() { "" } else { "0" };
    read(&[sign, zero, significant].concat(), |value| matches!(value, Value::Number(_)))
}
