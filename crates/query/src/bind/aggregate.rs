//! Aggregates in a select list.

use super::tree::{Aggregate, Expr};
use super::{Binder, Clause};
use crate::ast::{self, ExprKind, SubqueryKind};
use crate::bind::query::has_aggregate;
use crate::error::{Diagnostic, Span};
use crate::functions::AggregateKind;

const IN_KEY: &str = "Cannot use an aggregate or a subquery in an expression used for the group by list of a \
    GROUP BY clause.";

impl Binder<'_> {
    /// Reports a subquery in a key of GROUP BY. What is in it does not matter any more.
    pub(super) fn refuse_in_key(&mut self, expr: &ast::Expr) {
        self.report(Diagnostic::sc(2111, IN_KEY, span_of(expr)));
    }

    pub(super) fn aggregate(
        &mut self,
        kind: AggregateKind,
        argument: &ast::Expr,
        span: Span,
    ) -> Expr {
        // The argument is computed for each row, so it sees the variables and not the group.
        let group = if self.aggregates_allowed { self.groups.pop() } else { None };
        let aggregates_allowed = std::mem::replace(&mut self.aggregates_allowed, false);
        let n_names = group.as_ref().map_or(self.scope.len(), |group| group.n_names);
        let lets = self.scope.split_off(n_names);
        let bound = self.expr(argument);
        self.scope.extend(lets);
        self.aggregates_allowed = aggregates_allowed;
        let problem = if self.clause == Clause::GroupBy {
            Some((2111, IN_KEY))
        } else if has_aggregate(argument) {
            let message = "Cannot perform an aggregate function on an expression containing an \
                           aggregate or a subquery.";
            Some((2101, message))
        } else if self.rank {
            Some((2226, "Aggregate functions are not allowed with the ORDER BY RANK clause."))
        } else if self.clause == Clause::Filter {
            Some((2104, "Aggregates are not allowed in the WHERE clause."))
        } else {
            None
        };
        if let Some((code, message)) = problem {
            self.report(Diagnostic::sc(code, message, span));
        }
        let Some(mut group) = group else { return Expr::Constant(None) };
        let index = group.aggregates.len();
        group.aggregates.push(Aggregate { kind, argument: bound });
        let level = group.level;
        self.groups.push(group);
        Expr::Aggregate { level, index }
    }
}

/// Returns where an expression stands, a scalar subquery without its parentheses.
pub(super) fn span_of(expr: &ast::Expr) -> Span {
    match &expr.kind {
        ExprKind::Subquery(SubqueryKind::Scalar, query) => query.span,
        _ => expr.span,
    }
}
