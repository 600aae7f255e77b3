//! ORDER BY RANK.

use std::sync::Arc;

use model::{Object, Value};

use super::expression::{unknown_function, wrong_count};
use super::fold::constant;
use super::tree::{Component, Expr, Fusion, Rank, Score};
use super::{Binder, Clause};
use crate::ast::{self, ExprKind};
use crate::error::{Diagnostic, Span};
use crate::functions::{self, Function, Prepared, SearchTerm, value_words_bytes};
use crate::value::Datum;

const WEIGHTS: &str = "The last parameter of the RRF function is an optional array of weights. When \
    present, it must be a literal array of numbers, one for each of the component scores used for \
    the RRF function. The length of this array must be the same as the number of the component \
    scores.";

const COMBINED_WEIGHTS: &str = "The optional weights argument to COMBINEDSCORE must be a literal array of \
    numbers, with one weight for each component score. The number of weights must match the number of \
    component scores.";

const FUNCTIONS: &str = "The ORDER BY RANK clause must be followed by a VectorDistance and/or a \
    FullTextScore function call.";

const COMBINED_FUNCTIONS: &str =
    "The COMBINEDSCORE function only supports FullTextScore component scores.";

const MULTIPLIER: &str = "The optional search list size multiplier argument to a score fusion function must \
    be a positive integer.";

const COMPONENTS: &str = "A score fusion function requires at least two component score functions.";

const TERMS: &str = "The second through last arguments of the 'FullTextScore' function must be literals \
    of type string or object specifying the fuzzy search argument containing a 'term' property which is a \
    string and a 'distance' property which is a number between 0 and 2 (inclusive).";

pub(super) const COMPONENT_SCORE: &str =
    "One or more arguments provided by the rewritten full text query are invalid.";

const SHOWN: &str = "The FullTextScore function is only allowed in the SELECT, WHERE and ORDER BY RANK \
    clauses of a query that has an ORDER BY RANK.";

/// The calls that ORDER BY RANK fuses, with their weights.
pub(crate) struct RankCalls<'a> {
    pub(crate) calls: &'a [ast::Expr],
    /// Empty when no weights were written.
    pub(crate) weights: Vec<f64>,
    /// How many times as many rows components are asked for.
    pub(crate) multiplier: u32,
}

/// Returns how a function of this name fuses scores.
fn fusion(name: &str) -> Option<Fusion> {
    if name.eq_ignore_ascii_case("RRF") {
        return Some(Fusion::Ranks);
    }
    name.eq_ignore_ascii_case("COMBINEDSCORE").then_some(Fusion::Scores)
}

/// The values of parameters, by name.
pub(crate) type Parameters<'p> = &'p dyn Fn(&str) -> Option<Arc<Value>>;

/// Splits the expression after RANK into its components; `None` when it is not right.
pub(crate) fn rank_calls<'a>(
    expr: &'a ast::Expr,
    parameters: Parameters<'_>,
) -> Option<RankCalls<'a>> {
    let ExprKind::Call { name, udf: false, arguments } = &expr.kind else { return None };
    if fusion(name).is_none() {
        return is_component(expr).then(|| RankCalls {
            calls: std::slice::from_ref(expr),
            weights: Vec::new(),
            multiplier: 1,
        });
    }
    let parts = FusionParts::of(arguments, parameters);
    Some(RankCalls {
        calls: parts.calls,
        weights: parts.weights(parameters)?,
        multiplier: parts.multiplier(parameters)?,
    })
}

/// The arguments of a fusion: components, then weights, then a multiplier. The latter two are literals or parameters.
struct FusionParts<'a> {
    calls: &'a [ast::Expr],
    weights: Option<&'a ast::Expr>,
    multiplier: Option<&'a ast::Expr>,
}

