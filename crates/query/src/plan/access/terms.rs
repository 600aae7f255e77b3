//! Operands, operators and types as spans of terms, and how a plan prints them.

use model::Value;

use crate::ast::BinaryOp;
use crate::bind::tree::Expr;
use crate::index::{Tag, Term, TermSpan, successor, unite};

/// Values that a plan prints before it says how many more there are.
pub(super) const PRINTED_MAX: usize = 4;

/// What an operand is when it does not depend on the row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant<'e> {
    Undefined,
    Value(&'e Value),
    /// NaN or an infinity.
    NonFinite,
}

pub(super) fn constant(expr: &Expr) -> Option<Constant<'_>> {
    match expr {
        Expr::Constant(None) => Some(Constant::Undefined),
        Expr::Constant(Some(datum)) => {
            Some(datum.value().map_or(Constant::NonFinite, Constant::Value))
        }
        _ => None,
    }
}

/// Returns whether the argument that asks to ignore case does not.
pub(super) fn is_case_kept(rest: &[Expr]) -> bool {
    match rest {
        [] => true,
        [flag] => matches!(constant(flag), Some(Constant::Value(Value::Bool(false)))),
        _ => false,
    }
}

/// Returns the types that a type check accepts.
pub(super) fn tags(name: &str) -> Option<(Tag, Tag)> {
    Some(match name {
        "IS_DEFINED" => (Tag::Null, Tag::Object),
        "IS_NULL" => (Tag::Null, Tag::Null),
        "IS_BOOL" | "IS_BOOLEAN" => (Tag::False, Tag::True),
        "IS_NUMBER" | "IS_FINITE_NUMBER" => (Tag::Negative, Tag::Positive),
        "IS_STRING" => (Tag::Text, Tag::Text),
        "IS_PRIMITIVE" => (Tag::Null, Tag::Text),
        "IS_ARRAY" => (Tag::Array, Tag::Array),
        "IS_OBJECT" => (Tag::Object, Tag::Object),
        _ => return None,
    })
}

pub(super) fn is_comparison(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
    )
}

/// Returns the operator that says the same with its sides changed.
pub(super) fn flipped(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
        op => op,
    }
}

pub(super) fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Equal => "=",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        _ => ">=",
    }
}

/// Returns the spans of the values for which a comparison is true, and whether they hold no others.
pub(super) fn compared(op: BinaryOp, value: &Value) -> Option<(Vec<TermSpan>, bool)> {
    let term = Term::of(value);
    let bytes = term.as_bytes();
    let is_exact = Term::is_exact(bytes);
    let (low, high) = match value {
        Value::Null => (Tag::Null, Tag::Null),
        Value::Bool(_) => (Tag::False, Tag::True),
        Value::Number(_) => (Tag::Negative, Tag::Positive),
        Value::String(_) => (Tag::Text, Tag::Text),
        Value::Array(_) | Value::Object(_) => match op {
            BinaryOp::Equal => return Some((vec![TermSpan::point(&term)], false)),
            BinaryOp::NotEqual => return Some((vec![TermSpan::defined()], false)),
            // Arrays and objects have no order: the comparison is undefined.
            op if is_comparison(op) => return Some((Vec::new(), true)),
            _ => return None,
        },
    };
    let of_type = TermSpan::of_tags(low, high);
    // What is cut off could be on either side.
    let (before, after) = if is_exact {
        (bytes.to_vec(), successor(bytes))
    } else {
        (successor(bytes), bytes.to_vec())
    };
    let spans = match op {
        BinaryOp::Equal => vec![TermSpan::point(&term)],
        BinaryOp::NotEqual if is_exact => {
            let TermSpan { start, end } = TermSpan::defined();
            vec![TermSpan { start, end: before }, TermSpan { start: after, end }]
        }
        BinaryOp::NotEqual => vec![TermSpan::defined()],
        BinaryOp::Less => vec![TermSpan { start: of_type.start, end: before }],
        BinaryOp::LessEqual => vec![TermSpan { start: of_type.start, end: successor(bytes) }],
        BinaryOp::Greater => vec![TermSpan { start: after, end: of_type.end }],
        BinaryOp::GreaterEqual => vec![TermSpan { start: bytes.to_vec(), end: of_type.end }],
        _ => return None,
    };
    Some((unite(spans), is_exact))
}

pub(super) fn printed(value: &Value) -> String {
    /// Characters of a value that a plan prints.
    const CHARACTERS_MAX: usize = 40;
    let text = value.to_text();
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

pub(super) fn begins(prefix: &str) -> String {
    format!("starts with {}", printed(&Value::from(prefix)))
}
