//! Array functions.

use std::cmp::Ordering;
use std::ops::Range;

use model::{Object, Value};

use super::Call;
use crate::eval::{arithmetic, exact_quotient};
use crate::value::{Datum, Maybe, boolean, equal, equal_values, integer};

fn array_at<'v>(arguments: &'v [Maybe<'_>], index: usize) -> Option<&'v [Value]> {
    arguments.get(index)?.as_ref()?.as_array()
}

#[expect(clippy::unnecessary_wraps, reason = "functions return Maybe")]
fn owned_array<'e>(list: Vec<Value>) -> Maybe<'e> {
    Some(Datum::Owned(Value::Array(list)))
}

pub(super) fn concat<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let lists = arguments.iter().map(|argument| argument.as_ref()?.as_array());
    let lists: Vec<&[Value]> = lists.collect::<Option<_>>()?;
    owned_array(lists.concat())
}

pub(super) fn contains<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let list = array_at(arguments, 0)?;
    let needle = arguments.get(1)?.as_ref()?;
    let is_partial = match arguments.get(2) {
        None => false,
        Some(flag) => flag.as_ref()?.as_bool()?,
    };
    boolean(match needle.value() {
        Some(needle) if is_partial => list.iter().any(|element| matches_partially(element, needle)),
        _ => has(list, needle),
    })
}

fn has(list: &[Value], needle: &Datum<'_>) -> bool {
    list.iter().any(|element| equal(&Datum::Borrowed(element), needle))
}

/// Returns whether `element` has at least the members of `needle`, at every depth.
fn matches_partially(element: &Value, needle: &Value) -> bool {
    match (element, needle) {
        (Value::Object(element), Value::Object(needle)) => needle.iter().all(|(name, value)| {
            element.get(name).is_some_and(|own| matches_partially(own, value))
        }),
        _ => equal_values(element, needle),
    }
}

/// Folds containment with three-valued logic: `decisive` wins, then undefined, then its opposite.
fn contains_each<'e>(arguments: &[Maybe<'_>], decisive: bool) -> Maybe<'e> {
    let list = array_at(arguments, 0)?;
    let mut is_undefined = false;
    for needle in arguments.iter().skip(1) {
        match needle {
            None => is_undefined = true,
            Some(needle) => {
                if has(list, needle) == decisive {
                    return boolean(decisive);
                }
            }
        }
    }
    if is_undefined { None } else { boolean(!decisive) }
}

pub(super) fn contains_all<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    contains_each(arguments, false)
}

pub(super) fn contains_any<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    contains_each(arguments, true)
}

pub(super) fn length<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    integer(i64::try_from(array_at(arguments, 0)?.len()).ok()?)
}

/// Returns which elements a slice takes.
pub(super) fn slice_range(arguments: &[Maybe<'_>]) -> Option<Range<usize>> {
    let length = i64::try_from(array_at(arguments, 0)?.len()).ok()?;
    let start = arguments.get(1)?.as_ref()?.as_integer()?;
    let start = if start < 0 { length.saturating_add(start).max(0) } else { start.min(length) };
    let count = match arguments.get(2) {
        None => length,
        Some(count) => count.as_ref()?.as_integer()?.max(0),
    };
    let end = start.saturating_add(count).min(length);
    Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
}

pub(super) fn slice<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    owned_array(array_at(arguments, 0)?.get(slice_range(arguments)?)?.to_vec())
}

/// Adds numbers up; undefined when there is none, or something else among them.
fn total<'e>(list: &[Value]) -> Maybe<'e> {
    let mut list = list.iter();
    let mut sum = Datum::Owned(Value::Number(list.next()?.as_number()?.clone()));
    for element in list {
        sum = arithmetic(&sum, &Datum::Borrowed(element), i64::checked_add, |a, b| a + b)?;
    }
    Some(sum)
}

fn quotient<'e>(sum: &Datum<'_>, count: usize) -> Maybe<'e> {
    let count = Datum::Owned(Value::from(count));
    arithmetic(sum, &count, exact_quotient, |a, b| a / b)
}

pub(super) fn sum<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    total(array_at(arguments, 0)?)
}

pub(super) fn avg<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let list = array_at(arguments, 0)?;
    quotient(&total(list)?, list.len())
}

pub(super) fn median<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let mut list =
        array_at(arguments, 0)?.iter().map(Value::as_number).collect::<Option<Vec<_>>>()?;
    list.sort_unstable();
    let middle = list.len() / 2;
    let at = |index: usize| Some(Datum::Owned(Value::Number((*list.get(index)?).clone())));
    let upper = at(middle)?;
    if list.len() % 2 == 1 {
        return Some(upper);
    }
    let sum = arithmetic(&at(middle.checked_sub(1)?)?, &upper, i64::checked_add, |a, b| a + b)?;
    quotient(&sum, 2)
}

fn extreme<'e>(arguments: &[Maybe<'_>], wanted: Ordering) -> Maybe<'e> {
    let list = array_at(arguments, 0)?;
    if list.iter().any(|element| !element.is_scalar()) {
        return None;
    }
    let best = list.iter().reduce(|best, element| {
        let order = model::order(Some(element), Some(best));
        // Wire: of equal ones, which 0 and −0 are, the least is the last one and the greatest the first.
        let is_better = order == wanted || order.is_eq() && wanted.is_lt();
        if is_better { element } else { best }
    })?;
    Some(Datum::Owned(best.clone()))
}

pub(super) fn min<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    extreme(arguments, Ordering::Less)
}

pub(super) fn max<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    extreme(arguments, Ordering::Greater)
}

pub(super) fn choose<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (index, choices) = arguments.split_first_mut()?;
    let index = usize::try_from(index.as_ref()?.as_integer()?.checked_sub(1)?).ok()?;
    choices.get_mut(index)?.take()
}

pub(super) fn object_to_array<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let name_at = |index: usize, default: &'static str| match arguments.get(index) {
        None | Some(None) => Some(default.to_string()),
        Some(Some(name)) => name.as_text().map(str::to_string),
    };
    // An undefined name counts as left out, but not in front of one that is given.
    if let [_, None, Some(_)] = arguments {
        return None;
    }
    let (name_member, value_member) = (name_at(1, "k")?, name_at(2, "v")?);
    let object = arguments.first()?.as_ref()?.as_object()?;
    let pair = |(name, value): (&str, &Value)| {
        let mut pair = Object::with_capacity(2);
        pair.insert(name_member.as_str(), name);
        pair.insert(value_member.as_str(), value.clone());
        Value::Object(pair)
    };
    owned_array(object.iter().map(pair).collect())
}
