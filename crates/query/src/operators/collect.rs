//! Queries whose rows are known only after all items: groups, aggregates, whole queries in FROM.
//!
//! The rows are computed again for each page and the earlier ones skipped: a continuation holds a count.

use std::collections::HashSet;

use model::Value;

use super::page::{Metrics, Page, PageBuilder, PageRequest};
use super::parallel;
use super::sort::sort_keys;
use crate::bind::tree::{Base, Grouping, ITEM_LEVEL, Query};
use crate::context::{Context, Run, estimated_bytes};
use crate::continuation::Position;
use crate::error::{Error, Result};
use crate::eval::{Flow, Frame, Group, GroupSet, each_row, project};
use crate::plan::{Need, Reads, access, group_from_index};
use crate::sort_key::{Place, SortOrder};
use crate::source::ItemSource;
use crate::value::{Datum, value_key};

/// Limit: bytes of all rows of a query that must hold them at once.
pub(super) const COLLECTED_BYTES_MAX: usize = 256 * 1024 * 1024;

pub(super) fn page(
    query: &Query,
    context: &Context,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
    position: Option<&Position>,
) -> Result<Page> {
    let passed = counted(position)?;
    let mut metrics = Metrics::default();
    let run = Run::until(context, request.deadline);
    let rows = all_rows(query, source, &mut metrics, &run)?;
    let mut builder = PageBuilder::new(context, request);
    builder.metrics = metrics;
    Ok(fill(builder, query, rows, passed))
}

/// Returns the rows that earlier pages returned.
pub(super) fn counted(position: Option<&Position>) -> Result<u64> {
    match position {
        None => Ok(0),
        Some(Position::Count { passed }) => Ok(*passed),
        Some(Position::Item { .. } | Position::Sorted { .. }) => Err(Error::Continuation),
    }
}

/// Returns the rows of one page out of all.
pub(super) fn fill(
    mut builder: PageBuilder<'_>,
    query: &Query,
    rows: Vec<Value>,
    passed: u64,
) -> Page {
    let to_usize = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let take = query.take.map_or(usize::MAX, to_usize);
    let rows = rows.into_iter().skip(to_usize(query.offset)).take(take).skip(to_usize(passed));
    for (row, passed) in rows.zip(passed..) {
        if !builder.push(row) {
            return builder.finish(Some(&Position::Count { passed }));
        }
    }
    builder.finish(None)
}

/// Rows with their sort keys.
struct Collected {
    entries: Vec<(Place, Value)>,
    bytes: usize,
}

impl Collected {
    fn push(&mut self, query: &Query, frame: &Frame<'_>, run: &Run<'_>) -> Result<Flow> {
        let Some(row) = project(query, frame, run)?.and_then(Datum::into_value) else {
            return Ok(Flow::Continue);
        };
        let keys = sort_keys(query, frame, run)?;
        self.grow(estimated_bytes(&row) + 64)?;
        let number = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
        self.entries.push((Place { keys, number, row: 0 }, row));
        Ok(Flow::Continue)
    }

    fn grow(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > COLLECTED_BYTES_MAX {
            let limit = COLLECTED_BYTES_MAX;
            return Err(Error::Limit { what: "the rows to hold at once, in bytes,", limit });
        }
        Ok(())
    }
}

/// Computes all rows of a query, in order and without duplicates, before TOP and OFFSET.
fn all_rows(
    query: &Query,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'_>,
) -> Result<Vec<Value>> {
    let mut collected = Collected { entries: Vec::new(), bytes: 0 };
    match &query.grouping {
        None => each_base(query, source, metrics, run, &mut |frame| {
            each_row(query, frame, run, &mut |row| collected.push(query, row, run))?;
            Ok(())
        })?,
        Some(grouping) => {
            let groups: Vec<Group> = if let Some(group) = group_from_index(query, source)? {
                vec![group]
            } else {
                let (groups, bytes) = groups_of(query, grouping, source, metrics, run)?;
                collected.grow(bytes)?;
                groups.finish().collect()
            };
            for group in groups {
                run.next_item();
                let frame = Frame::EMPTY.with_group(grouping.level, &group);
                collected.push(query, &frame, run)?;
            }
        }
    }
    if !query.order.is_empty() {
        let order = SortOrder::new(&query.order);
        collected.entries.sort_by(|(left, _), (right, _)| order.compare(left, right));
    }
    let rows = collected.entries.into_iter().map(|(_, row)| row);
    if !query.distinct {
        return Ok(rows.collect());
    }
    let mut seen = HashSet::new();
    Ok(rows.filter(|row| seen.insert(value_key(Some(row)))).collect())
}

/// Groups all rows, those of several sources side by side; returns also the bytes that the groups take.
fn groups_of<'q>(
    query: &'q Query,
    grouping: &'q Grouping,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'_>,
) -> Result<(GroupSet<'q>, usize)> {
    let is_plain = matches!(query.base, Base::Item) && run.context.udf_host.is_none();
    let Some(parts) = source.parts().filter(|parts| is_plain && parts.degree > 1) else {
        let mut groups = GroupSet::new(grouping);
        let mut collected = Collected { entries: Vec::new(), bytes: 0 };
        each_base(query, source, metrics, run, &mut |frame| {
            each_row(query, frame, run, &mut |row| {
                collected.grow(groups.add(row, run)?)?;
                Ok(Flow::Continue)
            })?;
            Ok(())
        })?;
        return Ok((groups, collected.bytes));
    };
    let (context, deadline) = (run.context, run.deadline());
    let partial = parallel::each_part(&parts, |part| {
        let mut metrics = Metrics::default();
        let run = Run::until(context, deadline);
        let groups = groups_of(query, grouping, part, &mut metrics, &run)?;
        Ok((groups, metrics))
    })?;
    let mut groups = GroupSet::new(grouping);
    let mut bytes = 0_usize;
    for ((part, of_part), part_metrics) in partial {
        groups.merge(part);
        bytes = bytes.saturating_add(of_part);
        metrics.add(&part_metrics);
    }
    Ok((groups, bytes))
}

/// Visits the outermost frame of every row.
pub(super) fn each_base(
    query: &Query,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'_>,
    visit: &mut dyn FnMut(&Frame<'_>) -> Result<()>,
) -> Result<()> {
    match &query.base {
        Base::Nothing => visit(&Frame::EMPTY),
        Base::Item => {
            let picks = Reads::all(query);
            let access = access(query, source, Need::All)?;
            for item in access.items(source, None) {
                let item = item?;
                metrics.read(item.bytes);
                run.next_item();
                let value = item.read(&picks)?;
                visit(&Frame::root(ITEM_LEVEL, &value))?;
            }
            Ok(())
        }
        Base::Rows(inner, level) => {
            for row in all_rows(inner, source, metrics, run)? {
                run.next_item();
                visit(&Frame::root(*level, &row))?;
            }
            Ok(())
        }
    }
}
