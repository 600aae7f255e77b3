//! Plans as text, for tests and the command line.

use super::aggregate::is_from_index;
use super::choose::{Access, Need, choose, push_indented, seek_text};
use super::filter::Purpose;
use super::order::order_access;
use super::ranked::{Ranked, ranked};
use crate::bind::tree::{Base, Query};
use crate::error::Result;
use crate::source::{Direction, ItemSource};

/// Describes how a query would run on a source now: the operator, and below it where its items come from.
pub(crate) fn explain(query: &Query, source: &dyn ItemSource) -> Result<String> {
    let mut text = String::new();
    let is_ordered = !query.order.is_empty();
    let (operator, need) = if query.rank.is_some() {
        ("rank", Need::All)
    } else if query.grouping.is_some() {
        ("group", Need::All)
    } else if query.has_row_base() || (query.distinct && is_ordered) {
        ("collect", Need::All)
    } else if is_ordered {
        if let Some(order) = order_access(query, source, Purpose::Explain)? {
            let way = match order.direction {
                Direction::Forward => "ascending",
                Direction::Backward => "descending",
            };
            return Ok(format!("follow {} {way}\n", order.text));
        }
        match ranked(query, source)? {
            None => {}
            Some(Ranked::Words { .. }) => return Ok("sort\n  best by words\n".to_string()),
            Some(Ranked::Vectors { .. }) => return Ok("sort\n  best by vectors\n".to_string()),
        }
        ("sort", Need::All)
    } else if query.distinct {
        ("distinct", Need::All)
    } else {
        ("stream", Need::First)
    };
    if query.grouping.is_some() && is_from_index(query, source) {
        return Ok("aggregate from the index\n".to_string());
    }
    text.push_str(operator);
    text.push('\n');
    let items = match &query.base {
        Base::Nothing => "no items\n".to_string(),
        Base::Rows(inner, _) => explain(inner, source)?,
        Base::Item => match choose(query, source, need, Purpose::Explain)? {
            Access::Scan => "scan\n".to_string(),
            Access::Nothing => "nothing\n".to_string(),
            Access::Numbers { text, .. } => text,
            Access::Point { seek, .. } => seek_text(&seek),
        },
    };
    push_indented(&mut text, &items);
    Ok(text)
}
