//! What is known of the paths of an item where conditions hold.

use model::Value;

use super::calls;
use super::values::{Bound, Kinds, Values};
use crate::ast::{BinaryOp, SubqueryKind};
use crate::bind::tree::{Aggregate, Collection, Expr, Projection, Query};
use crate::functions::AggregateKind;
use crate::value::{Datum, Step};

/// Limit: paths that are told apart; what is said about others is not kept.
const PATHS_MAX: usize = 64;

/// Limit: conditions that are looked at, so that long chains take no longer than they are.
const WORK_MAX: usize = 20_000;

/// A superset of what each path can be. A path that is not here can be anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    paths: Vec<(usize, Vec<Step>, Values)>,
    /// What the aggregates of groups in sight can be, by level and place.
    aggregates: Vec<(usize, usize, Kinds)>,
    /// What the keys of groups in sight can be, by level and place.
    keys: Vec<(usize, usize, Values)>,
    work: usize,
}

impl Facts {
    /// Notes that a condition is true. Returns whether it can be.
    pub(crate) fn assume(&mut self, expr: &Expr) -> bool {
        if !self.can_go_on() {
            return true;
        }
        match expr {
            // What a later operand says can rule out what an earlier one left open.
            Expr::And(list) => (0..2).all(|_| list.iter().all(|operand| self.assume(operand))),
            Expr::Or(list) => self.assume_one(list, Facts::assume),
            Expr::Not(operand) => self.assume_not(operand),
            Expr::Variable(_) | Expr::VariablePath(..) => {
                self.narrow(expr, &Values::of(Kinds::TRUE))
            }
            Expr::Chain(left, rest) => match rest.as_slice() {
                [(op, right)] => self.assume_compared(*op, left, right),
                _ => self.can_be(expr, Kinds::TRUE),
            },
            Expr::In(needle, list) => {
                let mut any = Values::of(Kinds::NONE);
                for operand in list {
                    any = any.or(&self.values(operand).and_kinds(Kinds::DEFINED));
                }
                self.can_be(expr, Kinds::TRUE) && self.narrow(needle, &any)
            }
            Expr::InSet { needle, values, .. } => self.narrow(needle, &Values::list(values)),
            Expr::Like(text, pattern) => match pattern.as_literal() {
                Some(literal) => self.narrow(text, &Values::one(&Value::String(literal))),
                // Wire: the planner of the service looks into patterns that only begin with a text.
                None if pattern.is_prefix() => self.narrow(text, &prefixed(&pattern.prefix())),
                None => self.narrow(text, &Values::of(Kinds::TEXT)),
            },
            Expr::LikeComputed { text, pattern, .. } => {
                let texts = Values::of(Kinds::TEXT);
                self.narrow(text, &texts) && self.narrow(pattern, &texts)
            }
            Expr::Between(operands) => {
                let [value, low, high] = &**operands;
                self.assume_compared(BinaryOp::GreaterEqual, value, low)
                    && self.assume_compared(BinaryOp::LessEqual, value, high)
            }
            Expr::Conditional(operands) => {
                let [condition, then, otherwise] = &**operands;
                let mut facts = self.clone();
                let can_then = facts.assume(condition) && facts.assume(then);
                let mut other = self.clone();
                let can_else = self.can_be(condition, Kinds::ANY.without(Kinds::TRUE))
                    && other.assume(otherwise);
                match (can_then, can_else) {
                    (true, false) => *self = facts,
                    (false, true) => *self = other,
                    _ => {}
                }
                can_then || can_else
            }
            Expr::Let { operands, .. } => self.assume(&operands[1]),
            Expr::Call { function, arguments, .. } => {
                self.assume_call(function.name, arguments, expr)
            }
            Expr::Subquery(SubqueryKind::Exists, query) => self.can_have_rows(query),
            _ => self.can_be(expr, Kinds::TRUE),
        }
    }

