//! What a filter says about terms of the index.
//!
//! A condition is a set of items that holds at least all items for which the filter can be true.

use model::Value;

use crate::ast::{BinaryOp, SubqueryKind};
use crate::bind::tree::{Base, Collection, Expr, ITEM_LEVEL, Projection, Query};
use crate::eval::LikePattern;
use crate::functions::extent;
use crate::index::{
    Declared, IndexPath, PathStep, Tag, Term, TermSpan, intersect, span_of_prefix, successor,
    unite, word_span,
};
use crate::language::Language;
use crate::source::{Direction, Entries, ItemIndex, ItemSource};
use crate::value::{Datum, Step};

/// Limit: spans of one seek; more of them are not worth a lookup each.
const SPANS_MAX: usize = 4096;

/// Values that a plan prints before it says how many more there are.
const PRINTED_MAX: usize = 4;

/// A set of items.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// Nothing is known.
    Anything,
    /// No item can match.
    Nothing,
    Seek(Seek),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

/// The items with a term in some spans.
#[derive(Clone, Debug)]
pub(crate) struct Seek {
    /// The expression: a variable and the steps below it. It has one value per row.
    level: usize,
    steps: Vec<Step>,
    pub(crate) path: IndexPath,
    /// The declared index to look into, instead of that of the path.
    pub(crate) declared: Option<String>,
    /// In order and without overlap.
    pub(crate) spans: Vec<TermSpan>,
    /// Whether the condition holds for exactly the items found.
    pub(crate) is_exact: bool,
    pub(crate) text: String,
}

impl Seek {
    fn is_about(&self, other: &Seek) -> bool {
        self.level == other.level && self.steps == other.steps && self.declared == other.declared
    }

    /// Returns whether an index has what the seek looks for.
    pub(crate) fn is_covered(&self, index: &dyn ItemIndex) -> bool {
        // A declared index was found among those that have the terms of every item.
        self.declared.is_some() || index.covers(&self.path)
    }

    /// Returns the entries of a span.
    pub(crate) fn entries<'i>(
        &self,
        index: &'i dyn ItemIndex,
        span: &TermSpan,
        after: Option<(&[u8], u64)>,
    ) -> Entries<'i> {
        match &self.declared {
            Some(name) => index.seek_in(name, span, after, Direction::Forward),
            None => index.seek(&self.path, span, after, Direction::Forward),
        }
    }

    /// Returns whether the seek is about this path of the item itself.
    pub(crate) fn is_of_item(&self, steps: &[Step]) -> bool {
        self.level == ITEM_LEVEL && self.steps == steps
    }

    /// Returns whether the seek is about a path of the item itself that has one value.
    pub(crate) fn is_of_path(&self, path: &IndexPath) -> bool {
        self.level == ITEM_LEVEL
            && self.path == *path
            && self.declared.is_none()
            && !path.has_elements()
    }
}

/// What a plan is made for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Purpose {
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
    let prefixes = vec![(ITEM_LEVEL, IndexPath::default())];
    Paths { prefixes, index: source.index(), purpose }.query(query)
}

impl Condition {
    /// Returns the seek that is the whole filter of a query over plain items: of the items of the source, exactly those
    /// pass that an entry of its spans names, if an index covers it.
    ///
    /// Only a seek that stands alone says so of itself. Among several parts one that says nothing may have been left out.
    pub(super) fn as_whole_filter(&self, query: &Query) -> Option<&Seek> {
        let is_plain = matches!(query.base, Base::Item) && query.sources.is_empty();
        match self {
            Condition::Seek(seek) if is_plain && seek.is_exact => Some(seek),
            _ => None,
        }
    }

    /// Returns whether items that an index finds by the condition need no look at the filter.
    ///
    /// Properties of the system are looked at nevertheless: their index is made of the feed.
    pub(super) fn is_answered(&self, query: &Query) -> bool {
        let is_stored = |seek: &Seek| match seek.path.steps().first() {
            Some(PathStep::Name(name)) => !name.starts_with('_'),
            Some(PathStep::Element) | None => false,
        };
        self.as_whole_filter(query).is_some_and(is_stored)
    }
}

/// Returns the path of an expression that is a property of the item; elements of arrays are none.
pub(crate) fn item_path(expr: &Expr) -> Option<(&[Step], IndexPath)> {
    let Expr::VariablePath(ITEM_LEVEL, steps) = expr else { return None };
    let name = |step: &Step| match step {
        Step::Name(name) => Some(PathStep::Name(name.clone())),
        Step::Index(_) | Step::Never => None,
    };
    let path = steps.iter().map(name).collect::<Option<Vec<_>>>()?;
    Some((steps, IndexPath::new(path)))
}

/// Where the variables in sight stand in the item.
struct Paths<'s> {
    /// By level; there are few. The last one of a level counts.
    prefixes: Vec<(usize, IndexPath)>,
    index: Option<&'s dyn ItemIndex>,
    purpose: Purpose,
}

