//! ORDER BY that follows an index: rows come in order, a page reads little more than it returns.
//!
//! Entries whose term stands for several values (long texts, arrays, objects) are gathered and sorted by the values
//! themselves, one term at a time.

use model::Value;

use super::page::{Page, PageBuilder, PageRequest};
use super::sort::{Start, sort_keys};
use crate::bind::tree::{ITEM_LEVEL, Query};
use crate::context::{Context, Run};
use crate::continuation::Position;
use crate::error::{Error, Result};
use crate::eval::{Flow, Frame, each_row, project};
use crate::index::{Term, TermSpan, successor};
use crate::plan::OrderAccess;
use crate::resume::ResumeFilter;
use crate::sort_key::{Place, SortKey, SortOrder};
use crate::source::{Direction, ItemIndex, SourceItem};
use crate::value::Datum;

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
    let mut rows = Rows {
        query,
        order: &order,
        resume,
        run: Run::until(context, request.deadline),
        skip: start.skip,
        passed: start.passed,
        end,
        start,
        builder,
        last: None,
        n_new: 0,
        next: None,
    };
    let from = rows.start.after.as_ref().map(|place| (place.keys.first(), Some(place.number)));
    let from = from.or_else(|| resume.map(ResumeFilter::first));
    let from = from.and_then(|(key, number)| Some((key?.clone(), number)));
    walk(index, access, &order, from.as_ref(), &mut rows)?;
    Ok(rows.builder.finish(rows.next.as_ref()))
}

/// Visits the items from a key on, in order.
fn walk(
    index: &dyn ItemIndex,
    access: &OrderAccess,
    order: &SortOrder,
    from: Option<&(SortKey, Option<u64>)>,
    rows: &mut Rows<'_>,
) -> Result<()> {
    let is_forward = access.direction == Direction::Forward;
    let starts_undefined = matches!(from, Some((SortKey::Undefined, _)));
    let undefined_first =
        access.has_undefined && is_forward && (from.is_none() || starts_undefined);
    if undefined_first && walk_undefined(index, access, from, rows)? == Flow::Stop {
        return Ok(());
    }
    let skips_terms = starts_undefined && !is_forward;
    if !skips_terms && walk_terms(index, access, order, from, rows)? == Flow::Stop {
        return Ok(());
    }
    if access.has_undefined && !is_forward {
        walk_undefined(index, access, from.filter(|_| starts_undefined), rows)?;
    }
    Ok(())
}

