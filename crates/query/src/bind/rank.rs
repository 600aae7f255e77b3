//! ORDER BY RANK.

use model::Value;

use super::Binder;
use super::expression::{unknown_function, wrong_count};
use super::fold::constant;
use super::tree::{Component, Rank, Score};
use crate::ast::{self, ExprKind};
use crate::error::{Code, Diagnostic, Span};
use crate::functions::{self, SearchTerm, value_words_bytes};
use crate::value::Datum;

const WEIGHTS: &str = "The last parameter of the RRF function is an optional array of weights. When \
    present, it must be a literal array of numbers, one for each of the component scores used for \
    the RRF function. The length of this array must be the same as the number of the component \
    scores.";

const FUNCTIONS: &str = "The ORDER BY RANK clause must be followed by a VectorDistance and/or a \
    FullTextScore function call.";

const TERMS: &str = "The second through last arguments of the 'FullTextScore' function must be literals \
    of type string or object specifying the fuzzy search argument containing a 'term' property which is a \
    string and a 'distance' property which is a number between 0 and 2 (inclusive).";

/// The calls that ORDER BY RANK fuses, with their weights.
pub(crate) struct RankCalls<'a> {
    pub(crate) calls: Vec<&'a ast::Expr>,
    /// Empty when no weights were written.
    pub(crate) weights: Vec<f64>,
}

/// Splits the expression after RANK into its components; the mistakes stand at `span`, the whole clause.
pub(crate) fn rank_calls(expr: &ast::Expr, span: Span) -> Result<RankCalls<'_>, Vec<Diagnostic>> {
    let refuse = || Diagnostic::sc(2221, FUNCTIONS, span);
    let ExprKind::Call { name, udf: false, arguments } = &expr.kind else {
        return Err(vec![refuse()]);
    };
    if !name.eq_ignore_ascii_case("RRF") {
        return if is_component(expr) {
            Ok(RankCalls { calls: vec![expr], weights: Vec::new() })
        } else {
            Err(vec![refuse()])
        };
    }
    let mut problems = Vec::new();
    if arguments.len() < 2 {
        let message = "A score fusion function requires at least two component score functions.";
        problems.push(Diagnostic::sc(2233, message, span));
    }
    let (calls, weights) = match arguments.split_last() {
        Some((last, calls)) if calls.len() >= 2 && !matches!(last.kind, ExprKind::Call { .. }) => {
            (calls, Some(last))
        }
        _ => (arguments.as_slice(), None),
    };
    if !calls.iter().all(is_component) {
        problems.push(refuse());
    }
    let weights = match weights {
        None => Some(Vec::new()),
        Some(list) => literal_weights(list).filter(|weights| weights.len() == calls.len()),
    };
    match weights {
        Some(weights) if problems.is_empty() => {
            Ok(RankCalls { calls: calls.iter().collect(), weights })
        }
        weights => {
            problems.extend(weights.is_none().then(|| Diagnostic::sc(2229, WEIGHTS, span)));
            Err(problems)
        }
    }
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
        let item = order.items.first()?;
        if item.direction.is_some() {
            let message = "Specifying a sort order (ASC or DESC) in the ORDER BY RANK clause is \
                           not allowed.";
            self.report(Diagnostic::sc(2222, message, order.span));
        }
        let calls = match rank_calls(&item.expr, order.span) {
            Ok(calls) => calls,
            Err(problems) => {
                self.refuse_rank(&item.expr, problems);
                return None;
            }
        };
        let mut components = Vec::new();
        for (index, call) in calls.calls.iter().enumerate() {
            let weight = calls.weights.get(index).copied().unwrap_or(1.0);
            components.extend(self.score(call).map(|score| Component { score, weight }));
        }
        (components.len() == calls.calls.len()).then_some(Rank { components })
    }

    /// Reports the mistakes in what is ranked, and first those of its arguments.
    fn refuse_rank(&mut self, expr: &ast::Expr, problems: Vec<Diagnostic>) {
        let ExprKind::Call { name, udf, arguments } = &expr.kind else { return };
        let is_fusion = name.eq_ignore_ascii_case("RRF");
        let (first, last): (Vec<_>, Vec<_>) =
            problems.into_iter().partition(|problem| problem.code == Code::Sc(2233));
        for problem in first {
            self.report(problem);
        }
        for argument in arguments {
            let is_score = matches!(
                &argument.kind,
                ExprKind::Call { name, udf: false, arguments }
                    if name.eq_ignore_ascii_case("FullTextScore") && arguments.len() >= 2
            );
            if is_fusion && is_score {
                self.score(argument);
            } else {
                self.expr(argument);
            }
        }
        let function = functions::find(name);
        if !udf && let Some(function) = function {
            if let Some(problem) = wrong_count(function, name, arguments.len(), expr.span)
                && !is_fusion
            {
                self.report(problem);
                return;
            }
        } else if !udf {
            self.report(unknown_function(name, expr.span));
            return;
        }
        let has_unknown = |expr: &ast::Expr| {
            matches!(&expr.kind, ExprKind::Call { name, udf: false, .. }
                if name.eq_ignore_ascii_case("RRF") || functions::find(name).is_none())
        };
        if !arguments.iter().any(has_unknown) {
            for problem in last {
                self.report(problem);
            }
        }
    }

    /// Reports the JOINs of a ranked query, the outermost first.
    pub(super) fn check_rank_joins(&mut self, query: &ast::Query) {
        if !self.rank {
            return;
        }
        let Some(first) = query.from.first() else { return };
        for source in query.from.iter().skip(1).rev() {
            let message = "The JOIN operator is not allowed with the ORDER BY RANK clause.";
            self.report(Diagnostic::sc(2224, message, first.span.to(source.span)));
        }
    }

    /// Reports an input set that a ranked query must not have.
    pub(super) fn check_rank_source(&mut self, source: &ast::Source) {
        if self.rank && source.iterates {
            let message = "The FROM clause with the IN operator is not allowed with the ORDER BY \
                           RANK clause.";
            self.report(Diagnostic::sc(2223, message, source.span));
        }
    }

    pub(super) fn check_rank_subquery(&mut self, span: Span) {
        if self.rank {
            let message =
                "Subqueries in the FROM clause are not allowed with the ORDER BY RANK clause.";
            self.report(Diagnostic::sc(2225, message, span));
        }
    }

    pub(super) fn check_rank_groups(&mut self, query: &ast::Query) {
        if self.rank && !query.group_by.is_empty() {
            let message = "The GROUP BY clause is not allowed with the ORDER BY RANK clause.";
            self.report(Diagnostic::sc(2227, message, query.group_by_span));
        }
    }

    pub(super) fn check_rank_distinct(&mut self, query: &ast::Query) {
        if self.rank && query.select.distinct {
            let message = "The DISTINCT keyword is not allowed with the ORDER BY RANK clause.";
            self.report(Diagnostic::sc(2220, message, query.select.span));
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
        let mut values = Vec::new();
        for term in terms {
            let bound = self.expr(term);
            let value = constant(&bound).flatten().and_then(Datum::value);
            let Some(value) = value.filter(|value| SearchTerm::parts(value).is_some()) else {
                self.report(Diagnostic::sc(2241, TERMS, term.span));
                return None;
            };
            if !self.keep(value.heap_bytes() + value_words_bytes(value)) {
                let message = "The search terms take more memory than a query has for them.";
                self.report(Diagnostic::plain(message, term.span));
                return None;
            }
            values.push(value.clone());
        }
        Some(Score::FullText { text, terms: values, language })
    }
}
