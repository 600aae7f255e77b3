//! ORDER BY without an index, and DISTINCT, which orders by the rows themselves: each page is one pass that keeps the
//! next rows in order.
//!
//! Only the rows of the page are held: a row that sorts after a full page is dropped again, because the next
//! page finds it in its own pass.

use std::collections::HashSet;

use model::Value;

use super::page::{Metrics, Page, PageBuilder, PageRequest, to_u64};
use super::{parallel, ranked};
use crate::bind::tree::{Base, ITEM_LEVEL, Query};
use crate::context::{Context, Run};
use crate::continuation::Position;
use crate::error::{Error, Result};
use crate::eval::{Flow, Frame, each_row, eval};
use crate::mark::{Among, Passing};
use crate::plan::{Need, Reads, access};
use crate::resume::ResumeFilter;
use crate::row::Row;
use crate::sort_key::{Place, SortKey, SortOrder};
use crate::source::{ItemSource, SourceItem};
use crate::value::{Datum, digest, value_key};

/// Limit: bytes held for one page, rows skipped by OFFSET included.
const SORT_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Rows beyond the wanted ones that may pile up before they are cut.
const SLACK: usize = 1024;

pub(super) fn page(
    query: &Query,
    context: &Context,
    resume: Option<&ResumeFilter>,
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
    let can_part = matches!(query.base, Base::Item) && context.udf_host.is_none();
    let parts = source.parts().filter(|parts| can_part && parts.degree > 1);
    let window = if let Some(parts) = parts {
        let windows = parallel::each_part(&parts.sources, parts.degree, |part| {
            let mut metrics = Metrics::default();
            let run = Run::of(context, request);
            Ok((wanted.window(*part, &mut metrics, &run)?, metrics))
        })?;
        let mut window = Window::new(&wanted);
        for (part, metrics) in windows {
            window.merge(part)?;
            builder.metrics.add(&metrics);
        }
        window
    } else {
        let run = Run::of(context, request);
        wanted.window(source, &mut builder.metrics, &run)?
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
    /// Goes over all items of a source.
    fn window(
        &self,
        source: &dyn ItemSource,
        metrics: &mut Metrics,
        run: &Run<'_>,
    ) -> Result<Window<'p>> {
        let mut window = Window::new(self);
        if matches!(self.query.base, Base::Nothing) {
            self.visit(&SourceItem::new(0, Value::Null, 0), run, &mut window)?;
            return Ok(window);
        }
        if let Some(window) = ranked::window(self, source, metrics, run)? {
            return Ok(window);
        }
        let access = access(self.query, source, Need::All)?;
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
            if self.query.distinct {
                return self.visit_value(inner, item, run, window);
            }
            let keys = sort_keys(self.query, inner, run)?;
            let place = Place { keys, number: item.number, row };
            row += 1;
            let admitted = self.start.admits(self.order, &place)
                && self.resume.is_none_or(|resume| resume.admits(self.order, &place));
            if admitted
                && window.wants(&place)
                && let Some(row) = self.reads.row(self.query, inner, item, run)?
            {
                window.push(place, row)?;
            }
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
    ) -> Result<Flow> {
        if let Some(row) = self.reads.row(self.query, frame, item, run)? {
            let row = row.into_value();
            let key = value_key(Some(&row));
            let keys = vec![SortKey::new(Some(&row))];
            let place = Place { keys, number: digest(&key), row: 0 };
            let is_new = self.start.admits(self.order, &place) && !window.seen.contains(&key);
            if is_new && window.wants(&place) {
                window.seen.insert(key);
                window.push(place, row.into())?;
            }
        }
        Ok(Flow::Continue)
    }
}

