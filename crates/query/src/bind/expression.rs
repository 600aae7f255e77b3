//! Scalar expressions.

use std::collections::HashSet;

use model::Value;

use super::Binder;
use super::fold::constant;
use super::query::unbound;
use super::tree::{Expr, ITEM_LEVEL};
use crate::ast::{self, BinaryOp, ExprKind, SubqueryKind, UnaryOp};
use crate::error::{Diagnostic, Span};
use crate::eval::LikePattern;
use crate::format;
use crate::functions::{
    self, Arity, Function, Prepared, Role, VectorOptions, check_vector_options, pattern_arguments,
    prepare_regex, prepare_text, prepare_vector,
};
use crate::language::Language;
use crate::value::{Datum, Step, value_key};

/// From this many constants on, IN looks up a set.
const IN_SET_MIN: usize = 8;

/// Limit: regular expressions of one query that are kept compiled, a few MiB each at most; others are compiled for each row.
const REGEXES_MAX: usize = 32;

impl Binder<'_> {
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Expr {
        if !self.groups.is_empty()
            && !matches!(expr.kind, ExprKind::Literal(_))
            && let Some((level, index)) = self.group_key(&format::identity(expr))
        {
            return Expr::GroupKey { level, index };
        }
        let bound = self.unfolded(expr);
        self.fold(bound)
    }

    fn list(&mut self, list: &[ast::Expr]) -> Vec<Expr> {
        list.iter().map(|expr| self.expr(expr)).collect()
    }

    fn boxed(&mut self, expr: &ast::Expr) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    fn unfolded(&mut self, expr: &ast::Expr) -> Expr {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Literal(value) => Expr::Constant(Some(Datum::Owned(value.clone()))),
            ExprKind::Undefined => Expr::Constant(None),
            ExprKind::Parameter(name) => {
                if let Some(value) = self.parameter(name) {
                    Expr::Constant(Some(Datum::Owned(value.clone())))
                } else if self.context.parameters_may_lack {
                    // It may be anything, and so may an item.
                    Expr::Variable(ITEM_LEVEL)
                } else {
                    self.report(unbound(name, span));
                    Expr::Constant(None)
                }
            }
            ExprKind::Identifier(name) => self.identifier(name, span),
            ExprKind::Path { base, steps } => self.path(base, steps, span),
            ExprKind::Array(list) => Expr::Array(self.list(list)),
            ExprKind::Object(members) => Expr::Object(
                members.iter().map(|(name, value)| (name.clone(), self.expr(value))).collect(),
            ),
            ExprKind::Unary(op, operand) => {
                let operand = self.boxed(operand);
                match op {
                    UnaryOp::Not => Expr::Not(operand),
                    UnaryOp::Minus => Expr::Minus(operand),
                    UnaryOp::Plus => Expr::Plus(operand),
                    UnaryOp::BitNot => Expr::BitNot(operand),
                }
            }
            ExprKind::Chain { first, rest } => self.chain(first, rest),
            ExprKind::In { needle, list, negated } => {
                let bound = self.is_in(needle, list);
                self.negated(bound, *negated)
            }
            ExprKind::Like { text, pattern, escape, negated } => {
                let bound = self.like(text, pattern, *escape);
                self.negated(bound, *negated)
            }
            ExprKind::Between { operands, negated } => {
                let bound = Expr::Between(self.three(operands));
                self.negated(bound, *negated)
            }
            ExprKind::Conditional(operands) => Expr::Conditional(self.three(operands)),
            ExprKind::Call { name, udf: true, arguments } => self.udf(name, arguments, span),
            ExprKind::Call { name, udf: false, arguments } => self.call(name, arguments, span),
            ExprKind::Subquery(kind, query) => {
                let mut bound = self.subquery(query);
                if *kind == SubqueryKind::All {
                    // ALL asks whether the filter holds for every row, so the filter is the value.
                    let filter = bound.filter.take();
                    let holds = Expr::Constant(Some(Datum::Owned(Value::Bool(true))));
                    bound.projection = super::tree::Projection::Value(filter.unwrap_or(holds));
                }
                Expr::Subquery(*kind, Box::new(bound))
            }
        }
    }

    fn three(&mut self, operands: &[ast::Expr; 3]) -> Box<[Expr; 3]> {
        let [first, second, third] = operands;
        Box::new([self.expr(first), self.expr(second), self.expr(third)])
    }

    fn negated(&self, expr: Expr, negated: bool) -> Expr {
        if negated { Expr::Not(Box::new(self.fold(expr))) } else { expr }
    }

    fn identifier(&mut self, name: &str, span: Span) -> Expr {
        let Some(level) = self.resolve(name) else {
            // Wire: published samples use these two names as numbers.
            return match name {
                "NaN" => Expr::Constant(Some(Datum::Special(f64::NAN))),
                "Infinity" => Expr::Constant(Some(Datum::Special(f64::INFINITY))),
                _ => {
                    let message = format!("Identifier '{name}' could not be resolved.");
                    self.report(Diagnostic::sc(2001, message, span));
                    Expr::Constant(None)
                }
            };
        };
        self.check_grouped(level, span, || name.to_owned());
        Expr::Variable(level)
    }

    /// Reports a variable that has no single value within the group.
    fn check_grouped(&mut self, level: usize, span: Span, text: impl FnOnce() -> String) {
        if self.varies_in_group(level) {
            let text = text();
            let message = format!(
                "Property reference '{text}' is invalid in the select list because it is not \
                 contained in either an aggregate function or the GROUP BY clause."
            );
            self.report(Diagnostic::sc(2102, message, span));
        }
    }

    fn path(&mut self, base: &ast::Expr, steps: &[ast::Step], span: Span) -> Expr {
        let mut steps = self.steps(steps);
        // A prefix of the path may be a key of the group, or a computed property of the item.
        let base = match &base.kind {
            ExprKind::Identifier(name) => match self.resolve(name) {
                Some(level) => {
                    if let Some((key, n_steps)) = self.key_prefix(base, &steps) {
                        steps.drain(..n_steps);
                        key
                    } else {
                        let text = || format!("{name}{}", path_text(&steps));
                        self.check_grouped(level, span, text);
                        self.item_path(level, &mut steps)
                    }
                }
                None => self.identifier(name, base.span),
            },
            _ => self.expr(base),
        };
        match base {
            base if steps.is_empty() => base,
            Expr::Variable(level) => Expr::VariablePath(level, steps),
            base => Expr::Path(Box::new(base), steps),
        }
    }

    /// Finds the longest proper prefix of a path that is a group key.
    fn key_prefix(&self, base: &ast::Expr, steps: &[Step]) -> Option<(Expr, usize)> {
        if self.groups.is_empty() {
            return None;
        }
        let base = format::identity(base);
        (0..steps.len()).rev().find_map(|n_steps| {
            let identity = format!("{base}{}", bracket_text(steps.get(..n_steps)?));
            let (level, index) = self.group_key(&identity)?;
            Some((Expr::GroupKey { level, index }, n_steps))
        })
    }

    fn item_path(&mut self, level: usize, steps: &mut Vec<Step>) -> Expr {
        if level == ITEM_LEVEL
            && let Some(Step::Name(name)) = steps.first()
            && let Some(expr) = self.computed_property(&name.clone())
        {
            steps.remove(0);
            return expr;
        }
        Expr::Variable(level)
    }

    fn steps(&mut self, steps: &[ast::Step]) -> Vec<Step> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &ast::Step) -> Step {
        let ast::Step::Computed(index) = step else {
            return Step::from_ast(step).unwrap_or(Step::Never);
        };
        let bound = self.expr(index);
        let Some(constant) = constant(&bound) else {
            let message = "The specified query includes 'member indexer' which is currently not \
                           supported.";
            self.report(Diagnostic::sc(2990, message, index.span));
            return Step::Never;
        };
        Step::from_constant(constant.and_then(Datum::value))
    }

    fn chain(&mut self, first: &ast::Expr, rest: &[(BinaryOp, ast::Expr)]) -> Expr {
        let op = rest.first().map_or(BinaryOp::And, |(op, _)| *op);
        let first = self.expr(first);
        let operands = rest.iter().map(|(op, operand)| (*op, self.expr(operand)));
        if !matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Coalesce) {
            return Expr::Chain(Box::new(first), operands.collect());
        }
        let mut list = vec![first];
        list.extend(operands.map(|(_, operand)| operand));
        match op {
            BinaryOp::And => Expr::And(list),
            BinaryOp::Or => Expr::Or(list),
            _ => Expr::Coalesce(list),
        }
    }

    fn is_in(&mut self, needle: &ast::Expr, list: &[ast::Expr]) -> Expr {
        let needle = self.boxed(needle);
        let list = self.list(list);
        if list.len() >= IN_SET_MIN && list.iter().all(|expr| constant(expr).is_some()) {
            let values = list.iter().filter_map(|expr| constant(expr)?.and_then(Datum::value));
            let values: Vec<Value> = values.cloned().collect();
            let keys: HashSet<Vec<u8>> =
                values.iter().map(|value| value_key(Some(value))).collect();
            return Expr::InSet { needle, keys, values };
        }
        Expr::In(needle, list)
    }

    fn like(&mut self, text: &ast::Expr, pattern: &ast::Expr, escape: Option<char>) -> Expr {
        let text = self.boxed(text);
        let pattern = self.boxed(pattern);
        if let Some(Some(constant)) = constant(&pattern)
            && let Some(pattern) = constant.as_text()
        {
            return Expr::Like(text, LikePattern::new(pattern, escape));
        }
        Expr::LikeComputed { text, pattern, escape }
    }

    fn udf(&mut self, name: &str, arguments: &[ast::Expr], span: Span) -> Expr {
        if let Some(host) = &self.context.udf_host
            && !host.exists(name)
        {
            let message = format!("'{name}' is not a recognized user-defined function name.");
            self.report(Diagnostic::plain(message, span));
        }
        Expr::Udf(name.to_string(), self.list(arguments))
    }

    fn call(&mut self, name: &str, arguments: &[ast::Expr], span: Span) -> Expr {
        let Some(function) = functions::find(name) else {
            self.report(unknown_function(name, span));
            return Expr::Constant(None);
        };
        if let Role::Rank = function.role {
            self.report(if function.name == "RRF" {
                unknown_function(name, span)
            } else {
                let message =
                    "The FullTextScore function is only allowed in the ORDER BY RANK clause.";
                Diagnostic::sc(2240, message, span)
            });
            return Expr::Constant(None);
        }
        if let Some(diagnostic) = wrong_count(function, arguments.len(), span) {
            self.report(diagnostic);
            return Expr::Constant(None);
        }
        if let (Role::Aggregate(kind), [argument]) = (function.role, arguments) {
            return self.aggregate(kind, argument, span);
        }
        let prepared_vector = self.prepared_vector(function, arguments);
        let language = self.language(arguments);
        let arguments = self.list(arguments);
        let prepared = match prepared_vector {
            Some(prepared) => prepared,
            None => self.prepared(function, &arguments, language),
        };
        Expr::Call { function, arguments, prepared }
    }

    fn prepared_vector(
        &mut self,
        function: &'static Function,
        arguments: &[ast::Expr],
    ) -> Option<Prepared> {
        let is_vector = matches!(function.name, "VECTORDISTANCE" | "_VECTORSCORE");
        is_vector.then(|| Prepared::Vector(self.vector_options(arguments)))
    }

    fn prepared(
        &mut self,
        function: &Function,
        arguments: &[Expr],
        language: Language,
    ) -> Prepared {
        match function.name {
            "FULLTEXTCONTAINS" | "FULLTEXTCONTAINSALL" | "FULLTEXTCONTAINSANY" => {
                let terms: Option<Vec<_>> = arguments.iter().skip(1).map(constant).collect();
                prepare_text(language, terms.as_deref())
            }
            "_FULLTEXTWORDCOUNT" | "_FULLTEXTSCORE" => prepare_text(language, None),
            name => self.prepared_regex(name, arguments).unwrap_or_default(),
        }
    }

    fn prepared_regex(&mut self, name: &str, arguments: &[Expr]) -> Option<Prepared> {
        let pattern = pattern_arguments(name, arguments)?;
        let pattern: Vec<_> = pattern.into_iter().map(constant).collect::<Option<_>>()?;
        if self.n_regexes == REGEXES_MAX {
            return None;
        }
        self.n_regexes += 1;
        Some(prepare_regex(&pattern))
    }

    /// Returns the language of the text that is the first argument.
    pub(super) fn language(&mut self, arguments: &[ast::Expr]) -> Language {
        let path = arguments.first().and_then(|argument| self.document_path(argument));
        self.context.full_text.language(path.as_deref())
    }

    /// Returns the settings of a vector comparison, and reports options out of range.
    pub(super) fn vector_options(&mut self, arguments: &[ast::Expr]) -> VectorOptions {
        let path = arguments.iter().find_map(|argument| self.document_path(argument));
        let options = arguments.get(3).map(|options| (self.expr(options), options.span));
        let value = options
            .as_ref()
            .and_then(|(expr, span)| Some((constant(expr)?.and_then(Datum::value)?, *span)));
        let problem = value.and_then(|(value, span)| check_vector_options(value, span));
        let prepared = prepare_vector(self.context, path.as_deref(), value.map(|(value, _)| value));
        if let Some(problem) = problem {
            self.report(problem);
        }
        prepared
    }

    /// Returns the names of a path below a variable. What is constant is a name too: `c[@name]`.
    fn document_path(&mut self, expr: &ast::Expr) -> Option<Vec<String>> {
        let ExprKind::Path { base, steps } = &expr.kind else { return None };
        let ExprKind::Identifier(_) = base.kind else { return None };
        let mut name = |step: &ast::Step| match step {
            ast::Step::Dot(name) | ast::Step::Name(name) => Some(name.clone()),
            ast::Step::Index(_) => None,
            ast::Step::Computed(index) => match constant(&self.expr(index))?.and_then(Datum::value)
            {
                Some(Value::String(name)) => Some(name.clone()),
                _ => None,
            },
        };
        steps.iter().map(&mut name).collect()
    }
}

