//! Queries whose rows are known only after all items: groups, aggregates, whole queries in FROM.
//!
//! The rows are computed again for each page. They have an order of their own, by the keys of their group or by their
//! value below those of ORDER BY, so that a continuation names a row and goes on after it whatever was written since.
//! Rows that need no continuation come in the order of their first items, as on the service.

use std::collections::HashSet;

use model::Value;

use super::page::{Metrics, Page, PageBuilder, PageRequest};
use super::parallel;
use super::sort::{After, Start, fill, sort_keys};
use crate::bind::tree::{Base, Grouping, ITEM_LEVEL, Query};
use crate::context::{Context, Run, estimated_bytes};
use crate::error::Result;
use crate::eval::{Flow, Frame, Group, GroupSet, SEEN_BYTES, answer, each_row};
use crate::memory::Held;
use crate::paging::continuation::Position;
use crate::paging::sort_key::{RowPosition, SortKey, SortOrder};
use crate::plan::{Access, Input, Reads, Rows, group_from_index, grouped_inputs};
use crate::source::prefetch::fetched;
use crate::source::{ItemSource, SourceItem};
use crate::value::{digest, key_bytes_max, push_key, value_key};

pub(super) fn page(
    query: &Query,
    context: &Context,
    rows: &Rows,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
    position: Option<Position>,
) -> Result<Page> {
    let n_own = query.grouping.as_ref().map_or(1, |grouping| grouping.keys.len());
    let order = SortOrder::new(&query.order).then_ascending(n_own);
    let start = Start::new(&order, position)?;
    let mut metrics = Metrics::default();
    let run = Run::of(context, request);
    let Collected { mut entries, mut held } = all_rows(query, rows, source, &mut metrics, &run)?;
    let mut builder = PageBuilder::new(context, request);
    builder.metrics = metrics;
    if is_free(query, &start) {
        drop_repeated(query, &mut entries, &mut held)?;
        if builder.fit_all(entries.iter().map(|(_, row)| estimated_bytes(row))) {
            for (_, row) in entries {
                builder.push(row);
            }
            return Ok(builder.finish(None));
        }
    }
    let rows = in_order(query, &order, entries, &mut held)?;
    let rows = rows.filter(|(place, _)| start.admits(&order, place));
    Ok(fill(builder, query, &order, &start, rows, false))
}

/// Says whether rows may come in any order. What TOP and OFFSET count must not depend on the size of pages.
fn is_free(query: &Query, start: &Start) -> bool {
    matches!(start.after, After::Nothing)
        && query.order.is_empty()
        && query.take.is_none()
        && query.offset == 0
}

/// Leaves the first of rows that are the same, if DISTINCT wants that.
fn drop_repeated(
    query: &Query,
    rows: &mut Vec<(RowPosition, Value)>,
    held: &mut Held<'_>,
) -> Result<()> {
    if query.distinct {
        let bytes = rows.iter().map(|(_, row)| key_bytes_max(row) + SEEN_BYTES).sum();
        held.grow(bytes)?;
        let mut seen = HashSet::new();
        rows.retain(|(_, row)| seen.insert(value_key(Some(row))));
        held.shrink(bytes);
    }
    Ok(())
}

/// Sorts rows, drops those that DISTINCT does not want, and numbers those that are the same.
fn in_order(
    query: &Query,
    order: &SortOrder,
    mut rows: Vec<(RowPosition, Value)>,
    held: &mut Held<'_>,
) -> Result<impl Iterator<Item = (RowPosition, Value)> + use<>> {
    rows.sort_by(|(left, _), (right, _)| order.compare(left, right));
    drop_repeated(query, &mut rows, held)?;
    let mut last: Option<RowPosition> = None;
    Ok(rows.into_iter().map(move |(mut place, row)| {
        place.row = match &last {
            Some(last) if last.number == place.number && last.keys == place.keys => last.row + 1,
            _ => 0,
        };
        last = Some(place.clone());
        (place, row)
    }))
}

