//! Functions that look into texts.

use super::string::n_units;
use super::{Call, letter_case};
use crate::value::{Datum, Maybe, boolean, integer};

fn text_at<'v>(arguments: &'v [Maybe<'_>], index: usize) -> Option<&'v str> {
    arguments.get(index)?.as_ref()?.as_text()
}

/// Returns whether case is ignored; `None` when the flag is no boolean.
fn ignores_case(arguments: &[Maybe<'_>]) -> Option<bool> {
    match arguments.get(2) {
        None => Some(false),
        Some(flag) => flag.as_ref()?.as_bool(),
    }
}

fn folded(text: &str) -> String {
    text.chars().map(letter_case::upper).collect()
}

fn test<'e>(arguments: &[Maybe<'_>], holds: fn(&str, &str) -> bool) -> Maybe<'e> {
    let (text, part) = (text_at(arguments, 0)?, text_at(arguments, 1)?);
    if ignores_case(arguments)? {
        return boolean(holds(&folded(text), &folded(part)));
    }
    boolean(holds(text, part))
}

pub(super) fn contains<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    test(arguments, |text, part| text.contains(part))
}

pub(super) fn starts_with<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    test(arguments, |text, part| text.starts_with(part))
}

pub(super) fn ends_with<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    test(arguments, |text, part| text.ends_with(part))
}

pub(super) fn string_equals<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    test(arguments, |text, part| text == part)
}

/// Folds CONTAINS with three-valued logic: `decisive` wins, then undefined, then its opposite.
fn contains_each<'e>(arguments: &[Maybe<'_>], ignore_case: bool, decisive: bool) -> Maybe<'e> {
    let fold = |text: &str| if ignore_case { folded(text) } else { text.to_string() };
    let text = fold(text_at(arguments, 0)?);
    let mut is_undefined = false;
    for part in arguments.iter().skip(1) {
        match part.as_ref().and_then(Datum::as_text) {
            None => is_undefined = true,
            Some(part) if text.contains(&fold(part)) == decisive => return boolean(decisive),
            Some(_) => {}
        }
    }
    if is_undefined { None } else { boolean(!decisive) }
}

pub(super) fn contains_all_ci<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    contains_each(arguments, true, false)
}

pub(super) fn contains_all_cs<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    contains_each(arguments, false, false)
}

pub(super) fn contains_any_ci<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    contains_each(arguments, true, true)
}

pub(super) fn contains_any_cs<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    contains_each(arguments, false, true)
}

/// Returns the byte offset of a UTF-16 position, the end of the text when it lies beyond.
fn byte_offset(text: &str, units: usize) -> usize {
    let mut n_seen = 0;
    for (offset, c) in text.char_indices() {
        if n_seen >= units {
            return offset;
        }
        n_seen += c.len_utf16();
    }
    text.len()
}

fn position<'e>(text: &str, offset: Option<usize>) -> Maybe<'e> {
    let Some(before) = offset.and_then(|offset| text.get(..offset)) else { return integer(-1) };
    integer(i64::try_from(n_units(before)).ok()?)
}

/// Returns the position that an argument gives, if it is given; `Err` when the text has no such position.
fn start_at(arguments: &[Maybe<'_>], text: &str) -> Option<Result<Option<usize>, Outside>> {
    let Some(start) = arguments.get(2) else { return Some(Ok(None)) };
    let start = usize::try_from(start.as_ref()?.as_integer()?);
    Some(match start {
        Ok(start) if start <= n_units(text) => Ok(Some(start)),
        _ => Err(Outside),
    })
}

/// A position before the start of a text, or behind its end.
struct Outside;

pub(super) fn index_of<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (text, part) = (text_at(arguments, 0)?, text_at(arguments, 1)?);
    let Ok(start) = start_at(arguments, text)? else { return integer(-1) };
    let skipped = byte_offset(text, start.unwrap_or_default());
    let found = text.get(skipped..).and_then(|rest| rest.find(part));
    position(text, found.map(|offset| offset + skipped))
}

/// The match must lie at or before the given position as a whole. An empty part is found at that position, or at the
/// last character.
pub(super) fn last_index_of<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    // Here, and here only, an undefined position is none.
    let arguments: &[Maybe<'_>] = match &*arguments {
        [given @ .., None] => given,
        all => all,
    };
    let (text, part) = (text_at(arguments, 0)?, text_at(arguments, 1)?);
    let Ok(last) = start_at(arguments, text)? else { return integer(-1) };
    if part.is_empty() {
        let end = n_units(text).saturating_sub(1);
        return integer(i64::try_from(last.map_or(end, |last| last.min(end))).ok()?);
    }
    let end = last.map_or(text.len(), |last| byte_offset(text, last.saturating_add(1)));
    position(text, text.get(..end).and_then(|head| head.rfind(part)))
}
