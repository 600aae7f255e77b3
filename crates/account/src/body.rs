//! Reads request bodies of metadata resources: JSON objects with required and optional properties.

use model::{Object, Value};

use crate::error::{Error, Result};

/// Limit: no metadata resource needs more; scripts are the largest. Keeps parsing bounded.
pub(crate) const BODY_BYTES_MAX: usize = 2 << 20;

/// Parses a body that must be one JSON object.
pub(crate) fn parse(bytes: &[u8]) -> Result<Object> {
    if bytes.len() > BODY_BYTES_MAX {
        return Err(Error::BodyTooLarge { bytes: bytes.len(), bytes_max: BODY_BYTES_MAX });
    }
    match model::json::parse(bytes) {
        Ok(Value::Object(_)) if model::json::has_halved_id(bytes) => {
            Err(model::ItemError::IdHalved.into())
        }
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) | Err(_) => Err(Error::BodyMalformed),
    }
}

/// Builds an object in the given order.
pub(crate) fn object<const N: usize>(properties: [(&str, Value); N]) -> Object {
    properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A property that is present and not null.
pub(crate) fn present<'a>(body: &'a Object, name: &str) -> Option<&'a Value> {
    body.get(name).filter(|value| !matches!(value, Value::Null))
}

/// A string that must be there.
pub(crate) fn required_text<'a>(body: &'a Object, name: &'static str) -> Result<&'a str> {
    match present(body, name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(Error::PropertyInvalid { property: name.into() }),
        None => Err(Error::PropertyMissing { property: name }),
    }
}

pub(crate) fn optional_text<'a>(body: &'a Object, name: &str) -> Result<Option<&'a str>> {
    match present(body, name) {
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Error::PropertyInvalid { property: name.to_owned() }),
        None => Ok(None),
    }
}

/// A boolean, written as one. Python's `True` is a JSON `true`.
pub(crate) fn optional_bool(body: &Object, name: &str) -> Result<Option<bool>> {
    match present(body, name) {
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(Error::PropertyInvalid { property: name.to_owned() }),
        None => Ok(None),
    }
}

/// A whole number, written with or without a fraction of zero.
pub(crate) fn optional_int(body: &Object, name: &str) -> Result<Option<i64>> {
    match present(body, name) {
        Some(value) => whole(value)
            .map(Some)
            .ok_or_else(|| Error::PropertyInvalid { property: name.to_owned() }),
        None => Ok(None),
    }
}

pub(crate) fn optional_object<'a>(body: &'a Object, name: &str) -> Result<Option<&'a Object>> {
    match present(body, name) {
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(Error::PropertyInvalid { property: name.to_owned() }),
        None => Ok(None),
    }
}

/// An array; absent and null count as empty.
pub(crate) fn list<'a>(body: &'a Object, name: &str) -> Result<&'a [Value]> {
    match present(body, name) {
        Some(Value::Array(values)) => Ok(values),
        Some(_) => Err(Error::PropertyInvalid { property: name.to_owned() }),
        None => Ok(&[]),
    }
}

/// An array of objects; absent and null count as empty.
pub(crate) fn object_list<'a>(body: &'a Object, name: &str) -> Result<Vec<&'a Object>> {
    list(body, name)?
        .iter()
        .map(|value| match value {
            Value::Object(object) => Ok(object),
            _ => Err(Error::PropertyInvalid { property: name.to_owned() }),
        })
        .collect()
}

/// An array of strings; absent and null count as empty.
pub(crate) fn text_list(body: &Object, name: &str) -> Result<Vec<String>> {
    list(body, name)?
        .iter()
        .map(|value| match value {
            Value::String(text) => Ok(text.clone()),
            _ => Err(Error::PropertyInvalid { property: name.to_owned() }),
        })
        .collect()
}

/// The one of `names` that equals `text` without regard to case.
pub(crate) fn spelled<'a>(text: &str, names: &[&'a str]) -> Option<&'a str> {
    names.iter().find(|name| name.eq_ignore_ascii_case(text)).copied()
}

/// The value as a whole number, if it is one.
pub(crate) fn whole(value: &Value) -> Option<i64> {
    let Value::Number(number) = value else { return None };
    if let Some(integer) = number.as_i64() {
        return Some(integer);
    }
    let float = number.as_f64();
    // Limit: 2^53, beyond which doubles skip whole numbers.
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
    (float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0).then_some(float as i64)
}
