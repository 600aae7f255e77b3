//! ORDER BY that follows an index: rows come in order, a page reads little more than it returns.
//!
//! Entries whose term stands for several values (long texts, arrays, objects) are gathered and sorted by the values
//! themselves, one term at a time.

use std::borrow::Cow;

use model::Value;

use super::page::{Page, PageBuilder, PageRequest};
use super::sort::{After, Start, sort_keys};
use crate::bind::tree::{Expr, ITEM_LEVEL, Query};
use crate::context::{Context, Run};
use crate::error::{Error, Result};
use crate::eval::{Flow, Frame, each_row_where};
use crate::index::{IndexPath, TermSpan, successor};
use crate::paging::continuation::Position;
use crate::paging::resume_filter::ResumeFilter;
use crate::paging::sort_bookmark::Passing;
use crate::paging::sort_key::{RowPosition, SortKey, SortOrder};
use crate::plan::{OrderAccess, Reads};
use crate::source::prefetch::Prefetched;
use crate::source::{Direction, ItemIndex, SourceItem};

/// Limit: items with one inexact term, such as long texts with the same beginning, that are sorted at once.
const TIES_MAX: usize = 1024 * 1024;

pub(super) fn page(
    query: &Query,
    context: &Context,
    resume: Option<&ResumeFilter>,
    index: &dyn ItemIndex,
    access: &OrderAccess,
    request: &PageRequest<'_>,
    position: Option<Position>,
) -> Result<Page> {
    let order = SortOrder::new(&query.order);
    if let Some(resume) = resume {
        resume.check(order.n_keys())?;
    }
    let start = Start::new(&order, position)?;
    let end = query.take.map_or(u64::MAX, |take| query.offset.saturating_add(take));
    let builder = PageBuilder::new(context, request);
    if start.passed >= end {
        return Ok(builder.finish(None));
    }
    let filter = access.filter_left(query);
    let mut rows = Rows {
        query,
        filter,
        reads: Reads::of(query, filter),
        order: &order,
        resume,
        run: Run::of(context, request),
        n_others: start.n_others(),
        passed: start.passed,
        end,
        start,
        builder,
        passing: Passing::default(),
        last: None,
        n_new: 0,
        next: None,
    };
    let from = match &rows.start.after {
        After::RowPosition(place) => {
            Some(From { keys: place.keys.clone(), number: Some(place.number) })
        }
        // The rows before a mark are read again and left out.
        After::Nothing | After::Among(_) => resume.map(|resume| {
            let (keys, number) = resume.start();
            From { keys: keys.to_vec(), number }
        }),
    };
    walk(index, access, &order, from.as_ref(), &mut rows)?;
    Ok(rows.builder.finish(rows.next.as_ref()))
}

/// Where the page starts: a row with these keys, or the first one after them.
struct From {
    keys: Vec<SortKey>,
    number: Option<u64>,
}

/// Visits the items from a key on, in order.
fn walk(
    index: &dyn ItemIndex,
    access: &OrderAccess,
    order: &SortOrder,
    from: Option<&From>,
    rows: &mut Rows<'_>,
) -> Result<()> {
    let Some(path) = &access.undefined_at else {
        return walk_terms(index, access, order, from, rows).map(drop);
    };
    let is_forward = access.direction == Direction::Forward;
    let starts_undefined =
        from.is_some_and(|from| matches!(from.keys.first(), Some(SortKey::Undefined)));
    let undefined_first = is_forward && (from.is_none() || starts_undefined);
    if undefined_first && walk_undefined(index, access, path, from, rows)? == Flow::Stop {
        return Ok(());
    }
    let skips_terms = starts_undefined && !is_forward;
    if !skips_terms {
        let from = from.filter(|_| !starts_undefined);
        if walk_terms(index, access, order, from, rows)? == Flow::Stop {
            return Ok(());
        }
    }
    if !is_forward {
        walk_undefined(index, access, path, from.filter(|_| starts_undefined), rows)?;
    }
    Ok(())
}

