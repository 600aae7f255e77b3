//! Clauses.

use std::collections::HashSet;

use super::aggregate::span_of;
use super::let_in::LetValue;
use super::rank::is_component_order;
use super::scope::{GroupScope, Meaning};
use super::sort_path::{Inputs, SortPath};
use super::tree::{Base, Collection, Expr, Grouping, OrderKey, Projection, Query, Source};
use super::{Binder, Clause, Stage};
use crate::ast::{self, Count, CountKind, Direction, ExprKind, Selection};
use crate::error::{Code, Diagnostic, Span};
use crate::functions::{self, Role, is_vector};
use crate::syntax::format;

const TOP: &str = "The count value provided for a TOP clause must be an integer.";
const OFFSET: &str = "The OFFSET count value exceeds the maximum allowed value.";
const LIMIT: &str = "The LIMIT count value exceeds the maximum allowed value.";

/// Where a query stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Nesting {
    /// It is the whole text.
    Root,
    /// It is the first input set of the whole text, or of such a one.
    FirstSource,
    /// It is computed for a row around it.
    Row,
}

fn not_a_path() -> Diagnostic {
    let message = "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a \
                   document path.";
    Diagnostic { code: Code::Number(2206), message: message.to_string(), span: Span::default() }
}

impl Binder<'_> {
    /// Binds the query that runs over all items.
    pub(super) fn root_query(&mut self, query: &ast::Query) -> Query {
        self.query(query, Nesting::Root)
    }

    /// Binds a subquery over the row around it.
    pub(super) fn subquery(&mut self, query: &ast::Query) -> Query {
        let aggregates_allowed = std::mem::replace(&mut self.aggregates_allowed, false);
        let bound = self.query(query, Nesting::Row);
        self.aggregates_allowed = aggregates_allowed;
        bound
    }

    /// Reports an order that subqueries must not have.
    fn check_suborder(&mut self, query: &ast::Query) {
        let Some(order) = &query.order_by else { return };
        let (code, message) = if order.rank {
            (2228, "The ORDER BY RANK clause is not supported in subqueries.")
        } else {
            (2202, "'ORDER BY' is not supported in subqueries.")
        };
        self.report(Diagnostic::sc(code, message, order.span));
    }

    /// Reports a window that subqueries must not have.
    fn check_subwindow(&mut self, query: &ast::Query) {
        if let Some(top) = &query.select.top {
            self.report(Diagnostic::sc(2203, "'TOP' is not supported in subqueries.", top.span));
            self.count(&top.count, 2060, TOP);
        }
        if let Some(window) = &query.offset_limit {
            let message = "'OFFSET LIMIT' clause is not supported in subqueries.";
            self.report(Diagnostic::sc(2204, message, window.span));
            self.count(&window.offset, 2062, OFFSET);
            self.count(&window.limit, 2061, LIMIT);
        }
    }

    pub(super) fn query(&mut self, query: &ast::Query, place: Nesting) -> Query {
        if query.select.top.is_some() && query.offset_limit.is_some() {
            let message = "A TOP cannot be used in the same query or subquery as an OFFSET.";
            self.report(Diagnostic::sc(2205, message, query.span));
        }
        let rank = query.order_by.as_ref().is_some_and(|order| order.rank);
        let outer_rank = std::mem::replace(&mut self.rank, rank);
        let n_names = self.scope.len();
        self.check_rank_joins(query);
        let from = self.from(&query.from, place != Nesting::Row);
        let clause = std::mem::replace(&mut self.clause, Clause::Filter);
        let filter = query.filter.as_ref().map(|filter| self.expr(filter));
        let filter_scores = std::mem::take(&mut self.shown_scores);
        self.clause = Clause::Other;
        self.check_rank_groups(query);
        self.clause = Clause::GroupBy;
        let keys: Vec<Expr> = query.group_by.iter().map(|key| self.group_by_key(key)).collect();
        self.clause = Clause::Other;
        let is_grouped = !keys.is_empty() || has_aggregates(query);
        let mut bound = Query {
            base: from.base,
            sources: from.sources,
            filter,
            grouping: None,
            projection: Projection::Value(Expr::Constant(None)),
            distinct: query.select.distinct,
            order: Vec::new(),
            orders_elements: false,
            rank: None,
            offset: 0,
            take: None,
        };
        if is_grouped {
            let level = self.new_level();
            // A key that is refused stands for nothing, so mistakes in its text are also found in the select list.
            let text = |key: &ast::Expr| {
                if self.has_property(key) { format::identity(key) } else { String::new() }
            };
            let keys_text = query.group_by.iter().map(text).collect();
            let mut n_outer = self.scope.len();
            let is_one_row = place == Nesting::Row && is_one_value(query);
            if is_one_row && self.name_one_value(&bound.sources) {
                n_outer = n_outer.saturating_sub(1);
            }
            self.groups.push(GroupScope {
                level,
                keys: keys_text,
                is_one_row,
                n_outer,
                n_names: self.scope.len(),
                aggregates: Vec::new(),
            });
            self.aggregates_allowed = true;
        }
        if place != Nesting::Root {
            self.check_suborder(query);
        }
        bound.order = self.order(query, is_grouped);
        bound.rank = self.rank(query);
        self.check_rank_distinct(query);
        bound.projection = self.projection(query, place, is_grouped);
        let mut shown = std::mem::take(&mut self.shown_scores);
        shown.extend(filter_scores);
        if let Some(rank) = &mut bound.rank {
            rank.shown = shown;
        }
        if is_grouped {
            self.aggregates_allowed = false;
            if let Some(group) = self.groups.pop() {
                bound.grouping =
                    Some(Grouping { level: group.level, keys, aggregates: group.aggregates });
            }
        }
        self.check_sort_paths(&mut bound);
        if place == Nesting::Root {
            self.window(query, is_grouped, &mut bound);
        } else {
            self.check_subwindow(query);
        }
        self.scope.truncate(n_names);
        self.clause = clause;
        self.rank = outer_rank;
        bound
    }

    /// Makes the name of the only input set of a subquery a name for its value: `FROM c.a AS x` has one row at most, so `x` has
    /// one value in the group. Returns whether there is such a name.
    fn name_one_value(&mut self, sources: &[Source]) -> bool {
        let value = match sources {
            [Source { collection: Collection::Expr(Expr::Variable(level)), .. }] => {
                LetValue::Path(*level, Vec::new())
            }
            [Source { collection: Collection::Expr(Expr::VariablePath(level, steps)), .. }] => {
                LetValue::Path(*level, steps.clone())
            }
            _ => return false,
        };
        if let Some(binding) = self.scope.last_mut() {
            binding.meaning = Meaning::Let(value);
        }
        true
    }

    fn group_by_key(&mut self, key: &ast::Expr) -> Expr {
        let bound = self.expr(key);
        if !self.has_property(key) {
            let message = "Each GROUP BY expression must contain at least one property reference.";
            self.report(Diagnostic::sc(2110, message, span_of(key)));
        }
        bound
    }

    /// Returns whether an expression refers to a name in sight.
    fn has_property(&self, expr: &ast::Expr) -> bool {
        match &expr.kind {
            ExprKind::Identifier(name) => return self.resolve_input(name).is_some(),
            ExprKind::Let { .. } => return false,
            // A path that is refused refers to nothing.
            ExprKind::Path { steps, .. } if steps.iter().any(|step| self.step(step).is_none()) => {
                return false;
            }
            _ => {}
        }
        let mut found = false;
        each_operand(expr, &mut |operand| found |= self.has_property(operand));
        found
    }

    fn projection(&mut self, query: &ast::Query, place: Nesting, is_grouped: bool) -> Projection {
        match &query.select.selection {
            Selection::All(span) => {
                Projection::Value(self.select_all(query, place, is_grouped, *span))
            }
            Selection::Value(expr) => Projection::Value(self.expr(expr)),
            Selection::List(list) => {
                let names = ast::Query::output_names(list);
                let mut members: Vec<(String, Expr)> = Vec::with_capacity(list.len());
                let mut seen = HashSet::with_capacity(list.len());
                for (item, name) in list.iter().zip(names) {
                    let value = self.expr(&item.expr);
                    if !seen.insert(name.clone())
                        && let Some(span) = name_span(item)
                    {
                        self.report(repeated_name(&name, span));
                    }
                    members.push((name, value));
                }
                Projection::List(members)
            }
        }
    }

    /// Binds `*`: the only input set, of the query itself or, for a subquery without FROM, around it.
    fn select_all(
        &mut self,
        query: &ast::Query,
        place: Nesting,
        is_grouped: bool,
        span: Span,
    ) -> Expr {
        let n_sets = if query.from.is_empty() { self.scope.len() } else { query.from.len() };
        if query.from.is_empty() && place == Nesting::Root {
            let message = "Syntax error, 'SELECT *' is not valid if FROM clause is omitted.";
            self.report(Diagnostic::sc(1021, message, span));
        } else if is_grouped && (place != Nesting::Row || !is_one_value(query)) {
            let message = "'SELECT *' is not allowed with GROUP BY.";
            self.report_at(Stage::Groups, Diagnostic::sc(2041, message, span));
        } else if n_sets > 1 || (place != Nesting::Row && iterates_subquery(query)) {
            let message = "'SELECT *' is only valid with a single input set.";
            self.report(Diagnostic::sc(2042, message, span));
        } else {
            return match self.scope.last().map(|binding| &binding.meaning) {
                Some(Meaning::Input(level)) => Expr::Variable(*level),
                Some(Meaning::Let(value)) => value.to_expr(),
                None => Expr::Constant(None),
            };
        }
        Expr::Constant(None)
    }

    /// Binds the sort keys. Over one group no key has a meaning, and the service ignores them.
    fn order(&mut self, query: &ast::Query, is_grouped: bool) -> Vec<OrderKey> {
        let Some(order) = query.order_by.as_ref().filter(|order| !order.rank) else {
            return Vec::new();
        };
        self.clause = Clause::OrderBy;
        let is_single = order.items.len() == 1;
        let are_paths = order.items.iter().all(|item| is_path(&item.expr));
        let mut keys = Vec::new();
        for item in &order.items {
            if is_grouped && query.group_by.is_empty() {
                // The only row has no order; its key is still checked for names, and if it is computed as a group's.
                if are_paths {
                    self.expr_of_rows(&item.expr);
                } else {
                    self.expr(&item.expr);
                }
                continue;
            }
            keys.extend(self.order_key(item, is_single));
        }
        self.clause = Clause::Other;
        keys
    }

    /// Binds an expression over the rows before they are grouped.
    fn expr_of_rows(&mut self, expr: &ast::Expr) {
        let group = self.groups.pop();
        let aggregates_allowed = std::mem::replace(&mut self.aggregates_allowed, false);
        self.expr(expr);
        self.aggregates_allowed = aggregates_allowed;
        self.groups.extend(group);
    }

    fn order_key(&mut self, item: &ast::OrderItem, is_single: bool) -> Option<OrderKey> {
        let descending = item.direction == Some(Direction::Descending);
        let expr = self.expr(&item.expr);
        if is_single && let ExprKind::Call { name, udf: false, arguments } = &item.expr.kind {
            let name = name.to_ascii_uppercase();
            let is_vector = matches!(name.as_str(), "VECTORDISTANCE" | "_VECTORSCORE");
            if name == "VECTORDISTANCE"
                && item.direction.is_some()
                && !self.has_wrong_search(arguments)
            {
                let message = "Specifying a sorting order (ASC or DESC) with VectorDistance function is \
                               not supported. VectorDistance will always sort in the order of most \
                               similar (first) to least similar (last).";
                self.report(Diagnostic::sc(2210, message, item.span));
                return None;
            }
            if is_vector || name == "_FULLTEXTSCORE" {
                let descending = if is_vector && item.direction.is_none() {
                    self.vector_options(arguments).distance.is_larger_closer()
                } else {
                    descending
                };
                if name == "VECTORDISTANCE" && !has_query_vector(&expr) {
                    self.report_at(Stage::Keys, not_a_path());
                    return None;
                }
                if name == "_FULLTEXTSCORE" && !is_component_order(&expr) {
                    self.report_at(Stage::Keys, not_a_path());
                    return None;
                }
                return Some(OrderKey { expr, descending, undefined_last: true });
            }
        }
        Some(OrderKey { expr, descending, undefined_last: false })
    }

    /// Looks for the sort keys in the item.
    fn check_sort_paths(&mut self, bound: &mut Query) {
        let inputs = Inputs {
            base: &bound.base,
            sources: &bound.sources,
            grouping: bound.grouping.as_ref(),
            outer: None,
        };
        let mut is_computed = false;
        let mut orders_elements = false;
        // Without items there is nothing to sort, whatever the key is.
        let has_items = !matches!(bound.base, Base::Nothing);
        for key in bound.order.iter().filter(|key| !key.undefined_last && has_items) {
            let path = inputs.find(&key.expr, &[]);
            is_computed |= path == SortPath::Computed;
            orders_elements |= path == SortPath::Element;
        }
        for key in bound.order.iter().filter(|key| key.undefined_last && has_items) {
            is_computed |= !is_vector_order(&key.expr, &inputs);
        }
        bound.orders_elements = orders_elements;
        if is_computed {
            self.report_at(Stage::Keys, not_a_path());
        }
    }

    fn window(&mut self, query: &ast::Query, is_grouped: bool, bound: &mut Query) {
        if let Some(top) = &query.select.top {
            let stage = if is_grouped { Stage::Groups } else { Stage::Names };
            bound.take = Some(self.count_at(stage, &top.count, 2060, TOP));
        }
        if let Some(window) = &query.offset_limit {
            // The service counts these whatever it found, and at the end.
            let has_names = self.n_reports(Stage::Names) > 0;
            let stage = if is_grouped && !has_names { Stage::Groups } else { Stage::Names };
            bound.offset = self.count_at(stage, &window.offset, 2062, OFFSET);
            let limit = self.count_at(stage, &window.limit, 2061, LIMIT);
            bound.take = Some(bound.take.map_or(limit, |top| top.min(limit)));
        }
    }

    /// Returns the number a count stands for; reports it with the given code when it is none.
    fn count(&mut self, count: &Count, code: u16, message: &str) -> u64 {
        self.count_at(Stage::Names, count, code, message)
    }

    fn count_at(&mut self, stage: Stage, count: &Count, code: u16, message: &str) -> u64 {
        let number = match &count.kind {
            CountKind::Literal(number) => number.map(u64::from),
            CountKind::Parameter(name) => {
                let integer = self.parameter(name).and_then(|value| value.as_i64());
                integer.and_then(|number| u32::try_from(number).ok()).map(u64::from)
            }
        };
        number.unwrap_or_else(|| {
            self.report_at(stage, Diagnostic::sc(code, message, count.span));
            0
        })
    }
}

