//! Constants: expressions whose operands are all constant become constants.

use super::Binder;
use super::tree::Expr;
use crate::context::Run;
use crate::eval::{Frame, eval};
use crate::functions::Role;
use crate::value::{Datum, Maybe};

impl Binder<'_> {
    /// Computes the expression now if it does not depend on a row.
    pub(super) fn fold(&self, expr: Expr) -> Expr {
        if matches!(expr, Expr::Constant(_)) || !is_constant(&expr) {
            return expr;
        }
        match self.compute(&expr) {
            Some(constant) => Expr::Constant(constant),
            None => expr,
        }
    }

    fn compute(&self, expr: &Expr) -> Option<Maybe<'static>> {
        let run = Run::within(self.context, self.budget);
        let value = eval(expr, &Frame::EMPTY, &run).ok()?;
        let Some(datum) = value else { return Some(None) };
        if let Datum::Special(double) = datum {
            return Some(Some(Datum::Special(double)));
        }
        let value = run.own_element(datum).ok()?;
        self.keep(value.heap_bytes()).then_some(Some(Datum::Owned(value)))
    }
}

/// Returns the constant an expression is.
#[expect(clippy::option_option, reason = "outer: is constant, inner: is defined")]
pub(super) fn constant(expr: &Expr) -> Option<Option<&Datum<'static>>> {
    match expr {
        Expr::Constant(constant) => Some(constant.as_ref()),
        _ => None,
    }
}

fn all_constant<'x>(list: impl IntoIterator<Item = &'x Expr>) -> bool {
    list.into_iter().all(|expr| matches!(expr, Expr::Constant(_)))
}

fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Constant(_) => true,
        Expr::Variable(_)
        | Expr::VariablePath(..)
        | Expr::GroupKey { .. }
        | Expr::Aggregate { .. }
        | Expr::Let { .. }
        | Expr::Udf(..)
        | Expr::Subquery(..) => false,
        Expr::Path(base, _)
        | Expr::Not(base)
        | Expr::Minus(base)
        | Expr::Plus(base)
        | Expr::BitNot(base)
        | Expr::InSet { needle: base, .. }
        | Expr::Like(base, _) => all_constant([&**base]),
        Expr::Array(list) | Expr::And(list) | Expr::Or(list) | Expr::Coalesce(list) => {
            all_constant(list)
        }
        Expr::Object(members) => all_constant(members.iter().map(|(_, value)| value)),
        Expr::Chain(first, rest) => {
            all_constant([&**first]) && all_constant(rest.iter().map(|(_, operand)| operand))
        }
        Expr::In(needle, list) => all_constant([&**needle]) && all_constant(list),
        Expr::LikeComputed { text, pattern, .. } => all_constant([&**text, &**pattern]),
        Expr::Between(operands) | Expr::Conditional(operands) => all_constant(operands.iter()),
        Expr::Call { function, arguments, .. } => {
            matches!(function.role, Role::Scalar(_) | Role::Long(_) | Role::Static(_))
                && all_constant(arguments)
        }
    }
}
