//! What a filter says about terms of the index: the items for which it can be true, and perhaps others.

use model::Value;

use super::condition::{Condition, Seek, all, any};
use super::terms::{
    Constant, PRINTED_MAX, begins, compared, constant, flipped, is_case_kept, is_comparison,
    printed, symbol, tags,
};
use crate::ast::{BinaryOp, SubqueryKind};
use crate::bind::tree::{Base, Collection, Expr, ITEM_LEVEL, Projection, Query, Source};
use crate::eval::LikePattern;
use crate::full_text::language::Language;
use crate::index::{IndexPath, PathStep, Term, TermSpan, span_of_prefix, unite};
use crate::source::{ItemIndex, ItemSource};
use crate::value::{Datum, Step};

/// Limit: spans of one seek; more of them are not worth a lookup each.
pub(super) const SPANS_MAX: usize = 4096;

/// What a plan is made for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Purpose {
    /// To run. Nobody reads what it says, so it says nothing.
    Run,
    /// To be read.
    Explain,
}

impl Purpose {
    /// Returns a text if somebody reads it.
    pub(super) fn text(self, text: impl FnOnce() -> String) -> String {
        match self {
            Purpose::Run => String::new(),
            Purpose::Explain => text(),
        }
    }
}

/// Returns the condition of a whole query over items.
pub(super) fn condition(query: &Query, source: &dyn ItemSource, purpose: Purpose) -> Condition {
    Paths::of_items(source.index(), purpose).query(query)
}

/// Where the variables in sight stand in the item.
pub(super) struct Paths<'s> {
    /// By level; there are few. The last one of a level counts.
    prefixes: Vec<(usize, IndexPath)>,
    pub(super) index: Option<&'s dyn ItemIndex>,
    pub(super) purpose: Purpose,
}

