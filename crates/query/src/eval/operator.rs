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
        BinaryOp::Add => number(left.as_f64()? + right.as_f64()?),
        BinaryOp::Subtract => number(left.as_f64()? - right.as_f64()?),
        BinaryOp::Multiply => number(left.as_f64()? * right.as_f64()?),
        BinaryOp::Divide => number(left.as_f64()? / right.as_f64()?),
        BinaryOp::Modulo => number(left.as_f64()? % right.as_f64()?),
        BinaryOp::BitAnd => integer(i64::from(int32(left)? & int32(right)?)),
        BinaryOp::BitOr => integer(i64::from(int32(left)? | int32(right)?)),
        BinaryOp::BitXor => integer(i64::from(int32(left)? ^ int32(right)?)),
        BinaryOp::ShiftLeft => integer(i64::from(int32(left)?.wrapping_shl(shift(right)?))),
        BinaryOp::ShiftRight => integer(i64::from(int32(left)?.wrapping_shr(shift(right)?))),
        BinaryOp::ShiftRightZero => {
            integer(i64::from(int32(left)?.cast_unsigned().wrapping_shr(shift(right)?)))
        }
        BinaryOp::Concat => concat(left.as_text()?, right.as_text()?),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Coalesce => None,
    }
}

fn concat<'e>(left: &str, right: &str) -> Maybe<'e> {
    if left.len() + right.len() > CONCAT_BYTES_MAX {
        return None;
    }
    text([left, right].concat())
}

fn shift(datum: &Datum<'_>) -> Option<u32> {
    Some(int32(datum)?.cast_unsigned() & 31)
}

/// Converts like JavaScript: cut the fraction, keep the low 32 bits.
pub(super) fn int32(datum: &Datum<'_>) -> Option<i32> {
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
