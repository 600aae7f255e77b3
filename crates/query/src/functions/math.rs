//! Mathematical functions. Numbers in, numbers out; anything else is undefined.

use super::Call;
use crate::value::{Datum, Maybe, integer, number};

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
    cos => f64::cos;
    cot => |x| 1.0 / x.tan();
    degrees => |x| x * 180.0 / std::f64::consts::PI;
    exp => f64::exp;
    log10 => f64::log10;
    radians => |x| x * std::f64::consts::PI / 180.0;
    sin => f64::sin;
    sqrt => f64::sqrt;
    tan => f64::tan;
}

macro_rules! integral {
    ($($name:ident => $compute:expr;)*) => {$(
        pub(super) fn $name<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
            let compute: fn(f64) -> f64 = $compute;
            let own = arguments.first()?.as_ref()?;
            match own.kept_integer() {
                Some(own) => integer(own),
                None => number(compute(own.as_f64()?)),
            }
        }
    )*};
}

// An integer is its own result, however large.
integral! {
    ceiling => f64::ceil;
    floor => f64::floor;
    trunc => f64::trunc;
}

/// Rounds to so many digits behind the point; in front of it, if negative. Halves go away from zero.
pub(super) fn round<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let own = arguments.first()?.as_ref()?;
    let x = own.as_f64()?;
    let n_digits = if arguments.len() == 1 { 0 } else { integer_at(arguments, 1)? };
    if x == 0.0 && n_digits >= 0 && own.kept_integer().is_none() {
        return number(x);
    }
    let is_kept = own.kept_integer().is_some();
    if (is_kept || x.fract() == 0.0 && x < INTEGERS_END) && n_digits >= 0 {
        return whole(x, own);
    }
    let exponent = i32::try_from(n_digits.unsigned_abs()).unwrap_or(i32::MAX);
    let result = match n_digits {
        0 => x.round(),
        ..0 => {
            let scale = 10_f64.powi(exponent);
            (x / scale).round() * scale
        }
        _ => {
            let scale = 10_f64.powi(exponent.min(EXPONENT_MAX));
            (x * scale).round() / scale
        }
    };
    if result.fract() == 0.0 || result == f64::NEG_INFINITY {
        whole(result, &Datum::Special(result))
    } else {
        number(result)
    }
}

/// Wire: so many digits behind the point are kept at most.
const EXPONENT_MAX: i32 = 17;

pub(super) fn sign<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    match f64_at(arguments, 0)? {
        x if x > 0.0 => integer(1),
        x if x < 0.0 => integer(-1),
        0.0 => integer(0),
        _ => None,
    }
}

pub(super) fn square<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let own = arguments.first()?.as_ref()?;
    match own.kept_integer().and_then(|own| own.checked_mul(own)) {
        Some(square) => integer(square),
        None => own.as_f64().and_then(|x| number(x * x)),
    }
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
    // Wire: the one product that is refused where others wrap around.
    int_mul => |a, b| match (a, b) {
        (i64::MIN, -1) | (-1, i64::MIN) => None,
        _ => Some(a.wrapping_mul(b)),
    };
    int_div => |a, b| a.checked_div(b);
    int_mod => |a, b| a.checked_rem(b);
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
    match arguments.first()?.as_ref()?.kept_integer() {
        Some(own) => integer(own.wrapping_abs()),
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
    number(match f64_at(arguments, 1)? {
        2.0 => x.log2(),
        10.0 => x.log10(),
        base => x.ln() / base.ln(),
    })
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

/// Rounds down to a multiple of the bin.
pub(super) fn number_bin<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let own = arguments.first()?.as_ref()?;
    if !own.as_f64()?.is_finite() {
        return None;
    }
    let Some(size) = arguments.get(1) else { return whole(own.as_f64()?.floor(), own) };
    let size = size.as_ref()?;
    if size.kept_integer() == Some(1) {
        return whole(own.as_f64()?.floor(), own);
    }
    if let (Some(own), Some(size)) = (own.as_integer(), size.as_integer()) {
        let beyond = match own.checked_rem(size)? {
            beyond if beyond != 0 && (beyond < 0) != (size < 0) => beyond.wrapping_add(size),
            beyond => beyond,
        };
        return integer(own.wrapping_sub(beyond));
    }
    let (x, width) = (own.as_f64()?, size.as_f64()?);
    if width == 0.0 || !width.is_finite() {
        return None;
    }
    let bin = (x / width).floor() * width;
    // Bins whose width is an integer have no negative zero.
    number(if size.as_integer().is_some() { bin + 0.0 } else { bin })
}

/// 2^63, which no integer of 64 bits reaches.
const INTEGERS_END: f64 = 9_223_372_036_854_775_808.0;

/// Returns an integer as one of 64 bits if it fits; `source` is itself if it is one.
fn whole<'e>(double: f64, source: &Datum<'_>) -> Maybe<'e> {
    if let Some(own) = source.kept_integer() {
        return integer(own);
    }
    if double >= INTEGERS_END || double.is_nan() {
        return number(double);
    }
    // Wire: below the least integer stands the least integer.
    #[expect(clippy::cast_possible_truncation, reason = "integral, and the least where it is less")]
    integer(double as i64)
}
