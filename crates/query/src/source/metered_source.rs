//! A source with a meter: times index and item reads of a query, or bounds how much of the index is looked at.

use std::cell::Cell;
use std::time::Duration;

use model::Env;

use crate::error::{Error, Result};
use crate::index::{Declared, IndexPath, TermSpan};
use crate::source::{Direction, Entries, ItemIndex, ItemSource, Numbers, Parts, SourceItem};

/// Meters what a query asks of a source. Parts that are read in parallel are not metered.
pub struct MeteredSource<'s> {
    source: &'s dyn ItemSource,
    clock: Option<&'s Env>,
    index: Cell<Duration>,
    load: Cell<Duration>,
    /// Entries that may still be read.
    entries_left: Option<Cell<usize>>,
}

impl std::fmt::Debug for MeteredSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "index {:?}, load {:?}", self.index.get(), self.load.get())
    }
}

impl<'s> MeteredSource<'s> {
    /// Times what is asked for.
    pub fn timed(source: &'s dyn ItemSource, env: &'s Env) -> MeteredSource<'s> {
        let (index, load) = (Cell::default(), Cell::default());
        MeteredSource { source, clock: Some(env), index, load, entries_left: None }
    }

    /// Fails with [`Error::Timeout`] when more than so many entries of indexes are read.
    pub(crate) fn bounded(source: &'s dyn ItemSource, entries_max: usize) -> MeteredSource<'s> {
        let (index, load) = (Cell::default(), Cell::default());
        let entries_left = Some(Cell::new(entries_max));
        MeteredSource { source, clock: None, index, load, entries_left }
    }

    /// Returns how long the index was looked into.
    pub fn index_time(&self) -> Duration {
        self.index.get()
    }

    /// Returns how long items were loaded.
    pub fn load_time(&self) -> Duration {
        self.load.get()
    }

    fn inner(&self) -> Option<&'s dyn ItemIndex> {
        self.source.index()
    }

    fn time<T>(&self, total: &Cell<Duration>, work: impl FnOnce() -> T) -> T {
        let Some(env) = self.clock else { return work() };
        let start = env.monotonic();
        let done = work();
        total.set(total.get() + env.monotonic().saturating_sub(start));
        done
    }

    fn spend_entry(&self) -> Result<()> {
        let Some(left) = &self.entries_left else { return Ok(()) };
        left.set(left.get().checked_sub(1).ok_or(Error::Timeout)?);
        Ok(())
    }

    /// Times each step of an iterator.
    fn timed_each<'t, T: 't>(
        &'t self,
        total: &'t Cell<Duration>,
        mut list: Box<dyn Iterator<Item = Result<T>> + 't>,
    ) -> Box<dyn Iterator<Item = Result<T>> + 't> {
        Box::new(std::iter::from_fn(move || self.time(total, || list.next())))
    }

    /// Times and counts each entry of an index.
    fn entries<'t, T: 't>(
        &'t self,
        list: Box<dyn Iterator<Item = Result<T>> + 't>,
    ) -> Box<dyn Iterator<Item = Result<T>> + 't> {
        let list = self.timed_each(&self.index, list);
        Box::new(list.map(|entry| self.spend_entry().and(entry)))
    }
}

impl ItemSource for MeteredSource<'_> {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem>> + '_> {
        self.timed_each(&self.load, self.source.scan(after))
    }

    fn index(&self) -> Option<&dyn ItemIndex> {
        self.inner().map(|_| self as &dyn ItemIndex)
    }

    fn shared(&self) -> Option<&(dyn ItemSource + Sync)> {
        // The meter belongs to one thread.
        None
    }

    fn parts(&self) -> Option<Parts<'_>> {
        self.source.parts()
    }
}

impl ItemIndex for MeteredSource<'_> {
    fn covers(&self, path: &IndexPath) -> bool {
        self.inner().is_some_and(|index| index.covers(path))
    }

    fn declared(&self) -> Vec<(&str, &Declared)> {
        self.inner().map(|index| index.declared()).unwrap_or_default()
    }

    fn seek_in(
        &self,
        name: &str,
        span: &TermSpan,
        after: Option<(&[u8], u64)>,
        direction: Direction,
    ) -> Entries<'_> {
        let Some(index) = self.inner() else { return Box::new(std::iter::empty()) };
        let entries = self.time(&self.index, || index.seek_in(name, span, after, direction));
        self.entries(entries)
    }

    fn fetch(&self, number: u64) -> Result<Option<SourceItem>> {
        let Some(index) = self.inner() else { return Ok(None) };
        self.time(&self.load, || index.fetch(number))
    }

    fn prefetch(&self, numbers: &[u64]) {
        if let Some(index) = self.inner() {
            self.time(&self.load, || index.prefetch(numbers));
        }
    }

    fn without(
        &self,
        path: &IndexPath,
        after: Option<u64>,
        direction: Direction,
    ) -> Option<Numbers<'_>> {
        let index = self.inner()?;
        let numbers = self.time(&self.index, || index.without(path, after, direction))?;
        Some(self.entries(numbers))
    }

    fn each_packed(&self, name: &str, visit: &mut dyn FnMut(u64, &[u8]) -> bool) -> Result<()> {
        let Some(index) = self.inner() else { return Ok(()) };
        let mut spent = Ok(());
        self.time(&self.index, || {
            index.each_packed(name, &mut |number, packed| {
                spent = self.spend_entry();
                spent.is_ok() && visit(number, packed)
            })
        })?;
        spent
    }

    fn n_items(&self) -> Option<u64> {
        self.inner()?.n_items()
    }

    fn n_indexed(&self) -> Option<u64> {
        self.inner()?.n_indexed()
    }

    fn item_bytes(&self) -> u64 {
        self.inner().map_or(0, ItemIndex::item_bytes)
    }

    fn is_exact(&self) -> bool {
        self.inner().is_some_and(ItemIndex::is_exact)
    }

    fn counts_exactly(&self) -> bool {
        self.inner().is_some_and(ItemIndex::counts_exactly)
    }
}
