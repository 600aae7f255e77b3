//! A source with a meter: times index and item reads of a query, and stops it when its work budget is spent.

use std::cell::Cell;
use std::time::Duration;

use model::Env;

use crate::error::{Error, Result};
use crate::index::{Declared, IndexPath, TermSpan};
use crate::source::{Direction, Entries, ItemIndex, ItemSource, Numbers, Parts, SourceItem};

/// Limit: the work budget of a query that runs inline: about a millisecond.
const INLINE_UNITS: u32 = 4096;

/// What an item costs, in entries of an index, and how many of its bytes cost as much as one: what is computed of a long
/// item may take long.
const UNITS_PER_ITEM: u32 = 16;
const BYTES_PER_UNIT: usize = 256;

/// Meters what a query asks of a source. Parts that are read in parallel are not metered.
pub struct MeteredSource<'s> {
    source: &'s dyn ItemSource,
    clock: Option<&'s Env>,
    index: Cell<Duration>,
    load: Cell<Duration>,
    /// What may still be asked for.
    units: Option<Cell<u32>>,
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
        MeteredSource { source, clock: Some(env), index, load, units: None }
    }

    /// Fails with [`Error::Timeout`] when the work budget of an inline run is spent.
    pub(crate) fn budgeted(source: &'s dyn ItemSource) -> MeteredSource<'s> {
        let (index, load) = (Cell::default(), Cell::default());
        MeteredSource { source, clock: None, index, load, units: Some(Cell::new(INLINE_UNITS)) }
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

    fn spend(&self, n_units: u32) -> Result<()> {
        let Some(units) = &self.units else { return Ok(()) };
        units.set(units.get().checked_sub(n_units).ok_or(Error::Timeout)?);
        Ok(())
    }

    /// Watches each step of an iterator.
    fn each<'t, T: 't>(
        &'t self,
        total: &'t Cell<Duration>,
        n_units: fn(&T) -> u32,
        mut list: Box<dyn Iterator<Item = Result<T>> + 't>,
    ) -> Box<dyn Iterator<Item = Result<T>> + 't> {
        Box::new(std::iter::from_fn(move || {
            let next = self.time(total, || list.next())?;
            Some(next.and_then(|next| self.spend(n_units(&next)).map(|()| next)))
        }))
    }
}

fn units_of(item: &SourceItem) -> u32 {
    let of_bytes = u32::try_from(item.bytes / BYTES_PER_UNIT).unwrap_or(u32::MAX);
    UNITS_PER_ITEM.saturating_add(of_bytes)
}

impl ItemSource for MeteredSource<'_> {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem>> + '_> {
        self.each(&self.load, units_of, self.source.scan(after))
    }

    fn index(&self) -> Option<&dyn ItemIndex> {
        self.inner().map(|_| self as &dyn ItemIndex)
    }

    fn parts(&self) -> Option<Parts<'_>> {
        // What is over in a moment needs no other threads.
        if self.units.is_some() { None } else { self.source.parts() }
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
        self.each(&self.index, |_| 1, entries)
    }

    fn fetch(&self, number: u64) -> Result<Option<SourceItem>> {
        let Some(index) = self.inner() else { return Ok(None) };
        let item = self.time(&self.load, || index.fetch(number))?;
        self.spend(item.as_ref().map_or(UNITS_PER_ITEM, units_of))?;
        Ok(item)
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
        Some(self.each(&self.index, |_| 1, numbers))
    }

    fn each_packed(&self, name: &str, visit: &mut dyn FnMut(u64, &[u8]) -> bool) -> Result<()> {
        let Some(index) = self.inner() else { return Ok(()) };
        let mut spent = Ok(());
        self.time(&self.index, || {
            index.each_packed(name, &mut |number, packed| {
                spent = self.spend(UNITS_PER_ITEM);
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

    fn is_exact(&self) -> bool {
        self.inner().is_some_and(ItemIndex::is_exact)
    }

    fn counts_exactly(&self) -> bool {
        self.inner().is_some_and(ItemIndex::counts_exactly)
    }
}
