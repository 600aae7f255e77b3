//! Which partition keys can satisfy the filter, and which ranges they fall in.

use std::collections::BTreeSet;

use model::{Component, EpkRange, PartitionKey, PartitionKeyDefinition, PartitionKeyKind, Value};

use super::possible::Facts;
use crate::ast::{BinaryOp, SubqueryKind};
use crate::bind::tree::{Base, Collection, Expr, ITEM_LEVEL, Query};
use crate::statement::Statement;
use crate::value::{Datum, Step};

/// Limit: more keys than this are not worth a lookup each; the whole container is asked.
const KEYS_MAX: usize = 4096;

/// What a query can touch.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Target {
    /// No item can match.
    Nothing,
    /// Every range.
    Everything,
    /// Points and spans, ascending, without overlap.
    Some(Vec<Span>),
}

/// A piece of the hash space.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) range: EpkRange,
    /// Whether the span is one partition key.
    pub(super) is_point: bool,
}

impl Target {
    /// Returns whether the query touches one logical partition only.
    pub(super) fn is_one_key(&self) -> bool {
        matches!(self, Target::Some(spans) if matches!(spans.as_slice(), [span] if span.is_point))
    }
}

/// Returns the spans of the hash space that can hold results, ascending and without overlap.
///
/// The list is empty when no item can match; a query that aggregates still answers a row then, so the
/// caller asks any one range.
pub fn epk_ranges(statement: &Statement, definition: &PartitionKeyDefinition) -> Vec<EpkRange> {
    match target(statement.bound(), definition) {
        Target::Nothing => Vec::new(),
        Target::Everything => vec![EpkRange::full()],
        Target::Some(spans) => spans.into_iter().map(|span| span.range).collect(),
    }
}

pub(super) fn target(query: &Query, definition: &PartitionKeyDefinition) -> Target {
    let paths: Vec<Vec<Step>> = definition
        .paths
        .iter()
        .map(|path| path.segments().iter().map(|name| Step::Name(name.clone())).collect())
        .collect();
    let finder = Finder { paths };
    let Some(keys) = finder.query(query, &Facts::default()) else { return Target::Nothing };
    spans(&keys, definition)
}

/// Possible keys: each a list with `None` for a component that can be anything. Never empty.
type Keys = Vec<Vec<Option<Component>>>;

fn spans(keys: &Keys, definition: &PartitionKeyDefinition) -> Target {
    let mut spans = Vec::new();
    for key in keys {
        let fixed: Vec<Component> = key.iter().map_while(Clone::clone).collect();
        let is_whole = fixed.len() == definition.paths.len();
        let is_prefix = definition.kind == PartitionKeyKind::MultiHash && !fixed.is_empty();
        if !is_whole && !is_prefix {
            return Target::Everything;
        }
        let key = PartitionKey::new(fixed);
        let range = if is_whole {
            EpkRange::point(definition.epk(&key))
        } else {
            definition.epk_range_of_prefix(&key)
        };
        spans.push(Span { range, is_point: is_whole });
    }
    spans.sort_by(|left, right| {
        let by_min = left.range.min().cmp(right.range.min());
        by_min.then_with(|| right.range.max().cmp(left.range.max()))
    });
    // A span that another one covers adds nothing.
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        if merged.last().is_none_or(|last| !last.range.covers(&span.range)) {
            merged.push(span);
        }
    }
    Target::Some(merged)
}

struct Finder {
    paths: Vec<Vec<Step>>,
}

impl Finder {
    fn anything(&self) -> Keys {
        vec![vec![None; self.paths.len()]]
    }

    /// Returns the keys of items that can contribute to a query; `None` when there are none.
    fn query(&self, query: &Query, facts: &Facts) -> Option<Keys> {
        let mut keys = match &query.base {
            Base::Nothing => return None,
            Base::Item => self.anything(),
            // The filter of the outer query is about rows, not about items.
            Base::Rows(inner, _) => return self.query(inner, facts),
        };
        let mut facts = facts.clone();
        if !facts.can_use_rows(query) {
            return None;
        }
        for source in &query.sources {
            if let Collection::Subquery(inner) = &source.collection
                && inner.grouping.is_none()
            {
                keys = intersect(keys, self.query(inner, &facts)?)?;
            }
        }
        keys = intersect(keys, self.known(&facts)?)?;
        match &query.filter {
            None => Some(keys),
            Some(filter) => intersect(keys, self.filter(filter, &facts)?),
        }
    }

