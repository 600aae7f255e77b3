//! Orders by a score that a full-text or vector index can tell most of.

use model::Value;

use super::choose::estimate;
use super::condition::{Condition, item_path};
use super::filter::{Purpose, condition};
use super::order::is_narrow;
use crate::bind::tree::{Expr, Query};
use crate::error::Result;
use crate::full_text::language::Language;
use crate::functions::{Prepared, VectorOptions, similarity};
use crate::index::{Declared, PathStep, unpack, word_span};
use crate::source::{Direction, ItemIndex, ItemSource};
use crate::value::Datum;

/// Limit: scores held at once; 64 MiB.
const SCORES_MAX: usize = 4 * 1024 * 1024;

/// Where the best rows of a query are found.
#[derive(Debug)]
pub(crate) enum Ranked {
    /// The items that have one of the words, by number. All others score zero, or nothing without a text.
    Words { name: String, numbers: Vec<u64> },
    /// All items that have a score, the best first.
    Vectors { numbers: Vec<u64> },
}

/// Returns where to start for an ORDER BY a score; `None` when no index tells, or another one finds few items.
pub(crate) fn ranked(query: &Query, source: &dyn ItemSource) -> Result<Option<Ranked>> {
    let ([key], Some(index)) = (query.order.as_slice(), source.index()) else { return Ok(None) };
    let Expr::Call { function, arguments, prepared } = &key.expr else { return Ok(None) };
    if is_narrow(index) || index.declared().is_empty() {
        return Ok(None);
    }
    let condition = condition(query, source, Purpose::Run);
    let is_found_otherwise = !matches!(condition, Condition::Anything)
        && (matches!(condition, Condition::Nothing) || estimate(&condition, index)?.is_some());
    if is_found_otherwise {
        return Ok(None);
    }
    let found = match (function.name, prepared) {
        ("_FULLTEXTSCORE", Prepared::Text { language, .. }) if key.descending => {
            let [text, terms, ..] = arguments.as_slice() else { return Ok(None) };
            let Some(terms) = constant(terms).and_then(Value::as_array) else { return Ok(None) };
            let Some(name) = words_index(text, *language, index) else { return Ok(None) };
            texts_with(&name, terms, *language, index)?
                .map(|numbers| Ranked::Words { name, numbers })
        }
        ("VECTORDISTANCE" | "_VECTORSCORE", Prepared::Vector(options)) => {
            by_distance(arguments, *options, key.descending, index)?
        }
        _ => None,
    };
    Ok(found)
}

fn constant(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Constant(constant) => constant.as_ref().and_then(Datum::value),
        _ => None,
    }
}

/// Returns the name of the full-text index on the path of an expression.
pub(crate) fn words_index(
    text: &Expr,
    language: Language,
    index: &dyn ItemIndex,
) -> Option<String> {
    let is_words =
        |declared: &Declared| matches!(declared, Declared::Words(_, own) if *own == language);
    declared_on(text, index, is_words)
}

fn declared_on(
    expr: &Expr,
    index: &dyn ItemIndex,
    is_kind: impl Fn(&Declared) -> bool,
) -> Option<String> {
    let (_, path) = item_path(expr)?;
    let is_path = |names: &[String]| {
        names.iter().map(|name| PathStep::Name(name.clone())).eq(path.steps().iter().cloned())
    };
    let mut declared = index.declared().into_iter();
    let found = declared.find(|(_, own)| is_kind(own) && own.names().is_some_and(is_path));
    found.map(|(name, _)| name.to_string())
}

/// Returns the items that have the first word of one of the terms, ascending; `None` when they are too many, or a term is fuzzy.
pub(crate) fn texts_with(
    name: &str,
    terms: &[Value],
    language: Language,
    index: &dyn ItemIndex,
) -> Result<Option<Vec<u64>>> {
    let mut numbers = Vec::new();
    for term in terms {
        let Some(term) = term.as_str() else { return Ok(None) };
        let words = language.words(term);
        let Some(first) = words.first() else { continue };
        for entry in index.seek_in(name, &word_span(first), None, Direction::Forward) {
            numbers.push(entry?.number);
            if numbers.len() > SCORES_MAX {
                return Ok(None);
            }
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(Some(numbers))
}

/// Compares all packed vectors with a constant one.
fn by_distance(
    arguments: &[Expr],
    options: VectorOptions,
    descending: bool,
    index: &dyn ItemIndex,
) -> Result<Option<Ranked>> {
    let [path, vector, ..] = arguments else { return Ok(None) };
    let wanted = constant(vector).and_then(Value::as_array);
    let wanted = wanted.and_then(|list| list.iter().map(Value::as_f64).collect::<Option<Vec<_>>>());
    let is_vector = |declared: &Declared| matches!(declared, Declared::Vector(_));
    let (Some(wanted), Some(name)) = (wanted, declared_on(path, index, is_vector)) else {
        return Ok(None);
    };
    let mut scores: Vec<(f64, u64)> = Vec::new();
    let mut is_over = false;
    index.each_packed(&name, &mut |number, packed| {
        let own = unpack(packed).filter(|own| own.len() == wanted.len());
        let pairs = own.iter().flatten().copied().zip(wanted.iter().copied());
        let score = own.is_some().then(|| similarity(options, pairs));
        scores.extend(score.filter(|score| score.is_finite()).map(|score| (score, number)));
        is_over |= scores.len() > SCORES_MAX;
        !is_over
    })?;
    if is_over {
        return Ok(None);
    }
    // As sort keys do: zero has one sign, and ties come by number in the direction of the key.
    scores.sort_unstable_by(|(left, left_number), (right, right_number)| {
        let order = left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal);
        let order = order.then(left_number.cmp(right_number));
        if descending { order.reverse() } else { order }
    });
    let numbers = scores.into_iter().map(|(_, number)| number).collect();
    Ok(Some(Ranked::Vectors { numbers }))
}
