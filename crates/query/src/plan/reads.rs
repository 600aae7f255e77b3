//! What a query reads of each item, so that the rest of the item stays text.

use model::json::Picks;

use crate::bind::tree::{Base, Collection, Expr, ITEM_LEVEL, Projection, Query, Score};
use crate::context::Run;
use crate::error::Result;
use crate::eval::{Frame, answer, copied_object, written_object};
use crate::paging::row::Row;
use crate::source::SourceItem;
use crate::source::item::corrupt;
use crate::value::Step;

/// What a query reads of each item.
#[derive(Debug)]
pub(crate) struct Reads {
    /// The parts that must be there before a row is known to be one.
    pub(crate) picks: Picks,
    late: Late,
}

/// Limit: members of an object that is written at once: their names are compared pair by pair.
const WRITTEN_MAX: usize = 32;

/// Limit: members of an object whose values are copied from the text of the item: all are compared with each name there.
const COPIED_MAX: usize = 8;

/// What is read only of an item that has a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Late {
    Nothing,
    /// Nothing, and the row is an object whose text is all that anybody wants.
    Written,
    /// Properties that are members of a written object, of which only the text is needed.
    Copied,
    /// The whole item, because the projection looks at it.
    Value,
    /// The whole item, and it is the row: its text will do.
    Text,
}

impl Reads {
    /// Returns the parts that all clauses of a query need.
    pub(crate) fn all(query: &Query) -> Picks {
        let mut picks = Picks::NOTHING;
        whole_query(query, &mut picks);
        picks
    }

    /// Returns what to read first of an item, and what later, for [`Reads::row`]. `filter` is what of the filter is still
    /// to be checked on the item.
    pub(crate) fn of(query: &Query, filter: Option<&Expr>) -> Reads {
        let mut picks = Picks::NOTHING;
        rows(query, filter, &mut picks);
        if query.returns_item() && !query.distinct {
            return Reads { picks, late: Late::Text };
        }
        if filter.is_none() && is_copied(query) {
            return Reads { picks, late: Late::Copied };
        }
        let mut all = picks.clone();
        projection(query, &mut all);
        // Variables of the row are parts of what was read first, and would have to be found again.
        let can_wait = query.sources.is_empty() && filter.is_some() && !picks.is_whole();
        if all.is_whole() && can_wait {
            return Reads { picks, late: Late::Value };
        }
        let late = if is_written(query) { Late::Written } else { Late::Nothing };
        Reads { picks: all, late }
    }

    /// Returns whether [`Reads::row`] looks at the item alone, and not at what was read first.
    pub(crate) fn is_of_item(&self) -> bool {
        match self.late {
            Late::Text | Late::Copied => true,
            Late::Nothing | Late::Written | Late::Value => false,
        }
    }

    /// Computes what a row of an item becomes; undefined drops it. `frame` has what was read first.
    pub(crate) fn row(
        &self,
        query: &Query,
        frame: &Frame<'_>,
        item: &SourceItem,
        run: &Run<'_>,
    ) -> Result<Option<Row>> {
        let row = match (self.late, &query.projection) {
            (Late::Text, _) => return Ok(Some(item.to_row())),
            (Late::Written, Projection::List(members)) => {
                return written_object(members, frame, run).map(Some);
            }
            (Late::Copied, Projection::List(members)) => {
                return copied_row(members, item, run).map(Some);
            }
            (Late::Nothing | Late::Written | Late::Copied, _) => answer(query, frame, run)?,
            (Late::Value, _) => {
                let whole = item.to_value()?;
                let frame = Frame::root(ITEM_LEVEL, &whole);
                answer(query, &frame, run)?
            }
        };
        Ok(row.map(Row::Value))
    }
}

/// Returns whether rows are objects in which no name comes twice, and nobody compares them.
fn is_written(query: &Query) -> bool {
    let Projection::List(members) = &query.projection else { return false };
    let is_repeated = |(at, (name, _)): (usize, &(String, Expr))| {
        members.iter().take(at).any(|(other, _)| other == name)
    };
    !query.distinct && members.len() <= WRITTEN_MAX && !members.iter().enumerate().any(is_repeated)
}

