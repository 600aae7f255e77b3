//! Functions that make texts. Positions and lengths count UTF-16 units.

use model::Value;

use super::{Call, letter_case};
use crate::value::{Datum, Maybe, integer, text};

/// Limit: REPLICATE of the service.
pub(super) const REPLICATE_UNITS_MAX: usize = 100_000;

/// Limit: longest text or list of texts a function makes; more than an item can hold is undefined.
pub(super) const RESULT_BYTES_MAX: usize = 4 * 1024 * 1024;

fn text_at<'v>(arguments: &'v [Maybe<'_>], index: usize) -> Option<&'v str> {
    arguments.get(index)?.as_ref()?.as_text()
}

fn integer_at(arguments: &[Maybe<'_>], index: usize) -> Option<i64> {
    arguments.get(index)?.as_ref()?.as_integer()
}

/// Cuts UTF-16 units `from..to`, clamped. A cut through a surrogate pair leaves U+FFFD.
pub(super) fn cut(source: &str, from: usize, to: usize) -> String {
    if source.is_ascii() {
        let to = to.min(source.len());
        return source.get(from.min(to)..to).unwrap_or_default().to_string();
    }
    let units: Vec<u16> = source.encode_utf16().take(to).skip(from).collect();
    String::from_utf16_lossy(&units)
}

pub(super) fn n_units(source: &str) -> usize {
    if source.is_ascii() { source.len() } else { source.encode_utf16().count() }
}

pub(super) fn concat<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let mut parts = Vec::with_capacity(arguments.len());
    let mut bytes = 0_usize;
    for argument in arguments.iter() {
        let part = argument.as_ref()?.as_text()?;
        bytes = bytes.saturating_add(part.len());
        parts.push(part);
    }
    if bytes > RESULT_BYTES_MAX { None } else { text(parts.concat()) }
}

pub(super) fn left<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let count = usize::try_from(integer_at(arguments, 1)?.max(0)).ok()?;
    text(cut(text_at(arguments, 0)?, 0, count))
}

pub(super) fn right<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let source = text_at(arguments, 0)?;
    let count = usize::try_from(integer_at(arguments, 1)?.max(0)).ok()?;
    let length = n_units(source);
    text(cut(source, length.saturating_sub(count), length))
}

pub(super) fn substring<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let source = text_at(arguments, 0)?;
    let (start, count) = (integer_at(arguments, 1)?, integer_at(arguments, 2)?);
    if start < 0 || count <= 0 {
        return text("");
    }
    let (start, count) = (usize::try_from(start).ok()?, usize::try_from(count).ok()?);
    text(cut(source, start, start.saturating_add(count)))
}

pub(super) fn length<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    integer(i64::try_from(n_units(text_at(arguments, 0)?)).ok()?)
}

pub(super) fn lower<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let source = text_at(arguments, 0)?;
    text(source.chars().map(letter_case::lower).collect::<String>())
}

pub(super) fn upper<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    text(text_at(arguments, 0)?.chars().map(letter_case::upper).collect::<String>())
}

fn trimmed<'e>(arguments: &[Maybe<'_>], at_start: bool, at_end: bool) -> Maybe<'e> {
    let source = text_at(arguments, 0)?;
    let set = match arguments.get(1) {
        None => None,
        Some(set) => Some(set.as_ref()?.as_text()?).filter(|set| !set.is_empty()),
    };
    let is_cut = |c: char| set.map_or_else(|| c.is_whitespace(), |set| set.contains(c));
    let mut rest = source;
    if at_start {
        rest = rest.trim_start_matches(is_cut);
    }
    if at_end {
        rest = rest.trim_end_matches(is_cut);
    }
    text(rest)
}

pub(super) fn trim<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    trimmed(arguments, true, true)
}

pub(super) fn trim_left<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    trimmed(arguments, true, false)
}

pub(super) fn trim_right<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    trimmed(arguments, false, true)
}

pub(super) fn replace<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (source, find) = (text_at(arguments, 0)?, text_at(arguments, 1)?);
    let by = text_at(arguments, 2)?;
    if find.is_empty() {
        return None;
    }
    let n_found = source.matches(find).count();
    if source.len().saturating_add(n_found.saturating_mul(by.len())) > RESULT_BYTES_MAX {
        return None;
    }
    text(source.replace(find, by))
}

pub(super) fn replicate<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let source = text_at(arguments, 0)?;
    let count = usize::try_from(integer_at(arguments, 1)?).ok()?;
    if n_units(source).checked_mul(count)? > REPLICATE_UNITS_MAX {
        return None;
    }
    text(source.repeat(count))
}

pub(super) fn reverse<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    // Reversing characters keeps pairs of surrogates whole, which no JSON text can hold otherwise.
    text(text_at(arguments, 0)?.chars().rev().collect::<String>())
}

pub(super) fn join<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let list = arguments.first()?.as_ref()?.as_array()?;
    let separator = text_at(arguments, 1)?;
    let parts: Vec<&str> = list.iter().map(Value::as_str).collect::<Option<_>>()?;
    let length: usize = parts.iter().map(|part| part.len() + separator.len()).sum();
    if length > RESULT_BYTES_MAX {
        return None;
    }
    text(parts.join(separator))
}

pub(super) fn split<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (source, separator) = (text_at(arguments, 0)?, text_at(arguments, 1)?);
    let list = if separator.is_empty() {
        vec![Value::from(source)]
    } else {
        let mut list = Vec::with_capacity(source.matches(separator).count() + 1);
        list.extend(source.split(separator).map(Value::from));
        list
    };
    Some(Datum::Owned(Value::Array(list)))
}

pub(super) fn after_first<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (source, delimiter) = (text_at(arguments, 0)?, text_at(arguments, 1)?);
    text(source.split_once(delimiter)?.1)
}

pub(super) fn before_first<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (source, delimiter) = (text_at(arguments, 0)?, text_at(arguments, 1)?);
    text(source.split_once(delimiter)?.0)
}

pub(super) fn after_last<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (source, delimiter) = (text_at(arguments, 0)?, text_at(arguments, 1)?);
    text(source.rsplit_once(delimiter)?.1)
}

pub(super) fn before_last<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (source, delimiter) = (text_at(arguments, 0)?, text_at(arguments, 1)?);
    text(source.rsplit_once(delimiter)?.0)
}
