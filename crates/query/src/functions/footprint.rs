//! How much memory a call takes beside its arguments: its result, and what it builds on the way there.
//!
//! Every entry of the table says it, and [`Function::call`] takes the memory before the function runs. The bounds are
//! generous where exact ones would cost as much as the call; what a call really leaves behind is counted after it.

use model::Value;
use model::json::{ALLOCATION_BYTES, ELEMENT_BYTES, MEMBER_BYTES, slice_bytes, tree_bytes_max};

use super::array::slice_range;
use super::fulltext::SearchTerm;
use super::string::{REPLICATE_UNITS_MAX, RESULT_BYTES_MAX};
use super::table::{Function, Role};
use super::{Call, regex};
use crate::context::Run;
use crate::error::Result;
use crate::value::{Datum, Maybe};

/// The memory of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Footprint {
    /// A number, a boolean, null or a text of bounded length.
    Small,
    /// One of the arguments, as it is.
    Argument,
    /// At most so many bytes.
    Bytes(fn(&[Maybe<'_>]) -> usize),
    /// The function takes what it needs itself, as it goes on: nothing bounds it before.
    Counted,
    /// It folds rows: the accumulator counts what it keeps.
    Folded,
}

impl Function {
    /// Calls a function that computes a value. `before` is the memory in use before its arguments were computed.
    pub(crate) fn call<'e>(
        &self,
        call: &Call<'_>,
        run: &Run<'_>,
        before: usize,
        mut arguments: Vec<Maybe<'e>>,
    ) -> Result<Maybe<'e>> {
        if let Footprint::Bytes(bytes) = self.footprint {
            run.scratch(bytes(&arguments))?;
        }
        let result = match self.role {
            Role::Scalar(body) | Role::Volatile(body) | Role::Static(body) => {
                body(call, &mut arguments)
            }
            Role::Long(body) => body(call, run, &mut arguments)?,
            Role::Aggregate(_) | Role::Rank => None,
        };
        match (self.footprint, &result) {
            (Footprint::Argument, _) => {}
            (_, Some(Datum::Owned(value))) => run.settle_to(before, value.heap_bytes())?,
            _ => run.settle(before, 0),
        }
        Ok(result)
    }
}

/// A text that grows by doubling is up to twice as long as its content, and stands beside its predecessor meanwhile.
const GROWTH: usize = 3;

/// Bytes of a hash set for each of its keys: the key, its allocation, and places that are free.
const KEY_BYTES: usize = 80 + ALLOCATION_BYTES;

/// Bytes of a word: the list of words while it grows, and an allocation.
const WORD_BYTES: usize = size_of::<String>() * GROWTH + 2 * ALLOCATION_BYTES;

fn text_bytes(argument: Option<&Maybe<'_>>) -> usize {
    text(argument).map_or(0, str::len)
}

fn text<'v>(argument: Option<&'v Maybe<'_>>) -> Option<&'v str> {
    argument?.as_ref()?.as_text()
}

fn list<'v>(argument: Option<&'v Maybe<'_>>) -> &'v [Value] {
    argument.and_then(Option::as_ref).and_then(Datum::as_array).unwrap_or_default()
}

