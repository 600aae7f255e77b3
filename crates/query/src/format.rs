//! Tree to text: the canonical form that the planner prints in rewritten queries.
//!
//! One clause per line; every binary expression, IN, LIKE and BETWEEN in parentheses; texts in double
//! quotes. Function names and indexers stay as written.

use std::fmt::Write as _;

use model::Value;

use crate::ast::{
    BinaryOp, Collection, Count, CountKind, Direction, Expr, ExprKind, OrderBy, Query, Selection,
    Source, Step, SubqueryKind, UnaryOp,
};

/// Chains with more operators are printed without inner parentheses.
const NESTED_OPERATORS_MAX: usize = 4;

/// Returns the canonical text of an expression.
pub(crate) fn expression(expr: &Expr) -> String {
    let mut printer = Printer { text: String::new(), indent: 0, unify_names: false };
    printer.expr(expr);
    printer.text
}

/// Returns a text that is equal for expressions that are the same but for the form of names:
/// `c.a` and `c["a"]`.
pub(crate) fn identity(expr: &Expr) -> String {
    let mut printer = Printer { text: String::new(), indent: 0, unify_names: true };
    printer.expr(expr);
    printer.text
}

/// Returns the canonical text of a query.
pub(crate) fn query(query: &Query) -> String {
    let mut printer = Printer { text: String::new(), indent: 0, unify_names: false };
    printer.query(query);
    printer.text
}

/// Returns the canonical text of FROM with its JOINs, without a leading line break.
pub(crate) fn from(sources: &[Source]) -> String {
    let mut printer = Printer { text: String::new(), indent: 0, unify_names: false };
    printer.from(sources);
    printer.text
}

/// Returns the canonical text of ORDER BY.
pub(crate) fn order_by(order: &OrderBy) -> String {
    let mut printer = Printer { text: String::new(), indent: 0, unify_names: false };
    printer.order_by(order);
    printer.text
}

/// Returns a text literal in canonical form.
pub(crate) fn quoted(text: &str) -> String {
    Value::String(text.to_string()).to_text()
}

struct Printer {
    text: String,
    indent: usize,
    unify_names: bool,
}

impl Printer {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn line(&mut self) {
        self.text.push('\n');
        for _ in 0..self.indent {
            self.text.push_str("    ");
        }
    }

    fn query(&mut self, query: &Query) {
        self.put("SELECT ");
        if query.select.distinct {
            self.put("DISTINCT ");
        }
        if let Some(top) = &query.select.top {
            self.put("TOP ");
            self.count(top);
            self.put(" ");
        }
        self.selection(&query.select.selection);
        if !query.from.is_empty() {
            self.line();
            self.from(&query.from);
        }
        if let Some(filter) = &query.filter {
            self.line();
            self.put("WHERE ");
            self.expr(filter);
        }
        if !query.group_by.is_empty() {
            self.line();
            self.put("GROUP BY ");
            self.list(&query.group_by);
        }
        if let Some(order) = &query.order_by {
            self.line();
            self.order_by(order);
        }
        if let Some(window) = &query.offset_limit {
            self.line();
            self.put("OFFSET ");
            self.count(&window.offset);
            self.put(" LIMIT ");
            self.count(&window.limit);
        }
    }

    fn selection(&mut self, selection: &Selection) {
        match selection {
            Selection::All(_) => self.put("*"),
            Selection::Value(expr) => {
                self.put("VALUE ");
                self.expr(expr);
            }
            Selection::List(list) => {
                for (index, item) in list.iter().enumerate() {
                    self.comma(index);
                    self.expr(&item.expr);
                    if let Some(alias) = &item.alias {
                        self.put(" AS ");
                        self.put(alias);
                    }
                }
            }
        }
    }

    fn from(&mut self, sources: &[Source]) {
        for (index, source) in sources.iter().enumerate() {
            if index == 0 {
                self.put("FROM ");
            } else {
                self.line();
                self.put("JOIN ");
            }
            if let (Some(alias), true) = (&source.alias, source.iterates) {
                self.put(alias);
                self.put(" IN ");
            }
            self.collection(&source.collection);
            if let (Some(alias), false) = (&source.alias, source.iterates) {
                self.put(" AS ");
                self.put(alias);
            }
        }
    }

    fn collection(&mut self, collection: &Collection) {
        match collection {
            Collection::Path { name, steps } => {
                self.put(name);
                self.steps(steps);
            }
            Collection::Subquery(query) => self.subquery(query),
        }
    }

    fn subquery(&mut self, query: &Query) {
        self.put("(");
        self.indent += 1;
        self.line();
        self.query(query);
        self.indent -= 1;
        self.line();
        self.put(")");
    }

    fn order_by(&mut self, order: &OrderBy) {
        self.put(if order.rank { "ORDER BY RANK " } else { "ORDER BY " });
        for (index, item) in order.items.iter().enumerate() {
            self.comma(index);
            self.expr(&item.expr);
            match item.direction {
                Some(Direction::Ascending) => self.put(" ASC"),
                Some(Direction::Descending) => self.put(" DESC"),
                None => {}
            }
        }
    }

