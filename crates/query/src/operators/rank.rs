//! ORDER BY RANK within one scope: scores of all rows, fused by reciprocal ranks.
//!
//! SDKs do this themselves from component queries; this operator serves clients that send the query as it is.
//! A score depends on all items of the scope, so that no value names a place in this order: positions count rows.

use std::cmp::Ordering;

use model::Value;

use super::collect::{COLLECTED_BYTES_MAX, each_base};
use super::page::{Metrics, Page, PageBuilder, PageRequest};
use crate::bind::tree::{Component, ITEM_LEVEL, Projection, Query, Rank, Score};
use crate::context::{Context, Run, estimated_bytes};
use crate::continuation::Position;
use crate::error::{Error, Result};
use crate::eval::{Flow, Frame, each_row, eval, project};
use crate::functions::{Statistics, bm25, bm25_of_counts, n_occurrences};
use crate::index::{length_of, length_span};
use crate::mark::Among;
use crate::plan::{Reads, texts_with, words_index};
use crate::source::{Direction, ItemSource};
use crate::value::Datum;

/// The constant of reciprocal rank fusion.
const FUSION: f64 = 60.0;

pub(super) fn page(
    query: &Query,
    context: &Context,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
    position: Option<&Position>,
) -> Result<Page> {
    let passed = counted(position)?;
    let mut metrics = Metrics::default();
    let rows = match &query.rank {
        None => Vec::new(),
        Some(rank) => {
            let run = Run::of(context, request);
            match best_texts(query, rank, source, &mut metrics, &run)? {
                Some(rows) => rows,
                None => ranked_rows(query, rank, source, &mut metrics, &run)?,
            }
        }
    };
    let mut builder = PageBuilder::new(context, request);
    builder.metrics = metrics;
    Ok(fill(builder, query, rows, passed))
}

/// Returns the rows that earlier pages returned.
fn counted(position: Option<&Position>) -> Result<u64> {
    match position {
        None => Ok(0),
        Some(Position::Near { among, passed }) if *among == Among::default() => Ok(*passed),
        Some(Position::Item { .. } | Position::Sorted { .. } | Position::Near { .. }) => {
            Err(Error::Continuation)
        }
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

/// What a component knows of a row before the statistics are complete.
enum Input {
    Words(Vec<String>),
    Score(f64),
    Nothing,
}

fn ranked_rows(
    query: &Query,
    rank: &Rank,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'_>,
) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    let mut inputs: Vec<Vec<Input>> = Vec::new();
    let mut bytes = 0_usize;
    each_base(query, source, metrics, run, &mut |frame| {
        each_row(query, frame, run, &mut |row| {
            let Some(value) = project(query, row, run)?.and_then(Datum::into_value) else {
                return Ok(Flow::Continue);
            };
            bytes = bytes.saturating_add(2 * estimated_bytes(&value) + 64);
            if bytes > COLLECTED_BYTES_MAX {
                let limit = COLLECTED_BYTES_MAX;
                return Err(Error::Limit { what: "the rows to rank, in bytes,", limit });
            }
            rows.push(value);
            let of_row = rank.components.iter().map(|component| input(component, row, run));
            inputs.push(of_row.collect::<Result<_>>()?);
            Ok(Flow::Continue)
        })?;
        Ok(())
    })?;
    let mut fused = vec![0.0; rows.len()];
    for (index, component) in rank.components.iter().enumerate() {
        let column: Vec<&Input> = inputs.iter().filter_map(|row| row.get(index)).collect();
        let scores = scores(component, &column);
        let is_descending = larger_first(component);
        for (total, rank) in fused.iter_mut().zip(ranks(&scores, is_descending)) {
            *total += component.weight.abs() / (FUSION + rank);
        }
    }
    let mut ordered: Vec<(f64, Value)> = fused.into_iter().zip(rows).collect();
    ordered.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    Ok(ordered.into_iter().map(|(_, row)| row).collect())
}

/// Returns the best rows of one full-text component from the index, as many as the query can need; `None` when the index
/// does not tell, or too few texts have one of the words.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn best_texts(
    query: &Query,
    rank: &Rank,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'_>,
) -> Result<Option<Vec<Value>>> {
    let ([component], Some(take), Some(index)) =
        (rank.components.as_slice(), query.take, source.index())
    else {
        return Ok(None);
    };
    let Score::FullText { text, terms, language } = &component.score else { return Ok(None) };
    let words = |text: &str| language.words(text);
    let Some(name) = words_index(text, *language, index) else { return Ok(None) };
    let n_wanted = usize::try_from(query.offset.saturating_add(take)).unwrap_or(usize::MAX);
    // Every item is a row, and counts in the statistics.
    let is_whole = query.returns_item() || matches!(query.projection, Projection::List(_));
    let is_plain = is_whole
        && query.filter.is_none()
        && query.sources.is_empty()
        && !query.distinct
        && component.weight > 0.0
        && index.is_exact();
    let (Some(n_items), true) = (index.n_items(), is_plain) else { return Ok(None) };
    let Some(numbers) = texts_with(&name, terms, *language, index)? else { return Ok(None) };
    if numbers.len() < n_wanted {
        return Ok(None);
    }
    let mut n_words = 0.0;
    for entry in index.seek_in(&name, &length_span(), None, Direction::Forward) {
        n_words += f64::from(length_of(&entry?.term).unwrap_or_default());
    }
    let phrases: Vec<Vec<String>> =
        terms.iter().map(|term| words(term.as_str().unwrap_or_default())).collect();
    let picks = Reads::all(query);
    let mut texts = Vec::with_capacity(numbers.len());
    for number in numbers {
        let Some(item) = index.fetch(number)? else { continue };
        metrics.read(item.bytes);
        run.next_item()?;
        let value = item.read(&picks)?;
        let frame = Frame::root(ITEM_LEVEL, &value);
        let value = eval(text, &frame, run)?;
        let words = value.as_ref().and_then(Datum::as_text).map(words).unwrap_or_default();
        let counts: Vec<usize> =
            phrases.iter().map(|phrase| n_occurrences(&words, phrase)).collect();
        texts.push((number, words.len(), counts));
    }
    let n_with = |at: usize| {
        texts.iter().filter(|(_, _, counts)| counts.get(at).is_some_and(|n| *n > 0)).count() as f64
    };
    let statistics = Statistics {
        n_items: (n_items as f64).max(1.0),
        n_words,
        hits: (0..phrases.len()).map(n_with).collect(),
    };
    let score = |(number, n_words, counts): &(u64, usize, Vec<usize>)| {
        (bm25_of_counts(*n_words, counts, &statistics), *number)
    };
    let mut scores: Vec<(f64, u64)> = texts.iter().map(score).collect();
    scores.retain(|(score, _)| *score > 0.0);
    if scores.len() < n_wanted {
        return Ok(None);
    }
    scores.sort_by(|(left, left_number), (right, right_number)| {
        right.total_cmp(left).then(left_number.cmp(right_number))
    });
    let mut rows = Vec::new();
    for (_, number) in scores {
        if rows.len() >= n_wanted {
            break;
        }
        let Some(item) = index.fetch(number)? else { continue };
        run.next_item()?;
        let value = item.read(&picks)?;
        let frame = Frame::root(ITEM_LEVEL, &value);
        rows.extend(project(query, &frame, run)?.and_then(Datum::into_value));
    }
    // A projection can drop rows, and then later ones move up.
    Ok((rows.len() >= n_wanted).then_some(rows))
}

