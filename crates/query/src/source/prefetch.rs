//! Read-ahead and prefetch: reads index entries a few at a time and prefetches their items, so that cache misses overlap.

use std::vec::IntoIter;

use crate::error::Result;
use crate::source::{Entries, IndexEntry, ItemIndex, SourceItem};

/// Items that are prefetched at a time. More would be evicted from the processor's cache before they are read.
const PREFETCH_ITEMS: usize = 16;

/// Fetches items by number.
pub(crate) fn fetched<'s>(
    index: &'s dyn ItemIndex,
    numbers: &'s [u64],
) -> impl Iterator<Item = Result<SourceItem>> + 's {
    numbers.chunks(PREFETCH_ITEMS).flat_map(move |chunk| {
        prefetch(index, chunk);
        chunk.iter().filter_map(move |number| index.fetch(*number).transpose())
    })
}

fn prefetch(index: &dyn ItemIndex, numbers: &[u64]) {
    // To prefetch one right before it is fetched is of no use.
    if numbers.len() > 1 {
        index.prefetch(numbers);
    }
}

/// Entries whose items will be fetched one by one.
pub(crate) struct Prefetched<'s> {
    index: &'s dyn ItemIndex,
    entries: Entries<'s>,
    /// How many are read at a time.
    n: usize,
    ahead: IntoIter<Result<IndexEntry>>,
}

impl<'s> Prefetched<'s> {
    /// `n_wanted` items are enough, as far as that can be said.
    pub(crate) fn new(
        index: &'s dyn ItemIndex,
        entries: Entries<'s>,
        n_wanted: u64,
    ) -> Prefetched<'s> {
        let n = usize::try_from(n_wanted).unwrap_or(PREFETCH_ITEMS).clamp(1, PREFETCH_ITEMS);
        Prefetched { index, entries, n, ahead: Vec::new().into_iter() }
    }
}

impl Iterator for Prefetched<'_> {
    type Item = Result<IndexEntry>;

    fn next(&mut self) -> Option<Result<IndexEntry>> {
        if self.ahead.len() == 0 {
            let mut ahead = Vec::with_capacity(self.n);
            let mut numbers = [0; PREFETCH_ITEMS];
            let mut n_numbers = 0;
            for (entry, number) in self.entries.by_ref().zip(&mut numbers).take(self.n) {
                let is_over = entry.as_ref().map(|entry| *number = entry.number).is_err();
                ahead.push(entry);
                // Nothing is read beyond an error.
                if is_over {
                    break;
                }
                n_numbers += 1;
            }
            prefetch(self.index, numbers.get(..n_numbers).unwrap_or_default());
            self.ahead = ahead.into_iter();
        }
        self.ahead.next()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use bytes::Bytes;
    use model::Value;

    use super::*;
    use crate::error::Error;
    use crate::index::{Declared, IndexPath, TermSpan};
    use crate::source::{Direction, Numbers};

    /// Has the items with even numbers, and notes what it is told and asked.
    #[derive(Default)]
    struct Even(RefCell<Vec<String>>);

    impl ItemIndex for Even {
        fn declared(&self) -> Vec<(&str, &Declared)> {
            Vec::new()
        }

        fn n_items(&self) -> Option<u64> {
            None
        }

        fn n_indexed(&self) -> Option<u64> {
            None
        }

        fn item_bytes(&self) -> u64 {
            0
        }

        fn is_exact(&self) -> bool {
            false
        }

        fn counts_exactly(&self) -> bool {
            false
        }

        fn covers(&self, _path: &IndexPath) -> bool {
            true
        }

        fn seek_in(
            &self,
            _name: &str,
            _span: &TermSpan,
            _after: Option<(&[u8], u64)>,
            _direction: Direction,
        ) -> Entries<'_> {
            Box::new(std::iter::empty())
        }

        fn fetch(&self, number: u64) -> Result<Option<SourceItem>> {
            self.0.borrow_mut().push(number.to_string());
            Ok(number.is_multiple_of(2).then(|| SourceItem::new(number, Value::Null, 0)))
        }

        fn prefetch(&self, numbers: &[u64]) {
            self.0.borrow_mut().push(format!("{numbers:?}"));
        }

        fn without(
            &self,
            _path: &IndexPath,
            _after: Option<u64>,
            _direction: Direction,
        ) -> Option<Numbers<'_>> {
            None
        }

        fn each_packed(
            &self,
            _name: &str,
            _visit: &mut dyn FnMut(u64, &[u8]) -> bool,
        ) -> Result<()> {
            Ok(())
        }
    }

    fn entry(number: u64) -> IndexEntry {
        IndexEntry { term: Bytes::new(), number }
    }

    #[test]
    fn items_are_announced_before_they_are_fetched() {
        let index = Even::default();
        let numbers: Vec<u64> = (0..40).collect();
        let items = fetched(&index, &numbers).map(|item| item.unwrap().number);
        assert!(items.take(10).eq((0..20).step_by(2)));
        let first: Vec<u64> = (0..16).collect();
        let second: Vec<u64> = (16..32).collect();
        let told = index.0.take();
        assert_eq!(told.first(), Some(&format!("{first:?}")));
        assert_eq!(told.get(17), Some(&format!("{second:?}")));
        assert_eq!(told.len(), 2 + 19, "and no more is fetched than is wanted");
    }

    #[test]
    fn entries_come_as_they_are_and_few_are_read_ahead() {
        let n_read = std::cell::Cell::new(0);
        let index = Even::default();
        let counted = |number| {
            n_read.set(n_read.get() + 1);
            Ok(entry(number))
        };
        let mut entries = Prefetched::new(&index, Box::new((0..9).map(counted)), 4);
        assert_eq!(entries.next(), Some(Ok(entry(0))));
        assert_eq!(n_read.get(), 4);
        assert!(entries.eq((1..9).map(entry).map(Ok)));
        assert_eq!(index.0.take(), ["[0, 1, 2, 3]", "[4, 5, 6, 7]"]);
    }

    #[test]
    fn an_error_comes_in_its_place_and_nothing_is_read_beyond_it() {
        let index = Even::default();
        let [first, second] = [[1, 2], [3, 4]].map(|numbers| numbers.map(entry).map(Ok));
        let list = [first.to_vec(), vec![Err(Error::Timeout)], second.to_vec()].concat();
        let entries = Prefetched::new(&index, Box::new(list.clone().into_iter()), u64::MAX);
        assert!(entries.eq(list));
        assert_eq!(index.0.take(), ["[1, 2]", "[3, 4]"]);
    }
}
