//! ORDER BY RANK.

use model::Value;

use super::Binder;
use super::tree::{Component, Expr, Rank, Score};
use crate::ast::{self, Collection, ExprKind};
use crate::error::{Diagnostic, Span};
use crate::functions::terms_of;
use crate::value::Datum;

const WEIGHTS: &str = "The last parameter of the RRF function is an optional array of weights. When \
    present, it must be a literal array of numbers, one for each of the component scores used for \
    the RRF function. The length of this array must be the same as the number of the component \
    scores.";

const FUNCTIONS: &str = "The ORDER BY RANK clause must be followed by a VectorDistance and/or a \
    FullTextScore function call.";

/// The calls that ORDER BY RANK fuses, with their weights.
pub(crate) struct RankCalls<'a> {
    pub(crate) calls: Vec<&'a ast::Expr>,
    /// Empty when no weights were written.
    pub(crate) weights: Vec<f64>,
}

/// Splits the expression after RANK into its components.
pub(crate) fn rank_calls(expr: &ast::Expr) -> Result<RankCalls<'_>, Diagnostic> {
    let refuse = || Diagnostic::sc(2221, FUNCTIONS, expr.span);
    let ExprKind::Call { name, udf: false, arguments } = &expr.kind else {
        return Err(refuse());
    };
    if !name.eq_ignore_ascii_case("RRF") {
        return if is_component(expr) {
            Ok(RankCalls { calls: vec![expr], weights: Vec::new() })
        } else {
            Err(refuse())
        };
    }
    let (calls, weights) = match arguments.split_last() {
        Some((last, calls)) if !matches!(last.kind, ExprKind::Call { .. }) => (calls, Some(last)),
        _ => (arguments.as_slice(), None),
    };
    if calls.len() < 2 || !calls.iter().all(is_component) {
        return Err(refuse());
    }
    let weights = match weights {
        None => Vec::new(),
        Some(list) => literal_weights(list)
            .filter(|weights| weights.len() == calls.len())
            .ok_or_else(|| Diagnostic::sc(2229, WEIGHTS, list.span))?,
    };
    Ok(RankCalls { calls: calls.iter().collect(), weights })
}

fn is_component(expr: &ast::Expr) -> bool {
    let ExprKind::Call { name, udf: false, arguments } = &expr.kind else { return false };
    let is_known =
        name.eq_ignore_ascii_case("FullTextScore") || name.eq_ignore_ascii_case("VectorDistance");
    is_known && arguments.len() >= 2
}

fn literal_weights(expr: &ast::Expr) -> Option<Vec<f64>> {
    let ExprKind::Array(list) = &expr.kind else { return None };
    let weight = |expr: &ast::Expr| match &expr.kind {
        ExprKind::Literal(Value::Number(number)) => Some(number.as_f64()),
        _ => None,
    };
    list.iter().map(weight).collect()
}

impl Binder<'_> {
    pub(super) fn rank(&mut self, query: &ast::Query) -> Option<Rank> {
        let order = query.order_by.as_ref().filter(|order| order.rank)?;
        self.check_rank_from(query, order.span);
        let [item] = order.items.as_slice() else {
            self.report(Diagnostic::sc(2221, FUNCTIONS, order.span));
            return None;
        };
        if item.direction.is_some() {
            let message = "Specifying a sort order (ASC or DESC) in the ORDER BY RANK clause is \
                           not allowed.";
            self.report(Diagnostic::plain(message, order.span));
            return None;
        }
        let calls = match rank_calls(&item.expr) {
            Ok(calls) => calls,
            Err(problem) => {
                self.report(problem);
                return None;
            }
        };
        let mut components = Vec::new();
        for (index, call) in calls.calls.iter().enumerate() {
            let weight = calls.weights.get(index).copied().unwrap_or(1.0);
            components.push(Component { score: self.score(call)?, weight });
        }
        Some(Rank { components })
    }

    fn check_rank_from(&mut self, query: &ast::Query, span: Span) {
        if query.from.iter().any(|source| source.iterates) {
            let message = "The FROM clause with the IN operator is not allowed with the ORDER BY \
                           RANK clause.";
            self.report(Diagnostic::sc(2223, message, span));
        }
        if query.from.len() > 1 {
            let message = "The JOIN operator is not allowed with the ORDER BY RANK clause.";
            self.report(Diagnostic::sc(2224, message, span));
        }
        let has_subquery =
            query.from.iter().any(|source| matches!(source.collection, Collection::Subquery(_)));
        if has_subquery {
            let message =
                "Subqueries in the FROM clause are not allowed with the ORDER BY RANK clause.";
            self.report(Diagnostic::sc(2225, message, span));
        }
    }

    fn score(&mut self, call: &ast::Expr) -> Option<Score> {
        let ExprKind::Call { name, arguments, .. } = &call.kind else { return None };
        if name.eq_ignore_ascii_case("VectorDistance") {
            let larger_closer = self.vector_options(arguments).distance.is_larger_closer();
            return Some(Score::Vector { expr: self.expr(call), larger_closer });
        }
        let language = self.language(arguments);
        let (text, terms) = arguments.split_first()?;
        let text = self.expr(text);
        let values: Option<Vec<Value>> = terms
            .iter()
            .map(|term| match self.expr(term) {
                Expr::Constant(constant) => constant.and_then(Datum::into_value),
                _ => None,
            })
            .collect();
        let Some(terms) = values.and_then(|values| terms_of(&values)) else {
            let message = "The FullTextScore function requires literal search terms.";
            self.report(Diagnostic::plain(message, call.span));
            return None;
        };
        Some(Score::FullText { text, terms, language })
    }
}
