//! A map from ranges to values: disjoint by construction, searched by halving.

use std::ops::Bound;

use crate::{Error, Range, Result};

/// Disjoint ranges with a value each. Invariant: sorted by low end, no two ranges share a key.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeMap<T, V> {
    // In the order of their keys; `order` gives the place each entry had when the map was made.
    entries: Vec<(Range<T>, V)>,
    order: Vec<usize>,
}

impl<T: Ord + std::fmt::Display, V> RangeMap<T, V> {
    /// Makes a map. Ranges that overlap are refused.
    pub fn new(entries: impl IntoIterator<Item = (Range<T>, V)>) -> Result<RangeMap<T, V>> {
        let mut entries: Vec<_> = entries.into_iter().enumerate().collect();
        entries.sort_by(|(_, (a, _)), (_, (b, _))| a.cmp_low(b));
        for pair in entries.windows(2) {
            let ((_, (first, _)), (_, (second, _))) = (&pair[0], &pair[1]);
            if first.intersects(second) {
                let (first, second) = (first.to_string(), second.to_string());
                return Err(Error::RangesOverlap { first, second });
            }
        }
        let mut order = vec![0; entries.len()];
        for (sorted, (given, _)) in entries.iter().enumerate() {
            order[*given] = sorted;
        }
        Ok(RangeMap { entries: entries.into_iter().map(|(_, it)| it).collect(), order })
    }

    /// Makes a map of all keys: one value below the first cut, one from each cut on.
    ///
    /// # Errors
    /// There must be one value more than cuts, and the cuts must grow.
    pub fn from_cuts(cuts: impl IntoIterator<Item = T>, values: Vec<V>) -> Result<RangeMap<T, V>>
    where
        T: Clone,
    {
        let cuts: Vec<T> = cuts.into_iter().collect();
        if values.len() != cuts.len() + 1 {
            return Err(Error::StateInvalid("a map needs one container more than cuts".to_owned()));
        }
        let lows =
            std::iter::once(Bound::Unbounded).chain(cuts.iter().cloned().map(Bound::Included));
        let highs =
            cuts.iter().cloned().map(Bound::Excluded).chain(std::iter::once(Bound::Unbounded));
        let ranges = lows.zip(highs).map(|(low, high)| Range::from_bounds(low, high));
        let entries = ranges.zip(values).map(|(range, value)| range.map(|it| (it, value)));
        RangeMap::new(entries.collect::<Result<Vec<_>>>()?)
    }

    /// Returns the value whose range contains the key.
    pub fn get(&self, key: &T) -> Option<&V> {
        let above = self.entries.partition_point(|(range, _)| match range.low() {
            Bound::Unbounded => true,
            Bound::Included(low) => low <= key,
            Bound::Excluded(low) => low < key,
        });
        let (range, value) = self.entries.get(above.checked_sub(1)?)?;
        range.contains(key).then_some(value)
    }

    /// Returns the entries, in the order given, whose ranges share a key with `range`.
    pub fn intersecting<'a>(&'a self, range: &'a Range<T>) -> impl Iterator<Item = &'a V> {
        self.iter().filter(|(it, _)| it.intersects(range)).map(|(_, value)| value)
    }

    /// Returns the entries in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (&Range<T>, &V)> {
        self.order.iter().map(|index| &self.entries[*index]).map(|(range, value)| (range, value))
    }

    /// Returns whether every key has a value: the ranges join up without a gap, open at both ends.
    pub fn is_total(&self) -> bool {
        let (Some((first, _)), Some((last, _))) = (self.entries.first(), self.entries.last())
        else {
            return false;
        };
        first.low() == Bound::Unbounded
            && last.high() == Bound::Unbounded
            && self.entries.windows(2).all(|pair| pair[0].0.adjoins(&pair[1].0))
    }

    /// Returns the number of ranges.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no ranges.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_refused_wherever_it_stands() {
        let entries = [(0, 50, 'a'), (60, 100, 'b'), (25, 30, 'c')];
        let map = RangeMap::new(entries.map(|(low, high, v)| (Range::new(low, high).unwrap(), v)));
        assert!(matches!(map, Err(Error::RangesOverlap { .. })));
    }

    #[test]
    fn cuts_make_a_total_map() {
        let map = RangeMap::from_cuts([10, 20], vec!['a', 'b', 'c']).unwrap();
        assert!(map.is_total());
        for (key, value) in [(-5, 'a'), (9, 'a'), (10, 'b'), (19, 'b'), (20, 'c'), (1000, 'c')] {
            assert_eq!(map.get(&key), Some(&value), "{key}");
        }
        assert!(RangeMap::from_cuts([20, 10], vec!['a', 'b', 'c']).is_err());
        assert!(RangeMap::from_cuts([10], vec!['a']).is_err());
    }

    #[test]
    fn reads_keep_the_order_of_the_map() {
        let entries = [(Range::new(10, 19).unwrap(), 'b'), (Range::new(0, 9).unwrap(), 'a')];
        let map = RangeMap::new(entries).unwrap();
        let found: Vec<_> = map.intersecting(&Range::all()).copied().collect();
        assert_eq!(found, ['b', 'a']);
        assert_eq!(map.get(&25), None);
        assert!(!map.is_total());
    }
}