/// Rows with their places.
struct Collected<'m> {
    entries: Vec<(RowPosition, Value)>,
    held: Held<'m>,
}

impl Collected<'_> {
    /// Adds a row, unless its projection is undefined; `own` are the keys of its group.
    fn push(
        &mut self,
        query: &Query,
        own: Option<&[Option<Value>]>,
        frame: &Frame<'_>,
        run: &Run<'_>,
    ) -> Result<Flow> {
        let before = run.built();
        let Some(row) = answer(query, frame, run)? else {
            return Ok(Flow::Continue);
        };
        let mut keys = sort_keys(query, frame, run)?;
        let mut name = Vec::new();
        if let Some(own) = own {
            for key in own {
                run.scratch(key.as_ref().map_or(0, key_bytes_max))?;
                push_key(key.as_ref(), &mut name);
                keys.push(SortKey::new(key.as_ref()));
            }
        } else {
            run.scratch(key_bytes_max(&row))?;
            push_key(Some(&row), &mut name);
            keys.push(SortKey::new(Some(&row)));
        }
        let place = RowPosition { keys, number: digest(&name), row: 0 };
        self.held.grow(row.heap_bytes() + place.heap_bytes() + ENTRY_BYTES)?;
        run.settle(before, 0);
        self.entries.push((place, row));
        Ok(Flow::Continue)
    }

    /// Adds the row of each group.
    fn push_groups(
        &mut self,
        query: &Query,
        grouping: &Grouping,
        groups: impl IntoIterator<Item = Group>,
        run: &Run<'_>,
    ) -> Result<()> {
        for group in groups {
            run.next_item()?;
            let frame = Frame::EMPTY.with_group(grouping.level, &group);
            self.push(query, Some(&group.keys), &frame, run)?;
        }
        Ok(())
    }
}

/// Bytes of a row in a list that may be twice as long as its content.
const ENTRY_BYTES: usize = 2 * size_of::<(RowPosition, Value)>();

/// Computes all rows of a query, before ORDER BY, DISTINCT, TOP and OFFSET.
fn all_rows<'m>(
    query: &Query,
    rows: &Rows,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'m>,
) -> Result<Collected<'m>> {
    let mut collected = Collected { entries: Vec::new(), held: run.held() };
    let may_parallel = run.context.udf_host.is_none();
    match (rows, &query.grouping) {
        (Rows::Each(input), _) => each_base(query, input, source, metrics, run, &mut |frame| {
            each_row(query, frame, run, &mut |row| collected.push(query, None, row, run))?;
            Ok(())
        })?,
        (Rows::Groups(inputs), Some(grouping)) => {
            // Invariant: the groups are held until all rows are made of them.
            let (groups, _held) = groups_of(query, grouping, inputs, source, metrics, run)?;
            collected.push_groups(query, grouping, groups.finish(), run)?;
        }
        (Rows::FromIndex, Some(grouping)) => {
            if let Some((group, n_entries)) = group_from_index(query, source)? {
                metrics.n_entries_read += n_entries;
                collected.push_groups(query, grouping, [group], run)?;
            } else {
                let inputs = grouped_inputs(query, source, may_parallel)?;
                let (groups, _held) = groups_of(query, grouping, &inputs, source, metrics, run)?;
                collected.push_groups(query, grouping, groups.finish(), run)?;
            }
        }
        (Rows::Groups(_) | Rows::FromIndex, None) => {
            debug_assert!(false, "only a query with groups is planned to make them");
        }
    }
    Ok(collected)
}

/// Groups and the memory that they take.
type HeldGroups<'q, 'm> = (GroupSet<'q>, Held<'m>);