    /// Notes that an expression is false, and not merely undefined. Returns whether it can be.
    fn assume_not(&mut self, expr: &Expr) -> bool {
        if !self.can_go_on() {
            return true;
        }
        match expr {
            Expr::And(list) => self.assume_one(list, Facts::assume_not),
            Expr::Or(list) => (0..2).all(|_| list.iter().all(|operand| self.assume_not(operand))),
            Expr::Not(operand) => self.assume(operand),
            Expr::Variable(_) | Expr::VariablePath(..) => {
                self.narrow(expr, &Values::of(Kinds::FALSE))
            }
            Expr::Chain(left, rest) => match rest.as_slice() {
                [(op, right)] => match opposite(*op) {
                    Some(op) => self.assume_compared(op, left, right),
                    None => self.can_be(expr, Kinds::FALSE),
                },
                _ => self.can_be(expr, Kinds::FALSE),
            },
            Expr::In(needle, list) => {
                let constants: Vec<Value> = list.iter().filter_map(constant).cloned().collect();
                self.exclude(needle, &constants)
            }
            Expr::InSet { needle, values, .. } => self.exclude(needle, values),
            Expr::Like(text, pattern) => match pattern.as_literal() {
                Some(literal) => self.exclude(text, &[Value::String(literal)]),
                None => self.can_be(expr, Kinds::FALSE),
            },
            Expr::Call { function, arguments, .. } => {
                match (calls::type_check(function.name), arguments.as_slice()) {
                    (Some((kinds, true)), [argument]) => {
                        self.narrow(argument, &Values::of(Kinds::ANY.without(kinds)))
                    }
                    _ => {
                        self.can_be(expr, Kinds::FALSE)
                            && self.assume_arguments(function.name, arguments)
                    }
                }
            }
            Expr::Let { operands, .. } => self.assume_not(&operands[1]),
            Expr::Between(operands) => {
                let [value, low, high] = &**operands;
                let mut above = self.clone();
                let can_be_above = above.assume_compared(BinaryOp::Greater, value, high);
                let mut below = self.clone();
                let can_be_below = below.assume_compared(BinaryOp::Less, value, low);
                match (can_be_below, can_be_above) {
                    (true, false) => *self = below,
                    (false, true) => *self = above,
                    _ => {}
                }
                can_be_below || can_be_above
            }
            _ => self.can_be(expr, Kinds::FALSE),
        }
    }

    fn can_go_on(&mut self) -> bool {
        self.work += 1;
        self.work < WORK_MAX
    }

    /// Notes that one of several conditions holds.
    fn assume_one(&mut self, list: &[Expr], assume: fn(&mut Facts, &Expr) -> bool) -> bool {
        let mut found: Option<Facts> = None;
        let mut n_found = 0;
        for operand in list {
            let mut facts = self.clone();
            let can_hold = assume(&mut facts, operand);
            self.work = facts.work;
            if can_hold {
                n_found += 1;
                found = Some(facts);
            }
        }
        // Of several nothing is known but that one holds.
        if let (1, Some(facts)) = (n_found, found) {
            *self = facts;
        }
        n_found > 0
    }

