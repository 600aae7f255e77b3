//! Whether ORDER BY can follow an index instead of sorting.

use super::choose::estimate;
use super::condition::{Condition, Seek, item_path};
use super::filter::{Purpose, condition};
use crate::bind::tree::{Expr, Query};
use crate::error::Result;
use crate::index::{
    Composite, CompositePart, Declared, IndexPath, Term, TermSpan, push_part, span_below,
};
use crate::paging::sort_key::SortKey;
use crate::source::{Direction, ItemIndex, ItemSource};

/// A source this many times smaller than what its index is about is sorted rather than looked for in the index.
const NARROW: u64 = 8;

/// An order that an index has.
#[derive(Debug)]
pub(crate) struct OrderAccess {
    /// The path or the declared index to read.
    pub(crate) name: String,
    pub(crate) direction: Direction,
    /// The terms that the filter leaves, in order.
    pub(crate) spans: Vec<TermSpan>,
    /// Where the index has no entries for items without a value: the path whose items without one can be rows too.
    pub(crate) undefined_at: Option<IndexPath>,
    /// Whether each part of a term descends.
    parts: Vec<bool>,
    /// The parts at the beginning of each term that the filter fixes.
    prefix: Vec<u8>,
    /// The sort keys that the other parts hold.
    keys: std::ops::Range<usize>,
    /// Whether the index is read against the direction of the first key, so that ties come the wrong way round.
    turns_ties: bool,
    /// The parts of a composite index, as index metrics print them.
    pub(crate) specs: Vec<String>,
    /// How a plan shows it.
    pub(crate) text: String,
    /// Whether the items of the source in the spans are exactly those that pass the filter.
    is_answer: bool,
}

impl OrderAccess {
    /// Returns what of the filter of the query is still to be checked on each item.
    pub(crate) fn filter_left<'q>(&self, query: &'q Query) -> Option<&'q Expr> {
        if self.is_answer { None } else { query.filter.as_ref() }
    }

    /// Returns the length of the beginning of a term that all entries share whose order the index does not know;
    /// `None` when it knows.
    pub(crate) fn tie_length(&self, term: &[u8]) -> Option<usize> {
        let inexact = Composite::inexact_length(&self.parts, term);
        inexact.or_else(|| self.turns_ties.then_some(term.len()))
    }

    /// Returns the beginning of the terms of rows with these sort keys, and whether it is a whole term that only such
    /// rows have. `None` when items with the first key have no entries.
    pub(crate) fn start(&self, keys: &[SortKey]) -> Option<(Vec<u8>, bool)> {
        let mut bytes = self.prefix.clone();
        let n_fixed = self.parts.len() - self.keys.len();
        let parts = self.parts.iter().skip(n_fixed);
        for (key, descending) in keys.get(self.keys.clone())?.iter().zip(parts) {
            let term = key.term();
            if term.is_none() && self.undefined_at.is_some() {
                return None;
            }
            push_part(term.as_ref(), *descending, &mut bytes);
            if term.is_some_and(|term| !Term::is_exact(term.as_bytes())) {
                return Some((bytes, false));
            }
        }
        Some((bytes, !self.turns_ties))
    }
}

