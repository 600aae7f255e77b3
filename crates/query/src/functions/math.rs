//! Mathematical functions. Numbers in, numbers out; anything else is undefined.

use super::Call;
use crate::value::{Maybe, integer, number};

fn f64_at(arguments: &[Maybe<'_>], index: usize) -> Option<f64> {
    arguments.get(index)?.as_ref()?.as_f64()
}

fn integer_at(arguments: &[Maybe<'_>], index: usize) -> Option<i64> {
    arguments.get(index)?.as_ref()?.as_integer()
}

macro_rules! unary {
    ($($name:ident => $compute:expr;)*) => {$(
        pub(super) fn $name<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
            let compute: fn(f64) -> f64 = $compute;
            number(compute(f64_at(arguments, 0)?))
        }
    )*};
}

unary! {
    acos => f64::acos;
    asin => f64::asin;
    atan => f64::atan;
    ceiling => f64::ceil;
    cos => f64::cos;
    cot => |x| 1.0 / x.tan();
    degrees => f64::to_degrees;
    exp => f64::exp;
    floor => f64::floor;
    log10 => f64::log10;
    radians => f64::to_radians;
    round => f64::round;
    sin => f64::sin;
    sqrt => f64::sqrt;
    square => |x| x * x;
    tan => f64::tan;
    trunc => f64::trunc;
    sign => |x| if x == 0.0 || x.is_nan() { x } else { x.signum() };
}

macro_rules! binary_integer {
    ($($name:ident => $compute:expr;)*) => {$(
        pub(super) fn $name<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
            let compute: fn(i64, i64) -> Option<i64> = $compute;
            integer(compute(integer_at(arguments, 0)?, integer_at(arguments, 1)?)?)
        }
    )*};
}

binary_integer! {
    int_add => |a, b| Some(a.wrapping_add(b));
    int_sub => |a, b| Some(a.wrapping_sub(b));
    int_mul => |a, b| Some(a.wrapping_mul(b));
    int_div => |a, b| (b != 0).then(|| a.wrapping_div(b));
    int_mod => |a, b| (b != 0).then(|| a.wrapping_rem(b));
    int_and => |a, b| Some(a & b);
    int_or => |a, b| Some(a | b);
    int_xor => |a, b| Some(a ^ b);
    int_shift_left => |a, b| Some(a.wrapping_shl(low_bits(b)));
    int_shift_right => |a, b| Some(a.wrapping_shr(low_bits(b)));
}

fn low_bits(shift: i64) -> u32 {
    u32::try_from(shift & 63).unwrap_or_default()
}

pub(super) fn int_not<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    integer(!integer_at(arguments, 0)?)
}

pub(super) fn abs<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    match integer_at(arguments, 0).and_then(i64::checked_abs) {
        Some(absolute) => integer(absolute),
        None => number(f64_at(arguments, 0)?.abs()),
    }
}

pub(super) fn atn2<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    number(f64_at(arguments, 0)?.atan2(f64_at(arguments, 1)?))
}

pub(super) fn log<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let x = f64_at(arguments, 0)?;
    if arguments.len() == 1 {
        return number(x.ln());
    }
    number(x.ln() / f64_at(arguments, 1)?.ln())
}

pub(super) fn pi<'e>(_: &Call<'_>, _: &mut [Maybe<'e>]) -> Maybe<'e> {
    number(std::f64::consts::PI)
}

pub(super) fn power<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    number(f64_at(arguments, 0)?.powf(f64_at(arguments, 1)?))
}

pub(super) fn rand<'e>(call: &Call<'_>, _: &mut [Maybe<'e>]) -> Maybe<'e> {
    // 53 random bits make every representable step of [0, 1) equally likely.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double")]
    let fraction = (call.context.env.random_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    number(fraction)
}

/// Rounds down to a multiple of the bin. The product is rounded to the digits of the bin, because the
/// service prints 37.7 and not 37.7 with binary noise.
pub(super) fn number_bin<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let x = f64_at(arguments, 0)?;
    let size = if arguments.len() == 1 { 1.0 } else { f64_at(arguments, 1)? };
    if size == 0.0 || !size.is_finite() {
        return None;
    }
    let bin = (x / size).floor() * size;
    if size.fract() == 0.0 {
        return number(bin);
    }
    let rounded: f64 = format!("{bin:.12}").parse().ok()?;
    number(rounded)
}
