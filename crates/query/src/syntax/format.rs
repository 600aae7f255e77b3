//! Tree to text: the canonical form that the planner prints in rewritten queries.
//!
//! One clause per line; every binary expression, IN, LIKE and BETWEEN in parentheses; texts in double
//! quotes. Function names and indexers stay as written.

use std::fmt::Write as _;

use model::Value;

use crate::ast::{
    BinaryOp, Collection, Count, CountKind, Direction, Expr, ExprKind, Name, OffsetLimit, OrderBy,
    Query, Selection, Source, Step, SubqueryKind, UnaryOp,
};
use crate::syntax::lex;

/// Chains of `??` with more operators are printed without inner parentheses: they would make the text too deep to be
/// read again. Other chains nest on their left, which costs the parser nothing.
const NESTED_COALESCE_MAX: usize = 32;

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

/// Returns the canonical text of OFFSET and LIMIT.
pub(crate) fn offset_limit(window: &OffsetLimit) -> String {
    let mut printer = Printer { text: String::new(), indent: 0, unify_names: false };
    printer.offset_limit(window);
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
            self.count(&top.count);
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
            self.offset_limit(window);
        }
    }

    fn offset_limit(&mut self, window: &OffsetLimit) {
        self.put("OFFSET ");
        self.count(&window.offset);
        self.put(" LIMIT ");
        self.count(&window.limit);
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
                        let is_name = lex::is_name(&alias.text);
                        self.put(&if is_name { alias.text.clone() } else { quoted(&alias.text) });
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
                self.put(&alias.text);
                self.put(" IN ");
            }
            self.collection(&source.collection);
            if let (Some(alias), false) = (&source.alias, source.iterates) {
                self.put(" AS ");
                self.put(&alias.text);
            }
        }
    }

    fn collection(&mut self, collection: &Collection) {
        match collection {
            Collection::Path { name, steps } => {
                self.put(&name.text);
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
            ExprKind::Literal(value) => self.put(&value.to_computed_text()),
            ExprKind::Special(number) => self.put(match number {
                number if number.is_nan() => "NaN",
                0.0 => "-0",
                number if *number > 0.0 => "Infinity",
                _ => "-Infinity",
            }),
            ExprKind::Undefined => self.put("undefined"),
            ExprKind::Parameter(name) | ExprKind::Identifier(name) => self.put(name),
            ExprKind::Path { base, steps } => {
                // A dot after digits would read as a fraction.
                let is_loose = matches!(
                    base.kind,
                    ExprKind::Literal(_) | ExprKind::Undefined | ExprKind::Special(_)
                );
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
                self.put(if *negated { " NOT  IN (" } else { " IN (" });
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
                    self.put(&quoted(&escape.text));
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
            ExprKind::Let { name, operands } => {
                let [value, body] = &**operands;
                self.put("(LET ");
                self.put(&name.text);
                self.put(" = ");
                self.indent += 1;
                self.expr(value);
                self.put(" IN (");
                self.expr(body);
                self.indent -= 1;
                self.put("))");
            }
            ExprKind::Call { name, udf, arguments } => {
                self.put(if *udf { "udf." } else { "" });
                // These two are words of the language, which are printed in upper case.
                let word = ["LEFT", "RIGHT"].into_iter().find(|own| own.eq_ignore_ascii_case(name));
                self.put(word.filter(|_| !udf).unwrap_or(name));
                self.put("(");
                self.list(arguments);
                self.put(")");
            }
            ExprKind::Subquery(kind, query) => {
                self.put(match kind {
                    SubqueryKind::Scalar => "",
                    SubqueryKind::Exists => "EXISTS",
                    SubqueryKind::Array => "ARRAY",
                    SubqueryKind::First => "FIRST",
                    SubqueryKind::Last => "LAST",
                });
                // Wire: the service indents this one twice.
                let extra = usize::from(*kind == SubqueryKind::Array);
                self.indent += extra;
                self.subquery(query);
                self.indent -= extra;
            }
        }
    }

    fn object(&mut self, members: &[(Name, Expr)]) {
        self.put("{");
        for (index, (name, expr)) in members.iter().enumerate() {
            self.comma(index);
            self.put(&quoted(&name.text));
            self.put(": ");
            self.expr(expr);
        }
        self.put("}");
    }

    /// Prints `((a op b) op c)`, or `(a ?? (b ?? c))`.
    fn chain(&mut self, first: &Expr, rest: &[(BinaryOp, Expr)]) {
        let to_right = matches!(rest, [(BinaryOp::Coalesce, _), ..]);
        let n_open = if to_right { 1 } else { rest.len() };
        for _ in 0..n_open {
            self.put("(");
        }
        self.expr(first);
        let is_nested = to_right && rest.len() <= NESTED_COALESCE_MAX;
        for (index, (op, operand)) in rest.iter().enumerate() {
            self.put(" ");
            self.put(op.symbol());
            self.put(" ");
            self.put(if is_nested && index + 1 < rest.len() { "(" } else { "" });
            self.expr(operand);
            self.put(if to_right { "" } else { ")" });
        }
        let n_close = if is_nested { rest.len() } else { usize::from(to_right) };
        for _ in 0..n_close {
            self.put(")");
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) {
        self.put(match op {
            UnaryOp::Not => "(NOT ",
            UnaryOp::Minus => "(- ",
            UnaryOp::Plus => "(+ ",
            UnaryOp::BitNot => "(~ ",
        });
        self.expr(operand);
        self.put(")");
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
