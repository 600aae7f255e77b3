//! Advice about a query: which of the service's rules it meets, by their ids.
//!
//! Wire: the rules and their ids are those that the SDKs have texts for.

use model::Value;

use crate::ast::{Collection, Expr, ExprKind, Query, Selection, Step};

/// Returns the ids of the rules that a query meets, each once, what the filter meets first.
pub fn advice(query: &Query) -> Vec<&'static str> {
    let mut found = Misuse::default();
    found.query(query);
    found.ids
}

#[derive(Default)]
struct Misuse {
    ids: Vec<&'static str>,
    is_in_filter: bool,
}

impl Misuse {
    fn query(&mut self, query: &Query) {
        let was_in_filter = std::mem::replace(&mut self.is_in_filter, true);
        self.exprs(&query.filter);
        self.is_in_filter = was_in_filter;
        for source in &query.from {
            match &source.collection {
                Collection::Path { steps, .. } => self.steps(steps),
                Collection::Subquery(query) => self.query(query),
            }
        }
        self.exprs(&query.group_by);
        if let Some(order_by) = &query.order_by {
            self.exprs(order_by.items.iter().map(|item| &item.expr));
        }
        match &query.select.selection {
            Selection::All(_) => {}
            Selection::Value(expr) => self.expr(expr),
            Selection::List(items) => self.exprs(items.iter().map(|item| &item.expr)),
        }
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            if let Step::Computed(expr) = step {
                self.expr(expr);
            }
        }
    }

    /// Recursion is bounded by the depth of the tree.
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(_)
            | ExprKind::Undefined
            | ExprKind::Special(_)
            | ExprKind::Parameter(_)
            | ExprKind::Identifier(_) => {}
            ExprKind::Path { base, steps } => {
                self.expr(base);
                self.steps(steps);
            }
            ExprKind::Array(list) => self.exprs(list),
            ExprKind::Object(properties) => self.exprs(properties.iter().map(|(_, expr)| expr)),
            ExprKind::Unary(_, operand) => self.expr(operand),
            ExprKind::Chain { first, rest } => {
                self.expr(first);
                self.exprs(rest.iter().map(|(_, expr)| expr));
            }
            ExprKind::In { needle, list, .. } => {
                self.expr(needle);
                self.exprs(list);
            }
            ExprKind::Like { text, pattern, .. } => {
                self.expr(text);
                self.expr(pattern);
            }
            ExprKind::Between { operands, .. } | ExprKind::Conditional(operands) => {
                self.exprs(operands.iter());
            }
            ExprKind::Let { operands, .. } => self.exprs(operands.iter()),
            ExprKind::Call { name, udf, arguments } => {
                if !udf
                    && let Some(id) = self.rule(name, arguments)
                    && !self.ids.contains(&id)
                {
                    self.ids.push(id);
                }
                self.exprs(arguments);
            }
            ExprKind::Subquery(_, query) => self.query(query),
        }
    }

    fn rule(&self, name: &str, arguments: &[Expr]) -> Option<&'static str> {
        let is_third_true = matches!(
            arguments.get(2).map(|expr| &expr.kind),
            Some(ExprKind::Literal(Value::Bool(true)))
        );
        match name.to_ascii_uppercase().as_str() {
            "ARRAY_CONTAINS" if is_third_true => Some("QA1000"),
            "CONTAINS" => Some("QA1002"),
            "STARTSWITH" | "STRINGEQUALS" if is_third_true => Some("QA1003"),
            "ENDSWITH" => Some("QA1004"),
            "UPPER" | "LOWER" if self.is_in_filter => Some("QA1006"),
            "GETCURRENTDATETIME" => Some("QA1007"),
            "GETCURRENTTICKS" => Some("QA1008"),
            "GETCURRENTTIMESTAMP" => Some("QA1009"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_meet_the_rules_that_the_service_documents() {
        #[rustfmt::skip]
        let table: [(&str, &[&str]); 12] = [
            ("SELECT VALUE r.id FROM root r WHERE CONTAINS(r.name, \"Abc\")", &["QA1002"]),
            ("SELECT GetCurrentTicks() FROM root r WHERE GetCurrentTimestamp() > 10", &["QA1009", "QA1008"]),
            ("SELECT VALUE r.id FROM root r WHERE StringEquals(r.name, \"Abc\", false)", &[]),
            ("SELECT VALUE r.id FROM root r WHERE r.id = \"123\"", &[]),
            ("SELECT * FROM c WHERE ARRAY_CONTAINS(c.a, {x: 1}, true) OR ARRAY_CONTAINS(c.a, 1)", &["QA1000"]),
            ("SELECT * FROM c WHERE STARTSWITH(c.a, 'x', true) AND StringEquals(c.b, 'y', true)", &["QA1003"]),
            ("SELECT * FROM c WHERE ENDSWITH(c.a, 'x')", &["QA1004"]),
            ("SELECT LOWER(c.a) FROM c WHERE UPPER(c.b) = 'X'", &["QA1006"]),
            ("SELECT LOWER(c.a) FROM c", &[]),
            ("SELECT * FROM c WHERE c.at < GetCurrentDateTime()", &["QA1007"]),
            ("SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE CONTAINS(t, 'x'))", &["QA1002"]),
            ("SELECT udf.CONTAINS(c.a) FROM c", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(advice(&crate::parse(text).unwrap()), expected, "{text}");
        }
    }
}
