//! Times that are given as one text: `DateTimeAdd("-1d", t)`, `Ago("2hh")`, `Now("30mi")`.

use model::Value;

use super::Binder;
use super::tree::Expr;
use crate::ast::{self, ExprKind};
use crate::error::{Diagnostic, Span};
use crate::functions::Function;
use crate::value::Datum;

impl Binder<'_> {
    /// Binds the arguments of a call that has a timespan where others have a part and a count; `None` for other calls.
    pub(super) fn timespan(
        &mut self,
        function: &Function,
        arguments: &[ast::Expr],
        span: Span,
    ) -> Option<Vec<Expr>> {
        let (first, rest) = match (function.name, arguments) {
            ("DATETIMEADD", [first, _]) | ("AGO" | "NOW", [first]) => {
                (first, arguments.get(1..).unwrap_or_default())
            }
            _ => return None,
        };
        let text = match &first.kind {
            ExprKind::Literal(value) => value.as_str(),
            ExprKind::Parameter(name) => self.parameter(name).and_then(|value| value.as_str()),
            _ => None,
        };
        let text = text.map(str::to_owned);
        let parts = text.as_deref().and_then(parts);
        let mut bound: Vec<Expr> = match parts {
            Some((count, part)) => {
                let constant = |value: Option<Value>| Expr::Constant(value.map(Datum::Owned));
                vec![constant(Some(Value::from(part))), constant(count.map(Value::from))]
            }
            None => vec![self.expr(first)],
        };
        bound.extend(rest.iter().map(|argument| self.expr(argument)));
        if parts.is_none() {
            let message = "The timespan argument provided to the DateTime function is invalid.";
            self.report(Diagnostic::sc(2053, message, span));
        }
        Some(bound)
    }
}

/// Splits a timespan into a count, which is lost if it is too large, and the name of a part.
fn parts(text: &str) -> Option<(Option<i64>, &str)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let n_digits = digits.find(|c: char| !c.is_ascii_digit())?;
    let (count, part) = text.split_at(text.len() - digits.len() + n_digits);
    (n_digits > 0).then(|| (count.parse().ok(), part))
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_timespan_is_a_count_and_a_part() {
        assert_eq!(parts("1d"), Some((Some(1), "d")));
        assert_eq!(parts("-15 day"), Some((Some(-15), " day")));
        assert_eq!(parts("99999999999999999999d"), Some((None, "d")));
        for text in ["", "d", "-", "-d", "1", "+1d", " 1d", "--1d", ".5d"] {
            assert_eq!(parts(text), None, "{text}");
        }
    }
}
