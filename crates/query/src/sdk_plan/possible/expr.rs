//! What an expression can be.

use model::Value;

use super::calls;
use super::facts::Facts;
use super::values::{Bound, Kinds, Values};
use crate::ast::{BinaryOp, SubqueryKind};
use crate::bind::tree::{Expr, Projection, Query};
use crate::functions::{Prepared, ShapeArgument};
use crate::value::{Datum, Step};

/// Limit: nesting of expressions that is followed; what is deeper can be anything.
const DEPTH_MAX: usize = 24;

impl Facts {
    pub(super) fn values(&self, expr: &Expr) -> Values {
        self.deep_values(expr, 0)
    }

    fn deep_values(&self, expr: &Expr, depth: usize) -> Values {
        if depth > DEPTH_MAX {
            return Values::of(Kinds::ANY);
        }
        let values = |expr: &Expr| self.deep_values(expr, depth + 1);
        let kinds = |expr: &Expr| self.deep_values(expr, depth + 1).kinds;
        Values::of(match expr {
            Expr::Constant(None) => Kinds::UNDEFINED,
            Expr::Constant(Some(Datum::Special(_))) => Kinds::NUMBER,
            Expr::Constant(Some(datum)) => match datum.value() {
                Some(value) => return Values::one(value),
                None => Kinds::NUMBER,
            },
            Expr::VariablePath(level, steps) => return self.known(*level, steps),
            Expr::Variable(level) => return self.known(*level, &[]),
            Expr::Path(base, steps) => below(kinds(base), steps),
            Expr::Aggregate { level, index } => self.aggregate(*level, *index),
            Expr::GroupKey { level, index } => return self.group_key(*level, *index),
            Expr::Udf(..) => Kinds::ANY,
            Expr::Array(_) => Kinds::ARRAY,
            Expr::Object(_) => Kinds::OBJECT,
            Expr::Not(operand) => {
                let operand = kinds(operand);
                Kinds::FALSE
                    .when(operand.has(Kinds::TRUE))
                    .or(Kinds::TRUE.when(operand.has(Kinds::FALSE)))
                    .or(Kinds::UNDEFINED.when(operand.without(Kinds::BOOL) != Kinds::NONE))
            }
            Expr::Minus(operand) | Expr::Plus(operand) | Expr::BitNot(operand) => {
                Kinds::UNDEFINED.or(Kinds::NUMBER.when(kinds(operand).has(Kinds::NUMBER)))
            }
            Expr::And(list) => junction(list.iter().map(kinds), Kinds::TRUE, Kinds::FALSE),
            Expr::Or(list) => junction(list.iter().map(kinds), Kinds::FALSE, Kinds::TRUE),
            Expr::Coalesce(list) => {
                let mut any = Kinds::UNDEFINED;
                for operand in list {
                    if !any.has(Kinds::UNDEFINED) {
                        break;
                    }
                    any = any.without(Kinds::UNDEFINED).or(kinds(operand));
                }
                any
            }
            Expr::Chain(first, rest) => {
                let mut left = values(first);
                for (op, right) in rest {
                    left = Values::of(compared(*op, &left, &values(right)));
                }
                return left;
            }
            Expr::In(needle, list) => {
                let needle = values(needle);
                let can_be = list.iter().any(|operand| needle.overlaps(&values(operand)));
                Kinds::UNDEFINED.or(Kinds::FALSE).or(Kinds::TRUE.when(can_be))
            }
            Expr::InSet { needle, values: list, .. } => {
                let can_be = values(needle).overlaps(&Values::list(list));
                Kinds::UNDEFINED.or(Kinds::FALSE).or(Kinds::TRUE.when(can_be))
            }
            Expr::Like(text, _) => {
                Kinds::UNDEFINED.or(Kinds::BOOL.when(kinds(text).has(Kinds::TEXT)))
            }
            Expr::LikeComputed { text, pattern, .. } => {
                let are_texts = kinds(text).has(Kinds::TEXT) && kinds(pattern).has(Kinds::TEXT);
                Kinds::UNDEFINED.or(Kinds::BOOL.when(are_texts))
            }
            Expr::Between(operands) => {
                let [value, low, high] = operands.each_ref().map(values);
                let can_be = low.can_be_less(&value, true) && value.can_be_less(&high, true);
                let can_miss = value.can_be_less(&low, false) || high.can_be_less(&value, false);
                Kinds::UNDEFINED.or(Kinds::FALSE.when(can_miss)).or(Kinds::TRUE.when(can_be))
            }
            Expr::Conditional(operands) => {
                let [condition, then, otherwise] = &**operands;
                let condition = kinds(condition);
                let none = Values::of(Kinds::NONE);
                let then = if condition.has(Kinds::TRUE) { values(then) } else { none.clone() };
                let is_else = condition.without(Kinds::TRUE) != Kinds::NONE;
                return then.or(&if is_else { values(otherwise) } else { none });
            }
            Expr::Let { operands, .. } => return values(&operands[1]),
            Expr::Call { prepared: Prepared::Shapes(shapes), arguments, .. }
                if shapes.iter().zip(arguments).any(is_no_shape) =>
            {
                Kinds::UNDEFINED
            }
            Expr::Call { function, arguments, .. } => {
                let kinds = call(function.name, arguments.first().map(values).as_ref());
                if matches!(function.name, "ABS" | "LENGTH" | "ARRAY_LENGTH") {
                    let zero = Bound { value: Value::from(0), inclusive: true };
                    let sizes = Values::beyond(zero, true).or_kinds(Kinds::UNDEFINED);
                    return sizes.and_kinds(kinds);
                }
                kinds
            }
            Expr::Subquery(kind, query) => return self.subquery(*kind, query, depth),
        })
    }

