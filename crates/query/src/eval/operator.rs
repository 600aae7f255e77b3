//! Binary and unary operators on defined or undefined values.

use std::cmp::Ordering;

use crate::ast::BinaryOp;
use crate::value::{Datum, Maybe, boolean, compare, equal, integer, number, text};

/// Limit: longest text that `||` makes.
const CONCAT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Applies an operator that looks at both values. AND, OR and `??` look at one first and are computed
/// by their callers.
pub(super) fn binary<'e>(op: BinaryOp, left: &Maybe<'e>, right: &Maybe<'e>) -> Maybe<'e> {
    let (left, right) = (left.as_ref()?, right.as_ref()?);
    match op {
        BinaryOp::Equal => boolean(equal(left, right)),
        BinaryOp::NotEqual => boolean(!equal(left, right)),
        BinaryOp::Less => boolean(compare(left, right)?.is_lt()),
        BinaryOp::LessEqual => boolean(compare(left, right)?.is_le()),
        BinaryOp::Greater => boolean(compare(left, right)?.is_gt()),
        BinaryOp::GreaterEqual => boolean(compare(left, right)?.is_ge()),
        BinaryOp::Add => arithmetic(left, right, i64::checked_add, |a, b| a + b),
        BinaryOp::Subtract => arithmetic(left, right, i64::checked_sub, |a, b| a - b),
        BinaryOp::Multiply => arithmetic(left, right, i64::checked_mul, |a, b| a * b),
        BinaryOp::Divide => arithmetic(left, right, exact_quotient, |a, b| a / b),
        BinaryOp::Modulo => arithmetic(left, right, i64::checked_rem, remainder),
        BinaryOp::BitAnd => bits(int32(left)? & int32(right)?),
        BinaryOp::BitOr => bits(int32(left)? | int32(right)?),
        BinaryOp::BitXor => bits(int32(left)? ^ int32(right)?),
        BinaryOp::ShiftLeft => bits(int32(left)?.wrapping_shl(shift(right)?)),
        BinaryOp::ShiftRight => bits(int32(left)?.wrapping_shr(shift(right)?)),
        BinaryOp::ShiftRightZero => {
            let shifted = int32(left)?.cast_unsigned().wrapping_shr(shift(right)?);
            bits(shifted.cast_signed())
        }
        BinaryOp::Concat => concat(left.as_text()?, right.as_text()?),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Coalesce => None,
    }
}

/// Computes with integers of 64 bits as long as both are such and the result is one, else with doubles.
pub(crate) fn arithmetic<'e>(
    left: &Datum<'_>,
    right: &Datum<'_>,
    exact: fn(i64, i64) -> Option<i64>,
    double: fn(f64, f64) -> f64,
) -> Maybe<'e> {
    if let (Some(left), Some(right)) = (left.kept_integer(), right.kept_integer())
        && let Some(result) = exact(left, right)
    {
        return integer(result);
    }
    number(double(left.as_f64()?, right.as_f64()?))
}

/// The remainder has the sign of the dividend, but is no negative zero.
fn remainder(left: f64, right: f64) -> f64 {
    left % right + 0.0
}

/// Divides without remainder.
pub(crate) fn exact_quotient(left: i64, right: i64) -> Option<i64> {
    (left.checked_rem(right)? == 0).then(|| left.wrapping_div(right))
}

/// The least integer is its own opposite, as in the arithmetic of the service.
pub(super) fn minus<'e>(operand: &Datum<'_>) -> Maybe<'e> {
    match operand.kept_integer() {
        Some(own) => integer(own.wrapping_neg()),
        None => number(-operand.as_f64()?),
    }
}

fn concat<'e>(left: &str, right: &str) -> Maybe<'e> {
    if left.len() + right.len() > CONCAT_BYTES_MAX {
        return None;
    }
    text([left, right].concat())
}

/// Wire: what a bitwise operator gives is kept as a double.
fn bits<'e>(result: i32) -> Maybe<'e> {
    number(f64::from(result))
}

/// The complement.
pub(super) fn bit_not<'e>(operand: &Datum<'_>) -> Maybe<'e> {
    bits(!int32(operand)?)
}

fn shift(datum: &Datum<'_>) -> Option<u32> {
    Some(int32(datum)?.cast_unsigned() & 31)
}

/// Converts like JavaScript: cut the fraction, keep the low 32 bits.
fn int32(datum: &Datum<'_>) -> Option<i32> {
    let double = datum.as_f64()?;
    if !double.is_finite() {
        return Some(0);
    }
    let low = double.trunc().rem_euclid(4_294_967_296.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 0..2^32")]
    Some((low as u32).cast_signed())
}

/// `value >= low AND value <= high`, three-valued.
pub(super) fn between<'e>(value: &Maybe<'e>, low: &Maybe<'e>, high: &Maybe<'e>) -> Maybe<'e> {
    let value = value.as_ref()?;
    let side = |bound: &Maybe<'e>, wrong: Ordering| Some(compare(value, bound.as_ref()?)? != wrong);
    match (side(low, Ordering::Less), side(high, Ordering::Greater)) {
        (Some(false), _) | (_, Some(false)) => boolean(false),
        (Some(true), Some(true)) => boolean(true),
        _ => None,
    }
}