fn input(component: &Component, frame: &Frame<'_>, run: &Run<'_>) -> Result<Input> {
    Ok(match &component.score {
        Score::FullText { text, language, .. } => match eval(text, frame, run)? {
            Some(datum) => {
                datum.as_text().map_or(Input::Nothing, |text| Input::Words(language.words(text)))
            }
            None => Input::Nothing,
        },
        Score::Vector { expr, .. } => eval(expr, frame, run)?
            .and_then(|datum| datum.as_f64())
            .map_or(Input::Nothing, Input::Score),
    })
}

/// Returns whether the largest score is the best one.
fn larger_first(component: &Component) -> bool {
    let natural = match &component.score {
        Score::FullText { .. } => true,
        Score::Vector { larger_closer, .. } => *larger_closer,
    };
    natural == (component.weight >= 0.0)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn scores(component: &Component, column: &[&Input]) -> Vec<Option<f64>> {
    let Score::FullText { terms, language, .. } = &component.score else {
        let score = |input: &&Input| match input {
            Input::Score(score) => Some(*score),
            Input::Words(_) | Input::Nothing => None,
        };
        return column.iter().map(score).collect();
    };
    let terms: Vec<Vec<String>> =
        terms.iter().map(|term| language.words(term.as_str().unwrap_or_default())).collect();
    let texts = || {
        column.iter().filter_map(|input| match input {
            Input::Words(words) => Some(words),
            Input::Score(_) | Input::Nothing => None,
        })
    };
    let has = |text: &Vec<String>, term: &Vec<String>| n_occurrences(text, term) > 0;
    let n_with = |term: &Vec<String>| texts().filter(|text| has(text, term)).count() as f64;
    let statistics = Statistics {
        n_items: column.len().max(1) as f64,
        n_words: texts().map(Vec::len).sum::<usize>() as f64,
        hits: terms.iter().map(n_with).collect(),
    };
    let score = |input: &&Input| match input {
        Input::Words(words) => Some(bm25(words, &terms, &statistics)),
        Input::Score(_) | Input::Nothing => None,
    };
    column.iter().map(score).collect()
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
