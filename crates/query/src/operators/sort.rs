//! ORDER BY without an index, and DISTINCT, which orders by the rows themselves: each page is one pass that keeps the
//! next rows in order.
//!
//! Only the rows of the page are held: a row that sorts after a full page is dropped again, because the next
//! page finds it in its own pass.

use std::collections::HashSet;

use model::Value;

use super::page::{Metrics, Page, PageBuilder, PageRequest, to_u64};
use super::{parallel, ranked};
use crate::bind::tree::{ITEM_LEVEL, Query};
use crate::context::{Context, Run};
use crate::error::{Error, Result};
use crate::eval::{Flow, Frame, SEEN_BYTES, each_row, eval};
use crate::memory::Held;
use crate::paging::continuation::Position;
use crate::paging::resume_filter::ResumeFilter;
use crate::paging::row::Row;
use crate::paging::sort_bookmark::{Among, Passing};
use crate::paging::sort_key::{RowPosition, SortKey, SortOrder};
use crate::plan::{Reads, SortInput, all_items};
use crate::source::{ItemSource, SourceItem};
use crate::value::{Datum, digest, key_bytes_max, value_key};

/// Bytes of a row in a list that may be twice as long as its content.
const ENTRY_BYTES: usize = 2 * size_of::<Entry>();

/// Rows beyond the wanted ones that may pile up before they are cut.
const SLACK: usize = 1024;

pub(super) fn page(
    query: &Query,
    context: &Context,
    resume: Option<&ResumeFilter>,
    inputs: &[SortInput],
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
    position: Option<Position>,
) -> Result<Page> {
    let order = SortOrder::new(&query.order);
    if let Some(resume) = resume {
        resume.check(order.n_keys())?;
    }
    let order = order.then_ascending(usize::from(query.distinct));
    let start = Start::new(&order, position)?;
    let end = query.take.map_or(u64::MAX, |take| query.offset.saturating_add(take));
    if start.passed >= end {
        return Ok(PageBuilder::new(context, request).finish(None));
    }
    let n_skipped = start.n_again().saturating_add(query.offset.saturating_sub(start.passed));
    let n_wanted = to_u64(request.items_max.max(1)).min(end - start.passed.max(query.offset));
    let wanted = Wanted {
        query,
        reads: Reads::of(query, query.filter.as_ref()),
        order: &order,
        resume,
        start: &start,
        n_max: usize::try_from(n_skipped.saturating_add(n_wanted)).unwrap_or(usize::MAX),
        // Rows that OFFSET skips must all be known; without them the bytes of a page are enough.
        bytes_max: if n_skipped > 0 { usize::MAX } else { request.bytes_max },
    };
    let mut builder = PageBuilder::new(context, request);
    let window = if let [input] = inputs {
        let run = Run::of(context, request);
        wanted.window(input, source, &mut builder.metrics, &run)?
    } else {
        let windows = parallel::each_planned(source, inputs, |input, part| {
            let mut metrics = Metrics::default();
            let run = Run::of(context, request);
            Ok((wanted.window(input, part, &mut metrics, &run)?, metrics))
        })?;
        let mut window = Window::new(&wanted, &Run::of(context, request));
        for (part, metrics) in windows {
            window.merge(part)?;
            builder.metrics.add(&metrics);
        }
        window
    };
    Ok(window.fill(builder, query, &start))
}

/// What the window of a page is to hold.
pub(super) struct Wanted<'p> {
    pub(super) query: &'p Query,
    reads: Reads,
    order: &'p SortOrder,
    resume: Option<&'p ResumeFilter>,
    start: &'p Start,
    pub(super) n_max: usize,
    bytes_max: usize,
}

