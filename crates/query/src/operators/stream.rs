//! Queries that return rows as items come: one pass, resumed by item number.
//!
//! Hot path: one item at a time. An item that is returned whole is never more than text.

use super::page::{Page, PageBuilder, PageRequest};
use crate::bind::tree::{Expr, ITEM_LEVEL, Query};
use crate::context::{Context, Run};
use crate::error::{Error, Result};
use crate::eval::{Flow, Frame, each_row_where};
use crate::memory::Held;
use crate::paging::continuation::Position;
use crate::plan::{Access, Reads};
use crate::source::{ItemSource, SourceItem};

pub(super) fn page(
    query: &Query,
    context: &Context,
    access: Option<&Access>,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
    position: Option<&Position>,
) -> Result<Page> {
    let (start, passed) = match position {
        None => (None, 0),
        Some(Position::Item { number, rows, passed }) => (Some((*number, *rows)), *passed),
        Some(Position::Sorted { .. } | Position::Ranked { .. } | Position::Near { .. }) => {
            return Err(Error::Continuation);
        }
    };
    let builder = PageBuilder::new(context, request);
    if is_done(query, passed) {
        return Ok(builder.finish(None));
    }
    let filter = match access {
        None => query.filter.as_ref(),
        Some(access) => access.filter_left(query),
    };
    let reads = Reads::of(query, filter);
    let run = Run::of(context, request);
    let held = run.held();
    let mut stream = Stream { query, filter, reads, start, passed, builder, held };
    let next = match access {
        None => stream.without_items(&run)?,
        Some(access) => stream.items(access, source, &run)?,
    };
    Ok(stream.builder.finish(next.as_ref()))
}

/// Returns whether TOP or LIMIT is reached.
fn is_done(query: &Query, passed: u64) -> bool {
    query.take.is_some_and(|take| passed >= query.offset.saturating_add(take))
}

struct Stream<'q> {
    query: &'q Query,
    /// What is still to be checked on each item.
    filter: Option<&'q Expr>,
    reads: Reads,
    /// The item where the page before ended, and the rows of it that were done.
    start: Option<(u64, Option<u64>)>,
    passed: u64,
    builder: PageBuilder<'q>,
    held: Held<'q>,
}

impl Stream<'_> {
    fn without_items(&mut self, run: &Run<'_>) -> Result<Option<Position>> {
        if self.start.is_none() {
            let nothing = SourceItem::new(0, model::Value::Null, 0);
            self.item_rows(&Frame::EMPTY, &nothing, run)?;
        }
        Ok(None)
    }

    fn items(
        &mut self,
        access: &Access,
        source: &dyn ItemSource,
        run: &Run<'_>,
    ) -> Result<Option<Position>> {
        let after = match self.start {
            None => None,
            Some((number, None)) => Some(number),
            Some((number, Some(_))) => number.checked_sub(1),
        };
        let mut last = self.start;
        for item in access.items(source, after) {
            let item = item?;
            // Late only counts after an item that earlier pages did not see, or no page would get ahead.
            if self.builder.is_full() || (last != self.start && self.builder.is_late()) {
                let (number, rows) = last.unwrap_or_default();
                return Ok(Some(Position::Item { number, rows, passed: self.passed }));
            }
            self.builder.metrics.read(item.bytes);
            run.next_item()?;
            let value = item.read(&self.reads.picks)?;
            let ended_at = self.item_rows(&Frame::root(ITEM_LEVEL, &value), &item, run)?;
            if is_done(self.query, self.passed) {
                return Ok(None);
            }
            if let Some(rows) = ended_at {
                let (number, rows) = if rows == 0 {
                    // Nothing of this item was returned: the next page starts with it.
                    last.unwrap_or((item.number, Some(0)))
                } else {
                    (item.number, Some(rows))
                };
                return Ok(Some(Position::Item { number, rows, passed: self.passed }));
            }
            if !self.is_replay(item.number, u64::MAX) {
                last = Some((item.number, None));
            }
        }
        Ok(None)
    }

    /// Returns whether a row belongs to the pages before.
    fn is_replay(&self, number: u64, row: u64) -> bool {
        self.start.is_some_and(|(last, rows)| {
            number < last || (number == last && rows.is_none_or(|rows| row < rows))
        })
    }

    /// Adds the rows of one item. Returns the number of rows done when the page ended within the item.
    fn item_rows(
        &mut self,
        frame: &Frame<'_>,
        item: &SourceItem,
        run: &Run<'_>,
    ) -> Result<Option<u64>> {
        let mut row = 0;
        let mut ended_at = None;
        let query = self.query;
        each_row_where(query, self.filter, frame, run, &mut |inner| {
            let index = row;
            row += 1;
            let is_replay = self.is_replay(item.number, index);
            if is_replay {
                return Ok(Flow::Continue);
            }
            let before = run.built();
            let Some(row) = self.reads.row(query, inner, item, run)? else {
                return Ok(Flow::Continue);
            };
            // What stays of a row is held by the page.
            self.held.grow(row.heap_bytes())?;
            run.settle(before, 0);
            if self.passed >= query.offset && !self.builder.push(row) {
                ended_at = Some(index);
                return Ok(Flow::Stop);
            }
            self.passed += 1;
            Ok(if is_done(query, self.passed) { Flow::Stop } else { Flow::Continue })
        })?;
        Ok(ended_at)
    }
}