impl<'s> Paths<'s> {
    fn query(&mut self, query: &Query) -> Condition {
        if matches!(query.base, Base::Rows(..)) {
            // The filter is about rows; the query below has a condition of its own.
            return Condition::Anything;
        }
        let mut parts = Vec::new();
        for source in &query.sources {
            match &source.collection {
                Collection::Expr(expr) => {
                    if let Some(path) = self.path(expr) {
                        let path =
                            if source.iterates { path.child(PathStep::Element) } else { path };
                        self.prefixes.push((source.level, path));
                    }
                }
                Collection::Subquery(inner) => {
                    let of_inner = self.query(inner);
                    // A group has a row even when nothing matches.
                    if inner.grouping.is_none() {
                        parts.push(of_inner);
                        if let Projection::Value(expr) = &inner.projection
                            && let Some(path) = self.path(expr)
                        {
                            let path =
                                if source.iterates { path.child(PathStep::Element) } else { path };
                            self.prefixes.push((source.level, path));
                        }
                    }
                }
            }
        }
        if let Some(filter) = &query.filter {
            parts.push(self.filter(filter));
        }
        all(parts)
    }

    /// Returns where the value of an expression stands.
    fn path(&self, expr: &Expr) -> Option<IndexPath> {
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
    fn filter(&mut self, expr: &Expr) -> Condition {
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

    /// Returns the declared index on the path of an expression for which `choose` returns something.
    fn declared<T>(
        &self,
        expr: &Expr,
        choose: impl Fn(&'s Declared) -> Option<T>,
    ) -> Option<(&'s str, T)> {
        let (_, path) = item_path(expr)?;
        let is_path = |names: &[String]| {
            let own = names.iter().map(|name| PathStep::Name(name.clone()));
            own.eq(path.steps().iter().cloned())
        };
        self.index?.declared().into_iter().find_map(|(name, declared)| {
            let index = choose(declared)?;
            declared.names().is_some_and(is_path).then_some((name, index))
        })
    }

    /// Makes a seek in a declared index; such seeks are never joined.
    fn declared_seek(name: &str, expr: &Expr, spans: Vec<TermSpan>, text: String) -> Condition {
        let path = item_path(expr).map(|(_, path)| path).unwrap_or_default();
        if spans.len() > SPANS_MAX {
            return Condition::Anything;
        }
        Condition::Seek(Seek {
            level: usize::MAX,
            steps: vec![Step::Never],
            path,
            declared: Some(name.to_string()),
            spans,
            is_exact: false,
            text,
        })
    }

    /// Items whose text has all words of a term.
    fn phrase(&self, text: &Expr, term: &Expr, language: Language) -> Condition {
        let is_words = |declared: &Declared| {
            matches!(declared, Declared::Words(_, own) if *own == language).then_some(())
        };
        let Some((name, ())) = self.declared(text, is_words) else { return Condition::Anything };
        let Some(Constant::Value(Value::String(term))) = constant(term) else {
            return Condition::Anything;
        };
        let words = language.words(term);
        if words.is_empty() {
            return Condition::Nothing;
        }
        all(words
            .iter()
            .map(|word| {
                let printed = format!("has {}", printed(&Value::from(word.as_str())));
                Paths::declared_seek(name, text, vec![word_span(word)], printed)
            })
            .collect())
    }

    /// Items whose shape may share a point with another one, or be at most so far from it.
    fn shape(&self, path: &Expr, shape: Constant<'_>, distance: Option<f64>) -> Condition {
        let is_spatial = |declared: &'s Declared| match declared {
            Declared::Spatial(index) => Some(index),
            Declared::Composite(_) | Declared::Words(..) | Declared::Vector(_) => None,
        };
        let Some((name, index)) = self.declared(path, is_spatial) else {
            return Condition::Anything;
        };
        let Constant::Value(shape) = shape else { return Condition::Anything };
        // What is no shape makes the function undefined.
        let Some(mut extent) = extent(shape) else { return Condition::Nothing };
        if let Some(distance) = distance {
            extent = index.around(&extent, distance);
        }
        match index.spans(&extent) {
            None => Condition::Anything,
            Some(spans) => Paths::declared_seek(name, path, spans, "near a shape".to_string()),
        }
    }

    /// Items whose shape is nearer to another one than a distance.
    fn distance(&self, op: BinaryOp, call: &Expr, value: &Value) -> Option<Condition> {
        let Expr::Call { function, arguments, .. } = call else { return None };
        let is_near = matches!(op, BinaryOp::Less | BinaryOp::LessEqual);
        let ("ST_DISTANCE", true, [left, right]) = (function.name, is_near, arguments.as_slice())
        else {
            return None;
        };
        let distance = Some(value.as_f64()?);
        match (constant(left), constant(right)) {
            (None, Some(shape)) => Some(self.shape(left, shape, distance)),
            (Some(shape), None) => Some(self.shape(right, shape, distance)),
            _ => None,
        }
    }

    /// Items whose array has an element equal to a value.
    fn element(&self, list: &Expr, needle: &Value) -> Condition {
        let Some(path) = self.path(list) else { return Condition::Anything };
        let spans = vec![TermSpan::point(&Term::of(needle))];
        // Each needle may be found in another element, so these seeks must not be joined.
        Condition::Seek(Seek {
            level: usize::MAX,
            steps: vec![Step::Never],
            path: path.child(PathStep::Element),
            declared: None,
            spans,
            is_exact: false,
            text: format!("= {}", printed(needle)),
        })
    }

    /// Items whose array has an element with at least the members of `needle`.
    fn partial_element(&self, list: &Expr, needle: &Value) -> Condition {
        let Value::Object(members) = needle else { return self.element(list, needle) };
        let Some(path) = self.path(list) else { return Condition::Anything };
        let path = path.child(PathStep::Element);
        let parts = members.iter().map(|(name, value)| {
            Condition::Seek(Seek {
                level: usize::MAX,
                steps: vec![Step::Never],
                path: path.child(PathStep::Name(name.to_string())),
                declared: None,
                spans: vec![TermSpan::point(&Term::of(value))],
                is_exact: false,
                text: format!("= {}", printed(value)),
            })
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

/// What an operand is when it does not depend on the row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Constant<'e> {
    Undefined,
    Value(&'e Value),
    /// NaN or an infinity.
    NonFinite,
}

fn constant(expr: &Expr) -> Option<Constant<'_>> {
    match expr {
        Expr::Constant(None) => Some(Constant::Undefined),
        Expr::Constant(Some(datum)) => {
            Some(datum.value().map_or(Constant::NonFinite, Constant::Value))
        }
        _ => None,
    }
}

/// Returns whether the argument that asks to ignore case does not.
fn is_case_kept(rest: &[Expr]) -> bool {
    match rest {
        [] => true,
        [flag] => matches!(constant(flag), Some(Constant::Value(Value::Bool(false)))),
        _ => false,
    }
}

/// Returns the types that a type check accepts.
fn tags(name: &str) -> Option<(Tag, Tag)> {
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

fn is_comparison(op: BinaryOp) -> bool {
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
fn flipped(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
        op => op,
    }
}

fn symbol(op: BinaryOp) -> &'static str {
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
fn compared(op: BinaryOp, value: &Value) -> Option<(Vec<TermSpan>, bool)> {
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

fn printed(value: &Value) -> String {
    /// Characters of a value that a plan prints.
    const CHARACTERS_MAX: usize = 40;
    let text = value.to_text();
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn begins(prefix: &str) -> String {
    format!("starts with {}", printed(&Value::from(prefix)))
}

/// Joins what two seeks say, if they say anything.
fn join(own: &mut String, word: &str, other: &str) {
    if !other.is_empty() {
        own.push_str(word);
        own.push_str(other);
    }
}

/// Items that are in every part. Seeks on one expression become one.
fn all(parts: Vec<Condition>) -> Condition {
    let mut flat: Vec<Condition> = Vec::new();
    let mut is_exact = true;
    for part in parts {
        match part {
            Condition::Anything => is_exact = false,
            Condition::Nothing => return Condition::Nothing,
            Condition::All(inner) => flat.extend(inner),
            Condition::Seek(seek) => {
                let own = flat.iter_mut().find_map(|own| match own {
                    Condition::Seek(own) if own.is_about(&seek) && own.level != usize::MAX => {
                        Some(own)
                    }
                    _ => None,
                });
                let Some(own) = own else {
                    flat.push(Condition::Seek(seek));
                    continue;
                };
                own.spans = intersect(&own.spans, &seek.spans);
                own.is_exact &= seek.is_exact;
                join(&mut own.text, " and ", &seek.text);
                if own.spans.is_empty() {
                    return Condition::Nothing;
                }
            }
            Condition::Any(_) => flat.push(part),
        }
    }
    if !is_exact {
        for part in &mut flat {
            if let Condition::Seek(seek) = part {
                seek.is_exact = false;
            }
        }
    }
    one_or(flat, Condition::Anything, Condition::All)
}

/// Items that are in one of the parts. Seeks on one expression become one.
fn any(parts: Vec<Condition>) -> Condition {
    let mut flat: Vec<Condition> = Vec::new();
    for part in parts {
        match part {
            Condition::Anything => return Condition::Anything,
            Condition::Nothing => {}
            Condition::Any(inner) => flat.extend(inner),
            Condition::Seek(seek) => {
                let own = flat.iter_mut().find_map(|own| match own {
                    Condition::Seek(own) if own.is_about(&seek) && own.path == seek.path => {
                        Some(own)
                    }
                    _ => None,
                });
                let Some(own) = own else {
                    flat.push(Condition::Seek(seek));
                    continue;
                };
                own.spans.extend(seek.spans);
                own.spans = unite(std::mem::take(&mut own.spans));
                own.is_exact &= seek.is_exact;
                join(&mut own.text, " or ", &seek.text);
            }
            Condition::All(_) => flat.push(part),
        }
    }
    one_or(flat, Condition::Nothing, Condition::Any)
}

fn one_or(
    mut parts: Vec<Condition>,
    none: Condition,
    many: fn(Vec<Condition>) -> Condition,
) -> Condition {
    match (parts.pop(), parts.is_empty()) {
        (None, _) => none,
        (Some(only), true) => only,
        (Some(last), false) => {
            parts.push(last);
            many(parts)
        }
    }
}
