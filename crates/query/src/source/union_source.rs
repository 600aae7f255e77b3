//! The union of several sources: the ranges of a container, merged by item number, for a query that the client does not
//! merge itself.
//!
//! Item numbers are unique over all sources, so that scans and index entries merge by number and a position means the
//! same whatever the ranges are. Operators that need all items may take the sources one by one, in parallel.

use std::cell::RefCell;
use std::cmp::Ordering;

use crate::error::Result;
use crate::index::{Declared, IndexPath, TermSpan};
use crate::source::source_hint::SourceHint;
use crate::source::{
    Direction, Entries, IndexEntry, ItemIndex, ItemSource, Numbers, Parts, SourceItem,
};

/// Limit: sources that are read at once.
pub const DEGREE_MAX: usize = 16;

/// Sources that are queried as one.
#[derive(Debug)]
pub struct UnionSource<S> {
    sources: Vec<S>,
    degree: usize,
    places: RefCell<SourceHint>,
}

impl<S: ItemSource + Sync> UnionSource<S> {
    /// Merges sources; operators read up to `degree` of them at once.
    pub fn new(sources: Vec<S>, degree: usize) -> UnionSource<S> {
        let degree = degree.clamp(1, DEGREE_MAX);
        UnionSource { sources, degree, places: RefCell::default() }
    }

    /// The indexes of all sources: queries ask for them only where no source lacks one.
    fn indexes(&self) -> impl Iterator<Item = &dyn ItemIndex> {
        self.sources.iter().filter_map(ItemSource::index)
    }
}

type Items<'s, T> = Box<dyn Iterator<Item = Result<T>> + 's>;

/// Sorted lists that are merged; errors come at once.
struct Merged<'s, T, F> {
    lists: Vec<Items<'s, T>>,
    order: F,
    /// The heads of lists, with the places of these, the next one last.
    heads: Vec<(usize, T)>,
    /// The places of lists whose heads are not known. A list is not asked for more than is wanted.
    unknown: Vec<usize>,
}

impl<'s, T, F: Fn(&T, &T) -> Ordering> Merged<'s, T, F> {
    fn new(lists: Vec<Items<'s, T>>, order: F) -> Merged<'s, T, F> {
        let n_lists = lists.len();
        let unknown = (0..n_lists).rev().collect();
        Merged { lists, order, heads: Vec::with_capacity(n_lists), unknown }
    }

    /// Puts the head of a list where it belongs; of equal ones that of the first list comes first.
    fn insert(&mut self, place: usize, head: T) {
        let order = &self.order;
        let is_later =
            |(other, own): &(usize, T)| order(own, &head).then(other.cmp(&place)).is_gt();
        let at = self.heads.partition_point(is_later);
        self.heads.insert(at, (place, head));
    }
}

impl<T, F: Fn(&T, &T) -> Ordering> Iterator for Merged<'_, T, F> {
    /// What is next, and the place of the list that had it.
    type Item = Result<(usize, T)>;

    fn next(&mut self) -> Option<Result<(usize, T)>> {
        while let Some(place) = self.unknown.pop() {
            match self.lists.get_mut(place)?.next() {
                None => {}
                Some(Ok(head)) => self.insert(place, head),
                Some(Err(error)) => {
                    self.unknown.push(place);
                    return Some(Err(error));
                }
            }
        }
        let (place, head) = self.heads.pop()?;
        self.unknown.push(place);
        Some(Ok((place, head)))
    }
}

fn merge<'s, T: 's>(
    lists: Vec<Items<'s, T>>,
    order: impl Fn(&T, &T) -> Ordering + 's,
) -> Items<'s, T> {
    Box::new(Merged::new(lists, order).map(|next| next.map(|(_, next)| next)))
}

/// Turns an order around for what is read backward.
fn directed(direction: Direction, order: Ordering) -> Ordering {
    match direction {
        Direction::Forward => order,
        Direction::Backward => order.reverse(),
    }
}

impl<S: ItemSource + Sync> ItemSource for UnionSource<S> {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem>> + '_> {
        let lists = self.sources.iter().map(|source| source.scan(after)).collect();
        merge(lists, |left, right| left.number.cmp(&right.number))
    }

    fn index(&self) -> Option<&dyn ItemIndex> {
        let is_indexed = self.sources.iter().all(|source| source.index().is_some());
        is_indexed.then_some(self)
    }

    fn shared(&self) -> Option<&(dyn ItemSource + Sync)> {
        // Where the last items were found is noted by one thread; the parts are for several.
        None
    }

    fn parts(&self) -> Option<Parts<'_>> {
        let sources = self.sources.iter().map(|source| source as &(dyn ItemSource + Sync));
        Some(Parts { sources: sources.collect(), degree: self.degree })
    }
}

impl<S: ItemSource + Sync> ItemIndex for UnionSource<S> {
    fn covers(&self, path: &IndexPath) -> bool {
        self.indexes().all(|index| index.covers(path))
    }

