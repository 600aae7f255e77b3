//! Aggregates in a select list.

use super::Binder;
use super::tree::{Aggregate, Expr};
use crate::ast::{self, ExprKind};
use crate::bind::query::{each_operand, is_aggregate};
use crate::error::{Diagnostic, Span};
use crate::functions::AggregateKind;

impl Binder<'_> {
    pub(super) fn aggregate(
        &mut self,
        kind: AggregateKind,
        argument: &ast::Expr,
        span: Span,
    ) -> Expr {
        if !self.aggregates_allowed {
            let message = "Aggregate functions are only allowed in the SELECT clause.";
            self.report(Diagnostic::plain(message, span));
            return Expr::Constant(None);
        }
        if has_aggregate_or_subquery(argument) {
            let message = "Cannot perform an aggregate function on an expression containing an \
                           aggregate or a subquery.";
            self.report(Diagnostic::sc(2101, message, span));
            return Expr::Constant(None);
        }
        // The argument is computed for each row, so it sees the variables and not the group.
        let Some(mut group) = self.groups.pop() else { return Expr::Constant(None) };
        self.aggregates_allowed = false;
        let argument = self.expr(argument);
        self.aggregates_allowed = true;
        let index = group.aggregates.len();
        group.aggregates.push(Aggregate { kind, argument });
        let level = group.level;
        self.groups.push(group);
        Expr::Aggregate { level, index }
    }
}

fn has_aggregate_or_subquery(expr: &ast::Expr) -> bool {
    let own = match &expr.kind {
        ExprKind::Subquery(..) => true,
        ExprKind::Call { name, udf: false, .. } => is_aggregate(name),
        _ => false,
    };
    let mut found = own;
    each_operand(expr, &mut |operand| found |= has_aggregate_or_subquery(operand));
    found
}