    /// Returns the keys that facts leave.
    fn known(&self, facts: &Facts) -> Option<Keys> {
        let mut keys = self.anything();
        for path in &self.paths {
            if let Some(values) = facts.few(ITEM_LEVEL, path) {
                let path = Expr::VariablePath(ITEM_LEVEL, path.clone());
                keys = intersect(keys, self.values(&path, values.iter())?)?;
            }
        }
        Some(keys)
    }

    /// Returns the keys for which a condition can be true, where facts hold.
    fn filter(&self, expr: &Expr, facts: &Facts) -> Option<Keys> {
        match expr {
            Expr::Constant(constant) => {
                let is_true = constant.as_ref().and_then(Datum::as_bool) == Some(true);
                is_true.then(|| self.anything())
            }
            Expr::And(list) => {
                let mut keys = self.anything();
                for operand in list {
                    keys = intersect(keys, self.filter(operand, facts)?)?;
                }
                Some(keys)
            }
            // The first value there is decides, so one of them must be true.
            Expr::Or(list) | Expr::Coalesce(list) => {
                let branch = |operand: &Expr| {
                    let mut facts = facts.clone();
                    if !facts.assume(operand) {
                        return None;
                    }
                    intersect(self.filter(operand, &facts)?, self.known(&facts)?)
                };
                let keys: Keys = list.iter().filter_map(branch).flatten().collect();
                self.bounded(unique(keys))
            }
            Expr::VariablePath(..) => self.points(expr, [Component::Bool(true)]),
            Expr::Not(operand) => self.filter_not(operand, facts),
            Expr::Between(operands) => {
                let [value, low, high] = &**operands;
                match (constant(low), constant(high)) {
                    (Some(Some(low)), Some(Some(high))) if low == high => self.values(value, [low]),
                    _ => Some(self.anything()),
                }
            }
            Expr::Conditional(operands) => {
                let [condition, then, otherwise] = &**operands;
                let mut is_true = facts.clone();
                let then = if is_true.assume(condition) && is_true.assume(then) {
                    let keys = self.filter(condition, facts);
                    keys.and_then(|keys| intersect(keys, self.filter(then, facts)?))
                } else {
                    None
                };
                let mut is_other = facts.clone();
                let otherwise =
                    if is_other.assume(otherwise) { self.filter(otherwise, facts) } else { None };
                self.bounded(unique(then.into_iter().chain(otherwise).flatten().collect()))
            }
            Expr::Chain(left, rest) => match rest.as_slice() {
                [(BinaryOp::Equal, right)] => self.equality(left, right),
                _ => Some(self.anything()),
            },
            Expr::In(needle, list) => {
                let values: Option<Vec<Option<&Value>>> = list.iter().map(constant).collect();
                match values {
                    Some(values) => self.values(needle, values.into_iter().flatten()),
                    None => Some(self.anything()),
                }
            }
            Expr::InSet { needle, values, .. } => self.values(needle, values.iter()),
            Expr::Like(text, pattern) => match pattern.as_literal() {
                Some(literal) => self.points(text, [Component::String(literal)]),
                None => Some(self.anything()),
            },
            Expr::Let { operands, .. } => self.filter(&operands[1], facts),
            Expr::Call { function, arguments, .. } => self.call(function.name, arguments),
            Expr::Subquery(SubqueryKind::Exists, inner) if inner.grouping.is_none() => {
                self.query(inner, facts)
            }
            _ => Some(self.anything()),
        }
    }

    /// Returns the keys for which a condition can be false, and not merely undefined.
    fn filter_not(&self, expr: &Expr, facts: &Facts) -> Option<Keys> {
        match expr {
            Expr::Constant(constant) => {
                let is_false = constant.as_ref().and_then(Datum::as_bool) == Some(false);
                is_false.then(|| self.anything())
            }
            Expr::Not(operand) => self.filter(operand, facts),
            Expr::Or(list) => {
                let mut keys = self.anything();
                for operand in list {
                    keys = intersect(keys, self.filter_not(operand, facts)?)?;
                }
                Some(keys)
            }
            Expr::And(list) | Expr::Coalesce(list) => {
                let keys = list.iter().filter_map(|operand| self.filter_not(operand, facts));
                self.bounded(unique(keys.flatten().collect()))
            }
            Expr::VariablePath(..) => self.points(expr, [Component::Bool(false)]),
            Expr::Let { operands, .. } => self.filter_not(&operands[1], facts),
            Expr::Chain(left, rest) => match rest.as_slice() {
                [(BinaryOp::NotEqual, right)] => self.equality(left, right),
                _ => Some(self.anything()),
            },
            _ => Some(self.anything()),
        }
    }