fn unknown_function(name: &str, span: Span) -> Diagnostic {
    let message = format!("'{name}' is not a recognized built-in function name.");
    Diagnostic::sc(2005, message, span)
}

fn wrong_count(function: &Function, count: usize, span: Span) -> Option<Diagnostic> {
    let Arity { min, max } = function.arity;
    if count >= min && max.is_none_or(|max| count <= max) {
        return None;
    }
    let needed = match max {
        Some(max) if max == min => format!("{min}"),
        Some(max) => format!("{min} to {max}"),
        None => format!("at least {min}"),
    };
    let message = format!("The {} function requires {needed} argument(s).", function.name);
    Some(Diagnostic::sc(2050, message, span))
}

fn path_text(steps: &[Step]) -> String {
    let step_text = |step: &Step| match step {
        Step::Name(name) => format!(".{name}"),
        Step::Index(index) => format!("[{index}]"),
        Step::Never => String::new(),
    };
    steps.iter().map(step_text).collect()
}

fn bracket_text(steps: &[Step]) -> String {
    let step_text = |step: &Step| match step {
        Step::Name(name) => format!("[{}]", format::quoted(name)),
        Step::Index(index) => format!("[{index}]"),
        Step::Never => String::new(),
    };
    steps.iter().map(step_text).collect()
}