impl<'p> Wanted<'p> {
    /// Goes over the input.
    fn window<'m: 'p>(
        &self,
        input: &SortInput,
        source: &dyn ItemSource,
        metrics: &mut Metrics,
        run: &Run<'m>,
    ) -> Result<Window<'p>> {
        let mut window = Window::new(self, run);
        let all;
        let access = match input {
            SortInput::NoItem => {
                self.visit(&SourceItem::new(0, Value::Null, 0), run, &mut window)?;
                return Ok(window);
            }
            SortInput::Items(access) => access,
            SortInput::Best(best) => {
                if let Some(window) = ranked::window(self, best, source, metrics, run)? {
                    return Ok(window);
                }
                all = all_items(self.query, source)?;
                &all
            }
        };
        for item in access.items(source, None) {
            let item = item?;
            metrics.read(item.bytes);
            self.visit(&item, run, &mut window)?;
        }
        Ok(window)
    }

    /// Adds the rows of one item.
    pub(super) fn visit(
        &self,
        item: &SourceItem,
        run: &Run<'_>,
        window: &mut Window<'_>,
    ) -> Result<()> {
        run.next_item()?;
        let value = item.read(&self.reads.picks)?;
        let frame = Frame::root(ITEM_LEVEL, &value);
        let mut row = 0;
        each_row(self.query, &frame, run, &mut |inner| {
            // What stays of a row is held by the window.
            let before = run.built();
            if self.query.distinct {
                self.visit_value(inner, item, run, window)?;
                run.settle(before, 0);
                return Ok(Flow::Continue);
            }
            let keys = sort_keys(self.query, inner, run)?;
            let place = RowPosition { keys, number: item.number, row };
            row += 1;
            let admitted = self.start.admits(self.order, &place)
                && self.resume.is_none_or(|resume| resume.admits(self.order, &place));
            if admitted
                && window.wants(&place)
                && let Some(row) = self.reads.row(self.query, inner, item, run)?
            {
                window.push(place, row)?;
            }
            run.settle(before, 0);
            Ok(Flow::Continue)
        })?;
        Ok(())
    }

    /// Adds a row of DISTINCT. It stands where its value puts it, whatever item it comes from.
    fn visit_value(
        &self,
        frame: &Frame<'_>,
        item: &SourceItem,
        run: &Run<'_>,
        window: &mut Window<'_>,
    ) -> Result<()> {
        if let Some(row) = self.reads.row(self.query, frame, item, run)? {
            run.reserve(row.value_bytes_max())?;
            let row = row.into_value();
            run.reserve(key_bytes_max(&row))?;
            let key = value_key(Some(&row));
            let keys = vec![SortKey::new(Some(&row))];
            let place = RowPosition { keys, number: digest(&key), row: 0 };
            let is_new = self.start.admits(self.order, &place) && !window.seen.contains(&key);
            if is_new && window.wants(&place) {
                window.held.grow(key.len() + SEEN_BYTES)?;
                window.seen.insert(key);
                window.push(place, row.into())?;
            }
        }
        Ok(())
    }
}

/// Computes the keys of a row.
pub(super) fn sort_keys(query: &Query, frame: &Frame<'_>, run: &Run<'_>) -> Result<Vec<SortKey>> {
    let mut keys = Vec::with_capacity(query.order.len());
    for key in &query.order {
        let value = eval(&key.expr, frame, run)?;
        if let Some(Value::String(text)) = value.as_ref().and_then(Datum::value) {
            run.reserve(text.len())?;
        }
        keys.push(SortKey::new(value.as_ref().and_then(Datum::value)));
    }
    Ok(keys)
}

/// Where the page starts.
pub(super) struct Start {
    pub(super) after: After,
    /// Rows returned or skipped by OFFSET on earlier pages.
    pub(super) passed: u64,
}

impl Start {
    pub(super) fn new(order: &SortOrder, position: Option<Position>) -> Result<Start> {
        match position {
            None => Ok(Start { after: After::Nothing, passed: 0 }),
            Some(Position::Sorted { place, passed }) if place.keys.len() == order.n_keys() => {
                Ok(Start { after: After::RowPosition(place), passed })
            }
            Some(Position::Near { among, passed }) if among.mark.keys.len() <= order.n_keys() => {
                Ok(Start { after: After::Among(among), passed })
            }
            Some(
                Position::Sorted { .. }
                | Position::Near { .. }
                | Position::Item { .. }
                | Position::Ranked { .. },
            ) => Err(Error::Continuation),
        }
    }