fn walk_undefined(
    index: &dyn ItemIndex,
    access: &OrderAccess,
    path: &IndexPath,
    from: Option<&From>,
    rows: &mut Rows<'_>,
) -> Result<Flow> {
    let after = from.and_then(|from| before(from.number, access.direction));
    let Some(numbers) = index.without(path, after, access.direction) else {
        return Ok(Flow::Continue);
    };
    for number in numbers {
        if let Some(item) = index.fetch(number?)?
            && rows.item(item, Known::First(&SortKey::Undefined))? == Flow::Stop
        {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Returns the number just before one in a direction; its item itself is read again, for the rows that are left.
fn before(number: Option<u64>, direction: Direction) -> Option<u64> {
    match direction {
        Direction::Forward => number?.checked_sub(1),
        Direction::Backward => number?.checked_add(1),
    }
}

fn walk_terms(
    index: &dyn ItemIndex,
    access: &OrderAccess,
    order: &SortOrder,
    from: Option<&From>,
    rows: &mut Rows<'_>,
) -> Result<Flow> {
    let first = from.and_then(|from| access.start(&from.keys));
    let after = first.as_ref().and_then(|(term, is_whole)| {
        let number = before(from?.number, access.direction)?;
        is_whole.then_some((term.as_slice(), number))
    });
    let n_spans = access.spans.len();
    let mut ties = Ties { beginning: Vec::new(), numbers: Vec::new() };
    for at in 0..n_spans {
        let at = if access.direction == Direction::Backward { n_spans - 1 - at } else { at };
        let Some(span) = access.spans.get(at) else { break };
        let rest = first.as_ref().map(|(term, _)| rest_of(span, term, access.direction));
        let span = rest.as_ref().unwrap_or(span);
        if span.is_empty() {
            continue;
        }
        let after = after.filter(|(term, _)| span.contains(term));
        let entries = index.seek_in(&access.name, span, after, access.direction);
        let n_wanted = rows.end.saturating_sub(rows.passed);
        for entry in Prefetched::new(index, entries, n_wanted) {
            let entry = entry?;
            let is_tied = !ties.beginning.is_empty() && entry.term.starts_with(&ties.beginning);
            if !is_tied && ties.flush(index, order, rows)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            if let Some(length) = access.tie_length(&entry.term) {
                ties.push(entry.term.get(..length).unwrap_or_default(), entry.number)?;
                continue;
            }
            if rows.is_over()? {
                return Ok(Flow::Stop);
            }
            let known = rows.known_of(entry.term.len());
            if let Some(item) = index.fetch(entry.number)?
                && rows.add(item, known)? == Flow::Stop
            {
                return Ok(Flow::Stop);
            }
        }
        if ties.flush(index, order, rows)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Returns what of a span is left from a term on.
fn rest_of(span: &TermSpan, term: &[u8], direction: Direction) -> TermSpan {
    let mut rest = span.clone();
    match direction {
        Direction::Forward => rest.start = rest.start.max(term.to_vec()),
        Direction::Backward => rest.end = rest.end.min(successor(term)),
    }
    rest
}

/// Items whose terms have the same beginning though the values that it stands for may differ.
struct Ties {
    beginning: Vec<u8>,
    numbers: Vec<u64>,
}

impl Ties {
    fn push(&mut self, beginning: &[u8], number: u64) -> Result<()> {
        if self.numbers.len() >= TIES_MAX {
            return Err(Error::Limit { what: "the items to sort at once", limit: TIES_MAX });
        }
        if self.numbers.is_empty() {
            self.beginning = beginning.to_vec();
        }
        self.numbers.push(number);
        Ok(())
    }

    fn flush(
        &mut self,
        index: &dyn ItemIndex,
        order: &SortOrder,
        rows: &mut Rows<'_>,
    ) -> Result<Flow> {
        if self.numbers.is_empty() {
            return Ok(Flow::Continue);
        }
        self.beginning.clear();
        let numbers = std::mem::take(&mut self.numbers);
        if let [only] = numbers.as_slice() {
            return match index.fetch(*only)? {
                Some(item) => rows.item(item, Known::Nothing),
                None => Ok(Flow::Continue),
            };
        }
        let mut places = Vec::with_capacity(numbers.len());
        for number in numbers {
            if let Some(item) = index.fetch(number)? {
                rows.builder.metrics.read(item.bytes);
                let value = item.read(&rows.reads.picks)?;
                places.push(RowPosition { keys: rows.keys(&value)?, number, row: 0 });
            }
        }
        places.sort_by(|left, right| order.compare(left, right));
        for place in places {
            if let Some(item) = index.fetch(place.number)?
                && rows.item(item, Known::Nothing)? == Flow::Stop
            {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

/// The rows of the page as items come in order.
struct Rows<'p> {
    query: &'p Query,
    /// What is still to be checked on each item.
    filter: Option<&'p Expr>,
    reads: Reads,
    order: &'p SortOrder,
    resume: Option<&'p ResumeFilter>,
    run: Run<'p>,
    start: Start,
    /// Rows still to leave out because earlier pages returned them and could not name their keys.
    n_others: u64,
    /// Rows returned or skipped by OFFSET.
    passed: u64,
    end: u64,
    builder: PageBuilder<'p>,
    passing: Passing,
    /// The row or item done last.
    last: Option<Last>,
    /// Items seen that earlier pages did not.
    n_new: u64,
    next: Option<Position>,
}

/// What is known of the sort keys of an item before they are computed.
#[derive(Clone, Copy)]
enum Known<'k> {
    Nothing,
    /// They can be named whole, so that only the last ones of a page are needed.
    Short,
    /// The first one must be this one, or the item does not belong here.
    First(&'k SortKey),
}

/// The row or item done last.
struct Last {
    place: RowPosition,
    /// The item, if its keys were not computed.
    item: Option<SourceItem>,
}

/// What stands for an item of which nothing is read.
static UNREAD: Value = Value::Null;

impl Rows<'_> {
    /// Returns what the length of a term that stands for one value says about its keys.
    fn known_of(&self, term_bytes: usize) -> Known<'static> {
        let bytes_max = SortKey::wire_bytes_max_in(term_bytes).saturating_mul(self.order.n_keys());
        if bytes_max <= self.run.context.keys_bytes_max { Known::Short } else { Known::Nothing }
    }

    /// Returns whether the keys of an item decide what becomes of it.
    fn needs_keys(&self, known: Known<'_>) -> bool {
        let is_first_page = matches!(self.start.after, After::Nothing) && self.resume.is_none();
        !(is_first_page && matches!(known, Known::Short))
    }

    fn keys(&self, item: &Value) -> Result<Vec<SortKey>> {
        sort_keys(self.query, &Frame::root(ITEM_LEVEL, item), &self.run)
    }

    /// Returns whether the page ends before the next item.
    fn is_over(&mut self) -> Result<bool> {
        let is_full = self.builder.is_full();
        let is_late = self.n_new > 0 && self.builder.is_late();
        if !is_full && !is_late {
            return Ok(false);
        }
        let Some(position) = self.position()? else { return Ok(false) };
        // Among keys too long to name rows are counted, and a count of rows does not get ahead without rows.
        if !is_full && matches!(position, Position::Near { .. }) {
            return Ok(false);
        }
        self.next = Some(position);
        Ok(true)
    }

    /// The position after the row or item done last.
    fn position(&self) -> Result<Option<Position>> {
        let keys_bytes_max = self.run.context.keys_bytes_max;
        let Some(Last { place, item }) = &self.last else { return Ok(None) };
        let mut place = place.clone();
        if let Some(item) = item {
            place.keys = self.keys(&*item.read(&self.reads.picks)?)?;
        }
        Ok(Some(Position::after_sorted(place, self.passed, &self.passing, keys_bytes_max)))
    }

    /// Adds the rows of an item, unless the page is over.
    fn item(&mut self, item: SourceItem, known: Known<'_>) -> Result<Flow> {
        if self.is_over()? { Ok(Flow::Stop) } else { self.add(item, known) }
    }

    /// Adds the rows of an item.
    fn add(&mut self, item: SourceItem, known: Known<'_>) -> Result<Flow> {
        self.builder.metrics.read(item.bytes);
        self.run.next_item()?;
        let needs_keys = self.needs_keys(known);
        let needs_value = needs_keys
            || self.filter.is_some()
            || !self.query.sources.is_empty()
            || !self.reads.is_of_item();
        let value =
            if needs_value { item.read(&self.reads.picks)? } else { Cow::Borrowed(&UNREAD) };
        // Keys that nobody needs count as short ones wherever they are passed on.
        let keys = if needs_keys { self.keys(&value)? } else { Vec::new() };
        if let Known::First(wanted) = known
            && keys.first() != Some(wanted)
        {
            return Ok(Flow::Continue);
        }
        let mut place = RowPosition { keys, number: item.number, row: 0 };
        let mut flow = Flow::Continue;
        let mut last_row = None;
        let (query, filter, order, resume) = (self.query, self.filter, self.order, self.resume);
        let Rows { reads, run, start, n_others, passed, end, builder, passing, .. } = self;
        let keys_bytes_max = run.context.keys_bytes_max;
        let frame = Frame::root(ITEM_LEVEL, &value);
        each_row_where(query, filter, &frame, run, &mut |inner| {
            let is_admitted = start.admits(order, &place)
                && resume.is_none_or(|resume| resume.admits(order, &place));
            let row = if is_admitted { reads.row(query, inner, &item, run)? } else { None };
            if let Some(row) = row {
                if start.is_again(order, &place, n_others) {
                    // It stands between rows that begin alike.
                } else if *passed < query.offset {
                    *passed += 1;
                } else if builder.push(row) {
                    *passed += 1;
                    last_row = Some(place.row);
                } else {
                    flow = Flow::Stop;
                    return Ok(Flow::Stop);
                }
                passing.pass(&place.keys, keys_bytes_max);
                if *passed >= *end {
                    flow = Flow::Stop;
                    return Ok(Flow::Stop);
                }
            }
            place.row += 1;
            Ok(Flow::Continue)
        })?;
        drop(value);
        let item = (!needs_keys).then_some(item);
        if flow == Flow::Stop {
            self.done(place, last_row, item);
            if self.passed < self.end {
                self.next = self.position()?;
            }
            return Ok(flow);
        }
        place.row = u64::MAX;
        let is_new = self.start.admits(self.order, &place);
        self.n_new += u64::from(is_new);
        self.done(place, if is_new { Some(u64::MAX) } else { last_row }, item);
        Ok(Flow::Continue)
    }

    /// Remembers which row of an item was done last, if any was.
    fn done(&mut self, place: RowPosition, row: Option<u64>, item: Option<SourceItem>) {
        if let Some(row) = row {
            self.last = Some(Last { place: RowPosition { row, ..place }, item });
        }
    }
}
