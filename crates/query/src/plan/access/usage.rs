//! Which indexes a query uses and which it could use: the facts of the index metrics header.

use super::condition::{Condition, condition, item_path};
use crate::bind::tree::{Base, Query};
use crate::source::ItemSource;

/// Paths that a query filters or orders by.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct IndexUsage {
    /// Indexed paths, as `/a/b/?` or `/a/[]/?`.
    pub utilized: Vec<String>,
    /// Paths that would help if they were indexed.
    pub potential: Vec<String>,
}

/// Collects the paths of a query.
pub(crate) fn usage(query: &Query, source: &dyn ItemSource) -> IndexUsage {
    let mut query = query;
    while let Base::Rows(inner, _) = &query.base {
        query = inner;
    }
    let mut paths = Vec::new();
    collect(&condition(query), &mut paths);
    for key in &query.order {
        paths.extend(item_path(&key.expr).map(|(_, path)| path));
    }
    let mut usage = IndexUsage::default();
    for path in paths {
        let is_covered = source.index().is_some_and(|index| index.covers(&path));
        let list = if is_covered { &mut usage.utilized } else { &mut usage.potential };
        let text = format!("{path}/?");
        if !list.contains(&text) {
            list.push(text);
        }
    }
    usage
}

fn collect(condition: &Condition, paths: &mut Vec<crate::index::IndexPath>) {
    match condition {
        Condition::Anything | Condition::Nothing => {}
        Condition::Seek(seek) => paths.push(seek.path.clone()),
        Condition::All(parts) | Condition::Any(parts) => {
            for part in parts {
                collect(part, paths);
            }
        }
    }
}
