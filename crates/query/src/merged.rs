//! Several sources as one: the ranges of a container for a query that nobody else merges.
//!
//! Item numbers are unique over all sources, so that scans and index entries merge by number and a position means the
//! same whatever the ranges are. Operators that need all items may take the sources one by one, in parallel.

use std::cell::RefCell;
use std::collections::HashMap;
use std::iter::Peekable;

use crate::error::Result;
use crate::index::{Declared, IndexPath, TermSpan};
use crate::source::{Direction, Entries, ItemIndex, ItemSource, Numbers, Parts, SourceItem};

/// Limit: sources that are read at once.
pub const DEGREE_MAX: usize = 16;

/// Numbers of one source are close to each other: their upper bits tell where to look first.
const LOCALITY_BITS: u32 = 40;

/// Sources that are queried as one.
#[derive(Debug)]
pub struct MergedSource<S> {
    sources: Vec<S>,
    degree: usize,
    /// By the upper bits of a number: the source that had the last such item or index entry.
    places: RefCell<HashMap<u64, usize>>,
}

impl<S: ItemSource + Sync> MergedSource<S> {
    /// Merges sources; operators read up to `degree` of them at once.
    pub fn new(sources: Vec<S>, degree: usize) -> MergedSource<S> {
        let degree = degree.clamp(1, DEGREE_MAX);
        MergedSource { sources, degree, places: RefCell::default() }
    }

    /// Notes where the items of a list are, so that they are looked for there first.
    fn placed<'s>(&'s self, list: Entries<'s>, place: usize) -> Entries<'s> {
        let mut noted = None;
        Box::new(list.inspect(move |entry| {
            let Ok(entry) = entry else { return };
            let locality = entry.number >> LOCALITY_BITS;
            if noted.replace(locality) != Some(locality) {
                self.places.borrow_mut().insert(locality, place);
            }
        }))
    }

    /// The indexes of all sources: queries ask for them only where no source lacks one.
    fn indexes(&self) -> impl Iterator<Item = &dyn ItemIndex> {
        self.sources.iter().filter_map(ItemSource::index)
    }
}

type Items<'s, T> = Box<dyn Iterator<Item = Result<T>> + 's>;

/// Merges sorted lists; errors come at once.
fn merge<'s, T: 's>(
    lists: Vec<Items<'s, T>>,
    is_before: impl Fn(&T, &T) -> bool + 's,
) -> Items<'s, T> {
    let mut lists: Vec<Peekable<Items<'s, T>>> =
        lists.into_iter().map(Iterator::peekable).collect();
    Box::new(std::iter::from_fn(move || {
        let mut best: Option<usize> = None;
        for index in 0..lists.len() {
            let (before, rest) = lists.split_at_mut_checked(index)?;
            let head = match rest.first_mut()?.peek() {
                None => continue,
                Some(Err(_)) => return rest.first_mut()?.next(),
                Some(Ok(head)) => head,
            };
            let is_best = match best.and_then(|best| before.get_mut(best)?.peek()) {
                Some(Ok(own)) => is_before(head, own),
                Some(Err(_)) | None => true,
            };
            if is_best {
                best = Some(index);
            }
        }
        lists.get_mut(best?)?.next()
    }))
}

impl<S: ItemSource + Sync> ItemSource for MergedSource<S> {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem>> + '_> {
        let lists = self.sources.iter().map(|source| source.scan(after)).collect();
        merge(lists, |left, right| left.number < right.number)
    }

    fn index(&self) -> Option<&dyn ItemIndex> {
        let is_indexed = self.sources.iter().all(|source| source.index().is_some());
        is_indexed.then_some(self)
    }

    fn parts(&self) -> Option<Parts<'_>> {
        let sources = self.sources.iter().map(|source| source as &(dyn ItemSource + Sync));
        Some(Parts { sources: sources.collect(), degree: self.degree })
    }
}

impl<S: ItemSource + Sync> ItemIndex for MergedSource<S> {
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
        let lists = self
            .indexes()
            .enumerate()
            .map(|(place, index)| self.placed(index.seek_in(name, span, after, direction), place));
        merge(lists.collect(), move |left, right| {
            let order = left.term.cmp(&right.term).then(left.number.cmp(&right.number));
            match direction {
                Direction::Forward => order.is_lt(),
                Direction::Backward => order.is_gt(),
            }
        })
    }

    fn fetch(&self, number: u64) -> Result<Option<SourceItem>> {
        let locality = number >> LOCALITY_BITS;
        let likely = self.places.borrow().get(&locality).copied();
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
                self.places.borrow_mut().insert(locality, place);
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    fn without(
        &self,
        path: &IndexPath,
        after: Option<u64>,
        direction: Direction,
    ) -> Option<Numbers<'_>> {
        let lists = self.indexes().map(|index| index.without(path, after, direction));
        let lists = lists.collect::<Option<Vec<_>>>()?;
        Some(merge(lists, move |left, right| match direction {
            Direction::Forward => left < right,
            Direction::Backward => left > right,
        }))
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

    fn is_exact(&self) -> bool {
        self.indexes().all(ItemIndex::is_exact)
    }

    fn counts_exactly(&self) -> bool {
        self.indexes().all(ItemIndex::counts_exactly)
    }
}
