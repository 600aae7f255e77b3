//! Ranges of any ordered type.

use std::fmt;
use std::ops::Bound;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// An interval of keys. Invariant: it is not empty.
///
/// Both ends are inclusive unless a constructor says otherwise, as in the old resolvers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Ends<T>", into = "Ends<T>")]
#[serde(bound(serialize = "T: Serialize + Clone", deserialize = "T: Deserialize<'de> + Ord"))]
pub struct Range<T> {
    low: Bound<T>,
    high: Bound<T>,
}

/// How a range is written: `low`/`high` inclusive, `above`/`below` exclusive, nothing for no bound.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de>"))]
struct Ends<T> {
    #[serde(default = "Option::default", deserialize_with = "present")]
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<T>,
    #[serde(default = "Option::default", deserialize_with = "present")]
    #[serde(skip_serializing_if = "Option::is_none")]
    above: Option<T>,
    #[serde(default = "Option::default", deserialize_with = "present")]
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<T>,
    #[serde(default = "Option::default", deserialize_with = "present")]
    #[serde(skip_serializing_if = "Option::is_none")]
    below: Option<T>,
}

/// Reads an end that is there, even if it is null: null is a key.
fn present<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> std::result::Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl<T: Ord> Range<T> {
    /// All keys from `low` to `high`, both included.
    pub fn new(low: T, high: T) -> Result<Range<T>> {
        Range::from_bounds(Bound::Included(low), Bound::Included(high))
    }

    /// All keys from `low`, included, to `high`, excluded: the usual form for time.
    pub fn half_open(low: T, high: T) -> Result<Range<T>> {
        Range::from_bounds(Bound::Included(low), Bound::Excluded(high))
    }

    /// All keys from `low` on.
    pub fn at_least(low: T) -> Range<T> {
        Range { low: Bound::Included(low), high: Bound::Unbounded }
    }

    /// All keys below `high`.
    pub fn below(high: T) -> Range<T> {
        Range { low: Bound::Unbounded, high: Bound::Excluded(high) }
    }

    /// All keys.
    pub fn all() -> Range<T> {
        Range { low: Bound::Unbounded, high: Bound::Unbounded }
    }

    /// A range with any ends; refused if empty.
    pub fn from_bounds(low: Bound<T>, high: Bound<T>) -> Result<Range<T>> {
        if reaches(low.as_ref(), high.as_ref()) {
            Ok(Range { low, high })
        } else {
            Err(Error::RangeEmpty)
        }
    }

    /// Returns the low end.
    pub fn low(&self) -> Bound<&T> {
        self.low.as_ref()
    }

    /// Returns the high end.
    pub fn high(&self) -> Bound<&T> {
        self.high.as_ref()
    }

    /// Returns both ends.
    pub fn into_bounds(self) -> (Bound<T>, Bound<T>) {
        (self.low, self.high)
    }

    /// Returns whether a key lies inside.
    pub fn contains(&self, key: &T) -> bool {
        reaches(self.low(), Bound::Included(key)) && reaches(Bound::Included(key), self.high())
    }

    /// Returns whether every key of `other` lies inside.
    pub fn contains_range(&self, other: &Range<T>) -> bool {
        self.cmp_low(other).is_le() && self.cmp_high(other).is_ge()
    }

    /// Returns whether the two share a key.
    pub fn intersects(&self, other: &Range<T>) -> bool {
        reaches(self.low(), other.high()) && reaches(other.low(), self.high())
    }

    /// Returns whether `next` begins exactly where this one ends: no gap, no common key.
    pub fn adjoins(&self, next: &Range<T>) -> bool {
        match (self.high(), next.low()) {
            (Bound::Included(a), Bound::Excluded(b)) | (Bound::Excluded(a), Bound::Included(b)) => {
                a == b
            }
            _ => false,
        }
    }

    /// Orders by the low end.
    pub(crate) fn cmp_low(&self, other: &Range<T>) -> std::cmp::Ordering {
        low_order(self.low()).cmp(&low_order(other.low()))
    }

    fn cmp_high(&self, other: &Range<T>) -> std::cmp::Ordering {
        high_order(self.high()).cmp(&high_order(other.high()))
    }
}

impl<T: Ord + Clone> Range<T> {
    /// A range of one key.
    pub fn point(key: T) -> Range<T> {
        Range { low: Bound::Included(key.clone()), high: Bound::Included(key) }
    }