impl<'s> Paths<'s> {
    /// The item itself is in sight.
    pub(super) fn of_items(index: Option<&'s dyn ItemIndex>, purpose: Purpose) -> Paths<'s> {
        Paths { prefixes: vec![(ITEM_LEVEL, IndexPath::default())], index, purpose }
    }

    /// Takes a source of FROM into sight, if its values stand at a path.
    pub(super) fn enter(&mut self, source: &Source) {
        let value = match &source.collection {
            Collection::Expr(expr) => Some(expr),
            Collection::Subquery(inner) => match &inner.projection {
                Projection::Value(expr) if inner.grouping.is_none() => Some(expr),
                Projection::Value(_) | Projection::List(_) => None,
            },
        };
        if let Some(path) = value.and_then(|expr| self.path(expr)) {
            let path = if source.iterates { path.child(PathStep::Element) } else { path };
            self.prefixes.push((source.level, path));
        }
    }

    fn query(&mut self, query: &Query) -> Condition {
        if matches!(query.base, Base::Rows(..)) {
            // The filter is about rows; the query below has a condition of its own.
            return Condition::Anything;
        }
        let mut parts = Vec::new();
        for source in &query.sources {
            if let Collection::Subquery(inner) = &source.collection {
                let of_inner = self.query(inner);
                // A group has a row even when nothing matches.
                if inner.grouping.is_none() {
                    parts.push(of_inner);
                }
            }
            self.enter(source);
        }
        if let Some(filter) = &query.filter {
            parts.push(self.filter(filter));
        }
        all(parts)
    }

    /// Returns where the value of an expression stands.
    pub(super) fn path(&self, expr: &Expr) -> Option<IndexPath> {
        let (level, steps): (usize, &[Step]) = match expr {
            Expr::Variable(level) => (*level, &[]),
            Expr::VariablePath(level, steps) => (*level, steps),
            _ => return None,
        };
        let (_, prefix) = self.prefixes.iter().rev().find(|(own, _)| *own == level)?;
        let mut path = Vec::with_capacity(prefix.steps().len() + steps.len());
        path.extend_from_slice(prefix.steps());
        for step in steps {
            path.push(match step {
                Step::Name(name) => PathStep::Name(name.clone()),
                Step::Index(_) => PathStep::Element,
                Step::Never => return None,
            });
        }
        Some(IndexPath::new(path))
    }

    /// Returns the items for which a condition can be true.
    pub(super) fn filter(&mut self, expr: &Expr) -> Condition {
        match expr {
            Expr::Constant(constant) => {
                let is_true = constant.as_ref().and_then(Datum::as_bool) == Some(true);
                if is_true { Condition::Anything } else { Condition::Nothing }
            }
            Expr::And(list) => all(list.iter().map(|operand| self.filter(operand)).collect()),
            Expr::Or(list) => any(list.iter().map(|operand| self.filter(operand)).collect()),
            Expr::Variable(_) | Expr::VariablePath(..) => self.is_bool(expr, true),
            Expr::Not(operand) => match &**operand {
                path @ (Expr::Variable(_) | Expr::VariablePath(..)) => self.is_bool(path, false),
                _ => Condition::Anything,
            },
            Expr::Chain(left, rest) => match rest.as_slice() {
                [(op, right)] => self.comparison(*op, left, right),
                _ => Condition::Anything,
            },
            Expr::Between(operands) => {
                let [value, low, high] = &**operands;
                all(vec![
                    self.comparison(BinaryOp::GreaterEqual, value, low),
                    self.comparison(BinaryOp::LessEqual, value, high),
                ])
            }
            Expr::In(needle, list) => {
                let values: Option<Vec<Constant<'_>>> = list.iter().map(constant).collect();
                match values {
                    Some(values) if !values.contains(&Constant::NonFinite) => {
                        let defined = values.iter().filter_map(|value| match value {
                            Constant::Value(value) => Some(*value),
                            Constant::Undefined | Constant::NonFinite => None,
                        });
                        self.one_of(needle, &defined.collect::<Vec<_>>())
                    }
                    _ => Condition::Anything,
                }
            }
            Expr::InSet { needle, values, .. } => {
                self.one_of(needle, &values.iter().collect::<Vec<_>>())
            }
            Expr::Like(text, pattern) => self.like(text, pattern),
            Expr::Call { function, arguments, prepared } => {
                let language = prepared.language().unwrap_or_default();
                self.call(function.name, arguments, language)
            }
            Expr::Subquery(SubqueryKind::Exists, inner) if inner.grouping.is_none() => {
                // There must also be a row: elements to enumerate, a value that is defined.
                all(vec![self.query(inner), Condition::Anything])
            }
            _ => Condition::Anything,
        }
    }

    fn is_bool(&self, path: &Expr, value: bool) -> Condition {
        let span = TermSpan::point(&Term::of(&Value::Bool(value)));
        self.seek(path, vec![span], true, || format!("= {value}"))
    }

    fn comparison(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Condition {
        let (path, value, op) = match (constant(left), constant(right)) {
            (None, Some(value)) => (left, value, op),
            (Some(value), None) => (right, value, flipped(op)),
            _ => return Condition::Anything,
        };
        let value = match value {
            Constant::Value(value) => value,
            // Nothing compares with undefined.
            Constant::Undefined if is_comparison(op) => return Condition::Nothing,
            Constant::Undefined | Constant::NonFinite => return Condition::Anything,
        };
        if let Some(condition) = self.distance(op, path, value) {
            return condition;
        }
        let Some((spans, is_exact)) = compared(op, value) else { return Condition::Anything };
        self.seek(path, spans, is_exact, || [symbol(op), " ", &printed(value)].concat())
    }

    fn one_of(&self, path: &Expr, values: &[&Value]) -> Condition {
        let terms = values.iter().map(|value| Term::of(value));
        let is_exact = terms.clone().all(|term| Term::is_exact(term.as_bytes()));
        let spans = unite(terms.map(|term| TermSpan::point(&term)).collect());
        self.seek(path, spans, is_exact, || {
            let mut list: Vec<String> =
                values.iter().take(PRINTED_MAX).map(|value| printed(value)).collect();
            if values.len() > PRINTED_MAX {
                list.push(format!("{} more", values.len() - PRINTED_MAX));
            }
            format!("in ({})", list.join(", "))
        })
    }

    fn like(&self, text: &Expr, pattern: &LikePattern) -> Condition {
        if let Some(literal) = pattern.as_literal() {
            return self.one_of(text, &[&Value::String(literal)]);
        }
        let prefix = pattern.prefix();
        self.seek(text, vec![span_of_prefix(&prefix)], false, || begins(&prefix))
    }

    fn call(&mut self, name: &str, arguments: &[Expr], language: Language) -> Condition {
        if let ([path], Some((first, last))) = (arguments, tags(name)) {
            let spans = vec![TermSpan::of_tags(first, last)];
            return self.seek(path, spans, true, || name.to_ascii_lowercase());
        }
        match (name, arguments) {
            ("STARTSWITH", [text, prefix, rest @ ..]) if is_case_kept(rest) => {
                let Some(Constant::Value(Value::String(prefix))) = constant(prefix) else {
                    return Condition::Anything;
                };
                let is_exact = prefix.len() <= crate::index::TERM_TEXT_BYTES_MAX;
                self.seek(text, vec![span_of_prefix(prefix)], is_exact, || begins(prefix))
            }
            ("STRINGEQUALS", [text, other, rest @ ..]) if is_case_kept(rest) => {
                match (constant(text), constant(other)) {
                    (None, Some(Constant::Value(value @ Value::String(_)))) => {
                        self.one_of(text, &[value])
                    }
                    (Some(Constant::Value(value @ Value::String(_))), None) => {
                        self.one_of(other, &[value])
                    }
                    _ => Condition::Anything,
                }
            }
            ("ARRAY_CONTAINS" | "_TRY_ARRAY_CONTAINS", [list, needle]) => {
                match (constant(list), constant(needle)) {
                    (None, Some(Constant::Value(needle))) => self.element(list, needle),
                    (Some(Constant::Value(Value::Array(values))), None) => {
                        self.one_of(needle, &values.iter().collect::<Vec<_>>())
                    }
                    _ => Condition::Anything,
                }
            }
            ("ARRAY_CONTAINS", [list, needle, partial]) => {
                match (constant(needle), constant(partial)) {
                    (Some(Constant::Value(needle)), Some(Constant::Value(Value::Bool(true)))) => {
                        self.partial_element(list, needle)
                    }
                    (Some(Constant::Value(needle)), Some(_)) => self.element(list, needle),
                    _ => Condition::Anything,
                }
            }
            ("ARRAY_CONTAINS_ALL" | "ARRAY_CONTAINS_ANY", [list, needles @ ..]) => {
                let parts = needles.iter().map(|needle| match constant(needle) {
                    Some(Constant::Value(needle)) => self.element(list, needle),
                    _ => Condition::Anything,
                });
                let parts: Vec<Condition> = parts.collect();
                if name == "ARRAY_CONTAINS_ALL" { all(parts) } else { any(parts) }
            }
            ("FULLTEXTCONTAINS" | "FULLTEXTCONTAINSALL", [text, terms @ ..]) => {
                all(terms.iter().map(|term| self.phrase(text, term, language)).collect())
            }
            ("FULLTEXTCONTAINSANY", [text, terms @ ..]) => {
                any(terms.iter().map(|term| self.phrase(text, term, language)).collect())
            }
            ("ST_WITHIN" | "ST_INTERSECTS", [left, right]) => {
                match (constant(left), constant(right)) {
                    (None, Some(shape)) => self.shape(left, shape, None),
                    (Some(shape), None) => self.shape(right, shape, None),
                    _ => Condition::Anything,
                }
            }
            _ => Condition::Anything,
        }
    }

    /// Items whose array has an element equal to a value.
    fn element(&self, list: &Expr, needle: &Value) -> Condition {
        let Some(path) = self.path(list) else { return Condition::Anything };
        let spans = vec![TermSpan::point(&Term::of(needle))];
        let text = self.purpose.text(|| format!("= {}", printed(needle)));
        Condition::Seek(Seek::of_some_place(path.child(PathStep::Element), None, spans, text))
    }

    /// Items whose array has an element with at least the members of `needle`.
    fn partial_element(&self, list: &Expr, needle: &Value) -> Condition {
        let Value::Object(members) = needle else { return self.element(list, needle) };
        let Some(path) = self.path(list) else { return Condition::Anything };
        let path = path.child(PathStep::Element);
        let parts = members.iter().map(|(name, value)| {
            let path = path.child(PathStep::Name(name.to_string()));
            let spans = vec![TermSpan::point(&Term::of(value))];
            let text = self.purpose.text(|| format!("= {}", printed(value)));
            Condition::Seek(Seek::of_some_place(path, None, spans, text))
        });
        all(parts.collect())
    }

    fn seek(
        &self,
        expr: &Expr,
        spans: Vec<TermSpan>,
        is_exact: bool,
        text: impl FnOnce() -> String,
    ) -> Condition {
        let (level, steps) = match expr {
            Expr::Variable(level) => (*level, Vec::new()),
            Expr::VariablePath(level, steps) => (*level, steps.clone()),
            _ => return Condition::Anything,
        };
        let Some(path) = self.path(expr) else { return Condition::Anything };
        if path.steps().is_empty() || spans.len() > SPANS_MAX {
            return Condition::Anything;
        }
        if spans.iter().all(TermSpan::is_empty) {
            return Condition::Nothing;
        }
        let is_exact = is_exact && level == ITEM_LEVEL && !path.has_elements();
        let text = self.purpose.text(text);
        Condition::Seek(Seek { level, steps, path, declared: None, spans, is_exact, text })
    }
}