    pub(super) fn admits(&self, order: &SortOrder, place: &RowPosition) -> bool {
        match &self.after {
            After::Nothing => true,
            After::RowPosition(after) => order.compare(place, after).is_gt(),
            After::Among(among) => among.mark.compare(order, &place.keys).is_ge(),
        }
    }

    /// Returns how many rows that earlier pages returned are admitted again.
    fn n_again(&self) -> u64 {
        match &self.after {
            After::Nothing | After::RowPosition(_) => 0,
            After::Among(among) => among.n_rows,
        }
    }

    /// Returns how many of them [`Start::is_again`] is to count.
    pub(super) fn n_others(&self) -> u64 {
        match &self.after {
            After::Nothing | After::RowPosition(_) => 0,
            After::Among(among) => among.n_others,
        }
    }

    /// Returns whether an earlier page returned a row, the next one in order of those that are admitted.
    pub(super) fn is_again(
        &self,
        order: &SortOrder,
        place: &RowPosition,
        n_others: &mut u64,
    ) -> bool {
        match &self.after {
            After::Nothing | After::RowPosition(_) => false,
            After::Among(among) => among.has_passed(order, place, n_others),
        }
    }
}

/// What the rows of a page come after.
pub(super) enum After {
    Nothing,
    RowPosition(RowPosition),
    /// From the first row that begins so on; some of these are left out.
    Among(Among),
}

/// Returns the rows of one page out of those that the start admits, in order; `is_cut` when there are more of them.
pub(super) fn fill(
    builder: PageBuilder<'_>,
    query: &Query,
    order: &SortOrder,
    start: &Start,
    rows: impl Iterator<Item = (RowPosition, impl Into<Row>)>,
    is_cut: bool,
) -> Page {
    let (builder, last) = fill_rows(builder, query, order, start, rows, is_cut);
    let position = last.map(|(place, passed, passing)| {
        Position::after_sorted(place, passed, &passing, builder.context.keys_bytes_max)
    });
    builder.finish(position.as_ref())
}

/// The last row of a page that is not the last one, with the rows passed so far.
type Last = (RowPosition, u64, Passing);

/// Does what [`fill`] does, and leaves the position to the caller.
pub(super) fn fill_rows<'b>(
    mut builder: PageBuilder<'b>,
    query: &Query,
    order: &SortOrder,
    start: &Start,
    rows: impl Iterator<Item = (RowPosition, impl Into<Row>)>,
    is_cut: bool,
) -> (PageBuilder<'b>, Option<Last>) {
    let end = query.take.map_or(u64::MAX, |take| query.offset.saturating_add(take));
    let (mut n_others, mut passed) = (start.n_others(), start.passed);
    let mut has_more = is_cut;
    let mut passing = Passing::default();
    let mut last = None;
    for (place, row) in rows {
        if !start.is_again(order, &place, &mut n_others) {
            if passed >= query.offset && (passed >= end || !builder.push(row)) {
                has_more = true;
                break;
            }
            passed += 1;
        }
        passing.pass(&place.keys, builder.context.keys_bytes_max);
        last = Some(place);
    }
    let last = last.filter(|_| has_more && passed < end);
    (builder, last.map(|place| (place, passed, passing)))
}

struct Entry {
    place: RowPosition,
    row: Row,
    /// About the length of its text.
    bytes: usize,
    /// Its memory.
    held_bytes: usize,
}

/// The first rows in order, as many as the page can need.
pub(super) struct Window<'o> {
    order: &'o SortOrder,
    entries: Vec<Entry>,
    n_max: usize,
    bytes_max: usize,
    bytes: usize,
    /// Whether a row after the window exists.
    pub(super) dropped: bool,
    /// The keys of the values in the window, for DISTINCT.
    seen: HashSet<Vec<u8>>,
    held: Held<'o>,
}

