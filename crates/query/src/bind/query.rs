//! Clauses.

use super::Binder;
use super::scope::GroupScope;
use super::tree::{Base, Expr, Grouping, ITEM_LEVEL, OrderKey, Projection, Query};
use crate::ast::{self, Count, CountKind, Direction, ExprKind, Selection};
use crate::error::{Code, Diagnostic, Span};
use crate::format;
use crate::functions::{self, Role, is_vector};

/// The largest TOP, OFFSET or LIMIT.
const COUNT_MAX: i64 = u32::MAX as i64;

fn not_a_path(span: Span) -> Diagnostic {
    let message = "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a \
                   document path.";
    Diagnostic { code: Code::Number(2206), message: message.to_string(), span }
}

impl Binder<'_> {
    /// Binds the query that runs over all items.
    pub(super) fn root_query(&mut self, query: &ast::Query) -> Query {
        self.query(query, true)
    }

    /// Binds a subquery over the row around it.
    pub(super) fn subquery(&mut self, query: &ast::Query) -> Query {
        self.check_subquery(query);
        let aggregates_allowed = std::mem::replace(&mut self.aggregates_allowed, false);
        let bound = self.query(query, false);
        self.aggregates_allowed = aggregates_allowed;
        bound
    }

    /// Reports the clauses that subqueries must not have.
    pub(super) fn check_subquery(&mut self, query: &ast::Query) {
        if let Some(order) = &query.order_by {
            let (code, message) = if order.rank {
                (2228, "The ORDER BY RANK clause is not supported in subqueries.")
            } else {
                (2202, "'ORDER BY' is not supported in subqueries.")
            };
            self.report(Diagnostic::sc(code, message, order.span));
        }
        if let Some(top) = &query.select.top {
            self.report(Diagnostic::sc(2203, "'TOP' is not supported in subqueries.", top.span));
        }
        if let Some(window) = &query.offset_limit {
            let span = window.offset.span.to(window.limit.span);
            let message = "'OFFSET LIMIT' clause is not supported in subqueries.";
            self.report(Diagnostic::sc(2204, message, span));
        }
    }

    pub(super) fn query(&mut self, query: &ast::Query, is_root: bool) -> Query {
        let n_names = self.scope.len();
        let from = self.from(&query.from, is_root);
        let filter = query.filter.as_ref().map(|filter| self.expr(filter));
        let keys: Vec<Expr> = query.group_by.iter().map(|key| self.expr(key)).collect();
        let is_grouped = !keys.is_empty() || selects_aggregate(&query.select.selection);
        let mut bound = Query {
            base: from.base,
            sources: from.sources,
            filter,
            grouping: None,
            projection: Projection::Value(Expr::Constant(None)),
            distinct: query.select.distinct,
            order: Vec::new(),
            rank: None,
            offset: 0,
            take: None,
        };
        if is_grouped {
            let level = self.new_level();
            let keys_text = query.group_by.iter().map(format::identity).collect();
            self.groups.push(GroupScope {
                level,
                keys: keys_text,
                row_levels: from.row_levels,
                aggregates: Vec::new(),
            });
            self.aggregates_allowed = true;
        }
        bound.projection = self.projection(query, is_grouped);
        bound.order = self.order(query, is_grouped);
        if is_grouped {
            self.aggregates_allowed = false;
            if let Some(group) = self.groups.pop() {
                bound.grouping =
                    Some(Grouping { level: group.level, keys, aggregates: group.aggregates });
            }
        }
        bound.rank = self.rank(query);
        self.window(query, &mut bound);
        self.scope.truncate(n_names);
        bound
    }

    fn projection(&mut self, query: &ast::Query, is_grouped: bool) -> Projection {
        match &query.select.selection {
            Selection::All(span) => Projection::Value(self.select_all(query, is_grouped, *span)),
            Selection::Value(expr) => Projection::Value(self.expr(expr)),
            Selection::List(list) => {
                let names = ast::Query::output_names(list);
                let values: Vec<Expr> = list.iter().map(|item| self.expr(&item.expr)).collect();
                Projection::List(names.into_iter().zip(values).collect())
            }
        }
    }

    fn select_all(&mut self, query: &ast::Query, is_grouped: bool, span: Span) -> Expr {
        let problem = if is_grouped {
            Diagnostic::sc(2041, "'SELECT *' is not allowed with GROUP BY.", span)
        } else if query.from.is_empty() {
            Diagnostic::plain("'SELECT *' is not valid if FROM clause is omitted.", span)
        } else if query.from.len() > 1 {
            Diagnostic::plain("'SELECT *' is only valid with a single input set.", span)
        } else {
            let level = self.scope.last().map_or(ITEM_LEVEL, |binding| binding.level);
            return Expr::Variable(level);
        };
        self.report(problem);
        Expr::Constant(None)
    }

    /// Binds the sort keys. Over groups only keys of the group can sort; other keys have no meaning
    /// and the service ignores them.
    fn order(&mut self, query: &ast::Query, is_grouped: bool) -> Vec<OrderKey> {
        let Some(order) = query.order_by.as_ref().filter(|order| !order.rank) else {
            return Vec::new();
        };
        let mut keys = Vec::new();
        for item in &order.items {
            if is_grouped && self.group_key(&format::identity(&item.expr)).is_none() {
                continue;
            }
            keys.extend(self.order_key(item));
        }
        keys
    }

    fn order_key(&mut self, item: &ast::OrderItem) -> Option<OrderKey> {
        let descending = item.direction == Some(Direction::Descending);
        if let ExprKind::Call { name, udf: false, arguments } = &item.expr.kind {
            let name = name.to_ascii_uppercase();
            let is_vector = matches!(name.as_str(), "VECTORDISTANCE" | "_VECTORSCORE");
            if name == "VECTORDISTANCE" && item.direction.is_some() {
                let message = "Specifying a sorting order (ASC or DESC) with VectorDistance \
                               function is not supported.";
                self.report(Diagnostic::plain(message, item.expr.span));
                return None;
            }
            if is_vector || name == "_FULLTEXTSCORE" {
                let descending = if is_vector && item.direction.is_none() {
                    self.vector_options(arguments).distance.is_larger_closer()
                } else {
                    descending
                };
                let expr = self.expr(&item.expr);
                if name == "VECTORDISTANCE" && !self.has_query_vector(&expr) {
                    self.report(not_a_path(item.expr.span));
                    return None;
                }
                return Some(OrderKey { expr, descending, undefined_last: true });
            }
        }
        if !is_document_path(&item.expr) {
            self.report(not_a_path(item.expr.span));
            return None;
        }
        Some(OrderKey { expr: self.expr(&item.expr), descending, undefined_last: false })
    }

    /// Returns whether a vector comparison has a constant vector beside what it is compared with. A parameter without a
    /// value may be one.
    fn has_query_vector(&self, call: &Expr) -> bool {
        let Expr::Call { arguments, .. } = call else { return false };
        arguments.iter().take(2).any(|argument| match argument {
            Expr::Constant(Some(datum)) => datum.value().is_some_and(is_vector),
            Expr::Constant(None) => self.context.parameters_may_lack,
            _ => false,
        })
    }

    fn window(&mut self, query: &ast::Query, bound: &mut Query) {
        if let Some(top) = &query.select.top {
            let message = "The count value provided for a TOP clause must be an integer.";
            bound.take = Some(self.count(top, 2060, message));
        }
        if let Some(window) = &query.offset_limit {
            let offset = "The OFFSET count value exceeds the maximum allowed value.";
            bound.offset = self.count(&window.offset, 2062, offset);
            let limit = "The LIMIT count value exceeds the maximum allowed value.";
            let limit = self.count(&window.limit, 2061, limit);
            bound.take = Some(bound.take.map_or(limit, |top| top.min(limit)));
        }
    }

    /// Returns the number a count stands for; reports it with the given code when it is none.
    pub(crate) fn count(&mut self, count: &Count, code: u16, message: &str) -> u64 {
        let number = match &count.kind {
            CountKind::Literal(number) => number.map(u64::from),
            CountKind::Parameter(name) => {
                let Some(value) = self.parameter(name) else {
                    self.report(unbound(name, count.span));
                    return 0;
                };
                let integer = value.as_i64().filter(|number| (0..=COUNT_MAX).contains(number));
                integer.and_then(|number| u64::try_from(number).ok())
            }
        };
        number.unwrap_or_else(|| {
            self.report(Diagnostic::sc(code, message, count.span));
            0
        })
    }
}

