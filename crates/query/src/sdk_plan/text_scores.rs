//! Scores of texts in component queries: each is computed from statistics that the client puts into a place of the text.
//!
//! The same call in several places shares its statistics, so calls are known by the text of their arguments.

use model::Value;

use crate::ast::{Expr, ExprKind, Query, Selection};
use crate::bind::rank::is_text_score;
use crate::syntax::format;

/// Wire: clients put the sums of the statistics queries here; the number is that of the statistics.
const PLACEHOLDER: &str = "documentdb-formattablehybridsearchquery";

/// The different scores of texts of a query.
#[derive(Default)]
pub(super) struct TextScores {
    calls: Vec<String>,
    statistics: Vec<String>,
    searched: Vec<Value>,
}

impl TextScores {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a score, unless it is known, with what it looks for.
    pub(super) fn add(&mut self, call: &Expr, searched: Value) {
        let text = key(call);
        if !self.calls.contains(&text) {
            self.statistics.push(statistics(call));
            self.calls.push(text);
            self.searched.push(searched);
        }
    }

    /// Adds the scores of SELECT and WHERE, whose calls `searched` has in this order.
    pub(super) fn add_shown(&mut self, query: &Query, searched: Vec<Value>) {
        let mut searched = searched.into_iter();
        let mut add = |call: &Expr| {
            if let Some(searched) = searched.next() {
                self.add(call, searched);
            }
        };
        match &query.select.selection {
            Selection::All(_) => {}
            Selection::Value(expr) => each_score(expr, &mut add),
            Selection::List(list) => list.iter().for_each(|item| each_score(&item.expr, &mut add)),
        }
        if let Some(filter) = &query.filter {
            each_score(filter, &mut add);
        }
    }

    /// Returns the query of the statistics of all texts.
    pub(super) fn statistics_query(&self, query: &Query) -> String {
        format!(
            "SELECT COUNT(1) AS documentCount, [{}] AS fullTextStatistics\n{}",
            self.statistics.join(", "),
            format::from(&query.from)
        )
    }

    /// Returns what each text is searched for.
    pub(super) fn searched(self) -> Value {
        if self.searched.contains(&Value::Null) {
            return Value::Array(Vec::new());
        }
        Value::Array(self.searched)
    }

    /// Returns the query with scores that take their statistics from the client.
    pub(super) fn rewrite(&self, query: &Query) -> Query {
        let mut query = query.clone();
        match &mut query.select.selection {
            Selection::All(_) => {}
            Selection::Value(expr) => self.replace(expr),
            Selection::List(list) => list.iter_mut().for_each(|item| self.replace(&mut item.expr)),
        }
        if let Some(filter) = &mut query.filter {
            self.replace(filter);
        }
        query
    }

    /// Returns the text of one score.
    pub(super) fn call_text(&self, call: &Expr) -> String {
        let mut call = call.clone();
        self.replace(&mut call);
        format::expression(&call)
    }

    fn replace(&self, expr: &mut Expr) {
        if !is_text_score(expr) {
            return each_operand_mut(expr, &mut |operand| self.replace(operand));
        }
        let text = key(expr);
        let Some(index) = self.calls.iter().position(|call| *call == text) else { return };
        let span = expr.span;
        let ExprKind::Call { name, arguments, .. } = &mut expr.kind else { return };
        let place = |what: String| Expr {
            kind: ExprKind::Identifier(format!("{{{PLACEHOLDER}-{what}}}")),
            span,
        };
        *name = "_FullTextScore".to_string();
        let terms = arguments.split_off(1.min(arguments.len()));
        arguments.push(Expr { kind: ExprKind::Array(terms), span });
        arguments.push(place("totaldocumentcount".to_string()));
        arguments.push(place(format!("totalwordcount-{index}")));
        arguments.push(place(format!("hitcountsarray-{index}")));
    }
}

/// Returns what makes a score different from others.
fn key(call: &Expr) -> String {
    let arguments: &[Expr] = match &call.kind {
        ExprKind::Call { arguments, .. } => arguments,
        _ => &[],
    };
    arguments.iter().map(format::expression).collect::<Vec<_>>().join(", ")
}

fn statistics(call: &Expr) -> String {
    let arguments: &[Expr] = match &call.kind {
        ExprKind::Call { arguments, .. } => arguments,
        _ => &[],
    };
    let path = arguments.first().map(format::expression).unwrap_or_default();
    let count =
        |term: &Expr| format!("COUNTIF(FullTextContains({path}, {}))", format::expression(term));
    let counts: Vec<String> = arguments.iter().skip(1).map(count).collect();
    format!(
        r#"{{"totalWordCount": SUM(_FullTextWordCount({path})), "hitCounts": [{}]}}"#,
        counts.join(", ")
    )
}

fn each_score(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    if is_text_score(expr) {
        visit(expr);
    } else {
        crate::bind::query::each_operand(expr, &mut |operand| each_score(operand, visit));
    }
}

/// Visits the direct operands of an expression but for computed steps, where no score can stand.
fn each_operand_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Undefined
        | ExprKind::Special(_)
        | ExprKind::Parameter(_)
        | ExprKind::Identifier(_)
        | ExprKind::Subquery(..) => {}
        ExprKind::Path { base, .. } => visit(base),
        ExprKind::Array(list) | ExprKind::Call { arguments: list, .. } => {
            list.iter_mut().for_each(visit);
        }
        ExprKind::Object(members) => members.iter_mut().for_each(|(_, value)| visit(value)),
        ExprKind::Unary(_, operand) => visit(operand),
        ExprKind::Chain { first, rest } => {
            visit(first);
            for (_, operand) in rest {
                visit(operand);
            }
        }
        ExprKind::In { needle, list, .. } => {
            visit(needle);
            list.iter_mut().for_each(visit);
        }
        ExprKind::Like { text, pattern, .. } => {
            visit(text);
            visit(pattern);
        }
        ExprKind::Between { operands, .. } | ExprKind::Conditional(operands) => {
            operands.iter_mut().for_each(visit);
        }
        ExprKind::Let { operands, .. } => operands.iter_mut().for_each(visit),
    }
}
