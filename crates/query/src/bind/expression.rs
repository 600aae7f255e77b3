//! Scalar expressions.

use std::collections::HashSet;

use model::Value;

use super::fold::constant;
use super::query::{has_aggregates, repeated_name};
use super::rank::{COMPONENT_SCORE, has_lists};
use super::scope::Meaning;
use super::tree::{Expr, ITEM_LEVEL};
use super::{Binder, Clause, Stage};
use crate::ast::{self, BinaryOp, ExprKind, SubqueryKind, UnaryOp};
use crate::error::{Diagnostic, Span};
use crate::eval::{LikePattern, SEEN_BYTES};
use crate::full_text::language::Language;
use crate::functions::{
    self, Arity, Function, Prepared, Role, ShapeArgument, VectorOptions, pattern_arguments,
    prepare_regex, prepare_text, prepare_vector, shape_bytes_max, value_words_bytes,
};
use crate::syntax::format;
use crate::value::{Datum, Step, key_bytes_max, value_key};

/// From this many constants on, IN looks up a set.
const IN_SET_MIN: usize = 8;

/// Limit: regular expressions of one query that are kept compiled, a few MiB each at most; others are compiled for each row.
const REGEXES_MAX: usize = 32;

/// Bytes of a compiled regular expression for each byte of its pattern, about; how its repetitions grow is bounded elsewhere.
const PATTERN_BYTES: usize = 64;

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
            ExprKind::Special(number) => Expr::Constant(Some(Datum::Special(*number))),
            // A parameter that the request does not have is undefined.
            ExprKind::Parameter(name) => {
                Expr::Constant(self.parameter(name).cloned().map(Datum::Shared))
            }
            ExprKind::Identifier(name) => self.identifier(name, span),
            ExprKind::Path { base, steps } => self.path(base, steps, span),
            ExprKind::Array(list) => Expr::Array(self.list(list)),
            ExprKind::Object(members) => self.object(members),
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
                let escape = self.escape(escape.as_ref());
                let bound = self.like(text, pattern, escape);
                self.negated(bound, *negated)
            }
            ExprKind::Between { operands, negated } => {
                let bound = Expr::Between(self.three(operands));
                self.negated(bound, *negated)
            }
            ExprKind::Conditional(operands) => Expr::Conditional(self.three(operands)),
            ExprKind::Let { name, operands } => self.let_in(name, operands, span),
            ExprKind::Call { name, udf: true, arguments } => self.udf(name, arguments),
            ExprKind::Call { name, udf: false, arguments } => self.call(expr, name, arguments),
            ExprKind::Subquery(..) if self.clause == Clause::GroupBy => {
                self.refuse_in_key(expr);
                Expr::Constant(None)
            }
            ExprKind::Subquery(kind, query) => {
                let bound = self.subquery(query);
                if *kind == SubqueryKind::Scalar && !is_one_row(query) {
                    let message = "The cardinality of a scalar subquery result set cannot be greater \
                                   than one.";
                    self.report(Diagnostic::sc(2201, message, query.span));
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
        match self.resolve(name) {
            None => {
                self.report(unresolved(name, span));
                Expr::Constant(None)
            }
            Some((_, Meaning::Input(level))) => {
                let level = *level;
                self.check_grouped(level, span, &[]);
                Expr::Variable(level)
            }
            Some((place, Meaning::Let(value))) => {
                let value = value.to_expr();
                if self.is_let_outside_group(place) {
                    self.report_ungrouped(span, &[]);
                }
                value
            }
        }
    }

    /// Reports a variable that has no single value within the group. It stands at `span`, with steps below it.
    fn check_grouped(&mut self, level: usize, span: Span, steps: &[Step]) {
        if self.varies_in_group(level) {
            self.report_ungrouped(span, steps);
        }
    }

    pub(super) fn report_ungrouped(&mut self, span: Span, steps: &[Step]) {
        let mut text = self.quote(span);
        // Wire: elements of arrays at the end of the path are not shown.
        for _ in steps.iter().rev().take_while(|step| matches!(step, Step::Index(_))) {
            text = text.rfind('[').map_or(text, |at| text.get(..at).unwrap_or(text)).trim_end();
        }
        let end = span.start + u32::try_from(text.encode_utf16().count()).unwrap_or_default();
        let is_order = self.clause == Clause::OrderBy;
        let (code, place) =
            if is_order { (2103, "ORDER BY clause") } else { (2102, "select list") };
        let message = format!(
            "Property reference '{text}' is invalid in the {place} because it is not contained in \
             either an aggregate function or the GROUP BY clause."
        );
        self.report_at(Stage::Groups, Diagnostic::sc(code, message, Span { end, ..span }));
    }

    fn object(&mut self, members: &[(ast::Name, ast::Expr)]) -> Expr {
        let mut names = HashSet::with_capacity(members.len());
        for (name, _) in members {
            if !names.insert(name.text.as_str()) {
                self.report(repeated_name(&name.text, name.span));
            }
        }
        let values = members.iter().map(|(name, value)| (name.text.clone(), self.expr(value)));
        Expr::Object(values.collect())
    }

    fn path(&mut self, base: &ast::Expr, steps: &[ast::Step], span: Span) -> Expr {
        let Some(mut steps) = self.steps(steps, span) else { return Expr::Constant(None) };
        // A prefix of the path may be a key of the group, or a computed property of the item.
        let base = match &base.kind {
            ExprKind::Identifier(name) => match self.resolve_input(name) {
                Some(level) => {
                    if let Some((key, n_steps)) = self.key_prefix(base, &steps) {
                        steps.drain(..n_steps);
                        key
                    } else {
                        self.check_grouped(level, span, &steps);
                        self.item_path(level, &mut steps)
                    }
                }
                None => match self.identifier(name, base.span) {
                    Expr::Variable(ITEM_LEVEL) => self.item_path(ITEM_LEVEL, &mut steps),
                    base => base,
                },
            },
            _ => self.expr(base),
        };
        match base {
            base if steps.is_empty() => base,
            Expr::VariablePath(level, mut own) => {
                own.append(&mut steps);
                Expr::VariablePath(level, own)
            }
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

    /// Returns the group key that a path is or goes on from.
    pub(super) fn key_of_path(&self, name: &str, steps: &[Step]) -> Option<Expr> {
        let kind = ExprKind::Identifier(name.to_owned());
        let base = format::identity(&ast::Expr { kind, span: Span::default() });
        (1..=steps.len()).rev().find_map(|n_steps| {
            let (own, rest) = steps.split_at_checked(n_steps)?;
            let (level, index) = self.group_key(&format!("{base}{}", bracket_text(own)))?;
            let key = Expr::GroupKey { level, index };
            Some(if rest.is_empty() { key } else { Expr::Path(Box::new(key), rest.to_vec()) })
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

    /// Returns the steps of a path that stands at `span`, or reports the last one that is not known before rows are read.
    fn steps(&mut self, steps: &[ast::Step], span: Span) -> Option<Vec<Step>> {
        let known: Vec<Option<Step>> = steps.iter().map(|step| self.step(step)).collect();
        if let Some(at) = known.iter().rposition(Option::is_none) {
            if let Some(ast::Step::Computed(index)) = steps.get(at) {
                self.expr(index);
            }
            let end = match steps.get(at) {
                Some(ast::Step::Computed(index)) if at + 1 < steps.len() => index.span.end + 1,
                _ => span.end,
            };
            let message = "The specified query includes 'member indexer' which is currently not \
                           supported.";
            self.report(Diagnostic::sc(2990, message, Span { end, ..span }));
        }
        known.into_iter().collect()
    }

    pub(super) fn step(&self, step: &ast::Step) -> Option<Step> {
        let ast::Step::Computed(index) = step else { return Step::from_ast(step) };
        let index = match &index.kind {
            ExprKind::Literal(value) => value,
            ExprKind::Parameter(name) => &**self.parameter(name)?,
            ExprKind::Special(_) => return Some(Step::Never),
            _ => return None,
        };
        matches!(index, Value::String(_) | Value::Number(_))
            .then(|| Step::from_constant(Some(index)))
    }

    fn escape(&mut self, escape: Option<&ast::Name>) -> Option<char> {
        let escape = escape?;
        let mut chars = escape.text.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            return Some(c);
        }
        let message = format!(
            "The invalid escape character '{}' was specified in a LIKE predicate.",
            escape.text
        );
        self.report(Diagnostic::sc(2207, message, escape.span));
        None
    }

    fn chain(&mut self, first: &ast::Expr, rest: &[(BinaryOp, ast::Expr)]) -> Expr {
        let op = rest.first().map_or(BinaryOp::And, |(op, _)| *op);
        let first = self.expr(first);
        let operands = rest.iter().map(|(op, operand)| (*op, self.expr(operand)));
        if !matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Coalesce) {
            let operands = operands.collect();
            return self.folded_chain(first, operands);
        }
        let mut list = vec![first];
        list.extend(operands.map(|(_, operand)| operand));
        match op {
            BinaryOp::And => Expr::And(list),
            BinaryOp::Or => Expr::Or(list),
            _ => Expr::Coalesce(list),
        }
    }

    /// Computes the constants that a chain starts with.
    fn folded_chain(&self, first: Expr, mut rest: Vec<(BinaryOp, Expr)>) -> Expr {
        let n_constants = match constant(&first) {
            Some(_) => rest.iter().take_while(|(_, operand)| constant(operand).is_some()).count(),
            None => 0,
        };
        if n_constants == 0 || n_constants == rest.len() {
            return Expr::Chain(Box::new(first), rest);
        }
        let variable = rest.split_off(n_constants);
        let start = self.fold(Expr::Chain(Box::new(first), rest));
        Expr::Chain(Box::new(start), variable)
    }

    fn is_in(&mut self, needle: &ast::Expr, list: &[ast::Expr]) -> Expr {
        let needle = self.boxed(needle);
        let list = self.list(list);
        let values = || list.iter().filter_map(|expr| constant(expr)?.and_then(Datum::value));
        let bytes = || values().map(|value| value.heap_bytes() + key_bytes_max(value) + SEEN_BYTES);
        if list.len() >= IN_SET_MIN
            && list.iter().all(|expr| constant(expr).is_some())
            && self.keep(bytes().sum())
        {
            let values = values();
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
            && self.keep(LikePattern::bytes_max(pattern))
        {
            return Expr::Like(text, LikePattern::new(pattern, escape));
        }
        Expr::LikeComputed { text, pattern, escape }
    }

    fn udf(&mut self, name: &str, arguments: &[ast::Expr]) -> Expr {
        // Whether the container has the function is found when it is called.
        self.n_udf_calls += 1;
        Expr::Udf(name.to_string(), self.list(arguments))
    }

    fn call(&mut self, call: &ast::Expr, name: &str, arguments: &[ast::Expr]) -> Expr {
        let span = call.span;
        let function = functions::find(name)
            .filter(|function| !matches!(function.name, "RRF" | "COMBINEDSCORE"));
        let Some(function) = function else {
            self.list(arguments);
            self.report(unknown_function(name, span));
            return Expr::Constant(None);
        };
        if let Some(diagnostic) = wrong_count(function, name, arguments.len(), span) {
            self.list(arguments);
            self.report(diagnostic);
            self.refuse_component_score(function, name, span);
            return Expr::Constant(None);
        }
        if function.name == "_FULLTEXTSCORE" && !has_lists(arguments) {
            self.list(arguments);
            self.report(Diagnostic::sc(2242, COMPONENT_SCORE, span));
            self.refuse_component_score(function, name, span);
            return Expr::Constant(None);
        }
        if let Role::Rank = function.role {
            return self.shown_score(call);
        }
        if let (Role::Aggregate(kind), [argument]) = (function.role, arguments) {
            return self.aggregate(kind, argument, span);
        }
        if let Some(arguments) = self.timespan(function, arguments, span) {
            return Expr::Call { function, arguments, prepared: Prepared::Nothing };
        }
        let bound = self.list(arguments);
        if function.name == "VECTORDISTANCE" {
            self.check_vector_search(arguments);
        }
        let prepared_vector = self.prepared_vector(function, arguments);
        let language = self.language(arguments);
        let arguments = bound;
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
                let bytes = |terms: &Vec<Option<&Datum<'_>>>| {
                    let values = terms.iter().filter_map(|term| term.as_ref()?.value());
                    values.map(value_words_bytes).sum()
                };
                let terms = terms.filter(|terms| self.keep(bytes(terms)));
                prepare_text(language, terms.as_deref())
            }
            "_FULLTEXTWORDCOUNT" | "_FULLTEXTSCORE" => prepare_text(language, None),
            "ST_WITHIN" | "ST_INTERSECTS" | "ST_DISTANCE" => {
                let shape = |argument: &Expr| match constant(argument) {
                    None => ShapeArgument::Varies,
                    Some(datum) if !self.keep(shape_bytes_max(datum)) => ShapeArgument::Varies,
                    Some(datum) => ShapeArgument::of_constant(
                        datum.and_then(Datum::value),
                        self.context.is_geometry,
                    ),
                };
                Prepared::Shapes(arguments.iter().map(shape).collect())
            }
            name => self.prepared_regex(name, arguments).unwrap_or_default(),
        }
    }

    fn prepared_regex(&mut self, name: &str, arguments: &[Expr]) -> Option<Prepared> {
        let pattern = pattern_arguments(name, arguments)?;
        let pattern: Vec<_> = pattern.into_iter().map(constant).collect::<Option<_>>()?;
        let bytes = pattern.first().copied().flatten().and_then(Datum::as_text).map_or(0, str::len);
        if self.n_regexes == REGEXES_MAX || !self.keep(bytes.saturating_mul(PATTERN_BYTES)) {
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

    /// Returns the settings of a vector comparison.
    pub(super) fn vector_options(&mut self, arguments: &[ast::Expr]) -> VectorOptions {
        let path = arguments.iter().find_map(|argument| self.document_path(argument));
        let options = arguments.get(3).map(|options| self.expr(options));
        let value = options.as_ref().and_then(|expr| constant(expr)?.and_then(Datum::value));
        prepare_vector(self.context, path.as_deref(), value)
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

/// Returns whether a subquery has one row at most: it enumerates nothing, or makes one row of all.
fn is_one_row(query: &ast::Query) -> bool {
    let is_one = |source: &ast::Source| match &source.collection {
        ast::Collection::Subquery(inner) => !source.iterates && is_one_row(inner),
        ast::Collection::Path { .. } => !source.iterates,
    };
    query.from.iter().all(is_one) || (query.group_by.is_empty() && has_aggregates(query))
}

pub(super) fn unknown_function(name: &str, span: Span) -> Diagnostic {
    let message = format!("'{name}' is not a recognized built-in function name.");
    let end = span.start + u32::try_from(name.encode_utf16().count()).unwrap_or(u32::MAX);
    Diagnostic::sc(2005, message, Span { end, ..span })
}

/// Makes the diagnostic for a name that is not in sight.
pub(super) fn unresolved(name: &str, span: Span) -> Diagnostic {
    Diagnostic::sc(2001, format!("Identifier '{name}' could not be resolved."), span)
}

pub(super) fn wrong_count(
    function: &Function,
    name: &str,
    count: usize,
    span: Span,
) -> Option<Diagnostic> {
    let Arity { min, max } = function.arity;
    if count >= min && max.is_none_or(|max| count <= max) {
        return None;
    }
    let needed = match max {
        Some(max) if max == min => format!("{min}"),
        Some(max) => format!("{min} to {max}"),
        None => format!("at least {min}"),
    };
    let message = format!("The {name} function requires {needed} argument(s).");
    Some(Diagnostic::sc(2050, message, span))
}

fn bracket_text(steps: &[Step]) -> String {
    let step_text = |step: &Step| match step {
        Step::Name(name) => format!("[{}]", format::quoted(name)),
        Step::Index(index) => format!("[{index}]"),
        Step::Never => String::new(),
    };
    steps.iter().map(step_text).collect()
}
