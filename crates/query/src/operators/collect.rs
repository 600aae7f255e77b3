//! Queries whose rows are known only after all items: groups, aggregates, whole queries in FROM.
//!
//! The rows are computed again for each page. They have an order of their own, by the keys of their group or by their
//! value below those of ORDER BY, so that a continuation names a row and goes on after it whatever was written since.

use std::collections::HashSet;

use model::Value;

use super::page::{Metrics, Page, PageBuilder, PageRequest};
use super::parallel;
use super::sort::{Start, fill, sort_keys};
use crate::ahead::fetched;
use crate::bind::tree::{Base, Grouping, ITEM_LEVEL, Query};
use crate::context::{Context, Run, estimated_bytes};
use crate::continuation::Position;
use crate::error::{Error, Result};
use crate::eval::{Flow, Frame, Group, GroupSet, answer, each_row};
use crate::plan::{Access, Need, Reads, access, group_from_index};
use crate::sort_key::{Place, SortKey, SortOrder};
use crate::source::{ItemSource, SourceItem};
use crate::value::{digest, push_key, value_key};

/// Limit: bytes of all rows of a query that must hold them at once.
pub(super) const COLLECTED_BYTES_MAX: usize = 256 * 1024 * 1024;

pub(super) fn page(
    query: &Query,
    context: &Context,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
    position: Option<Position>,
) -> Result<Page> {
    let n_own = query.grouping.as_ref().map_or(1, |grouping| grouping.keys.len());
    let order = SortOrder::new(&query.order).then_ascending(n_own);
    let start = Start::new(&order, position)?;
    let mut metrics = Metrics::default();
    let run = Run::of(context, request);
    let rows = in_order(query, &order, all_rows(query, source, &mut metrics, &run)?);
    let mut builder = PageBuilder::new(context, request);
    builder.metrics = metrics;
    let rows = rows.filter(|(place, _)| start.admits(&order, place));
    Ok(fill(builder, query, &order, &start, rows, false))
}

/// Sorts rows, drops those that DISTINCT does not want, and numbers those that are the same.
fn in_order(
    query: &Query,
    order: &SortOrder,
    mut rows: Vec<(Place, Value)>,
) -> impl Iterator<Item = (Place, Value)> {
    rows.sort_by(|(left, _), (right, _)| order.compare(left, right));
    let mut seen = HashSet::new();
    rows.retain(|(_, row)| !query.distinct || seen.insert(value_key(Some(row))));
    let mut last: Option<Place> = None;
    rows.into_iter().map(move |(mut place, row)| {
        place.row = match &last {
            Some(last) if last.number == place.number && last.keys == place.keys => last.row + 1,
            _ => 0,
        };
        last = Some(place.clone());
        (place, row)
    })
}

/// Rows with their places.
struct Collected {
    entries: Vec<(Place, Value)>,
    bytes: usize,
}

