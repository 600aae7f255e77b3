//! Type checks: always a boolean, false for undefined.

use model::Value;

use super::{Call, datetime};
use crate::value::{Datum, Maybe, boolean};

fn check<'e>(argument: &[Maybe<'_>], test: impl FnOnce(&Value) -> bool) -> Maybe<'e> {
    boolean(argument.first().and_then(Option::as_ref).and_then(Datum::value).is_some_and(test))
}

fn is_non_finite(arguments: &[Maybe<'_>]) -> bool {
    let number = arguments.first().and_then(Option::as_ref).and_then(Datum::as_f64);
    number.is_some_and(|double| !double.is_finite())
}

pub(super) fn is_array<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    check(arguments, |value| matches!(value, Value::Array(_)))
}

pub(super) fn is_bool<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    check(arguments, |value| matches!(value, Value::Bool(_)))
}

pub(super) fn is_datetime<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    check(
        arguments,
        |value| matches!(value, Value::String(text) if datetime::parse(text).is_some()),
    )
}

pub(super) fn is_defined<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    boolean(matches!(arguments, [Some(_), ..]))
}

pub(super) fn is_finite_number<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    check(arguments, |value| matches!(value, Value::Number(_)))
}

pub(super) fn is_integer<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let integer = arguments.first().and_then(Option::as_ref).and_then(Datum::as_integer);
    boolean(integer.is_some())
}

pub(super) fn is_null<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    check(arguments, |value| matches!(value, Value::Null))
}

pub(super) fn is_number<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    if is_non_finite(arguments) { boolean(true) } else { is_finite_number(call, arguments) }
}

pub(super) fn is_object<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    check(arguments, |value| matches!(value, Value::Object(_)))
}

pub(super) fn is_primitive<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    if is_non_finite(arguments) {
        return boolean(true);
    }
    check(arguments, |value| !matches!(value, Value::Array(_) | Value::Object(_)))
}

pub(super) fn is_string<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    check(arguments, |value| matches!(value, Value::String(_)))
}