/// Groups the rows of the inputs, several of them in parallel.
fn groups_of<'q, 'm>(
    query: &'q Query,
    grouping: &'q Grouping,
    inputs: &[Input],
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'m>,
) -> Result<HeldGroups<'q, 'm>> {
    if let [input] = inputs {
        return groups_of_input(query, grouping, input, source, metrics, run);
    }
    let (context, budget) = (run.context, run.budget());
    let partial = parallel::each_planned(source, inputs, |input, part| {
        let mut metrics = Metrics::default();
        let run = Run::within(context, budget);
        let groups = groups_of_input(query, grouping, input, part, &mut metrics, &run)?;
        Ok((groups, metrics))
    })?;
    merged(grouping, partial, metrics, run)
}

/// Groups the rows of one input, those of many items in parallel.
fn groups_of_input<'q, 'm>(
    query: &'q Query,
    grouping: &'q Grouping,
    input: &Input,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'m>,
) -> Result<HeldGroups<'q, 'm>> {
    let (context, budget) = (run.context, run.budget());
    if context.udf_host.is_none()
        && let Some(source) = source.shared()
        && let Input::Items(Access::Numbers { numbers, .. }) = input
        && let Some(chunks) = parallel::chunks(numbers)
    {
        let partial = parallel::each_part(&chunks, chunks.len(), |chunk| {
            let mut metrics = Metrics::default();
            let run = Run::within(context, budget);
            let index = source.index().into_iter();
            let items = index.flat_map(|index| fetched(index, chunk));
            let groups = group(grouping, query, &run, |visit| {
                each_item(query, items, &mut metrics, &run, visit)
            })?;
            Ok((groups, metrics))
        })?;
        return merged(grouping, partial, metrics, run);
    }
    group(grouping, query, run, |visit| each_base(query, input, source, metrics, run, visit))
}

/// Groups the rows of what `each` visits.
fn group<'q, 'm>(
    grouping: &'q Grouping,
    query: &Query,
    run: &Run<'m>,
    each: impl FnOnce(&mut dyn FnMut(&Frame<'_>) -> Result<()>) -> Result<()>,
) -> Result<HeldGroups<'q, 'm>> {
    let mut groups = GroupSet::new(grouping);
    let mut held = run.held();
    each(&mut |frame| {
        each_row(query, frame, run, &mut |row| {
            let before = run.built();
            held.grow(groups.add(row, run)?)?;
            run.settle(before, 0);
            Ok(Flow::Continue)
        })?;
        Ok(())
    })?;
    Ok((groups, held))
}

fn merged<'q, 'm>(
    grouping: &'q Grouping,
    partial: Vec<(HeldGroups<'q, 'm>, Metrics)>,
    metrics: &mut Metrics,
    run: &Run<'m>,
) -> Result<HeldGroups<'q, 'm>> {
    let mut groups = GroupSet::new(grouping);
    let mut held = run.held();
    for ((part, of_part), part_metrics) in partial {
        groups.merge(part, run)?;
        run.settle(0, 0);
        held.absorb(of_part);
        metrics.add(&part_metrics);
    }
    Ok((groups, held))
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
    input: &Input,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'_>,
    visit: &mut dyn FnMut(&Frame<'_>) -> Result<()>,
) -> Result<()> {
    match (input, &query.base) {
        (Input::Items(access), _) => {
            each_item(query, access.items(source, None), metrics, run, visit)
        }
        (Input::Rows(rows), Base::Rows(inner, level)) => {
            let mut seen = HashSet::new();
            let mut rows = all_rows(inner, rows, source, metrics, run)?;
            for (_, row) in std::mem::take(&mut rows.entries) {
                if inner.distinct {
                    rows.held.grow(key_bytes_max(&row) + SEEN_BYTES)?;
                    if !seen.insert(value_key(Some(&row))) {
                        continue;
                    }
                }
                run.next_item()?;
                visit(&Frame::root(*level, &row))?;
            }
            Ok(())
        }
        (Input::NoItem | Input::Rows(_), _) => visit(&Frame::EMPTY),
    }
}