impl Collected {
    /// Adds a row, unless its projection is undefined; `own` are the keys of its group.
    fn push(
        &mut self,
        query: &Query,
        own: Option<&[Option<Value>]>,
        frame: &Frame<'_>,
        run: &Run<'_>,
    ) -> Result<Flow> {
        let Some(row) = answer(query, frame, run)? else {
            return Ok(Flow::Continue);
        };
        let mut keys = sort_keys(query, frame, run)?;
        let mut name = Vec::new();
        if let Some(own) = own {
            for key in own {
                push_key(key.as_ref(), &mut name);
                keys.push(SortKey::new(key.as_ref()));
            }
        } else {
            push_key(Some(&row), &mut name);
            keys.push(SortKey::new(Some(&row)));
        }
        self.grow(estimated_bytes(&row) + name.len() + 64)?;
        self.entries.push((Place { keys, number: digest(&name), row: 0 }, row));
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

/// Computes all rows of a query, before ORDER BY, DISTINCT, TOP and OFFSET.
fn all_rows(
    query: &Query,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'_>,
) -> Result<Vec<(Place, Value)>> {
    let mut collected = Collected { entries: Vec::new(), bytes: 0 };
    match &query.grouping {
        None => each_base(query, source, metrics, run, &mut |frame| {
            each_row(query, frame, run, &mut |row| collected.push(query, None, row, run))?;
            Ok(())
        })?,
        Some(grouping) => {
            let groups: Vec<Group> = if let Some((group, n)) = group_from_index(query, source)? {
                metrics.n_entries_read += n;
                vec![group]
            } else {
                let (groups, bytes) = groups_of(query, grouping, source, metrics, run)?;
                collected.grow(bytes)?;
                groups.finish().collect()
            };
            for group in groups {
                run.next_item()?;
                let frame = Frame::EMPTY.with_group(grouping.level, &group);
                collected.push(query, Some(&group.keys), &frame, run)?;
            }
        }
    }
    Ok(collected.entries)
}

/// Groups all rows, those of several sources or of many items side by side; returns also the bytes that the groups take.
fn groups_of<'q>(
    query: &'q Query,
    grouping: &'q Grouping,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'_>,
) -> Result<(GroupSet<'q>, usize)> {
    let (context, patience) = (run.context, run.patience());
    let is_plain = matches!(query.base, Base::Item) && context.udf_host.is_none();
    if let Some(parts) = source.parts().filter(|parts| is_plain && parts.degree > 1) {
        let partial = parallel::each_part(&parts.sources, parts.degree, |part| {
            let mut metrics = Metrics::default();
            let run = Run::within(context, patience);
            let groups = groups_of(query, grouping, *part, &mut metrics, &run)?;
            Ok((groups, metrics))
        })?;
        return Ok(merged(grouping, partial, metrics));
    }
    if !is_plain {
        return group(grouping, query, run, |visit| each_base(query, source, metrics, run, visit));
    }
    let access = access(query, source, Need::All)?;
    if let Some(source) = source.shared()
        && let Access::Numbers { numbers, .. } = &access
        && let Some(chunks) = parallel::chunks(numbers)
    {
        let partial = parallel::each_part(&chunks, chunks.len(), |chunk| {
            let mut metrics = Metrics::default();
            let run = Run::within(context, patience);
            let index = source.index().into_iter();
            let items = index.flat_map(|index| fetched(index, chunk));
            let groups = group(grouping, query, &run, |visit| {
                each_item(query, items, &mut metrics, &run, visit)
            })?;
            Ok((groups, metrics))
        })?;
        return Ok(merged(grouping, partial, metrics));
    }
    let items = access.items(source, None);
    group(grouping, query, run, |visit| each_item(query, items, metrics, run, visit))
}

/// Groups the rows of what `each` visits.
fn group<'q>(
    grouping: &'q Grouping,
    query: &Query,
    run: &Run<'_>,
    each: impl FnOnce(&mut dyn FnMut(&Frame<'_>) -> Result<()>) -> Result<()>,
) -> Result<(GroupSet<'q>, usize)> {
    let mut groups = GroupSet::new(grouping);
    let mut collected = Collected { entries: Vec::new(), bytes: 0 };
    each(&mut |frame| {
        each_row(query, frame, run, &mut |row| {
            collected.grow(groups.add(row, run)?)?;
            Ok(Flow::Continue)
        })?;
        Ok(())
    })?;
    Ok((groups, collected.bytes))
}

fn merged<'q>(
    grouping: &'q Grouping,
    partial: Vec<((GroupSet<'q>, usize), Metrics)>,
    metrics: &mut Metrics,
) -> (GroupSet<'q>, usize) {
    let mut groups = GroupSet::new(grouping);
    let mut bytes = 0_usize;
    for ((part, of_part), part_metrics) in partial {
        groups.merge(part);
        bytes = bytes.saturating_add(of_part);
        metrics.add(&part_metrics);
    }
    (groups, bytes)
}

/// Visits items as outermost frames.
fn each_item(
    query: &Query,
    items: impl Iterator<Item = Result<SourceItem>>,
    metrics: &mut Metrics,
    run: &Run<'_>,
    visit: &mut dyn FnMut(&Frame<'_>) -> Result<()>,
) -> Result<()> {
    let picks = Reads::all(query);
    for item in items {
        let item = item?;
        metrics.read(item.bytes);
        run.next_item()?;
        let value = item.read(&picks)?;
        visit(&Frame::root(ITEM_LEVEL, &value))?;
    }
    Ok(())
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
            let access = access(query, source, Need::All)?;
            each_item(query, access.items(source, None), metrics, run, visit)
        }
        Base::Rows(inner, level) => {
            let mut seen = HashSet::new();
            for (_, row) in all_rows(inner, source, metrics, run)? {
                if inner.distinct && !seen.insert(value_key(Some(&row))) {
                    continue;
                }
                run.next_item()?;
                visit(&Frame::root(*level, &row))?;
            }
            Ok(())
        }
    }
}
