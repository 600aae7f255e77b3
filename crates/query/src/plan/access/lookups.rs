//! How many look-ups in the index a query asks for, which is what the service charges for (`docs/charges.md`).
//!
//! One for each comparison, range, prefix, value of IN and branch of OR on an indexed path, for each path that must exist
//! for a row (what JOIN enumerates, what SELECT VALUE shows). The walk in the order of an ORDER BY does the filter on its
//! path, and is a look-up only where nothing else is.

use super::condition::Condition;
use super::filter::{Paths, Purpose};
use crate::bind::tree::{Base, Collection, Expr, Projection, Query};
use crate::index::IndexPath;
use crate::source::{ItemIndex, ItemSource};

/// Counts the look-ups of a query on one source.
pub(crate) fn n_lookups(query: &Query, source: &dyn ItemSource) -> u64 {
    let Some(index) = source.index() else { return 0 };
    let innermost = innermost(query);
    let mut counter =
        Counter { paths: Paths::of_items(Some(index), Purpose::Run), index, walked: Vec::new() };
    counter.query(innermost)
}

/// The query that reads items: others are over the rows of another.
fn innermost(query: &Query) -> &Query {
    let mut query = query;
    while let Base::Rows(inner, _) = &query.base {
        query = inner;
    }
    query
}

struct Counter<'i> {
    paths: Paths<'i>,
    index: &'i dyn ItemIndex,
    /// The paths in whose order the index is walked.
    walked: Vec<IndexPath>,
}

impl Counter<'_> {
    fn query(&mut self, query: &Query) -> u64 {
        let order = query.order.iter().filter_map(|key| self.paths.path(&key.expr));
        self.walked = order.filter(|path| self.covers(path)).collect();
        let mut total = self.rows(query);
        if let (Projection::Value(expr), None) = (&query.projection, &query.grouping) {
            total += self.shown(expr);
        }
        total.max(u64::from(!self.walked.is_empty()))
    }

    /// What FROM and WHERE ask for.
    fn rows(&mut self, query: &Query) -> u64 {
        let mut total = 0;
        for source in &query.sources {
            total += match &source.collection {
                Collection::Expr(expr) => self.existing(expr),
                Collection::Subquery(inner) => self.rows(inner),
            };
            self.paths.enter(source);
        }
        total + query.filter.as_ref().map_or(0, |filter| self.filter(filter))
    }

    fn filter(&mut self, expr: &Expr) -> u64 {
        match expr {
            Expr::And(list) | Expr::Or(list) => list.iter().map(|part| self.filter(part)).sum(),
            // One range, not two comparisons.
            Expr::Between(_) => u64::from(self.leaf(expr) > 0),
            _ => self.leaf(expr),
        }
    }

    fn leaf(&mut self, expr: &Expr) -> u64 {
        let condition = self.paths.filter(expr);
        self.seeks(&condition, is_list(expr))
    }

    fn seeks(&mut self, condition: &Condition, is_list: bool) -> u64 {
        match condition {
            Condition::Nothing => 1,
            Condition::Seek(seek) if seek.is_covered(self.index) => {
                // A value of a list is a look-up of its own; a comparison may be two spans and is one.
                if is_list {
                    u64::try_from(seek.spans.len()).unwrap_or(u64::MAX).max(1)
                } else {
                    u64::from(!self.walked.contains(&seek.path))
                }
            }
            Condition::Anything | Condition::Seek(_) => 0,
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().map(|part| self.seeks(part, is_list)).sum()
            }
        }
    }

    /// A path without which there is no row.
    fn existing(&self, expr: &Expr) -> u64 {
        let path = self.paths.path(expr).filter(|path| !path.steps().is_empty());
        u64::from(path.is_some_and(|path| self.covers(&path)))
    }

    /// The paths that the only value of a row is computed of.
    fn shown(&self, expr: &Expr) -> u64 {
        match expr {
            Expr::Call { arguments, .. } => arguments.iter().map(|inner| self.shown(inner)).sum(),
            Expr::Variable(_) | Expr::VariablePath(..) => self.existing(expr),
            _ => 0,
        }
    }

    fn covers(&self, path: &IndexPath) -> bool {
        self.index.covers(path)
    }
}

/// Whether a condition is about the values of a list, each by itself.
fn is_list(expr: &Expr) -> bool {
    match expr {
        Expr::In(..) | Expr::InSet { .. } => true,
        Expr::Call { function, .. } => function.name.contains("ARRAY_CONTAINS"),
        _ => false,
    }
}
