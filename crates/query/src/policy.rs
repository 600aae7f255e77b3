//! Which ORDER BY clauses the indexing policy of a container can serve.
//!
//! Results never depend on the index, except that the service refuses an ORDER BY that it has no index for.

use model::{PropertyPath, Value};

use crate::ast::{self, Direction, Expr, ExprKind, Step};
use crate::bind::tree;
use crate::error::{Diagnostic, Error, Result};
use crate::index::{IndexPath, IndexPolicy, PathStep};
use crate::value;

/// The indexes of a container, as far as ORDER BY needs them.
#[derive(Clone, Debug, Default)]
pub struct OrderPolicy {
    paths: IndexPolicy,
    /// Each index: paths and whether they descend.
    composites: Vec<Vec<(Vec<String>, bool)>>,
}

impl OrderPolicy {
    /// Reads the indexing policy object of a container; unknown members are ignored.
    pub fn from_policy(policy: &Value) -> OrderPolicy {
        let list = policy.get("compositeIndexes").and_then(Value::as_array).unwrap_or_default();
        let composites = list.iter().filter_map(|index| {
            index.as_array()?.iter().map(composite_entry).collect::<Option<Vec<_>>>()
        });
        let paths = IndexPolicy::from_policy(policy);
        OrderPolicy { paths, composites: composites.collect() }
    }

    /// Refuses an ORDER BY of one excluded path, or of several keys without a matching composite index.
    pub(crate) fn check(&self, query: &ast::Query, bound: &tree::Query) -> Result<()> {
        let Some(order) = query.order_by.as_ref().filter(|order| !order.rank) else {
            return Ok(());
        };
        // One row, or rows whose order is not that of items.
        if !query.group_by.is_empty() || bound.grouping.is_some() {
            return Ok(());
        }
        if order.items.len() < 2 {
            let path = bound.order.first().and_then(|key| item_path(&key.expr));
            if path.is_none_or(|path| self.paths.orders(&path)) {
                return Ok(());
            }
            let message =
                "The index path corresponding to the specified order-by item is excluded.";
            return Err(Error::one(Diagnostic::plain(message, order.span)));
        }
        let keys: Option<Vec<_>> = order
            .items
            .iter()
            .zip(&bound.order)
            .map(|(item, key)| {
                let path = item_names(&key.expr).or_else(|| names(&item.expr))?;
                Some((path, item.direction == Some(Direction::Descending)))
            })
            .collect();
        let is_served =
            keys.is_some_and(|keys| self.composites.iter().any(|index| serves(index, &keys)));
        if is_served {
            return Ok(());
        }
        let message = "The order by query does not have a corresponding composite index that it \
                       can be served from.";
        Err(Error::Unplannable(message.to_string()))
    }
}

fn composite_entry(entry: &Value) -> Option<(Vec<String>, bool)> {
    let path = PropertyPath::parse(entry.get("path")?.as_str()?).ok()?;
    let descending = entry.get("order").and_then(Value::as_str) == Some("descending");
    Some((path.segments().to_vec(), descending))
}

/// An index serves its own directions and the reverse of all of them.
fn serves(index: &[(Vec<String>, bool)], keys: &[(Vec<String>, bool)]) -> bool {
    let same_paths =
        index.len() == keys.len() && index.iter().zip(keys).all(|((own, _), (key, _))| own == key);
    let mut reversed = index.iter().zip(keys).map(|((_, own), (_, key))| own != key);
    let first = reversed.next();
    same_paths && reversed.all(|reversed| Some(reversed) == first)
}

/// Returns the names of a path of the item; one may be a parameter in the text.
fn item_names(expr: &tree::Expr) -> Option<Vec<String>> {
    let tree::Expr::VariablePath(tree::ITEM_LEVEL, steps) = expr else { return None };
    let name = |step: &value::Step| match step {
        value::Step::Name(name) => Some(name.clone()),
        value::Step::Index(_) | value::Step::Never => None,
    };
    steps.iter().map(name).collect()
}

fn names(expr: &Expr) -> Option<Vec<String>> {
    let ExprKind::Path { steps, .. } = &expr.kind else { return None };
    let name = |step: &Step| match step {
        Step::Dot(name) | Step::Name(name) => Some(name.clone()),
        Step::Index(_) | Step::Computed(_) => None,
    };
    steps.iter().map(name).collect()
}

/// Returns the path of a key that is a property of the item.
fn item_path(expr: &tree::Expr) -> Option<IndexPath> {
    let tree::Expr::VariablePath(tree::ITEM_LEVEL, steps) = expr else { return None };
    let step = |step: &value::Step| match step {
        value::Step::Name(name) => Some(PathStep::Name(name.clone())),
        value::Step::Index(_) => Some(PathStep::Element),
        value::Step::Never => None,
    };
    Some(IndexPath::new(steps.iter().map(step).collect::<Option<_>>()?))
}