/// Makes the diagnostic for a parameter without a value.
pub(super) fn unbound(name: &str, span: Span) -> Diagnostic {
    Diagnostic::sc(2001, format!("Identifier '{name}' could not be resolved."), span)
}

/// Returns whether an expression is a name with steps below it.
fn is_document_path(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Identifier(_) => true,
        ExprKind::Path { base, .. } => matches!(base.kind, ExprKind::Identifier(_)),
        _ => false,
    }
}

fn selects_aggregate(selection: &Selection) -> bool {
    match selection {
        Selection::All(_) => false,
        Selection::Value(expr) => has_aggregate(expr),
        Selection::List(list) => list.iter().any(|item| has_aggregate(&item.expr)),
    }
}

/// Returns whether an expression calls an aggregate outside of subqueries.
pub(crate) fn has_aggregate(expr: &ast::Expr) -> bool {
    let mut found = false;
    visit_calls(expr, &mut |name| found |= is_aggregate(name));
    found
}

pub(crate) fn is_aggregate(name: &str) -> bool {
    functions::find(name).is_some_and(|function| matches!(function.role, Role::Aggregate(_)))
}

/// Visits the names of built-in calls outside of subqueries.
fn visit_calls(expr: &ast::Expr, visit: &mut dyn FnMut(&str)) {
    if let ExprKind::Call { name, udf: false, .. } = &expr.kind {
        visit(name);
    }
    each_operand(expr, &mut |operand| visit_calls(operand, visit));
}

/// Visits the direct operands of an expression; subqueries have none.
pub(crate) fn each_operand<'x>(expr: &'x ast::Expr, visit: &mut dyn FnMut(&'x ast::Expr)) {
    match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Undefined
        | ExprKind::Parameter(_)
        | ExprKind::Identifier(_)
        | ExprKind::Subquery(..) => {}
        ExprKind::Path { base, steps } => {
            visit(base);
            for step in steps {
                if let ast::Step::Computed(index) = step {
                    visit(index);
                }
            }
        }
        ExprKind::Array(list) | ExprKind::Call { arguments: list, .. } => {
            list.iter().for_each(visit);
        }
        ExprKind::Object(members) => members.iter().for_each(|(_, value)| visit(value)),
        ExprKind::Unary(_, operand) => visit(operand),
        ExprKind::Chain { first, rest } => {
            visit(first);
            for (_, operand) in rest {
                visit(operand);
            }
        }
        ExprKind::In { needle, list, .. } => {
            visit(needle);
            list.iter().for_each(visit);
        }
        ExprKind::Like { text, pattern, .. } => {
            visit(text);
            visit(pattern);
        }
        ExprKind::Between { operands, .. } | ExprKind::Conditional(operands) => {
            operands.iter().for_each(visit);
        }
    }
}

/// Returns the base of a query over no input set.
pub(super) fn base_without_from(is_root: bool) -> Base {
    if is_root { Base::Nothing } else { Base::Item }
}
