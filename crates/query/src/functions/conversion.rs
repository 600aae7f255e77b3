//! Values to text and back.

use model::Value;
use model::json::double_text;

use super::Call;
use crate::value::{Datum, Maybe, boolean, text};

pub(super) fn to_text<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let datum = arguments.first_mut()?.take()?;
    match (datum.as_f64(), datum.value()) {
        (_, Some(Value::String(_))) => Some(datum),
        // Only alone does −0 keep its sign.
        (Some(double), _) if datum.kept_integer().is_none() => text(double_text(double)),
        (_, value) => text(value?.to_computed_text()),
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
    match trimmed(arguments)? {
        "true" => boolean(true),
        "false" => boolean(false),
        _ => None,
    }
}

pub(super) fn to_null<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    (trimmed(arguments)? == "null").then_some(Datum::Owned(Value::Null))
}

pub(super) fn to_number<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    // Zeros in front are no JSON, but the service takes them.
    let text = trimmed(arguments)?;
    // Anything else would be read to a tree first.
    if !text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) {
        return None;
    }
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let significant = digits.trim_start_matches('0');
    let is_whole = significant.starts_with(|first: char| first.is_ascii_digit());
    let zero = if is_whole || significant.len() == digits.len() { "" } else { "0" };
    read(&[sign, zero, significant].concat(), |value| matches!(value, Value::Number(_)))
}