/// Returns the order to follow; `None` when the query has none that an index has, or when few items match, so that
/// sorting them is cheaper.
pub(crate) fn order_access(
    query: &Query,
    source: &dyn ItemSource,
    purpose: Purpose,
) -> Result<Option<OrderAccess>> {
    let Some(index) = source.index() else { return Ok(None) };
    if query.order.is_empty() || is_narrow(index) {
        return Ok(None);
    }
    let condition = condition(query, source, purpose);
    if matches!(condition, Condition::Nothing) {
        return Ok(None);
    }
    let mut seeks = Vec::new();
    let parts = match &condition {
        Condition::All(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    for part in parts {
        if let Condition::Seek(seek) = part {
            seeks.push(seek);
        }
    }
    let n_known = parts.iter().filter(|part| !matches!(part, Condition::Anything)).count();
    let found = best_composite(query, index, &seeks).or_else(|| single(query, index, &seeks));
    let Some((mut order, n_used)) = found else { return Ok(None) };
    // The spans of a composite index are made of those of the parts, which nobody has proved to be exact.
    order.is_answer = order.specs.is_empty() && n_used == 1 && condition.is_answered(query);
    // Few items that another condition finds are sorted; those of the order's own parts come sorted.
    if n_known > n_used && estimate(&condition, index)?.is_some() {
        return Ok(None);
    }
    if let Some(path) = &order.undefined_at
        && index.without(path, Some(0), order.direction).is_none()
    {
        return Ok(None);
    }
    Ok(Some(order))
}

/// Returns whether most entries of the index belong to items that are not in the source.
pub(super) fn is_narrow(index: &dyn ItemIndex) -> bool {
    let (Some(n_items), Some(n_indexed)) = (index.n_items(), index.n_indexed()) else {
        return false;
    };
    n_items.saturating_mul(NARROW) < n_indexed
}

fn direction_of(query: &Query) -> Direction {
    // Ties come by number in the direction of the first key, so the first key decides which way to read.
    match query.order.first() {
        Some(key) if key.descending => Direction::Backward,
        _ => Direction::Forward,
    }
}

/// Returns the order of one path, and how many conditions it takes in.
fn single(query: &Query, index: &dyn ItemIndex, seeks: &[&Seek]) -> Option<(OrderAccess, usize)> {
    let [key] = query.order.as_slice() else { return None };
    let (steps, path) = item_path(&key.expr)?;
    if key.undefined_last || !index.covers(&path) {
        return None;
    }
    let own = seeks.iter().find(|seek| seek.is_of_item(steps));
    let spans = own.map_or_else(|| vec![TermSpan::defined()], |seek| seek.spans.clone());
    let name = path.to_string();
    let text = own.filter(|seek| !seek.text.is_empty());
    let order = OrderAccess {
        text: text.map_or_else(|| name.clone(), |seek| [name.as_str(), " ", &seek.text].concat()),
        name,
        direction: direction_of(query),
        spans,
        undefined_at: own.is_none().then_some(path),
        parts: vec![false],
        prefix: Vec::new(),
        keys: 0..1,
        turns_ties: false,
        specs: Vec::new(),
        is_answer: false,
    };
    Some((order, usize::from(own.is_some())))
}

/// Returns the composite index that takes in the most conditions.
fn best_composite(
    query: &Query,
    index: &dyn ItemIndex,
    seeks: &[&Seek],
) -> Option<(OrderAccess, usize)> {
    let mut best: Option<(OrderAccess, usize)> = None;
    for (name, declared) in index.declared() {
        let Declared::Composite(composite) = declared else { continue };
        for n_fixed in 0..composite.parts().len() {
            let found = follow_composite(query, name, composite, n_fixed, seeks);
            if let Some(found) = found
                && best.as_ref().is_none_or(|best| found.1 > best.1)
            {
                best = Some(found);
            }
        }
    }
    best
}

/// Returns the order of a composite index whose first parts the filter fixes to one value each.
fn follow_composite(
    query: &Query,
    name: &str,
    composite: &Composite,
    n_fixed: usize,
    seeks: &[&Seek],
) -> Option<(OrderAccess, usize)> {
    let (fixed, rest) = composite.parts().split_at_checked(n_fixed)?;
    let seek_at = |path: &IndexPath| seeks.iter().find(|seek| seek.is_of_path(path));
    let mut prefix = Vec::new();
    let mut texts = Vec::new();
    for part in fixed {
        let path = part.path();
        let seek = seek_at(&path)?;
        let [span] = seek.spans.as_slice() else { return None };
        let term = span.as_point().filter(|term| Term::is_exact(term))?;
        prefix.extend(term.iter().map(|byte| if part.descending { !byte } else { *byte }));
        texts.push(format!("{path} {}", seek.text));
    }
    let paths = query.order.iter().map(|key| {
        let (_, path) = item_path(&key.expr).filter(|_| !key.undefined_last)?;
        Some((path, key.descending))
    });
    let keys = paths.collect::<Option<Vec<_>>>()?;
    // A key that the filter fixes orders nothing.
    let is_fixed = |(path, _): &&(IndexPath, bool)| fixed.iter().any(|part| part.path() == *path);
    let n_constant = keys.iter().take_while(is_fixed).count();
    let left = keys.get(n_constant..)?;
    let direction = match (left.first()?, rest.first()?) {
        ((_, descending), part) if *descending == part.descending => Direction::Forward,
        _ => Direction::Backward,
    };
    let fits = left.len() == rest.len()
        && left.iter().zip(rest).all(|((path, descending), part)| {
            let is_reversed = direction == Direction::Backward;
            *path == part.path() && *descending == (part.descending != is_reversed)
        });
    if !fits {
        return None;
    }
    let own = rest.first().and_then(|part| seek_at(&part.path()));
    let descending = rest.first().is_some_and(|part| part.descending);
    let mut spans: Vec<TermSpan> = match own {
        None => vec![span_below(&prefix, None, descending)],
        Some(seek) => {
            seek.spans.iter().map(|span| span_below(&prefix, Some(span), descending)).collect()
        }
    };
    spans.sort_by(|left, right| left.start.cmp(&right.start));
    texts.extend(own.map(|seek| format!("{} {}", seek.path, seek.text)));
    let specs: Vec<String> = composite.parts().iter().map(CompositePart::spec).collect();
    let condition =
        if texts.is_empty() { String::new() } else { format!(" where {}", texts.join(" and ")) };
    let order = OrderAccess {
        name: name.to_string(),
        direction,
        spans,
        undefined_at: None,
        parts: composite.parts().iter().map(|part| part.descending).collect(),
        prefix,
        keys: n_constant..keys.len(),
        turns_ties: direction != direction_of(query),
        text: format!("({}){condition}", specs.join(", ")),
        specs,
        is_answer: false,
    };
    Some((order, n_fixed + usize::from(own.is_some())))
}