/// Computes the keys of a row.
pub(super) fn sort_keys(query: &Query, frame: &Frame<'_>, run: &Run<'_>) -> Result<Vec<SortKey>> {
    let mut keys = Vec::with_capacity(query.order.len());
    for key in &query.order {
        let value = eval(&key.expr, frame, run)?;
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
                Ok(Start { after: After::Place(place), passed })
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

    pub(super) fn admits(&self, order: &SortOrder, place: &Place) -> bool {
        match &self.after {
            After::Nothing => true,
            After::Place(after) => order.compare(place, after).is_gt(),
            After::Among(among) => among.mark.compare(order, &place.keys).is_ge(),
        }
    }

    /// Returns how many rows that earlier pages returned are admitted again.
    fn n_again(&self) -> u64 {
        match &self.after {
            After::Nothing | After::Place(_) => 0,
            After::Among(among) => among.n_rows,
        }
    }

    /// Returns how many of them [`Start::is_again`] is to count.
    pub(super) fn n_others(&self) -> u64 {
        match &self.after {
            After::Nothing | After::Place(_) => 0,
            After::Among(among) => among.n_others,
        }
    }

    /// Returns whether an earlier page returned a row, the next one in order of those that are admitted.
    pub(super) fn is_again(&self, order: &SortOrder, place: &Place, n_others: &mut u64) -> bool {
        match &self.after {
            After::Nothing | After::Place(_) => false,
            After::Among(among) => among.has_passed(order, place, n_others),
        }
    }
}

/// What the rows of a page come after.
pub(super) enum After {
    Nothing,
    Place(Place),
    /// From the first row that begins so on; some of these are left out.
    Among(Among),
}

/// Returns the rows of one page out of those that the start admits, in order; `is_cut` when there are more of them.
pub(super) fn fill(
    builder: PageBuilder<'_>,
    query: &Query,
    order: &SortOrder,
    start: &Start,
    rows: impl Iterator<Item = (Place, impl Into<Row>)>,
    is_cut: bool,
) -> Page {
    let (builder, last) = fill_rows(builder, query, order, start, rows, is_cut);
    let position = last.map(|(place, passed, passing)| {
        Position::after_sorted(place, passed, &passing, builder.context.keys_bytes_max)
    });
    builder.finish(position.as_ref())
}

/// The last row of a page that is not the last one, with the rows passed so far.
type Last = (Place, u64, Passing);

/// Does what [`fill`] does, and leaves the position to the caller.
pub(super) fn fill_rows<'b>(
    mut builder: PageBuilder<'b>,
    query: &Query,
    order: &SortOrder,
    start: &Start,
    rows: impl Iterator<Item = (Place, impl Into<Row>)>,
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
    place: Place,
    row: Row,
    bytes: usize,
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
}

impl<'o> Window<'o> {
    pub(super) fn new(wanted: &Wanted<'o>) -> Window<'o> {
        Window {
            order: wanted.order,
            entries: Vec::new(),
            n_max: wanted.n_max,
            bytes_max: wanted.bytes_max,
            bytes: 0,
            dropped: false,
            seen: HashSet::new(),
        }
    }

    /// Returns whether no row is missing that could belong to the window but for its place.
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= self.n_max
    }

    /// Returns whether all rows that the page can need come before a place.
    pub(super) fn ends_before(&mut self, place: &Place) -> bool {
        self.cut();
        let last = self.entries.last();
        last.is_none_or(|last| self.order.compare(&last.place, place).is_lt())
    }

    /// Takes in the window of another source.
    fn merge(&mut self, other: Window<'_>) -> Result<()> {
        self.dropped |= other.dropped;
        let is_distinct = !other.seen.is_empty();
        for Entry { place, row, .. } in other.entries {
            if !is_distinct || self.seen.insert(row.key()) {
                self.push(place, row)?;
            }
        }
        Ok(())
    }

    /// Returns whether a row may belong to the window. The last entry is its end after a cut.
    fn wants(&mut self, place: &Place) -> bool {
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

    fn push(&mut self, place: Place, row: Row) -> Result<()> {
        let bytes = row.n_bytes() + 64;
        self.bytes += bytes;
        self.entries.push(Entry { place, row, bytes });
        let is_heavy = self.bytes > self.bytes_max.saturating_mul(2);
        if self.entries.len() >= self.n_max.saturating_add(SLACK.max(self.n_max)) || is_heavy {
            self.cut();
        }
        if self.bytes > SORT_BYTES_MAX {
            return Err(Error::Limit {
                what: "the rows to sort, in bytes,",
                limit: SORT_BYTES_MAX,
            });
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
            for Entry { row, .. } in self.entries.drain(n_kept..) {
                if !self.seen.is_empty() {
                    self.seen.remove(&row.key());
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