/// Returns whether rows are written, and all that is in them are properties that the text of the item has.
fn is_copied(query: &Query) -> bool {
    let Projection::List(members) = &query.projection else { return false };
    let is_stored =
        |expr| property(expr).is_some_and(|name| !model::json::SYSTEM_PROPERTIES.contains(&name));
    matches!(query.base, Base::Item)
        && query.sources.is_empty()
        && members.len() <= COPIED_MAX
        && members.iter().all(|(_, expr)| is_stored(expr))
        && is_written(query)
}

/// Returns the property of the item that an expression is.
fn property(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::VariablePath(ITEM_LEVEL, steps) => match steps.as_slice() {
            [Step::Name(name)] => Some(name),
            _ => None,
        },
        _ => None,
    }
}

fn copied_row(members: &[(String, Expr)], item: &SourceItem, run: &Run<'_>) -> Result<Row> {
    let names = members.iter().filter_map(|(_, expr)| property(expr));
    let mut properties = [None; COPIED_MAX];
    if item.find_raw(&names, &mut properties)? {
        return copied_object(members, &properties, run)?.map_err(|_| corrupt());
    }
    let value = item.to_value()?;
    written_object(members, &Frame::root(ITEM_LEVEL, &value), run)
}

/// Adds what every clause but the projection needs.
fn rows(query: &Query, filter: Option<&Expr>, picks: &mut Picks) {
    if let Base::Rows(inner, _) = &query.base {
        whole_query(inner, picks);
    }
    for source in &query.sources {
        match &source.collection {
            Collection::Expr(expr) => expression(expr, picks),
            Collection::Subquery(inner) => whole_query(inner, picks),
        }
    }
    if let Some(filter) = filter {
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
    rows(query, query.filter.as_ref(), picks);
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
        Expr::Let { operands, .. } => expressions(operands.as_slice(), picks),
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use model::Env;

    use super::*;
    use crate::context::{Budget, Context};
    use crate::full_text::language::FullTextPolicy;
    use crate::source::StoredItem;
    use crate::statement::{PrepareOptions, Statement};

    #[test]
    fn a_written_row_is_the_text_of_the_object() {
        let text = r#"{"id":"a\"\u00e9","n":1.50,"o":{ "x" : [1, true] },"t":"b","q\"x":1}"#;
        let stored = StoredItem { text: Bytes::from_static(text.as_bytes()), system: None };
        let item = SourceItem::stored(1, stored);
        let context = Context {
            env: Env::fixed(1, 0),
            udf_host: None,
            is_geometry: false,
            embeddings: Vec::new(),
            full_text: FullTextPolicy::default(),
            keys_bytes_max: 0,
            memory: crate::memory::QueryMemory::new(None),
        };
        let run = Run::within(&context, Budget::once(&context, Duration::from_secs(1)));
        for (list, is_written) in [
            ("c.id, c.n", true),
            ("c.t, c.o AS x, c.o AS y", true),
            (r#"c.none, c.o, c["q\"x"]"#, true),
            ("c.none", true),
            ("c.n + 1, c.o.x[1], [c.t]", true),
            ("c.t AS \"$1\", c.n + 1", false),
        ] {
            let query = format!("SELECT {list} FROM c");
            let options = PrepareOptions::new(Env::fixed(1, 0));
            let statement = Statement::prepare(&query, &[], &options).unwrap();
            let reads = Reads::of(statement.bound(), None);
            let value = item.to_value().unwrap();
            let frame = Frame::root(ITEM_LEVEL, &value);
            let row = reads.row(statement.bound(), &frame, &item, &run).unwrap().unwrap();
            assert_eq!(matches!(row, Row::Written(..)), is_written, "{list}");
            let object = answer(statement.bound(), &frame, &run).unwrap().unwrap();
            let object = Row::Value(object);
            assert_eq!(row.n_bytes(), object.n_bytes(), "{list}");
            assert_eq!(Row::texts(&[row]), Row::texts(&[object]), "{list}");
        }
    }
}
