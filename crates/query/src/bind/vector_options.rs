//! The third and fourth argument of `VectorDistance`: which search, and its options.

use std::ops::RangeInclusive;

use model::{Number, Value};

use super::Binder;
use crate::ast::{self, ExprKind, Name};
use crate::context::DistanceFunction;
use crate::error::{Diagnostic, Span};

/// Wire: the types of vectors that the options may name.
const DATA_TYPES: [&str; 4] = ["float32", "float16", "int8", "uint8"];

const MULTIPLIER: RangeInclusive<i64> = 1..=100;
const QUANTIZED_MULTIPLIER: RangeInclusive<i64> = 1..=50;

/// An option as it is written.
enum Written<'w> {
    /// A literal, or the value of a parameter.
    Value(&'w Value),
    Other,
}

impl Binder<'_> {
    /// Reports the first mistake in how a vector search is asked for.
    pub(super) fn check_vector_search(&mut self, arguments: &[ast::Expr]) {
        let problem = self.vector_search_problem(arguments);
        if let Some(problem) = problem {
            self.report(problem);
        }
    }

    fn vector_search_problem(&self, arguments: &[ast::Expr]) -> Option<Diagnostic> {
        if let Some(exact) = arguments.get(2)
            && self.has_wrong_search(arguments)
        {
            let message = "The third argument provided in the VectorDistance function is invalid. This value must \
                           be a boolean value set to either \"true\" to execute an exact search or \"false\" to \
                           execute an efficient search leveraging the index.";
            return Some(Diagnostic::sc(2212, message, exact.span));
        }
        let options = arguments.get(3)?;
        if let ExprKind::Object(members) = &options.kind {
            let member = |(Name { text, .. }, value): &(Name, ast::Expr)| {
                option_problem(text, &self.written(value), options.span)
            };
            return members.iter().find_map(member);
        }
        if let Written::Value(Value::Object(members)) = self.written(options) {
            let member = |(name, value)| option_problem(name, &Written::Value(value), options.span);
            return members.iter().find_map(member);
        }
        let message =
            "Options argument of VectorDistance function must be an object literal expression.";
        Some(Diagnostic::sc(2210, message, options.span))
    }

    /// Says whether the third argument is neither true nor false.
    pub(super) fn has_wrong_search(&self, arguments: &[ast::Expr]) -> bool {
        let is_boolean =
            |exact: &ast::Expr| matches!(self.written(exact), Written::Value(Value::Bool(_)));
        arguments.get(2).is_some_and(|exact| !is_boolean(exact))
    }

    fn written<'w>(&'w self, expr: &'w ast::Expr) -> Written<'w> {
        let value = match &expr.kind {
            ExprKind::Literal(value) => Some(value),
            ExprKind::Parameter(name) => self.parameter(name).map(|value| &**value),
            _ => None,
        };
        value.map_or(Written::Other, Written::Value)
    }
}

fn option_problem(name: &str, value: &Written<'_>, span: Span) -> Option<Diagnostic> {
    match name {
        "searchListSizeMultiplier" => count_problem(name, value, &MULTIPLIER, 2213, span),
        "quantizedVectorListMultiplier" => {
            count_problem(name, value, &QUANTIZED_MULTIPLIER, 2214, span)
        }
        "filterPriority" => match number(value) {
            None => Some(wrong_kind(name, "number", span)),
            Some(number) if (0.0..=1.0).contains(&number.as_f64()) => None,
            Some(_) => {
                let message = format!(
                    "The '{name}' value specified in the VectorDistance function must be a value between 0 and 1."
                );
                Some(Diagnostic::sc(2215, message, span))
            }
        },
        "distanceFunction" => {
            name_problem(name, value, span, |text| DistanceFunction::parse(text).is_some())
        }
        "dataType" => name_problem(name, value, span, |text| {
            DATA_TYPES.iter().any(|own| own.eq_ignore_ascii_case(text))
        }),
        _ => {
            let message = format!(
                "'{name}' is not a valid option name for VectorDistance function options argument."
            );
            Some(Diagnostic::sc(2210, message, span))
        }
    }
}

fn number<'w>(value: &Written<'w>) -> Option<&'w Number> {
    match value {
        Written::Value(Value::Number(number)) => Some(number),
        Written::Value(_) | Written::Other => None,
    }
}

fn count_problem(
    name: &str,
    value: &Written<'_>,
    range: &RangeInclusive<i64>,
    code: u16,
    span: Span,
) -> Option<Diagnostic> {
    let Some(number) = number(value) else { return Some(wrong_kind(name, "number", span)) };
    let (start, end) = (range.start(), range.end());
    let message = match number.as_i64() {
        Some(count) if range.contains(&count) => return None,
        Some(count) => format!(
            "The '{name}' value {count} specified in the VectorDistance function is outside the supported range. \
             The value must be between {start} and {end}."
        ),
        None => format!(
            "The '{name}' value specified in the VectorDistance function must be an integer between {start} and {end}."
        ),
    };
    Some(Diagnostic::sc(code, message, span))
}

fn name_problem(
    name: &str,
    value: &Written<'_>,
    span: Span,
    is_known: impl FnOnce(&str) -> bool,
) -> Option<Diagnostic> {
    match value {
        Written::Value(Value::String(text)) if is_known(text) => None,
        Written::Value(Value::String(text)) => {
            let message = format!(
                "VectorDistance function options argument property value '{text}' is not a valid value for option '{name}'."
            );
            Some(Diagnostic::sc(2210, message, span))
        }
        Written::Value(_) | Written::Other => Some(wrong_kind(name, "string", span)),
    }
}

fn wrong_kind(name: &str, kind: &str, span: Span) -> Diagnostic {
    let message = format!(
        "VectorDistance function options argument property value of option '{name}' must be a {kind} literal."
    );
    Diagnostic::sc(2210, message, span)
}
