//! A page under construction.

use std::time::Duration;

use crate::context::Context;
use crate::paging::continuation::Position;
use crate::paging::row::Row;

/// What one page may be.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest<'r> {
    /// Most rows of the page; at least one is returned if there is one.
    pub items_max: usize,
    /// Most bytes of the page; one row may exceed it.
    pub bytes_max: usize,
    /// When to stop reading items, on the clock of `Env::monotonic`. Queries that sort, group or
    /// aggregate need all items: they go on, and fail when that takes far longer.
    pub deadline: Option<Duration>,
    /// Whether the thread may wait for memory that other queries hold; else the page is refused at once.
    pub may_wait: bool,
    /// The continuation of the page before.
    pub continuation: Option<&'r str>,
}

/// One page of rows.
#[derive(Debug)]
pub struct Page {
    /// The rows.
    pub rows: Vec<Row>,
    /// Where the next page starts; `None` at the end.
    pub continuation: Option<String>,
    /// What the page took.
    pub metrics: Metrics,
}

/// What a page took.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Metrics {
    /// Items read from the source.
    pub n_items_read: u64,
    /// Their stored bytes.
    pub bytes_read: u64,
    /// Rows returned.
    pub n_rows: u64,
    /// Estimated bytes of the rows.
    pub row_bytes: u64,
    /// Index entries read in place of their items.
    pub n_entries_read: u64,
    /// Look-ups in the index that the filter and the order ask for.
    pub n_lookups: u64,
    /// Properties that a SELECT list names.
    pub n_properties: u64,
}

impl Metrics {
    /// Adds what another page or part took.
    pub fn add(&mut self, other: &Metrics) {
        self.n_items_read += other.n_items_read;
        self.bytes_read += other.bytes_read;
        self.n_rows += other.n_rows;
        self.row_bytes += other.row_bytes;
        self.n_entries_read += other.n_entries_read;
        self.n_lookups = self.n_lookups.max(other.n_lookups);
        self.n_properties = self.n_properties.max(other.n_properties);
    }

    pub(super) fn read(&mut self, bytes: usize) {
        self.n_items_read += 1;
        self.bytes_read += to_u64(bytes);
    }
}

/// Rows of a small page.
const ROWS_EXPECTED: usize = 16;

/// Collects rows until the page is full.
pub(super) struct PageBuilder<'p> {
    pub(super) context: &'p Context,
    request: &'p PageRequest<'p>,
    rows: Vec<Row>,
    bytes: usize,
    pub(super) metrics: Metrics,
}

impl<'p> PageBuilder<'p> {
    pub(super) fn new(context: &'p Context, request: &'p PageRequest<'p>) -> PageBuilder<'p> {
        let rows = Vec::with_capacity(request.items_max.min(ROWS_EXPECTED));
        PageBuilder { context, request, rows, bytes: 0, metrics: Metrics::default() }
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= self.request.items_max.max(1) || self.bytes >= self.request.bytes_max
    }

    /// Returns whether time is up. Something was read before, so every page makes progress.
    pub(super) fn is_late(&self) -> bool {
        self.metrics.n_items_read > 0
            && self
                .request
                .deadline
                .is_some_and(|deadline| self.context.env.monotonic() >= deadline)
    }

    /// Returns whether a row fits; the first always does.
    pub(super) fn fits(&self, bytes: usize) -> bool {
        self.rows.is_empty()
            || (!self.is_full() && self.bytes.saturating_add(bytes) <= self.request.bytes_max)
    }

    /// Returns whether rows of so many bytes fit together into the page, which is empty.
    pub(super) fn fit_all(&self, rows: impl ExactSizeIterator<Item = usize>) -> bool {
        let n_rows = rows.len();
        n_rows <= 1
            || n_rows <= self.request.items_max
                && rows.fold(0, usize::saturating_add) <= self.request.bytes_max
    }

    /// Adds a row if it fits.
    pub(super) fn push(&mut self, row: impl Into<Row>) -> bool {
        let row = row.into();
        let bytes = row.n_bytes();
        if !self.fits(bytes) {
            return false;
        }
        self.bytes += bytes;
        self.rows.push(row);
        true
    }

    pub(super) fn finish(mut self, position: Option<&Position>) -> Page {
        self.metrics.n_rows = to_u64(self.rows.len());
        self.metrics.row_bytes = to_u64(self.bytes);
        let continuation = position.map(Position::encode);
        Page { rows: self.rows, continuation, metrics: self.metrics }
    }
}

pub(super) fn to_u64(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}