impl<'a> FusionParts<'a> {
    fn of(arguments: &'a [ast::Expr], parameters: Parameters<'_>) -> FusionParts<'a> {
        let (rest, multiplier) = match arguments.split_last() {
            Some((last, rest)) if rest.len() >= 2 && is_number(last, parameters) => {
                (rest, Some(last))
            }
            _ => (arguments, None),
        };
        let (calls, weights) = match rest.split_last() {
            Some((last, calls)) if is_list(last, parameters) && !calls.is_empty() => {
                (calls, Some(last))
            }
            _ => (rest, None),
        };
        FusionParts { calls, weights, multiplier }
    }

    /// Returns the weights, none if there are none written; `None` when they are wrong.
    fn weights(&self, parameters: Parameters<'_>) -> Option<Vec<f64>> {
        let Some(weights) = self.weights else { return Some(Vec::new()) };
        weights_of(weights, parameters).filter(|weights| weights.len() == self.calls.len())
    }

    fn multiplier(&self, parameters: Parameters<'_>) -> Option<u32> {
        self.multiplier.map_or(Some(1), |count| positive_count(count, parameters))
    }
}

/// Says whether the terms and their counts are written as arrays, or are parameters.
pub(super) fn has_lists(arguments: &[ast::Expr]) -> bool {
    let is_list =
        |expr: &ast::Expr| matches!(expr.kind, ExprKind::Array(_) | ExprKind::Parameter(_));
    [1, 4].into_iter().all(|at| arguments.get(at).is_some_and(is_list))
}

/// Says whether rows can be sorted by `_FullTextScore` with these arguments: all but the path are constants that fit.
pub(super) fn is_component_order(call: &Expr) -> bool {
    let Expr::Call { arguments, .. } = call else { return false };
    let [text, terms, n_items, n_words, hits] = arguments.as_slice() else { return false };
    let value = |expr: &Expr| constant(expr).flatten().and_then(Datum::value).cloned();
    let list = |expr: &Expr| value(expr)?.as_array().map(<[Value]>::to_vec);
    let is_count = |expr: &Expr| value(expr).and_then(|value| value.as_i64()) >= Some(0);
    let (Some(terms), Some(hits)) = (list(terms), list(hits)) else { return false };
    matches!(text, Expr::VariablePath(..))
        && is_count(n_items)
        && is_count(n_words)
        && terms.len() == hits.len()
        && terms.iter().all(|term| SearchTerm::parts(term).is_some())
        && hits.iter().all(|count| count.as_f64().is_some())
}

/// Reads the value of a literal, or of a parameter that has one.
fn read<T>(
    expr: &ast::Expr,
    parameters: Parameters<'_>,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Option<T> {
    match &expr.kind {
        ExprKind::Literal(value) => read(value),
        ExprKind::Parameter(name) => parameters(name).and_then(|value| read(&value)),
        _ => None,
    }
}

fn is_number(expr: &ast::Expr, parameters: Parameters<'_>) -> bool {
    matches!(expr.kind, ExprKind::Special(_)) || read(expr, parameters, Value::as_f64).is_some()
}

fn is_list(expr: &ast::Expr, parameters: Parameters<'_>) -> bool {
    let length = |value: &Value| value.as_array().map(<[Value]>::len);
    matches!(expr.kind, ExprKind::Array(_)) || read(expr, parameters, length).is_some()
}

/// Reads a positive number without a fraction.
fn positive_count(expr: &ast::Expr, parameters: Parameters<'_>) -> Option<u32> {
    let count = u32::try_from(read(expr, parameters, Value::as_i64)?).ok()?;
    (count > 0).then_some(count)
}

/// Says whether an expression is the score of a text.
pub(crate) fn is_text_score(expr: &ast::Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { name, udf: false, .. }
        if name.eq_ignore_ascii_case("FullTextScore"))
}

fn is_component(expr: &ast::Expr) -> bool {
    let ExprKind::Call { name, udf: false, arguments } = &expr.kind else { return false };
    let is_known =
        name.eq_ignore_ascii_case("FullTextScore") || name.eq_ignore_ascii_case("VectorDistance");
    is_known && arguments.len() >= 2
}