/// Returns whether a subquery has no more rows than the one around it: FROM names one value, or nothing.
fn is_one_value(query: &ast::Query) -> bool {
    let is_path = |source: &ast::Source| matches!(source.collection, ast::Collection::Path { .. });
    match query.from.as_slice() {
        [] => true,
        [source] => is_path(source) && !source.iterates,
        _ => false,
    }
}

/// Returns whether a query enumerates the arrays that a subquery makes, which the service counts as two input sets.
fn iterates_subquery(query: &ast::Query) -> bool {
    let is_subquery =
        |source: &ast::Source| matches!(source.collection, ast::Collection::Subquery(_));
    query.from.first().is_some_and(|source| source.iterates && is_subquery(source))
}

/// Returns whether an expression is a name, or steps below one.
fn is_path(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Identifier(_) => true,
        ExprKind::Path { base, .. } => matches!(base.kind, ExprKind::Identifier(_)),
        _ => false,
    }
}

/// Returns whether a query computes aggregates over its rows.
pub(crate) fn has_aggregates(query: &ast::Query) -> bool {
    let selected = match &query.select.selection {
        Selection::All(_) => false,
        Selection::Value(expr) => has_aggregate(expr),
        Selection::List(list) => list.iter().any(|item| has_aggregate(&item.expr)),
    };
    let order = query.order_by.iter().filter(|order| !order.rank).flat_map(|order| &order.items);
    selected || order.into_iter().any(|item| has_aggregate(&item.expr))
}