fn all_texts(arguments: &[Maybe<'_>]) -> usize {
    arguments.iter().fold(0, |sum, argument| text_bytes(Some(argument)).saturating_add(sum))
}

/// A copy of the first text, each character of which may become a longer one.
pub(super) fn mapped_text(arguments: &[Maybe<'_>]) -> usize {
    text_bytes(arguments.first()).saturating_mul(2 * GROWTH)
}

/// A part of the first text, by way of its UTF-16 units.
pub(super) fn part_of_text(arguments: &[Maybe<'_>]) -> usize {
    text_bytes(arguments.first()).saturating_mul(3 * GROWTH)
}

/// A part of the first text, as it is.
pub(super) fn cut_text(arguments: &[Maybe<'_>]) -> usize {
    text_bytes(arguments.first())
}

/// Texts that are read or printed: none becomes longer than a few times its pattern.
pub(super) fn few_texts(arguments: &[Maybe<'_>]) -> usize {
    all_texts(arguments).saturating_mul(4 * GROWTH)
}

pub(super) fn concat(arguments: &[Maybe<'_>]) -> usize {
    all_texts(arguments).min(RESULT_BYTES_MAX)
}

/// The first text and the longest other one, with their case folded.
pub(super) fn folded_texts(arguments: &[Maybe<'_>]) -> usize {
    let longest = arguments.iter().skip(1).map(|argument| text_bytes(Some(argument))).max();
    text_bytes(arguments.first())
        .saturating_add(longest.unwrap_or_default())
        .saturating_mul(2 * GROWTH)
}

pub(super) fn replace(arguments: &[Maybe<'_>]) -> usize {
    let [source, find, by] = [0, 1, 2].map(|index| text_bytes(arguments.get(index)));
    let replaced = (source / find.max(1)).saturating_mul(by);
    source.saturating_add(replaced).min(RESULT_BYTES_MAX).saturating_mul(GROWTH)
}

pub(super) fn replicate(arguments: &[Maybe<'_>]) -> usize {
    let count = arguments.get(1).and_then(Option::as_ref).and_then(Datum::as_integer);
    let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
    // A UTF-16 unit has three bytes at most.
    text_bytes(arguments.first()).saturating_mul(count).min(REPLICATE_UNITS_MAX * 3)
}

pub(super) fn join(arguments: &[Maybe<'_>]) -> usize {
    let list = list(arguments.first());
    let separator = text_bytes(arguments.get(1));
    let part = |part: &Value| part.as_str().map_or(0, str::len).saturating_add(separator);
    let joined = list.iter().fold(0_usize, |sum, own| sum.saturating_add(part(own)));
    joined.min(RESULT_BYTES_MAX).saturating_add(list.len() * size_of::<&str>() * GROWTH)
}

pub(super) fn split(arguments: &[Maybe<'_>]) -> usize {
    let (Some(source), Some(separator)) = (text(arguments.first()), text(arguments.get(1))) else {
        return 0;
    };
    let n_parts = if separator.is_empty() { 1 } else { source.matches(separator).count() + 1 };
    source.len().saturating_add(n_parts * (ELEMENT_BYTES + ALLOCATION_BYTES))
}

/// The JSON text of a value that is none.
pub(super) fn written(arguments: &[Maybe<'_>]) -> usize {
    match arguments.first().and_then(Option::as_ref).and_then(Datum::value) {
        None | Some(Value::String(_)) => 0,
        Some(value) => written_bytes(value).saturating_mul(GROWTH),
    }
}

/// Returns how long the JSON text of a value is at most.
pub(crate) fn written_bytes(value: &Value) -> usize {
    /// A number, in any spelling that we print.
    const NUMBER_BYTES: usize = 32;
    /// A byte that JSON escapes: `\u0000`.
    const ESCAPED_BYTES: usize = 6;
    let string = |text: &str| {
        let n_escaped = text.bytes().filter(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\'));
        text.len() + n_escaped.count() * (ESCAPED_BYTES - 1) + 2
    };
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => NUMBER_BYTES + value.heap_bytes(),
        Value::String(text) => string(text),
        Value::Array(list) => 2 + list.iter().map(|own| 1 + written_bytes(own)).sum::<usize>(),
        Value::Object(object) => {
            let member = |(name, value): (&str, &Value)| 2 + string(name) + written_bytes(value);
            2 + object.iter().map(member).sum::<usize>()
        }
    }
}

/// The tree of a JSON text.
pub(super) fn tree(arguments: &[Maybe<'_>]) -> usize {
    text(arguments.first()).map_or(0, |text| tree_bytes_max(text.as_bytes()))
}

pub(super) fn array_concat(arguments: &[Maybe<'_>]) -> usize {
    let all = arguments.iter().map(|argument| slice_bytes(list(Some(argument))));
    all.fold(0, usize::saturating_add)
}

pub(super) fn array_slice(arguments: &[Maybe<'_>]) -> usize {
    let part = slice_range(arguments).and_then(|range| list(arguments.first()).get(range));
    part.map_or(0, slice_bytes)
}

/// A place for each number of a list.
pub(super) fn numbers_of_array(arguments: &[Maybe<'_>]) -> usize {
    list(arguments.first()).len().saturating_mul(2 * size_of::<f64>() * GROWTH)
}

/// One element of a list.
pub(super) fn element(arguments: &[Maybe<'_>]) -> usize {
    list(arguments.first()).iter().map(Value::heap_bytes).max().unwrap_or_default()
}

pub(super) fn pairs(arguments: &[Maybe<'_>]) -> usize {
    let Some(object) = arguments.first().and_then(Option::as_ref).and_then(Datum::as_object) else {
        return 0;
    };
    let names = text_bytes(arguments.get(1)).saturating_add(text_bytes(arguments.get(2))) + 2;
    let of_pair = names + ELEMENT_BYTES + 2 * (MEMBER_BYTES + ALLOCATION_BYTES);
    let own = |(name, value): (&str, &Value)| name.len().saturating_add(value.heap_bytes());
    let content = object.iter().map(own).fold(0, usize::saturating_add);
    object.len().saturating_mul(of_pair).saturating_add(content)
}

/// Sets of the keys of two lists, and a list of values of both.
pub(super) fn sets(arguments: &[Maybe<'_>]) -> usize {
    let set = |argument: &Maybe<'_>| {
        let list = list(Some(argument));
        let of_keys = slice_bytes(list).saturating_mul(GROWTH);
        of_keys.saturating_add(list.len().saturating_mul(KEY_BYTES))
    };
    arguments.iter().map(set).fold(0, usize::saturating_add)
}

pub(super) fn shapes(arguments: &[Maybe<'_>]) -> usize {
    let shape = |argument: &Maybe<'_>| shape_bytes_max(argument.as_ref());
    arguments.iter().map(shape).fold(0, usize::saturating_add)
}

/// Returns the memory that a shape takes at most, as it is computed with.
pub(crate) fn shape_bytes_max(datum: Option<&Datum<'_>>) -> usize {
    let value = datum.and_then(Datum::value);
    let coordinates = value.and_then(|value| value.get("coordinates")).and_then(Value::as_array);
    n_places(coordinates.unwrap_or_default(), 2).saturating_mul(POINT_BYTES * GROWTH)
}

/// Bytes of a point of a shape: its coordinates, its vector, its edge, its place in a ring.
const POINT_BYTES: usize = 64;

/// Returns how many positions and rings lists within lists can name.
fn n_places(list: &[Value], n_levels: usize) -> usize {
    let below = |value: &Value| match value {
        Value::Array(list) if n_levels > 0 => n_places(list, n_levels - 1),
        _ => 0,
    };
    list.iter().map(below).fold(list.len(), usize::saturating_add)
}

/// The words of all texts, those in lists too.
pub(super) fn words(arguments: &[Maybe<'_>]) -> usize {
    let of_list = |argument| list(Some(argument)).iter().map(value_words_bytes);
    let own = |argument: &Maybe<'_>| {
        argument.as_ref().and_then(Datum::value).map_or(0, value_words_bytes)
    };
    let all = arguments
        .iter()
        .map(|argument| of_list(argument).fold(own(argument), usize::saturating_add));
    all.fold(0, usize::saturating_add)
}

/// Returns what the words of a text or of a search term take at most.
pub(crate) fn value_words_bytes(value: &Value) -> usize {
    SearchTerm::parts(value).map_or(0, |(text, _)| words_bytes(text))
}

/// Returns what the words of a text take at most: between two of them is something that is no letter.
pub(crate) fn words_bytes(text: &str) -> usize {
    let n_words = text.bytes().filter(|byte| !byte.is_ascii_alphanumeric()).count() + 1;
    text.len().saturating_mul(GROWTH).saturating_add(n_words.saturating_mul(WORD_BYTES))
}

/// The result of a replacement.
pub(super) fn regex_replace(arguments: &[Maybe<'_>]) -> usize {
    let (subject, by) = (text_bytes(arguments.first()), text_bytes(arguments.get(2)));
    let result = (subject + 1).saturating_mul(by.saturating_add(1));
    result
        .min(RESULT_BYTES_MAX.saturating_add(by))
        .saturating_mul(GROWTH)
        .saturating_add(pattern(arguments))
}

/// A part of the first text.
pub(super) fn regex_extract(arguments: &[Maybe<'_>]) -> usize {
    cut_text(arguments).saturating_add(pattern(arguments))
}

/// A regular expression that is compiled for the call.
pub(super) fn pattern(arguments: &[Maybe<'_>]) -> usize {
    regex::compiled_bytes(text_bytes(arguments.get(1)))
}