    /// Returns the key of a range of one key.
    pub fn as_point(&self) -> Option<&T> {
        match (self.low(), self.high()) {
            (Bound::Included(a), Bound::Included(b)) if a == b => Some(a),
            _ => None,
        }
    }
}

/// Returns whether something can lie between the ends.
fn reaches<T: Ord>(low: Bound<&T>, high: Bound<&T>) -> bool {
    match (low, high) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Included(a), Bound::Included(b)) => a <= b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a < b,
    }
}

fn low_order<T: Ord>(bound: Bound<&T>) -> (bool, Option<&T>, bool) {
    match bound {
        Bound::Unbounded => (false, None, false),
        Bound::Included(it) => (true, Some(it), false),
        Bound::Excluded(it) => (true, Some(it), true),
    }
}

fn high_order<T: Ord>(bound: Bound<&T>) -> (bool, Option<&T>, bool) {
    match bound {
        Bound::Unbounded => (true, None, false),
        Bound::Included(it) => (false, Some(it), true),
        Bound::Excluded(it) => (false, Some(it), false),
    }
}

impl<T: fmt::Display> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.low {
            Bound::Unbounded => f.write_str("(…")?,
            Bound::Included(it) => write!(f, "[{it}")?,
            Bound::Excluded(it) => write!(f, "({it}")?,
        }
        match &self.high {
            Bound::Unbounded => f.write_str(", …)"),
            Bound::Included(it) => write!(f, ", {it}]"),
            Bound::Excluded(it) => write!(f, ", {it})"),
        }
    }
}

impl<T: Ord> TryFrom<Ends<T>> for Range<T> {
    type Error = Error;

    fn try_from(ends: Ends<T>) -> Result<Range<T>> {
        let bound = |included, excluded, name: &str| match (included, excluded) {
            (Some(it), None) => Ok(Bound::Included(it)),
            (None, Some(it)) => Ok(Bound::Excluded(it)),
            (None, None) => Ok(Bound::Unbounded),
            (Some(_), Some(_)) => Err(Error::StateInvalid(format!("range has two {name} ends"))),
        };
        Range::from_bounds(
            bound(ends.low, ends.above, "low")?,
            bound(ends.high, ends.below, "high")?,
        )
    }
}

impl<T> From<Range<T>> for Ends<T> {
    fn from(range: Range<T>) -> Ends<T> {
        let parts = |bound| match bound {
            Bound::Included(it) => (Some(it), None),
            Bound::Excluded(it) => (None, Some(it)),
            Bound::Unbounded => (None, None),
        };
        let ((low, above), (high, below)) = (parts(range.low), parts(range.high));
        Ends { low, above, high, below }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_inclusive_unless_said_otherwise() {
        let closed = Range::new(1, 5).unwrap();
        assert!(closed.contains(&1) && closed.contains(&5) && !closed.contains(&6));
        let half = Range::half_open(1, 5).unwrap();
        assert!(half.contains(&1) && !half.contains(&5));
        assert!(half.adjoins(&Range::at_least(5)) && !closed.adjoins(&Range::at_least(5)));
        assert!(closed.contains_range(&half) && !half.contains_range(&closed));
        assert!(Range::new(5, 1).is_err() && Range::half_open(1, 1).is_err());
    }

    #[test]
    fn ranges_intersect_if_they_share_a_key() {
        let a = Range::new(1, 5).unwrap();
        assert!(a.intersects(&Range::new(5, 9).unwrap()));
        assert!(!a.intersects(&Range::new(6, 9).unwrap()));
        assert!(!Range::half_open(1, 5).unwrap().intersects(&Range::at_least(5)));
        assert!(a.intersects(&Range::all()));
    }

    #[test]
    fn json_keeps_every_kind_of_end() {
        let ranges = [
            Range::new(1, 2).unwrap(),
            Range::half_open(1, 2).unwrap(),
            Range::at_least(3),
            Range::below(3),
            Range::all(),
        ];
        for range in ranges {
            let text = serde_json::to_string(&range).unwrap();
            assert_eq!(serde_json::from_str::<Range<i32>>(&text).unwrap(), range, "{text}");
        }
        let null: Range<crate::Key> = serde_json::from_str(r#"{"low":null,"high":null}"#).unwrap();
        assert_eq!(null.as_point(), Some(&crate::Key::Null));
        assert!(serde_json::from_str::<Range<i32>>(r#"{"low":2,"high":1}"#).is_err());
    }
}