    fn subquery(&self, kind: SubqueryKind, query: &Query, depth: usize) -> Values {
        let can_have_rows = self.clone().can_have_rows(query);
        match kind {
            SubqueryKind::Exists => Values::of(Kinds::FALSE.or(Kinds::TRUE.when(can_have_rows))),
            SubqueryKind::Array => Values::of(Kinds::ARRAY),
            SubqueryKind::Scalar | SubqueryKind::First | SubqueryKind::Last => {
                if !can_have_rows {
                    return Values::of(Kinds::UNDEFINED);
                }
                let row = match &query.projection {
                    Projection::Value(_) if query.grouping.is_some() => Values::of(Kinds::ANY),
                    Projection::Value(expr) => self.deep_values(expr, depth + 1),
                    Projection::List(_) => Values::of(Kinds::OBJECT),
                };
                row.or_kinds(Kinds::UNDEFINED)
            }
        }
    }
}

/// Returns what can be below a value: something, if it is of the kind that has such steps.
fn below(base: Kinds, steps: &[Step]) -> Kinds {
    let needed = match steps.first() {
        Some(Step::Name(_)) => Kinds::OBJECT,
        Some(Step::Index(_)) => Kinds::ARRAY,
        Some(Step::Never) | None => Kinds::NONE,
    };
    if base.has(needed) { Kinds::ANY } else { Kinds::UNDEFINED }
}

/// Says whether an argument is an object that is no shape.
fn is_no_shape((shape, argument): (&ShapeArgument, &Expr)) -> bool {
    let is_object = matches!(argument, Expr::Constant(Some(datum)) if datum.as_object().is_some());
    is_object && matches!(shape, ShapeArgument::Invalid)
}

/// AND and OR: `rest` is what all operands must be, `wins` what one of them is enough for.
fn junction(operands: impl Iterator<Item = Kinds>, rest: Kinds, wins: Kinds) -> Kinds {
    let mut can_rest = true;
    let mut result = Kinds::NONE;
    for operand in operands {
        can_rest &= operand.has(rest);
        result = result.or(wins.when(operand.has(wins)));
        result = result.or(Kinds::UNDEFINED.when(operand.without(Kinds::BOOL) != Kinds::NONE));
    }
    result.or(rest.when(can_rest))
}

/// Returns what an operator can make of two values.
pub(super) fn compared(op: BinaryOp, left: &Values, right: &Values) -> Kinds {
    let both = |kind: Kinds| left.kinds.has(kind) && right.kinds.has(kind);
    let both_defined = both(Kinds::DEFINED);
    let can_lack = left.kinds.or(right.kinds).has(Kinds::UNDEFINED);
    // Values of different kinds have no order.
    let is_ordered = [Kinds::NULL, Kinds::BOOL, Kinds::NUMBER, Kinds::TEXT].into_iter().any(both);
    let can_be = |can_be: bool| {
        Kinds::UNDEFINED.or(Kinds::FALSE.when(is_ordered)).or(Kinds::TRUE.when(can_be))
    };
    match op {
        BinaryOp::Equal => Kinds::FALSE
            .when(both_defined && !is_same(left, right))
            .or(Kinds::TRUE.when(left.overlaps(right)))
            .or(Kinds::UNDEFINED.when(can_lack)),
        BinaryOp::NotEqual => Kinds::TRUE
            .when(both_defined && !is_same(left, right))
            .or(Kinds::FALSE.when(left.overlaps(right)))
            .or(Kinds::UNDEFINED.when(can_lack)),
        BinaryOp::Less => can_be(left.can_be_less(right, false)),
        BinaryOp::LessEqual => can_be(left.can_be_less(right, true)),
        BinaryOp::Greater => can_be(right.can_be_less(left, false)),
        BinaryOp::GreaterEqual => can_be(right.can_be_less(left, true)),
        BinaryOp::Concat => Kinds::UNDEFINED.or(Kinds::TEXT.when(both(Kinds::TEXT))),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Coalesce => Kinds::ANY,
        _ => Kinds::UNDEFINED.or(Kinds::NUMBER.when(both(Kinds::NUMBER))),
    }
}

fn is_same(left: &Values, right: &Values) -> bool {
    left.only().is_some_and(|value| right.only() == Some(value))
}

fn call(name: &str, first: Option<&Values>) -> Kinds {
    if let (Some((kinds, is_exact)), Some(first)) = (calls::type_check(name), first) {
        let rest = first.kinds.without(kinds) != Kinds::NONE || !is_exact;
        return Kinds::TRUE
            .when(first.kinds.has(kinds))
            .or(Kinds::FALSE.when(rest))
            .or(Kinds::UNDEFINED.when(!is_exact));
    }
    match (calls::result(name), first) {
        (Some((result, kind)), Some(first)) => {
            Kinds::UNDEFINED.or(result.when(first.kinds.has(kind)))
        }
        _ => Kinds::ANY,
    }
}