/// Makes the diagnostic for a member that an object has already.
pub(super) fn repeated_name(name: &str, span: Span) -> Diagnostic {
    let message =
        format!("Object creation error, property name '{name}' specified more than once.");
    Diagnostic::sc(2022, message, span)
}

/// Returns where the name of a selected value stands; `None` for one that has none.
fn name_span(item: &ast::SelectItem) -> Option<Span> {
    if let Some(alias) = &item.alias {
        return Some(alias.span);
    }
    let span = item.expr.span;
    match &item.expr.kind {
        ExprKind::Identifier(_) => Some(span),
        ExprKind::Path { steps, .. } => steps.last()?.span(span.end),
        _ => None,
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
        | ExprKind::Special(_)
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
        ExprKind::Let { operands, .. } => operands.iter().for_each(visit),
    }
}

/// Returns the base of a query over no input set.
pub(super) fn base_without_from(is_root: bool) -> Base {
    if is_root { Base::Nothing } else { Base::Item }
}

/// Returns whether a vector comparison compares something in the item.
fn is_vector_order(call: &Expr, inputs: &Inputs<'_>) -> bool {
    let Expr::Call { function, arguments, .. } = call else { return true };
    let is_found = |argument: &Expr| inputs.find(argument, &[]) != SortPath::Computed;
    function.name != "VECTORDISTANCE" || arguments.iter().take(2).any(is_found)
}

/// Returns whether a vector comparison has a constant vector beside what it is compared with.
fn has_query_vector(call: &Expr) -> bool {
    let Expr::Call { arguments, .. } = call else { return false };
    arguments.iter().take(2).any(|argument| match argument {
        Expr::Constant(Some(datum)) => datum.value().is_some_and(is_vector),
        _ => false,
    })
}
