//! ORDER BY RANK within one scope: scores of all rows, fused by reciprocal ranks or added up.
//!
//! SDKs do this themselves from component queries; this operator serves clients that send the query as it is.
//! A rank depends on all items of the scope, so that no value names a place in the order of fused ranks: positions
//! count rows.

use std::cmp::Ordering;

use model::Value;

use super::collect::each_base;
use super::page::{Metrics, Page, PageBuilder, PageRequest};
use super::score::{Input, Scorer};
use super::scored;
use crate::bind::tree::{Fusion, Query, Rank};
use crate::context::{Context, Run};
use crate::error::{Error, Result};
use crate::eval::{Flow, answer, each_row};
use crate::paging::continuation::Position;
use crate::paging::sort_bookmark::Among;
use crate::plan::Input as PlanInput;
use crate::source::ItemSource;

/// The constant of reciprocal rank fusion.
const FUSION: f64 = 60.0;

pub(super) fn page(
    query: &Query,
    context: &Context,
    input: &PlanInput,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
    position: Option<Position>,
) -> Result<Page> {
    let Some(rank) = &query.rank else { return Err(Error::Continuation) };
    if !rank.shown.is_empty() {
        let message =
            "FullTextScore in SELECT and WHERE needs a client that asks for a query plan.";
        return Err(Error::Unplannable(message.to_string()));
    }
    let components = rank.components.as_slice();
    if let Some(component) = scored::only(query, components) {
        return scored::page(query, component, context, input, source, request, position);
    }
    let passed = counted(position.as_ref())?;
    let mut builder = PageBuilder::new(context, request);
    let run = Run::of(context, request);
    let rows = fused_rows(query, rank, input, source, &mut builder.metrics, &run)?;
    Ok(fill(builder, query, rows, passed))
}

/// Returns the rows that earlier pages returned.
fn counted(position: Option<&Position>) -> Result<u64> {
    match position {
        None => Ok(0),
        Some(Position::Near { among, passed }) if *among == Among::default() => Ok(*passed),
        Some(
            Position::Item { .. }
            | Position::Sorted { .. }
            | Position::Ranked { .. }
            | Position::Near { .. },
        ) => Err(Error::Continuation),
    }
}

/// Returns the rows of one page out of all.
fn fill(mut builder: PageBuilder<'_>, query: &Query, rows: Vec<Value>, passed: u64) -> Page {
    let to_usize = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let take = query.take.map_or(usize::MAX, to_usize);
    let rows = rows.into_iter().skip(to_usize(query.offset)).take(take).skip(to_usize(passed));
    for (row, passed) in rows.zip(passed..) {
        if !builder.push(row) {
            let among = Among::default();
            return builder.finish(Some(&Position::Near { among, passed }));
        }
    }
    builder.finish(None)
}

fn fused_rows(
    query: &Query,
    rank: &Rank,
    input: &PlanInput,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'_>,
) -> Result<Vec<Value>> {
    let components = rank.components.as_slice();
    let scorers: Vec<Scorer<'_>> = components.iter().map(Scorer::new).collect();
    let mut rows = Vec::new();
    let mut inputs: Vec<Vec<Input>> = Vec::new();
    let mut held = run.held();
    each_base(query, input, source, metrics, run, &mut |frame| {
        each_row(query, frame, run, &mut |row| {
            let before = run.built();
            let Some(value) = answer(query, row, run)? else {
                return Ok(Flow::Continue);
            };
            let of_row: Vec<Input> =
                scorers.iter().map(|scorer| scorer.input(row, run)).collect::<Result<_>>()?;
            let inputs_bytes: usize = of_row.iter().map(Input::n_bytes).sum();
            // The row stands in a list that may be twice as long as its content, and in another one with its rank.
            held.grow(value.heap_bytes() + inputs_bytes + 4 * size_of::<(f64, Value)>())?;
            run.settle(before, 0);
            rows.push(value);
            inputs.push(of_row);
            Ok(Flow::Continue)
        })?;
        Ok(())
    })?;
    let mut fused = vec![0.0; rows.len()];
    for (index, (component, scorer)) in components.iter().zip(&scorers).enumerate() {
        let column = || inputs.iter().filter_map(|row| row.get(index));
        let statistics = scorer.statistics(column());
        let column: Vec<_> = column().map(|input| Scorer::score(input, &statistics)).collect();
        let shares: Vec<f64> = match rank.fusion {
            Fusion::Ranks => ranks(&column, scorer.is_larger_first())
                .into_iter()
                .map(|rank| component.weight.abs() / (FUSION + rank))
                .collect(),
            Fusion::Scores => {
                let share = |score: &Option<f64>| component.weight * score.unwrap_or_default();
                column.iter().map(share).collect()
            }
        };
        for (total, share) in fused.iter_mut().zip(shares) {
            *total += share;
        }
    }
    let mut ordered: Vec<(f64, Value)> = fused.into_iter().zip(rows).collect();
    ordered.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    Ok(ordered.into_iter().map(|(_, row)| row).collect())
}

/// Returns the dense rank of each score, from 1; rows without a score come last.
fn ranks(scores: &[Option<f64>], is_descending: bool) -> Vec<f64> {
    let compare = |left: &Option<f64>, right: &Option<f64>| match (left, right) {
        (Some(left), Some(right)) if is_descending => right.total_cmp(left),
        (Some(left), Some(right)) => left.total_cmp(right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    };
    let mut indexed: Vec<(usize, &Option<f64>)> = scores.iter().enumerate().collect();
    indexed.sort_by(|(_, left), (_, right)| compare(left, right));
    let mut ranks = vec![0.0; scores.len()];
    let mut rank = 0.0;
    let mut previous: Option<&Option<f64>> = None;
    for (index, score) in indexed {
        if previous.is_none_or(|previous| compare(previous, score).is_ne()) {
            rank += 1.0;
        }
        previous = Some(score);
        if let Some(slot) = ranks.get_mut(index) {
            *slot = rank;
        }
    }
    ranks
}