    fn call(&self, name: &str, arguments: &[Expr]) -> Option<Keys> {
        match (name, arguments) {
            ("IS_BOOL" | "IS_BOOLEAN", [path]) => {
                self.points(path, [Component::Bool(false), Component::Bool(true)])
            }
            ("IS_NULL", [path]) => self.points(path, [Component::Null]),
            ("ARRAY_CONTAINS" | "_TRY_ARRAY_CONTAINS", [list, path]) => match constant(list) {
                Some(Some(Value::Array(list))) => self.values(path, list.iter()),
                _ => Some(self.anything()),
            },
            _ => Some(self.anything()),
        }
    }

    fn equality(&self, left: &Expr, right: &Expr) -> Option<Keys> {
        for (path, value) in [(left, right), (right, left)] {
            let Some(value) = constant(value) else { continue };
            if self.component(path).is_some() {
                return match value {
                    Some(value) => self.values(path, [value]),
                    // Nothing equals undefined.
                    None => None,
                };
            }
            if let (Expr::Call { function, arguments, .. }, Some(Value::Number(number))) =
                (path, value)
                && let ("ABS", [path]) = (function.name, arguments.as_slice())
            {
                let number = number.as_f64();
                return self.points(path, [Component::Number(number), Component::Number(-number)]);
            }
        }
        Some(self.anything())
    }

    /// Returns which component of the key an expression is.
    fn component(&self, expr: &Expr) -> Option<usize> {
        let Expr::VariablePath(ITEM_LEVEL, steps) = expr else { return None };
        self.paths.iter().position(|path| path == steps)
    }

    fn values<'v>(&self, path: &Expr, values: impl IntoIterator<Item = &'v Value>) -> Option<Keys> {
        if self.component(path).is_none() {
            return Some(self.anything());
        }
        self.points(path, values.into_iter().map(component_of))
    }

    fn points(&self, path: &Expr, values: impl IntoIterator<Item = Component>) -> Option<Keys> {
        let Some(index) = self.component(path) else { return Some(self.anything()) };
        let key = |value: Component| {
            let mut key = vec![None; self.paths.len()];
            if let Some(slot) = key.get_mut(index) {
                // Zero has one key, whatever its sign.
                *slot = Some(if value == Component::Number(-0.0) {
                    Component::Number(0.0)
                } else {
                    value
                });
            }
            key
        };
        self.bounded(unique(values.into_iter().map(key).collect()))
    }

    fn bounded(&self, keys: Keys) -> Option<Keys> {
        match keys.len() {
            0 => None,
            n if n > KEYS_MAX => Some(self.anything()),
            _ => Some(keys),
        }
    }
}

#[expect(clippy::option_option, reason = "outer: is constant, inner: is defined")]
fn constant(expr: &Expr) -> Option<Option<&Value>> {
    match expr {
        Expr::Constant(constant) => Some(constant.as_ref().and_then(Datum::value)),
        _ => None,
    }
}

/// Returns the component of an item whose key is a value. Items with an array or an object there have no key.
fn component_of(value: &Value) -> Component {
    match value {
        Value::Null => Component::Null,
        Value::Bool(value) => Component::Bool(*value),
        Value::Number(number) => Component::Number(number.as_f64()),
        Value::String(text) => Component::String(text.clone()),
        Value::Array(_) | Value::Object(_) => Component::Undefined,
    }
}

/// Returns the keys that are in both lists; `None` when there are none.
fn intersect(left: Keys, right: Keys) -> Option<Keys> {
    if is_anything(&left) {
        return Some(right);
    }
    if is_anything(&right) {
        return Some(left);
    }
    if left.len().saturating_mul(right.len()) > KEYS_MAX * 16 {
        // Either list alone is right, only wider than need be.
        return Some(if left.len() <= right.len() { left } else { right });
    }
    let mut keys = Vec::new();
    for one in &left {
        for two in &right {
            keys.extend(intersect_key(one, two));
        }
    }
    let keys = unique(keys);
    (!keys.is_empty()).then_some(keys)
}

/// Most conditions say nothing about the key.
fn is_anything(keys: &Keys) -> bool {
    matches!(keys.as_slice(), [key] if key.iter().all(Option::is_none))
}

fn intersect_key(
    left: &[Option<Component>],
    right: &[Option<Component>],
) -> Option<Vec<Option<Component>>> {
    let both = left.iter().zip(right).map(|(left, right)| match (left, right) {
        (None, other) | (other, None) => Some(other.clone()),
        (Some(left), Some(right)) => (left == right).then(|| Some(left.clone())),
    });
    both.collect()
}

fn unique(keys: Keys) -> Keys {
    if keys.len() < 2 {
        return keys;
    }
    let mut seen = BTreeSet::new();
    keys.into_iter().filter(|key| seen.insert(format!("{key:?}"))).collect()
}
