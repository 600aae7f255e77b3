//! LET: a name for a value within one expression.
//!
//! Constants and paths are put in the place of the name, so that an index and the ranges of a filter see through it. Any other
//! value is computed once for each row and is a variable of its body. Invariant: such a name is seen by the body alone, and
//! not by the arguments of an aggregate around which the body stands, for these are computed for other rows.

use std::sync::Arc;

use super::scope::Binding;
use super::tree::Expr;
use super::{Binder, Clause};
use crate::ast;
use crate::error::{Diagnostic, Span};
use crate::value::{Datum, Maybe, Step};

/// What the name of a LET stands for.
#[derive(Debug)]
pub(super) enum LetValue {
    Constant(Maybe<'static>),
    Path(usize, Vec<Step>),
    Variable(usize),
}

impl LetValue {
    /// Returns the value as an expression.
    pub(super) fn to_expr(&self) -> Expr {
        match self {
            LetValue::Constant(constant) => Expr::Constant(constant.clone()),
            LetValue::Path(level, steps) if steps.is_empty() => Expr::Variable(*level),
            LetValue::Path(level, steps) => Expr::VariablePath(*level, steps.clone()),
            LetValue::Variable(level) => Expr::Variable(*level),
        }
    }
}

/// Lets a constant stand in several places without copies.
fn shared(datum: Datum<'static>) -> Datum<'static> {
    match datum {
        Datum::Owned(value) => Datum::Shared(Arc::new(value)),
        datum => datum,
    }
}

impl Binder<'_> {
    pub(super) fn let_in(
        &mut self,
        name: &ast::Name,
        operands: &[ast::Expr; 2],
        span: Span,
    ) -> Expr {
        let refused = match self.clause {
            Clause::GroupBy => Some((2090, "GROUP BY")),
            Clause::OrderBy => Some((2091, "ORDER BY")),
            Clause::Filter | Clause::Other => None,
        };
        if let Some((code, clause)) = refused {
            let message = format!("LET expressions are not allowed in the {clause} clause.");
            self.report(Diagnostic::sc(code, message, span));
            return Expr::Constant(None);
        }
        let [value, body] = operands;
        let bound = self.expr(value);
        if self.resolve(&name.text).is_some() {
            let message =
                format!("The variable name '{}' in the LET expression must be unique.", name.text);
            self.report(Diagnostic::sc(2023, message, name.span));
            return Expr::Constant(None);
        }
        let (value, computed) = match bound {
            Expr::Constant(constant) => (LetValue::Constant(constant.map(shared)), None),
            Expr::Variable(level) => (LetValue::Path(level, Vec::new()), None),
            Expr::VariablePath(level, steps) => (LetValue::Path(level, steps), None),
            bound => {
                let level = self.new_level();
                (LetValue::Variable(level), Some((level, bound)))
            }
        };
        let n_names = self.scope.len();
        self.scope.push(Binding::of_let(&name.text, value));
        let body = self.expr(body);
        self.scope.truncate(n_names);
        match computed {
            None => body,
            Some((level, value)) => Expr::Let { level, operands: Box::new([value, body]) },
        }
    }
}
