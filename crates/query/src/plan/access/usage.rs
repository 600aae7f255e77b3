//! Which indexes a query uses and which it could use: the facts of the index metrics header.

use super::condition::{Condition, item_path};
use super::filter::{Purpose, condition};
use super::order::order_access;
use crate::bind::tree::{Base, Expr, Projection, Query};
use crate::index::{Declared, IndexPath};
use crate::source::ItemSource;

/// Indexes for what a query filters or orders by.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct IndexUsage {
    /// Indexed paths, as `/a/b/?` or `/a/[]/?`.
    pub utilized: Vec<String>,
    /// Paths that would help if they were indexed.
    pub potential: Vec<String>,
    /// Composite indexes that are used: each a list of parts, as `/a ASC`.
    pub utilized_composites: Vec<Vec<String>>,
    /// Composite indexes that would help if they were declared.
    pub potential_composites: Vec<Vec<String>>,
}

/// Collects the indexes of a query.
pub(crate) fn usage(query: &Query, source: &dyn ItemSource) -> IndexUsage {
    let mut query = query;
    while let Base::Rows(inner, _) = &query.base {
        query = inner;
    }
    let mut paths = Vec::new();
    let condition = condition(query, source, Purpose::Run);
    collect(&condition, &mut paths);
    for key in &query.order {
        paths.extend(item_path(&key.expr).map(|(_, path)| path));
    }
    paths.extend(computed_paths(query));
    let mut usage = IndexUsage::default();
    for path in paths {
        let is_covered = source.index().is_some_and(|index| index.covers(&path));
        let list = if is_covered { &mut usage.utilized } else { &mut usage.potential };
        let text = format!("{path}/?");
        if !list.contains(&text) {
            list.push(text);
        }
    }
    // A source in trouble reports it when the query runs.
    let order = order_access(query, source, Purpose::Run).ok().flatten();
    let used = order.map(|order| order.specs).filter(|specs| !specs.is_empty());
    if used.is_none() {
        usage.potential_composites.extend(potential(query, &condition, source));
    }
    usage.utilized_composites.extend(used);
    usage
}

/// Returns the paths that aggregates and functions of the select list look at: the service counts them as used.
fn computed_paths(query: &Query) -> Vec<IndexPath> {
    let aggregates = query.grouping.iter().flat_map(|grouping| &grouping.aggregates);
    let mut paths = paths_of(aggregates.map(|aggregate| &aggregate.argument));
    let mut called = |expr: &Expr| {
        if let Expr::Call { arguments, .. } = expr {
            paths.extend(paths_of(arguments));
        }
    };
    match &query.projection {
        Projection::Value(expr) => called(expr),
        Projection::List(members) => members.iter().for_each(|(_, expr)| called(expr)),
    }
    paths
}

fn paths_of<'e>(list: impl IntoIterator<Item = &'e Expr>) -> Vec<IndexPath> {
    list.into_iter().filter_map(item_path).map(|(_, path)| path).collect()
}

fn collect(condition: &Condition, paths: &mut Vec<IndexPath>) {
    match condition {
        Condition::Anything | Condition::Nothing => {}
        Condition::Seek(seek) if seek.declared.is_some() => {}
        Condition::Seek(seek) => paths.push(seek.path.clone()),
        Condition::All(parts) | Condition::Any(parts) => {
            for part in parts {
                collect(part, paths);
            }
        }
    }
}

/// Returns the composite index of a filter with a range and other paths: those with one value first.
fn potential(query: &Query, condition: &Condition, source: &dyn ItemSource) -> Option<Vec<String>> {
    let Condition::All(parts) = condition else { return None };
    let (mut paths, mut range) = (Vec::new(), None);
    for part in parts {
        let Condition::Seek(seek) = part else { continue };
        if !seek.is_of_path(&seek.path) {
            continue;
        }
        match seek.spans.as_slice() {
            [span] if span.as_point().is_some() => paths.push(seek.path.clone()),
            _ => range = range.or_else(|| Some(seek.path.clone())),
        }
    }
    // Several values are found as well by the index of each path.
    paths.push(range?);
    if paths.len() < 2 || !query.sources.is_empty() {
        return None;
    }
    let is_there = source.index().is_some_and(|index| {
        index.declared().iter().any(|(_, declared)| match declared {
            Declared::Composite(own) => {
                own.parts().len() == paths.len()
                    && own.parts().iter().all(|part| paths.contains(&part.path()))
            }
            Declared::Spatial(_) | Declared::Words(..) | Declared::Vector(_) => false,
        })
    });
    (!is_there).then(|| paths.iter().map(|path| format!("{path} ASC")).collect())
}