    fn count(&mut self, count: &Count) {
        match &count.kind {
            CountKind::Literal(Some(number)) => {
                // Writing to a String cannot fail.
                let _ = write!(self.text, "{number}");
            }
            CountKind::Literal(None) => self.put("0"),
            CountKind::Parameter(name) => self.put(name),
        }
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.put(", ");
        }
    }

    fn list(&mut self, list: &[Expr]) {
        for (index, expr) in list.iter().enumerate() {
            self.comma(index);
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(value) => {
                let text = value.to_text();
                self.put(&text);
            }
            ExprKind::Undefined => self.put("undefined"),
            ExprKind::Parameter(name) | ExprKind::Identifier(name) => self.put(name),
            ExprKind::Path { base, steps } => {
                // A step binds tighter than a sign, and a dot after digits would read as a fraction.
                let is_loose =
                    matches!(base.kind, ExprKind::Unary(..) | ExprKind::Literal(Value::Number(_)));
                self.put(if is_loose { "(" } else { "" });
                self.expr(base);
                self.put(if is_loose { ")" } else { "" });
                self.steps(steps);
            }
            ExprKind::Array(list) => {
                self.put("[");
                self.list(list);
                self.put("]");
            }
            ExprKind::Object(members) => self.object(members),
            ExprKind::Unary(op, operand) => self.unary(*op, operand),
            ExprKind::Chain { first, rest } => self.chain(first, rest),
            ExprKind::In { needle, list, negated } => {
                self.put("(");
                self.expr(needle);
                self.put(if *negated { " NOT IN (" } else { " IN (" });
                self.list(list);
                self.put("))");
            }
            ExprKind::Like { text, pattern, escape, negated } => {
                self.put("(");
                self.expr(text);
                self.put(if *negated { " NOT LIKE " } else { " LIKE " });
                self.expr(pattern);
                if let Some(escape) = escape {
                    self.put(" ESCAPE ");
                    let literal = quoted(escape.encode_utf8(&mut [0; 4]));
                    self.put(&literal);
                }
                self.put(")");
            }
            ExprKind::Between { operands, negated } => {
                let [value, low, high] = &**operands;
                self.put("(");
                self.expr(value);
                self.put(if *negated { " NOT BETWEEN " } else { " BETWEEN " });
                self.expr(low);
                self.put(" AND ");
                self.expr(high);
                self.put(")");
            }
            ExprKind::Conditional(operands) => {
                let [condition, then, otherwise] = &**operands;
                self.put("(");
                self.expr(condition);
                self.put(" ? ");
                self.expr(then);
                self.put(" : ");
                self.expr(otherwise);
                self.put(")");
            }
            ExprKind::Call { name, udf, arguments } => {
                self.put(if *udf { "udf." } else { "" });
                self.put(name);
                self.put("(");
                self.list(arguments);
                self.put(")");
            }
            ExprKind::Subquery(kind, query) => {
                self.put(match kind {
                    SubqueryKind::Scalar => "",
                    SubqueryKind::Exists => "EXISTS",
                    SubqueryKind::Array => "ARRAY",
                    SubqueryKind::All => "ALL",
                    SubqueryKind::First => "FIRST",
                    SubqueryKind::Last => "LAST",
                });
                self.subquery(query);
            }
        }
    }

    fn object(&mut self, members: &[(String, Expr)]) {
        self.put("{");
        for (index, (name, expr)) in members.iter().enumerate() {
            self.comma(index);
            self.put(&quoted(name));
            self.put(": ");
            self.expr(expr);
        }
        self.put("}");
    }

    /// Prints `((a op b) op c)`. Long chains are printed flat, which means the same: nested parentheses
    /// would make the text too deep to be read again.
    fn chain(&mut self, first: &Expr, rest: &[(BinaryOp, Expr)]) {
        let is_nested = rest.len() <= NESTED_OPERATORS_MAX;
        let n_open = if is_nested { rest.len() } else { 1 };
        for _ in 0..n_open {
            self.put("(");
        }
        self.expr(first);
        for (index, (op, operand)) in rest.iter().enumerate() {
            self.put(" ");
            self.put(op.symbol());
            self.put(" ");
            self.expr(operand);
            if is_nested || index + 1 == rest.len() {
                self.put(")");
            }
        }
    }

    /// NOT takes a whole comparison, so it needs parentheses; signs bind tightest and need none.
    fn unary(&mut self, op: UnaryOp, operand: &Expr) {
        self.put(match op {
            UnaryOp::Not => "(NOT ",
            UnaryOp::Minus => "- ",
            UnaryOp::Plus => "+ ",
            UnaryOp::BitNot => "~ ",
        });
        self.expr(operand);
        self.put(if op == UnaryOp::Not { ")" } else { "" });
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Dot(name) if !self.unify_names => {
                    self.put(".");
                    self.put(name);
                }
                Step::Dot(name) | Step::Name(name) => {
                    self.put("[");
                    self.put(&quoted(name));
                    self.put("]");
                }
                Step::Index(index) => {
                    let _ = write!(self.text, "[{index}]");
                }
                Step::Computed(expr) => {
                    self.put("[");
                    self.expr(expr);
                    self.put("]");
                }
            }
        }
    }
}
