//! Queries that return rows as items come: one pass, resumed by item number.
//!
//! Hot path: one item at a time. An item that is returned whole is never more than text.

use super::page::{Page, PageBuilder, PageRequest};
use crate::bind::tree::{Base, ITEM_LEVEL, Query};
use crate::context::{Context, Run};
use crate::continuation::Position;
use crate::error::{Error, Result};
use crate::eval::{Flow, Frame, each_row};
use crate::plan::{Need, Reads, access};
use crate::source::{ItemSource, SourceItem};

pub(super) fn page(
    query: &Query,
    context: &Context,
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
    let mut stream = Stream {
        query,
        reads: Reads::of(query),
        start,
        passed,
        builder: PageBuilder::new(context, request),
    };
    let run = Run::of(context, request);
    let next = match query.base {
        Base::Nothing => stream.without_items(&run)?,
        Base::Item | Base::Rows(..) => stream.items(source, &run)?,
    };
    Ok(stream.builder.finish(next.as_ref()))
}

struct Stream<'q> {
    query: &'q Query,
    reads: Reads,
    /// The item where the page before ended, and the rows of it that were done.
    start: Option<(u64, Option<u64>)>,
    passed: u64,
    builder: PageBuilder<'q>,
}

impl Stream<'_> {
    /// Returns whether TOP or LIMIT is reached.
    fn is_done(&self) -> bool {
        self.query.take.is_some_and(|take| self.passed >= self.query.offset.saturating_add(take))
    }

    fn without_items(&mut self, run: &Run<'_>) -> Result<Option<Position>> {
        if self.start.is_none() && !self.is_done() {
            let nothing = SourceItem::new(0, model::Value::Null, 0);
            self.item_rows(&Frame::EMPTY, &nothing, run)?;
        }
        Ok(None)
    }

    fn items(&mut self, source: &dyn ItemSource, run: &Run<'_>) -> Result<Option<Position>> {
        if self.is_done() {
            return Ok(None);
        }
        let after = match self.start {
            None => None,
            Some((number, None)) => Some(number),
            Some((number, Some(_))) => number.checked_sub(1),
        };
        let mut last = self.start;
        let access = access(self.query, source, Need::First)?;
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
            if self.is_done() {
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
        each_row(query, frame, run, &mut |inner| {
            let index = row;
            row += 1;
            let is_replay = self.is_replay(item.number, index);
            if is_replay {
                return Ok(Flow::Continue);
            }
            let Some(row) = self.reads.row(query, inner, item, run)? else {
                return Ok(Flow::Continue);
            };
            if self.passed >= query.offset && !self.builder.push(row) {
                ended_at = Some(index);
                return Ok(Flow::Stop);
            }
            self.passed += 1;
            Ok(if self.is_done() { Flow::Stop } else { Flow::Continue })
        })?;
        Ok(ended_at)
    }
}
