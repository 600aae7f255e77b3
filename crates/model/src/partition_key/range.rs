//! A half-open span of the hash space.

use std::{borrow::Cow, cmp, fmt};

use super::Epk;

/// The span `[min, max)`. Invariant: `min < max`, so no range is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EpkRange {
    min: Epk,
    max: Epk,
}

impl EpkRange {
    /// Returns the range, or `None` if it would be empty.
    pub fn new(min: Epk, max: Epk) -> Option<EpkRange> {
        (min < max).then_some(EpkRange { min, max })
    }

    /// Returns the whole hash space, `["", "FF")`.
    pub fn full() -> EpkRange {
        EpkRange { min: Epk::MIN, max: Epk::max() }
    }

    /// Returns the range that holds `epk` and its extensions only.
    pub fn point(epk: Epk) -> EpkRange {
        let max = epk.successor();
        EpkRange { min: epk, max }
    }

    /// Returns the range of all keys that begin with `epk`, in a hierarchical container.
    pub(super) fn prefix(epk: Epk) -> EpkRange {
        let max = epk.prefix_end();
        EpkRange { min: epk, max }
    }

    /// Returns the lowest key in the range.
    pub fn min(&self) -> &Epk {
        &self.min
    }

    /// Returns the lowest key above the range.
    pub fn max(&self) -> &Epk {
        &self.max
    }

    /// Says whether the key is in the range.
    pub fn contains(&self, epk: &Epk) -> bool {
        self.min <= *epk && *epk < self.max
    }

    /// Says whether the other range lies inside this one.
    pub fn covers(&self, other: &EpkRange) -> bool {
        self.min <= other.min && other.max <= self.max
    }

    /// Says whether some key is in both ranges.
    pub fn overlaps(&self, other: &EpkRange) -> bool {
        self.min < other.max && other.min < self.max
    }

    /// Returns the range of the keys in both, if there are any.
    pub fn intersect(&self, other: &EpkRange) -> Option<EpkRange> {
        let min = cmp::max(&self.min, &other.min);
        let max = cmp::min(&self.max, &other.max);
        EpkRange::new(min.clone(), max.clone())
    }

    /// Returns the part of the other range that lies in this one, if any does: the other range itself if all of it does.
    pub fn part_of<'a>(&self, other: &'a EpkRange) -> Option<Cow<'a, EpkRange>> {
        if self.covers(other) {
            return Some(Cow::Borrowed(other));
        }
        self.intersect(other).map(Cow::Owned)
    }

    /// Cuts the range in two at a key strictly inside it.
    pub fn split_at(&self, epk: &Epk) -> Option<[EpkRange; 2]> {
        let left = EpkRange::new(self.min.clone(), epk.clone())?;
        let right = EpkRange::new(epk.clone(), self.max.clone())?;
        Some([left, right])
    }
}

impl fmt::Display for EpkRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: &str, max: &str) -> EpkRange {
        EpkRange::new(Epk::parse(min).unwrap(), Epk::parse(max).unwrap()).unwrap()
    }

    #[test]
    fn a_range_is_never_empty() {
        let key = Epk::parse("1F").unwrap();
        assert_eq!(EpkRange::new(key.clone(), key.clone()), None);
        assert_eq!(EpkRange::new(Epk::max(), Epk::MIN), None);
        assert!(EpkRange::point(key.clone()).contains(&key));
        assert!(EpkRange::point(Epk::MIN).contains(&Epk::MIN));
    }

    #[test]
    fn neighbours_do_not_overlap() {
        let (left, right) = (range("", "1F"), range("1F", "FF"));
        assert!(!left.overlaps(&right));
        assert_eq!(left.intersect(&right), None);
        assert!(left.overlaps(&EpkRange::full()));
        assert_eq!(EpkRange::full().intersect(&right), Some(right.clone()));
        assert!(matches!(EpkRange::full().part_of(&left), Some(Cow::Borrowed(_))));
        assert_eq!(left.part_of(&EpkRange::full()), Some(Cow::Owned(left.clone())));
        assert_eq!(left.part_of(&right), None);
        assert_eq!(EpkRange::full().split_at(right.min()), Some([left.clone(), right]));
        assert_eq!(left.split_at(left.min()), None);
        assert_eq!(left.split_at(left.max()), None);
        assert_eq!(left.to_string(), "[, 1F)");
    }
}