    fn assume_compared(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> bool {
        if let (Expr::VariablePath(own, steps), Expr::VariablePath(other, others)) = (left, right)
            && own == other
            && steps == others
        {
            let is_equal =
                matches!(op, BinaryOp::Equal | BinaryOp::LessEqual | BinaryOp::GreaterEqual);
            return is_equal && self.narrow(left, &Values::of(Kinds::DEFINED));
        }
        // NaN is neither equal to nor beside anything.
        if op != BinaryOp::NotEqual && (is_nan(left) || is_nan(right)) {
            return false;
        }
        let (own, other) = (self.values(left), self.values(right));
        if !super::expr::compared(op, &own, &other).has(Kinds::TRUE) {
            return false;
        }
        match op {
            BinaryOp::Equal => {
                self.narrow(left, &other.and_kinds(Kinds::DEFINED))
                    && self.narrow(right, &own.and_kinds(Kinds::DEFINED))
            }
            BinaryOp::NotEqual => {
                let sides = [(left, other.only()), (right, own.only())];
                sides.into_iter().all(|(side, value)| match value {
                    Some(value) => self.exclude(side, std::slice::from_ref(value)),
                    None => self.narrow(side, &Values::of(Kinds::DEFINED)),
                })
            }
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => {
                let inclusive = matches!(op, BinaryOp::LessEqual | BinaryOp::GreaterEqual);
                let is_low = matches!(op, BinaryOp::Greater | BinaryOp::GreaterEqual);
                let sides = [(left, other.only(), is_low), (right, own.only(), !is_low)];
                sides.into_iter().all(|(side, value, is_low)| match value {
                    Some(value) => {
                        let bound = Bound { value: value.clone(), inclusive };
                        self.narrow(side, &Values::beyond(bound, is_low))
                    }
                    None => self.narrow(side, &Values::of(Kinds::DEFINED)),
                })
            }
            _ => true,
        }
    }

    fn assume_call(&mut self, name: &str, arguments: &[Expr], call: &Expr) -> bool {
        if let (Some((kinds, _)), [argument]) = (calls::type_check(name), arguments) {
            return self.narrow(argument, &Values::of(kinds));
        }
        if !self.can_be(call, Kinds::TRUE) {
            return false;
        }
        if let ("ARRAY_CONTAINS" | "_TRY_ARRAY_CONTAINS", [list, value]) = (name, arguments)
            && let Some(Value::Array(list)) = constant(list)
        {
            return self.narrow(value, &Values::list(list));
        }
        if let ("STARTSWITH", [text, prefix]) = (name, arguments)
            && let Some(Value::String(prefix)) = constant(prefix)
        {
            return self.narrow(text, &prefixed(prefix));
        }
        self.assume_arguments(name, arguments)
    }

    /// A function has a value only for arguments of its kinds.
    fn assume_arguments(&mut self, name: &str, arguments: &[Expr]) -> bool {
        match (calls::result(name), arguments) {
            (Some((_, kind)), [first, ..]) => self.narrow(first, &Values::of(kind)),
            _ => true,
        }
    }

    /// Notes that an expression is one of some values. Returns whether it can be.
    pub(super) fn narrow(&mut self, expr: &Expr, values: &Values) -> bool {
        if !self.can_go_on() {
            return true;
        }
        let both = self.values(expr).and(values);
        if both.is_none() {
            return false;
        }
        let is_defined = !both.kinds.has(Kinds::UNDEFINED);
        match expr {
            Expr::Variable(level) => {
                self.keep(*level, &[], both);
                true
            }
            Expr::VariablePath(level, steps) => {
                if is_defined && !self.narrow_parents(*level, steps) {
                    return false;
                }
                self.keep(*level, steps, both);
                true
            }
            Expr::Chain(first, rest) if is_defined => {
                let kind = rest.first().and_then(|(op, _)| operand_kind(*op));
                let Some(kind) =
                    kind.filter(|kind| rest.iter().all(|(op, _)| operand_kind(*op) == Some(*kind)))
                else {
                    return true;
                };
                let kind = Values::of(kind);
                self.narrow(first, &kind)
                    && rest.iter().all(|(_, operand)| self.narrow(operand, &kind))
            }
            Expr::Minus(operand) | Expr::Plus(operand) | Expr::BitNot(operand) if is_defined => {
                self.narrow(operand, &Values::of(Kinds::NUMBER))
            }
            Expr::Not(operand) if is_defined => self.narrow(operand, &Values::of(Kinds::BOOL)),
            Expr::Call { function, arguments, .. } if is_defined => {
                self.assume_arguments(function.name, arguments)
            }
            _ => true,
        }
    }

    /// Notes that an expression has a value other than these.
    fn exclude(&mut self, expr: &Expr, list: &[Value]) -> bool {
        let rest = self.values(expr).and_kinds(Kinds::DEFINED).without(list);
        if rest.is_none() {
            return false;
        }
        self.narrow(expr, &rest)
    }

    /// Something with a value at a path is in an object or an array.
    fn narrow_parents(&mut self, level: usize, steps: &[Step]) -> bool {
        for (length, step) in steps.iter().enumerate() {
            let kind = match step {
                Step::Name(_) => Kinds::OBJECT,
                Step::Index(_) => Kinds::ARRAY,
                Step::Never => return false,
            };
            let parent = steps.get(..length).unwrap_or_default();
            let values = self.known(level, parent).and_kinds(kind);
            if values.is_none() {
                return false;
            }
            self.keep(level, parent, values);
        }
        true
    }

    fn keep(&mut self, level: usize, steps: &[Step], values: Values) {
        let has_room = self.paths.len() < PATHS_MAX;
        let found = self.paths.iter_mut().find(|(own, path, _)| *own == level && path == steps);
        match found {
            Some((.., own)) => *own = values,
            None if has_room => self.paths.push((level, steps.to_vec(), values)),
            None => {}
        }
    }

    /// Returns what a path can be.
    pub(super) fn known(&self, level: usize, steps: &[Step]) -> Values {
        if steps.contains(&Step::Never) {
            return Values::of(Kinds::UNDEFINED);
        }
        for (own, path, values) in &self.paths {
            if *own != level {
                continue;
            }
            if path == steps {
                return values.clone();
            }
            // Below what is neither object nor array there is nothing.
            if let Some(step) = steps.strip_prefix(path.as_slice()).and_then(<[Step]>::first) {
                let kind = if matches!(step, Step::Name(_)) { Kinds::OBJECT } else { Kinds::ARRAY };
                if !values.kinds.has(kind) {
                    return Values::of(Kinds::UNDEFINED);
                }
            }
        }
        Values::of(Kinds::ANY)
    }

    /// Returns all that a path can be, if that is not much and always something.
    pub(crate) fn few(&self, level: usize, steps: &[Step]) -> Option<Vec<Value>> {
        self.known(level, steps).few()
    }

    fn can_be(&self, expr: &Expr, kinds: Kinds) -> bool {
        self.values(expr).kinds.has(kinds)
    }

    /// Returns whether a query can have a row.
    pub(crate) fn can_have_rows(&mut self, query: &Query) -> bool {
        let is_one_group = query.grouping.as_ref().is_some_and(|grouping| grouping.keys.is_empty());
        is_one_group || self.can_use_rows(query)
    }

    /// Returns whether a row of the input sets can become a row of the query, or count in an aggregate.
    pub(crate) fn can_use_rows(&mut self, query: &Query) -> bool {
        for source in &query.sources {
            let can_be = match &source.collection {
                Collection::Subquery(inner) => {
                    let mut facts = self.clone();
                    let can_be = facts.can_have_rows(inner);
                    let row = facts.row_values(inner).and_kinds(Kinds::DEFINED);
                    let can_iterate = !source.iterates || row.kinds.has(Kinds::ARRAY);
                    if !source.iterates {
                        self.keep(source.level, &[], row);
                    }
                    can_be && can_iterate
                }
                Collection::Expr(expr) if source.iterates => {
                    self.narrow(expr, &Values::of(Kinds::ARRAY))
                }
                Collection::Expr(expr) => self.narrow(expr, &Values::of(Kinds::DEFINED)),
            };
            if !can_be {
                return false;
            }
        }
        if query.filter.as_ref().is_some_and(|filter| !self.assume(filter)) {
            return false;
        }
        match (&query.projection, &query.grouping) {
            (Projection::Value(expr), None) => self.narrow(expr, &Values::of(Kinds::DEFINED)),
            (Projection::Value(expr), Some(grouping)) => {
                let aggregates = grouping.aggregates.iter().enumerate();
                let aggregates: Vec<_> = aggregates
                    .map(|(index, own)| (grouping.level, index, self.result(own)))
                    .collect();
                self.aggregates.extend(aggregates);
                let keys = grouping.keys.iter().enumerate();
                let keys: Vec<_> =
                    keys.map(|(index, key)| (grouping.level, index, self.values(key))).collect();
                self.keys.extend(keys);
                self.can_be(expr, Kinds::DEFINED)
            }
            (Projection::List(_), _) => true,
        }
    }

    /// Returns what a row of a query can be.
    fn row_values(&self, query: &Query) -> Values {
        match &query.projection {
            Projection::Value(expr) if query.grouping.is_none() => self.values(expr),
            Projection::Value(_) => Values::of(Kinds::ANY),
            Projection::List(_) => Values::of(Kinds::OBJECT),
        }
    }

    /// Returns what an aggregate can make.
    fn result(&self, aggregate: &Aggregate) -> Kinds {
        match aggregate.kind {
            // Wire: the planner of the service asks no range for these of nothing.
            AggregateKind::Count
            | AggregateKind::CountIf
            | AggregateKind::Min
            | AggregateKind::Max
                if !self.can_be(&aggregate.argument, Kinds::DEFINED) =>
            {
                Kinds::UNDEFINED
            }
            AggregateKind::Count | AggregateKind::CountIf => Kinds::NUMBER,
            AggregateKind::Sum | AggregateKind::Average => Kinds::NUMBER.or(Kinds::UNDEFINED),
            AggregateKind::Min | AggregateKind::Max => {
                Kinds::ANY.without(Kinds::ARRAY).without(Kinds::OBJECT)
            }
            AggregateKind::MakeList | AggregateKind::MakeSet => Kinds::ARRAY,
        }
    }

    /// Returns what an aggregate of a group can be.
    pub(super) fn aggregate(&self, level: usize, index: usize) -> Kinds {
        let found = self.aggregates.iter().find(|(own, at, _)| (*own, *at) == (level, index));
        found.map_or(Kinds::ANY, |(.., kinds)| *kinds)
    }

    /// Returns what a key of a group can be.
    pub(super) fn group_key(&self, level: usize, index: usize) -> Values {
        let found = self.keys.iter().find(|(own, at, _)| (*own, *at) == (level, index));
        found.map_or(Values::of(Kinds::ANY), |(.., values)| values.clone())
    }
}

/// Returns the kind that both operands must have for a value.
fn operand_kind(op: BinaryOp) -> Option<Kinds> {
    match op {
        BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo
        | BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight
        | BinaryOp::ShiftRightZero
        | BinaryOp::BitAnd
        | BinaryOp::BitXor
        | BinaryOp::BitOr => Some(Kinds::NUMBER),
        BinaryOp::Concat => Some(Kinds::TEXT),
        _ => None,
    }
}

/// Returns the comparison that is true where another is false.
fn opposite(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Equal => BinaryOp::NotEqual,
        BinaryOp::NotEqual => BinaryOp::Equal,
        BinaryOp::Less => BinaryOp::GreaterEqual,
        BinaryOp::LessEqual => BinaryOp::Greater,
        BinaryOp::Greater => BinaryOp::LessEqual,
        BinaryOp::GreaterEqual => BinaryOp::Less,
        _ => return None,
    })
}

/// Texts that start with a part: none is below it, nor above it with the last of characters behind.
fn prefixed(prefix: &str) -> Values {
    let bound = |text: &str| Bound { value: Value::from(text), inclusive: true };
    let end = format!("{prefix}{}", char::MAX);
    Values::beyond(bound(prefix), true).and(&Values::beyond(bound(&end), false))
}

fn is_nan(expr: &Expr) -> bool {
    matches!(expr, Expr::Constant(Some(Datum::Special(double))) if double.is_nan())
}

fn constant(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Constant(constant) => constant.as_ref().and_then(Datum::value),
        _ => None,
    }
}