fn weights_of(expr: &ast::Expr, parameters: Parameters<'_>) -> Option<Vec<f64>> {
    if let ExprKind::Array(list) = &expr.kind {
        return list.iter().map(|it| read(it, parameters, Value::as_f64)).collect();
    }
    read(expr, parameters, |value| value.as_array()?.iter().map(Value::as_f64).collect())
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
        self.clause = Clause::OrderBy;
        let rank = self.fused(&item.expr, order.span);
        self.clause = Clause::Other;
        rank
    }

    /// Binds what follows RANK; the mistakes that no argument has stand at `span`, the whole clause.
    fn fused(&mut self, expr: &ast::Expr, span: Span) -> Option<Rank> {
        let ExprKind::Call { name, udf, arguments } = &expr.kind else { return None };
        let fusion = fusion(name).filter(|_| !udf);
        let own = self.parameters.clone();
        let parameters = |name: &str| own.get(name).map(|value| Arc::clone(value));
        let mut no_score = (2221, FUNCTIONS);
        let mut calls = std::slice::from_ref(expr);
        let mut is_last = false;
        if let Some(fusion) = fusion {
            let parts = FusionParts::of(arguments, &parameters);
            self.check_fusion(fusion, &parts, &parameters, span);
            calls = parts.calls;
            is_last = parts.weights.is_none();
            if fusion == Fusion::Scores {
                no_score = (2231, COMBINED_FUNCTIONS);
            }
        }
        let lacks_score = |binder: &Self, call: &ast::Expr| {
            let is_right = is_component(call) && (no_score.0 == 2221 || is_text_score(call));
            !is_right && !binder.is_refused(call)
        };
        let no_score = Diagnostic::sc(no_score.0, no_score.1, span);
        // The service looks at the last one, which could be an array of weights, before the others.
        let (last, first) = calls.split_last()?;
        let early = is_last.then(|| self.component(last));
        let mut scores = Vec::with_capacity(calls.len());
        for call in first {
            scores.push(self.component(call));
            if lacks_score(self, call) {
                self.report_each(vec![no_score.clone()]);
            }
        }
        scores.push(early.unwrap_or_else(|| self.component(last)));
        if lacks_score(self, last) {
            self.report_each(vec![no_score]);
        }
        let weights = rank_calls(expr, &parameters)?.weights;
        let components = scores.into_iter().enumerate().map(|(index, score)| {
            let weight = weights.get(index).copied().unwrap_or(1.0);
            score.map(|score| Component { score, weight })
        });
        let components = components.collect::<Option<Vec<_>>>()?;
        Some(Rank { components, fusion: fusion.unwrap_or(Fusion::Ranks), shown: Vec::new() })
    }

    fn check_fusion(
        &mut self,
        fusion: Fusion,
        parts: &FusionParts<'_>,
        parameters: Parameters<'_>,
        span: Span,
    ) {
        if parts.multiplier(parameters).is_none() {
            self.report(Diagnostic::sc(2232, MULTIPLIER, span));
        }
        if let Some(weights) = parts.weights {
            self.expr(weights);
        }
        if parts.weights(parameters).is_none() {
            let (code, text) = match fusion {
                Fusion::Ranks => (2229, WEIGHTS),
                Fusion::Scores => (2230, COMBINED_WEIGHTS),
            };
            self.report(Diagnostic::sc(code, text, span));
        }
        if parts.calls.len() < 2 {
            self.report(Diagnostic::sc(2233, COMPONENTS, span));
        }
    }

    /// Binds one argument of a fusion.
    fn component(&mut self, call: &ast::Expr) -> Option<Score> {
        if is_component(call) {
            return self.score(call);
        }
        self.expr(call);
        None
    }

    /// Says whether an argument is wrong by itself, so that nothing is said of what it is not.
    fn is_refused(&self, call: &ast::Expr) -> bool {
        match &call.kind {
            ExprKind::Path { steps, .. } => steps.iter().any(|step| self.step(step).is_none()),
            ExprKind::Call { name, udf: false, arguments } => {
                let is_right = |function: &Function| {
                    wrong_count(function, name, arguments.len(), call.span).is_none()
                };
                let is_vector = name.eq_ignore_ascii_case("VectorDistance");
                fusion(name).is_some()
                    || !functions::find(name).is_some_and(is_right)
                    || is_vector && self.has_wrong_search(arguments)
            }
            _ => false,
        }
    }

    /// Binds a score of a text in SELECT or WHERE. Clients put its statistics into component queries, so what is bound
    /// here stands for any number and is never computed.
    pub(super) fn shown_score(&mut self, call: &ast::Expr) -> Expr {
        let ExprKind::Call { arguments, .. } = &call.kind else { return Expr::Constant(None) };
        if !self.rank {
            for argument in arguments {
                self.expr(argument);
            }
            self.report(Diagnostic::sc(2244, SHOWN, call.span));
            return Expr::Constant(None);
        }
        let (score, function) = (self.score(call), functions::find("_FULLTEXTWORDCOUNT"));
        let (Some(score), Some(function)) = (score, function) else { return Expr::Constant(None) };
        self.shown_scores.push(score);
        let arguments = arguments.iter().take(1).map(|text| self.expr(text)).collect();
        Expr::Call { function, arguments, prepared: Prepared::Nothing }
    }

    /// The service does not know the function of its component queries when the arguments are wrong.
    pub(super) fn refuse_component_score(&mut self, function: &Function, name: &str, span: Span) {
        if function.name == "_FULLTEXTSCORE" {
            self.report(unknown_function(name, span));
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

    pub(super) fn score(&mut self, call: &ast::Expr) -> Option<Score> {
        let ExprKind::Call { name, arguments, .. } = &call.kind else { return None };
        if name.eq_ignore_ascii_case("VectorDistance") {
            let expr = self.expr(call);
            let larger_closer = self.vector_options(arguments).distance.is_larger_closer();
            return Some(Score::Vector { expr, larger_closer });
        }
        let language = self.language(arguments);
        let (text, terms) = arguments.split_first()?;
        let text = self.expr(text);
        for term in terms {
            self.expr(term);
        }
        let mut values = Vec::new();
        for term in terms {
            let Some(value) = self.search_term(term) else {
                // Wire: whichever term is wrong, the service shows the first.
                let span = terms.first().map_or(call.span, |term| term.span);
                self.report(Diagnostic::sc(2241, TERMS, span));
                return None;
            };
            if !self.keep(value.heap_bytes() + value_words_bytes(&value)) {
                let message = "The search terms take more memory than a query has for them.";
                self.report(Diagnostic::plain(message, term.span));
                return None;
            }
            values.push(value);
        }
        Some(Score::FullText { text, terms: values, language })
    }

    /// Returns a term as it is written: a text, or an object whose `term` and `distance` are literals.
    fn search_term(&self, term: &ast::Expr) -> Option<Value> {
        let written = |expr: &ast::Expr| match &expr.kind {
            ExprKind::Literal(value) => Some(value.clone()),
            ExprKind::Parameter(name) => self.parameter(name).map(|value| Value::clone(value)),
            _ => None,
        };
        let value = if let ExprKind::Object(members) = &term.kind {
            let member = |name: &str| {
                let found = members.iter().find(|(own, _)| own.text == name);
                found.and_then(|(_, value)| written(value))
            };
            let distance = member("distance")?;
            distance.as_number()?.kept_integer()?;
            let mut fuzzy = Object::new();
            fuzzy.insert("term", member("term")?);
            fuzzy.insert("distance", distance);
            Value::Object(fuzzy)
        } else {
            written(term)?
        };
        SearchTerm::parts(&value).is_some().then_some(value)
    }
}
