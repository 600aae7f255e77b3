//! What a query reads of each item, so that the rest of the item stays text.

use model::json::Picks;

use crate::bind::tree::{Base, Collection, Expr, ITEM_LEVEL, Projection, Query, Score};
use crate::context::Run;
use crate::error::Result;
use crate::eval::{Frame, project};
use crate::row::Row;
use crate::source::SourceItem;
use crate::value::{Datum, Step};

/// What a query reads of each item.
#[derive(Debug)]
pub(crate) struct Reads {
    /// The parts that must be there before a row is known to be one.
    pub(crate) picks: Picks,
    late: Late,
}

/// What is read only of an item that has a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Late {
    Nothing,
    /// The whole item, because the projection looks at it.
    Value,
    /// The whole item, and it is the row: its text will do.
    Text,
}

impl Reads {
    /// Returns the parts that all clauses of a query need.
    pub(crate) fn all(query: &Query) -> Picks {
        let mut picks = Picks::NOTHING;
        rows(query, &mut picks);
        projection(query, &mut picks);
        picks
    }

    /// Returns what to read first of an item, and what later, for [`Reads::row`].
    pub(crate) fn of(query: &Query) -> Reads {
        let mut picks = Picks::NOTHING;
        rows(query, &mut picks);
        if query.returns_item() && !query.distinct {
            return Reads { picks, late: Late::Text };
        }
        let mut all = picks.clone();
        projection(query, &mut all);
        // Variables of the row are parts of what was read first, and would have to be found again.
        let can_wait = query.sources.is_empty() && query.filter.is_some() && !picks.is_whole();
        if all.is_whole() && can_wait {
            return Reads { picks, late: Late::Value };
        }
        Reads { picks: all, late: Late::Nothing }
    }

    /// Computes what a row of an item becomes; undefined drops it. `frame` has what was read first.
    pub(crate) fn row(
        &self,
        query: &Query,
        frame: &Frame<'_>,
        item: &SourceItem,
        run: &Run<'_>,
    ) -> Result<Option<Row>> {
        let row = match self.late {
            Late::Text => return Ok(Some(item.to_row())),
            Late::Nothing => project(query, frame, run)?.and_then(Datum::into_value),
            Late::Value => {
                let whole = item.to_value()?;
                let frame = Frame::root(ITEM_LEVEL, &whole);
                project(query, &frame, run)?.and_then(Datum::into_value)
            }
        };
        Ok(row.map(Row::Value))
    }
}

/// Adds what every clause but the projection needs.
fn rows(query: &Query, picks: &mut Picks) {
    if let Base::Rows(inner, _) = &query.base {
        whole_query(inner, picks);
    }
    for source in &query.sources {
        match &source.collection {
            Collection::Expr(expr) => expression(expr, picks),
            Collection::Subquery(inner) => whole_query(inner, picks),
        }
    }
    if let Some(filter) = &query.filter {
        expression(filter, picks);
    }
    if let Some(grouping) = &query.grouping {
        expressions(&grouping.keys, picks);
        for aggregate in &grouping.aggregates {
            expression(&aggregate.argument, picks);
        }
    }
    for key in &query.order {
        expression(&key.expr, picks);
    }
    for component in query.rank.iter().flat_map(|rank| &rank.components) {
        match &component.score {
            Score::FullText { text, .. } => expression(text, picks),
            Score::Vector { expr, .. } => expression(expr, picks),
        }
    }
}

fn projection(query: &Query, picks: &mut Picks) {
    match &query.projection {
        Projection::Value(expr) => expression(expr, picks),
        Projection::List(members) => {
            for (_, expr) in members {
                expression(expr, picks);
            }
        }
    }
}

fn whole_query(query: &Query, picks: &mut Picks) {
    rows(query, picks);
    projection(query, picks);
}

fn expressions(list: &[Expr], picks: &mut Picks) {
    for expr in list {
        expression(expr, picks);
    }
}

fn expression(expr: &Expr, picks: &mut Picks) {
    match expr {
        Expr::Variable(ITEM_LEVEL) => *picks = Picks::Whole,
        Expr::VariablePath(ITEM_LEVEL, steps) => picks.add(names(steps)),
        Expr::Variable(_)
        | Expr::VariablePath(..)
        | Expr::Constant(_)
        | Expr::GroupKey { .. }
        | Expr::Aggregate { .. } => {}
        Expr::Path(base, _) => expression(base, picks),
        Expr::Not(operand)
        | Expr::Minus(operand)
        | Expr::Plus(operand)
        | Expr::BitNot(operand)
        | Expr::Like(operand, _)
        | Expr::InSet { needle: operand, .. } => expression(operand, picks),
        Expr::Array(list)
        | Expr::And(list)
        | Expr::Or(list)
        | Expr::Coalesce(list)
        | Expr::Udf(_, list)
        | Expr::Call { arguments: list, .. } => expressions(list, picks),
        Expr::Object(members) => {
            for (_, expr) in members {
                expression(expr, picks);
            }
        }
        Expr::Chain(first, rest) => {
            expression(first, picks);
            for (_, operand) in rest {
                expression(operand, picks);
            }
        }
        Expr::In(needle, list) => {
            expression(needle, picks);
            expressions(list, picks);
        }
        Expr::LikeComputed { text, pattern, .. } => {
            expression(text, picks);
            expression(pattern, picks);
        }
        Expr::Between(operands) | Expr::Conditional(operands) => {
            expressions(operands.as_slice(), picks);
        }
        Expr::Subquery(_, query) => whole_query(query, picks),
    }
}

/// The names at the beginning of a path; what is below an element of an array belongs to the whole array.
fn names(steps: &[Step]) -> impl Iterator<Item = &str> {
    steps.iter().map_while(|step| match step {
        Step::Name(name) => Some(name.as_str()),
        Step::Index(_) | Step::Never => None,
    })
}