    fn declared(&self) -> Vec<(&str, &Declared)> {
        let mut lists = self.indexes().map(ItemIndex::declared);
        let mut common = lists.next().unwrap_or_default();
        for list in lists {
            common.retain(|(name, _)| list.iter().any(|(own, _)| own == name));
        }
        common
    }

    fn seek_in(
        &self,
        name: &str,
        span: &TermSpan,
        after: Option<(&[u8], u64)>,
        direction: Direction,
    ) -> Entries<'_> {
        let lists = self.indexes().map(|index| index.seek_in(name, span, after, direction));
        let entries = Merged::new(lists.collect(), move |left: &IndexEntry, right: &IndexEntry| {
            directed(direction, left.term.cmp(&right.term).then(left.number.cmp(&right.number)))
        });
        Box::new(entries.map(move |next| {
            let (place, entry) = next?;
            self.places.borrow_mut().note(entry.number, place);
            Ok(entry)
        }))
    }

    fn fetch(&self, number: u64) -> Result<Option<SourceItem>> {
        let likely = self.places.borrow().likely(number);
        if let Some(index) = likely.and_then(|likely| self.sources.get(likely)?.index())
            && let Some(item) = index.fetch(number)?
        {
            return Ok(Some(item));
        }
        for (place, index) in self.indexes().enumerate() {
            if Some(place) == likely {
                continue;
            }
            if let Some(item) = index.fetch(number)? {
                self.places.borrow_mut().note(number, place);
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    fn prefetch(&self, numbers: &[u64]) {
        let places = self.places.borrow();
        for (place, index) in self.indexes().enumerate() {
            let own: Vec<u64> =
                numbers.iter().copied().filter(|it| places.likely(*it) == Some(place)).collect();
            if !own.is_empty() {
                index.prefetch(&own);
            }
        }
    }

    fn without(
        &self,
        path: &IndexPath,
        after: Option<u64>,
        direction: Direction,
    ) -> Option<Numbers<'_>> {
        let lists = self.indexes().map(|index| index.without(path, after, direction));
        let lists = lists.collect::<Option<Vec<_>>>()?;
        Some(merge(lists, move |left: &u64, right: &u64| directed(direction, left.cmp(right))))
    }

    fn each_packed(&self, name: &str, visit: &mut dyn FnMut(u64, &[u8]) -> bool) -> Result<()> {
        let mut goes_on = true;
        for index in self.indexes() {
            if goes_on {
                index.each_packed(name, &mut |number, packed| {
                    goes_on = visit(number, packed);
                    goes_on
                })?;
            }
        }
        Ok(())
    }

    fn n_items(&self) -> Option<u64> {
        self.indexes().map(ItemIndex::n_items).sum()
    }

    fn n_indexed(&self) -> Option<u64> {
        self.indexes().map(ItemIndex::n_indexed).sum()
    }

    fn item_bytes(&self) -> u64 {
        self.indexes().map(ItemIndex::item_bytes).max().unwrap_or(0)
    }

    fn is_exact(&self) -> bool {
        self.indexes().all(ItemIndex::is_exact)
    }

    fn counts_exactly(&self) -> bool {
        self.indexes().all(ItemIndex::counts_exactly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn lists_merge_in_order_and_are_asked_for_no_more_than_is_wanted() {
        let n_asked = std::cell::Cell::new(0);
        let list = |numbers: &'static [u64]| -> Items<'_, u64> {
            Box::new(numbers.iter().map(|number| {
                n_asked.set(n_asked.get() + 1);
                if *number == 0 { Err(Error::Timeout) } else { Ok(*number) }
            }))
        };
        let lists = vec![list(&[2, 5, 9]), list(&[]), list(&[1, 5, 6]), list(&[4])];
        let mut merged = Merged::new(lists, u64::cmp);
        let mut next = || merged.next().map(Result::unwrap);
        assert_eq!(next(), Some((2, 1)));
        assert_eq!(n_asked.get(), 3);
        assert_eq!([next(), next()], [Some((0, 2)), Some((3, 4))]);
        assert_eq!([next(), next()], [Some((0, 5)), Some((2, 5))], "the first list comes first");
        assert_eq!([next(), next(), next()], [Some((2, 6)), Some((0, 9)), None]);

        let lists = vec![list(&[7, 8]), list(&[3, 0, 9]), list(&[0])];
        let merged: Vec<Option<u64>> = merge(lists, u64::cmp).map(Result::ok).collect();
        assert_eq!(merged, [None, Some(3), None, Some(7), Some(8), Some(9)]);
        let back = merge(vec![list(&[8, 7]), list(&[9, 3])], |left, right| right.cmp(left));
        assert_eq!(back.map(Result::unwrap).collect::<Vec<_>>(), [9, 8, 7, 3]);
    }
}
