//! The seam to the data: where items come from, and what an index of them offers.

pub(crate) mod item;
pub(crate) mod metered_source;
pub(crate) mod prefetch;
mod source_hint;
pub(crate) mod union_source;

use bytes::Bytes;
use model::Failure;

use crate::error::Error;
use crate::index::{Declared, IndexPath, TermSpan};
pub use item::{SourceItem, StoredItem, System};

/// One entry of an index.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct IndexEntry {
    /// The bytes of the term.
    pub term: Bytes,
    /// The item that has it.
    pub number: u64,
}

/// Which way entries are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// Terms and numbers ascend.
    Forward,
    /// Terms and numbers descend.
    Backward,
}

/// Item numbers in order.
pub type Numbers<'s> = Box<dyn Iterator<Item = Result<u64, Error>> + 's>;

/// A set of items to query: a range, a logical partition, or several ranges merged.
pub trait ItemSource {
    /// Returns the items with numbers above `after`, by ascending number.
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem, Error>> + '_>;

    /// Returns the index of the items, if there is one.
    fn index(&self) -> Option<&dyn ItemIndex>;

    /// Returns the source for several threads at once, if it can serve them.
    fn shared(&self) -> Option<&(dyn ItemSource + Sync)>;

    /// Returns the sources that this one merges, if it does.
    fn parts(&self) -> Option<Parts<'_>>;
}

/// The sources that a source merges.
pub struct Parts<'s> {
    /// Each item is in one of them.
    pub sources: Vec<&'s (dyn ItemSource + Sync)>,
    /// How many may be read at once.
    pub degree: usize,
}

impl std::fmt::Debug for Parts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} parts, {} at once", self.sources.len(), self.degree)
    }
}

/// Entries of an index in order.
pub type Entries<'s> = Box<dyn Iterator<Item = Result<IndexEntry, Error>> + 's>;

/// The indexes over the items of a source, and perhaps over others: [`ItemIndex::fetch`] tells them apart.
///
/// Invariant: entries and items are of one moment. An item that an entry leads to has the value that the term stands for.
pub trait ItemIndex {
    /// Returns whether every value at the path of every item of the source has its term in the index.
    fn covers(&self, path: &IndexPath) -> bool;

    /// Returns the declared indexes that have the terms of every item of the source.
    fn declared(&self) -> Vec<(&str, &Declared)>;

    /// Returns the entries of a span at a path or in a declared index, by term and number, that come after `after`
    /// in the direction.
    fn seek_in(
        &self,
        name: &str,
        span: &TermSpan,
        after: Option<(&[u8], u64)>,
        direction: Direction,
    ) -> Entries<'_>;

    /// Returns the entries of a span at a path.
    fn seek(
        &self,
        path: &IndexPath,
        span: &TermSpan,
        after: Option<(&[u8], u64)>,
        direction: Direction,
    ) -> Entries<'_> {
        self.seek_in(&path.to_string(), span, after, direction)
    }

    /// Returns an item of the source; `None` when the source has no such item.
    ///
    /// # Errors
    /// The store cannot be read.
    fn fetch(&self, number: u64) -> Result<Option<SourceItem>, Error>;

    /// Tells which items will be fetched next. Who is told early can get several in the time of one.
    fn prefetch(&self, numbers: &[u64]);

    /// Returns, after `after` in the direction, the items that have no value at the path, and perhaps some that have.
    /// `None` when the index cannot find them.
    fn without(
        &self,
        path: &IndexPath,
        after: Option<u64>,
        direction: Direction,
    ) -> Option<Numbers<'_>>;

    /// Visits number and packed vector of each entry of a declared vector index, until `visit` says no.
    ///
    /// # Errors
    /// The store cannot be read.
    fn each_packed(
        &self,
        name: &str,
        visit: &mut dyn FnMut(u64, &[u8]) -> bool,
    ) -> Result<(), Error>;

    /// Returns how many items the source has, if that is known at once.
    fn n_items(&self) -> Option<u64>;

    /// Returns how many items the index is about, others than those of the source included, if that is known at once.
    fn n_indexed(&self) -> Option<u64>;

    /// Returns the mean length of the items that the index is about, in bytes.
    fn item_bytes(&self) -> u64;

    /// Returns whether each entry belongs to an item of the source and [`ItemIndex::n_items`] is exact.
    fn is_exact(&self) -> bool;

    /// Returns whether [`ItemIndex::n_items`] is known and exact, whatever the entries are.
    fn counts_exactly(&self) -> bool;
}

impl Error {
    /// Wraps the error of a source, keeping its status.
    pub fn source(failure: &dyn Failure) -> Error {
        Error::Source { status: failure.status(), message: failure.to_string() }
    }
}
