//! Whether ORDER BY can follow the index instead of sorting.

use super::choose::estimate;
use super::condition::{Condition, condition, item_path};
use crate::bind::tree::Query;
use crate::error::Result;
use crate::index::{IndexPath, TermSpan};
use crate::source::{Direction, ItemSource};

/// An order that the index has.
#[derive(Debug)]
pub(crate) struct OrderAccess {
    pub(crate) path: IndexPath,
    pub(crate) direction: Direction,
    /// The terms that the filter leaves, in order.
    pub(crate) spans: Vec<TermSpan>,
    /// Whether items without a value at the path can be rows too.
    pub(crate) has_undefined: bool,
    pub(crate) text: String,
}

/// Returns the order to follow; `None` when the query has none that the index has, or when few items match, so that
/// sorting them is cheaper.
pub(crate) fn order_access(query: &Query, source: &dyn ItemSource) -> Result<Option<OrderAccess>> {
    let ([key], Some(index)) = (query.order.as_slice(), source.index()) else { return Ok(None) };
    let Some((steps, path)) = item_path(&key.expr) else { return Ok(None) };
    if key.undefined_last || !index.covers(&path) {
        return Ok(None);
    }
    let condition = condition(query);
    let mut own = None;
    let mut has_others = false;
    let parts = match &condition {
        Condition::All(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    for part in parts {
        match part {
            Condition::Nothing => return Ok(None),
            Condition::Seek(seek) if seek.is_of_item(steps) => own = Some(seek),
            Condition::Anything => {}
            Condition::Seek(_) | Condition::All(_) | Condition::Any(_) => has_others = true,
        }
    }
    // Few items that another condition finds are sorted; those of the order's own path come sorted.
    if has_others && estimate(&condition, index)?.is_some() {
        return Ok(None);
    }
    let direction = if key.descending { Direction::Backward } else { Direction::Forward };
    let has_undefined = own.is_none();
    if has_undefined && index.without(&path, Some(0), direction).is_none() {
        return Ok(None);
    }
    let spans = own.map_or_else(|| vec![TermSpan::defined()], |seek| seek.spans.clone());
    let text = own.map_or_else(String::new, |seek| format!(" {}", seek.text));
    Ok(Some(OrderAccess { path, direction, spans, has_undefined, text }))
}