impl<'o> Window<'o> {
    pub(super) fn new<'m: 'o>(wanted: &Wanted<'o>, run: &Run<'m>) -> Window<'o> {
        Window {
            order: wanted.order,
            entries: Vec::new(),
            n_max: wanted.n_max,
            bytes_max: wanted.bytes_max,
            bytes: 0,
            dropped: false,
            seen: HashSet::new(),
            held: run.held(),
        }
    }

    /// Returns whether no row is missing that could belong to the window but for its place.
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= self.n_max
    }

    /// Returns whether all rows that the page can need come before a place.
    pub(super) fn ends_before(&mut self, place: &RowPosition) -> bool {
        self.cut();
        let last = self.entries.last();
        last.is_none_or(|last| self.order.compare(&last.place, place).is_lt())
    }

    /// Takes in the window of another source.
    fn merge(&mut self, other: Window<'o>) -> Result<()> {
        self.dropped |= other.dropped;
        let is_distinct = !other.seen.is_empty();
        let Window { entries, held, .. } = other;
        self.held.absorb(held);
        for Entry { place, row, held_bytes, .. } in entries {
            // Counted again by the window that it comes to.
            self.held.shrink(held_bytes);
            if !is_distinct || self.seen.insert(row.key()) {
                self.push(place, row)?;
            }
        }
        Ok(())
    }

    /// Returns whether a row may belong to the window. The last entry is its end after a cut.
    fn wants(&mut self, place: &RowPosition) -> bool {
        if self.n_max == 0 {
            self.dropped = true;
            return false;
        }
        let is_full = self.dropped && self.entries.len() >= self.n_max;
        let wanted = !is_full
            || self
                .entries
                .get(self.n_max - 1)
                .is_none_or(|last| self.order.compare(place, &last.place).is_lt());
        self.dropped |= !wanted;
        wanted
    }

    fn push(&mut self, place: RowPosition, row: Row) -> Result<()> {
        let bytes = row.n_bytes() + 64;
        let held_bytes = row.heap_bytes() + place.heap_bytes() + ENTRY_BYTES;
        self.held.grow(held_bytes)?;
        self.bytes += bytes;
        self.entries.push(Entry { place, row, bytes, held_bytes });
        let is_heavy = self.bytes > self.bytes_max.saturating_mul(2);
        if self.entries.len() >= self.n_max.saturating_add(SLACK.max(self.n_max)) || is_heavy {
            self.cut();
        }
        Ok(())
    }

    /// Sorts and drops what the page cannot hold.
    fn cut(&mut self) {
        self.entries.sort_by(|left, right| self.order.compare(&left.place, &right.place));
        let mut bytes = 0_usize;
        let bytes_max = self.bytes_max;
        let n_fit = self.entries.iter().position(|entry| {
            bytes += entry.bytes;
            bytes > bytes_max
        });
        // One row more than fits, so that the page is known to be full.
        let n_kept = n_fit.map_or(usize::MAX, |n_fit| n_fit + 1).min(self.n_max);
        if self.entries.len() > n_kept {
            for Entry { row, held_bytes, .. } in self.entries.drain(n_kept..) {
                self.held.shrink(held_bytes);
                if !self.seen.is_empty() {
                    let key = row.key();
                    self.seen.remove(&key);
                    self.held.shrink(key.len() + SEEN_BYTES);
                }
            }
            self.dropped = true;
        }
        // A window cut by bytes is full at its own length from now on.
        if n_fit.is_some() {
            self.n_max = self.n_max.min(n_kept);
        }
        self.bytes = self.entries.iter().map(|entry| entry.bytes).sum();
    }

    fn fill(mut self, builder: PageBuilder<'_>, query: &Query, start: &Start) -> Page {
        self.cut();
        let rows = self.entries.into_iter().map(|entry| (entry.place, entry.row));
        fill(builder, query, self.order, start, rows, self.dropped)
    }
}