fn walk_undefined(
    index: &dyn ItemIndex,
    access: &OrderAccess,
    from: Option<&(SortKey, Option<u64>)>,
    rows: &mut Rows<'_>,
) -> Result<Flow> {
    let after = from.and_then(|(_, number)| before(*number, access.direction));
    let Some(numbers) = index.without(&access.path, after, access.direction) else {
        return Ok(Flow::Continue);
    };
    for number in numbers {
        if let Some(item) = index.fetch(number?)?
            && rows.item(&item, Some(&SortKey::Undefined))? == Flow::Stop
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
    from: Option<&(SortKey, Option<u64>)>,
    rows: &mut Rows<'_>,
) -> Result<Flow> {
    let first = from.and_then(|(key, number)| Some((key.term()?, *number)));
    let after = first.as_ref().and_then(|(term, number)| {
        let number = before(*number, access.direction)?;
        Term::is_exact(term.as_bytes()).then_some((term.as_bytes(), number))
    });
    let mut spans: Vec<TermSpan> = access.spans.clone();
    if access.direction == Direction::Backward {
        spans.reverse();
    }
    let mut ties = Ties { term: Vec::new(), numbers: Vec::new() };
    for mut span in spans {
        if let Some((term, _)) = &first {
            match access.direction {
                Direction::Forward => span.start = span.start.max(term.as_bytes().to_vec()),
                Direction::Backward => span.end = span.end.min(successor(term.as_bytes())),
            }
        }
        if span.is_empty() {
            continue;
        }
        let after = after.filter(|(term, _)| span.contains(term));
        for entry in index.seek(&access.path, &span, after, access.direction) {
            let entry = entry?;
            if ties.term != entry.term && ties.flush(index, order, rows)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            if !Term::is_exact(&entry.term) {
                ties.push(entry.term, entry.number)?;
                continue;
            }
            if rows.is_over() {
                return Ok(Flow::Stop);
            }
            if let Some(item) = index.fetch(entry.number)?
                && rows.item(&item, None)? == Flow::Stop
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

/// Items whose terms are equal though their values may differ.
struct Ties {
    term: Vec<u8>,
    numbers: Vec<u64>,
}

impl Ties {
    fn push(&mut self, term: Vec<u8>, number: u64) -> Result<()> {
        if self.numbers.len() >= TIES_MAX {
            return Err(Error::Limit { what: "the items to sort at once", limit: TIES_MAX });
        }
        self.term = term;
        self.numbers.push(number);
        Ok(())
    }

    fn flush(
        &mut self,
        index: &dyn ItemIndex,
        order: &SortOrder,
        rows: &mut Rows<'_>,
    ) -> Result<Flow> {
        self.term.clear();
        let numbers = std::mem::take(&mut self.numbers);
        let mut places = Vec::with_capacity(numbers.len());
        for number in numbers {
            if let Some(item) = index.fetch(number)? {
                rows.builder.metrics.read(item.bytes);
                places.push(Place { keys: rows.keys(&item.value)?, number, row: 0 });
            }
        }
        places.sort_by(|left, right| order.compare(left, right));
        for place in places {
            if let Some(item) = index.fetch(place.number)?
                && rows.item(&item, None)? == Flow::Stop
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
    order: &'p SortOrder,
    resume: Option<&'p ResumeFilter>,
    run: Run<'p>,
    start: Start,
    /// Rows still to skip because earlier pages returned them and could not name their keys.
    skip: u64,
    /// Rows returned or skipped by OFFSET.
    passed: u64,
    end: u64,
    builder: PageBuilder<'p>,
    /// The row or item done last.
    last: Option<Place>,
    /// Items seen that earlier pages did not.
    n_new: u64,
    next: Option<Position>,
}

impl Rows<'_> {
    fn keys(&self, item: &Value) -> Result<Vec<SortKey>> {
        sort_keys(self.query, &Frame::root(ITEM_LEVEL, item), &self.run)
    }

    /// Returns whether the page ends before the next item.
    fn is_over(&mut self) -> bool {
        let is_full = self.builder.is_full();
        let is_late = self.n_new > 0 && self.builder.is_late();
        if !is_full && !is_late {
            return false;
        }
        let Some(last) = self.last.clone() else { return false };
        let position = Position::after_sorted(last, self.passed);
        // A place too long to name can only be counted, and a count of rows does not get ahead without rows.
        if !is_full && matches!(position, Position::Count { .. }) {
            return false;
        }
        self.next = Some(position);
        true
    }

    /// Adds the rows of an item. `wanted` is the key that the item must have to belong here.
    fn item(&mut self, item: &SourceItem, wanted: Option<&SortKey>) -> Result<Flow> {
        if self.is_over() {
            return Ok(Flow::Stop);
        }
        self.builder.metrics.read(item.bytes);
        self.run.next_item();
        let keys = self.keys(&item.value)?;
        if wanted.is_some_and(|wanted| keys.first() != Some(wanted)) {
            return Ok(Flow::Continue);
        }
        let mut place = Place { keys, number: item.number, row: 0 };
        let mut flow = Flow::Continue;
        let mut last = None;
        let (query, order, resume) = (self.query, self.order, self.resume);
        let Rows { run, start, skip, passed, end, builder, .. } = self;
        let frame = Frame::root(ITEM_LEVEL, &item.value);
        each_row(query, &frame, run, &mut |inner| {
            let is_admitted = start.admits(order, &place)
                && resume.is_none_or(|resume| resume.admits(order, &place));
            let row = if is_admitted {
                project(query, inner, run)?.and_then(Datum::into_value)
            } else {
                None
            };
            if let Some(row) = row {
                if *skip > 0 {
                    *skip -= 1;
                } else if *passed < query.offset {
                    *passed += 1;
                } else if builder.push(row) {
                    *passed += 1;
                    last = Some(place.clone());
                } else {
                    flow = Flow::Stop;
                    return Ok(Flow::Stop);
                }
                if *passed >= *end {
                    flow = Flow::Stop;
                    return Ok(Flow::Stop);
                }
            }
            place.row += 1;
            Ok(Flow::Continue)
        })?;
        self.last = last.or(self.last.take());
        if flow == Flow::Stop {
            if self.passed < self.end {
                self.next = self.last.clone().map(|last| Position::after_sorted(last, self.passed));
            }
            return Ok(flow);
        }
        let done = Place { row: u64::MAX, ..place };
        if self.start.admits(self.order, &done) {
            self.n_new += 1;
            self.last = Some(done);
        }
        Ok(Flow::Continue)
    }
}
