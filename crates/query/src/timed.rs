//! A source with a stopwatch: how long a query looks into the index, and how long it loads items.

use std::cell::Cell;
use std::time::Duration;

use model::Env;

use crate::error::Result;
use crate::index::{Declared, IndexPath, TermSpan};
use crate::source::{Direction, Entries, ItemIndex, ItemSource, Numbers, Parts, SourceItem};

/// Times what a query asks of a source. Parts that are read side by side are not timed.
pub struct TimedSource<'s> {
    source: &'s dyn ItemSource,
    env: &'s Env,
    index: Cell<Duration>,
    load: Cell<Duration>,
}

impl std::fmt::Debug for TimedSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "index {:?}, load {:?}", self.index.get(), self.load.get())
    }
}

impl<'s> TimedSource<'s> {
    /// Starts at zero.
    pub fn new(source: &'s dyn ItemSource, env: &'s Env) -> TimedSource<'s> {
        TimedSource { source, env, index: Cell::default(), load: Cell::default() }
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
        let start = self.env.monotonic();
        let done = work();
        total.set(total.get() + self.env.monotonic().saturating_sub(start));
        done
    }

    /// Times each step of an iterator.
    fn each<'t, T: 't>(
        &'t self,
        total: &'t Cell<Duration>,
        mut list: Box<dyn Iterator<Item = T> + 't>,
    ) -> Box<dyn Iterator<Item = T> + 't> {
        Box::new(std::iter::from_fn(move || self.time(total, || list.next())))
    }
}

impl ItemSource for TimedSource<'_> {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem>> + '_> {
        self.each(&self.load, self.source.scan(after))
    }

    fn index(&self) -> Option<&dyn ItemIndex> {
        self.inner().map(|_| self as &dyn ItemIndex)
    }

    fn parts(&self) -> Option<Parts<'_>> {
        self.source.parts()
    }
}

impl ItemIndex for TimedSource<'_> {
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
        self.each(&self.index, entries)
    }

    fn fetch(&self, number: u64) -> Result<Option<SourceItem>> {
        let Some(index) = self.inner() else { return Ok(None) };
        self.time(&self.load, || index.fetch(number))
    }

    fn without(
        &self,
        path: &IndexPath,
        after: Option<u64>,
        direction: Direction,
    ) -> Option<Numbers<'_>> {
        let index = self.inner()?;
        let numbers = self.time(&self.index, || index.without(path, after, direction))?;
        Some(self.each(&self.index, numbers))
    }

    fn each_packed(&self, name: &str, visit: &mut dyn FnMut(u64, &[u8]) -> bool) -> Result<()> {
        let Some(index) = self.inner() else { return Ok(()) };
        self.time(&self.index, || index.each_packed(name, visit))
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
}
