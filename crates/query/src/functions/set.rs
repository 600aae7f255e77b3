//! Set functions: arrays without order and duplicates.

use std::collections::HashSet;

use model::Value;

use super::Call;
use crate::value::{Datum, Maybe, boolean, has_nan, value_key};

type Keys = HashSet<Vec<u8>>;

fn operands<'v>(arguments: &'v [Maybe<'_>]) -> Option<(&'v [Value], &'v [Value])> {
    let [Some(left), Some(right)] = arguments else { return None };
    Some((left.as_array()?, right.as_array()?))
}

/// What has NaN inside equals nothing, and so is in no set.
fn keys(list: &[Value]) -> Keys {
    list.iter().filter(|value| !has_nan(value)).map(|value| value_key(Some(value))).collect()
}

/// Collects the values that `keep` accepts, each once.
#[expect(clippy::unnecessary_wraps, reason = "functions return Maybe")]
fn distinct<'e, 'v>(
    values: impl Iterator<Item = &'v Value>,
    keep: impl Fn(&[u8]) -> bool,
) -> Maybe<'e> {
    let mut seen = Keys::new();
    let mut list = Vec::new();
    for value in values {
        let key = value_key(Some(value));
        if keep(&key) && (seen.insert(key) || has_nan(value)) {
            list.push(value.clone());
        }
    }
    Some(Datum::Owned(Value::Array(list)))
}

pub(super) fn intersect<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (left, right) = operands(arguments)?;
    let (left_keys, right_keys) = (keys(left), keys(right));
    // Wire: the order is that of the second one if it is the shorter one, and has no value twice.
    let is_second = right.len() < left.len() && right_keys.len() == right.len();
    let list = if is_second { right } else { left };
    distinct(list.iter(), |key| left_keys.contains(key) && right_keys.contains(key))
}

pub(super) fn union<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (left, right) = operands(arguments)?;
    distinct(left.iter().chain(right), |_| true)
}

pub(super) fn difference<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (left, right) = operands(arguments)?;
    let other = keys(right);
    distinct(left.iter(), |key| !other.contains(key))
}

pub(super) fn equal<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (left, right) = operands(arguments)?;
    let is_comparable = !left.iter().chain(right).any(has_nan);
    boolean(is_comparable && keys(left) == keys(right))
}
