//! A JSON number that remembers how it was written.
//!
//! The value is an `i64` when the text is an integer in that range, else a double, as the service
//! keeps them. Comparison between the two is exact. Negative zero is zero: the service answers `0`
//! for it, and one logical partition for both is what users expect.

use std::{cmp::Ordering, fmt};

use super::write::Target;

/// A number: exact value for 64-bit integers, double for all others, and its original spelling.
#[derive(Debug, Clone)]
pub struct Number(Repr);

#[derive(Debug, Clone)]
enum Repr {
    /// Spelled in the shortest decimal form.
    Int(i64),
    /// Spelled as [`double_text`] would.
    Float(f64),
    /// Any other spelling of an `i64` (`-0` only) or double, with the double it stands for.
    Text(f64, Box<str>),
}

/// What a number is worth.
#[derive(Clone, Copy)]
enum Worth {
    Int(i64),
    Float(f64),
}

impl Number {
    /// Makes a number from an integer.
    pub const fn from_i64(integer: i64) -> Number {
        Number(Repr::Int(integer))
    }

    /// Makes a number from an unsigned integer. Above `i64::MAX` it keeps its digits but counts
    /// as a double.
    pub fn from_u64(integer: u64) -> Number {
        match i64::try_from(integer) {
            Ok(integer) => Number::from_i64(integer),
            Err(_) => Number::from_checked_text(&integer.to_string()),
        }
    }

    /// Makes a number from a double; `None` for NaN and the infinities, which JSON lacks.
    pub fn from_f64(double: f64) -> Option<Number> {
        double.is_finite().then(|| Number(Repr::Float(without_negative_zero(double))))
    }

    /// Makes a number that a query computes with inside arrays and objects: also NaN, infinite or −0. No answer may have
    /// one that is not finite; [`Number::is_finite`] tells.
    pub const fn computed(double: f64) -> Number {
        Number(Repr::Float(double))
    }

    /// Says whether JSON can hold the number; only computed ones may be NaN or infinite.
    pub fn is_finite(&self) -> bool {
        match &self.0 {
            Repr::Int(_) | Repr::Text(..) => true,
            Repr::Float(double) => double.is_finite(),
        }
    }

    /// Takes the spelling of a number that the reader has found well formed and in range.
    pub(super) fn from_checked_text(text: &str) -> Number {
        let has_fraction_or_exponent = text.bytes().any(|b| matches!(b, b'.' | b'e' | b'E'));
        if !has_fraction_or_exponent && text != "-0" {
            // Fails for integers out of range only, which are doubles.
            if let Ok(integer) = text.parse() {
                return Number(Repr::Int(integer));
            }
        }
        // Invariant: checked text is a double; the default can't be taken.
        let double = without_negative_zero(text.parse().unwrap_or_default());
        if is_spelled_canonically(text) {
            Number(Repr::Float(double))
        } else {
            Number(Repr::Text(double, text.into()))
        }
    }

    /// Returns the value as a double, rounding integers beyond 2^53. Never NaN, infinite or −0, unless it is
    /// [`Number::computed`].
    pub fn as_f64(&self) -> f64 {
        match &self.0 {
            #[expect(clippy::cast_precision_loss, reason = "documented rounding")]
            Repr::Int(integer) => *integer as f64,
            Repr::Float(double) | Repr::Text(double, _) => *double,
        }
    }

    /// Returns the value if it is exactly an integer of 64 bits: for `7`, `7.0` and `70e-1`.
    pub fn as_i64(&self) -> Option<i64> {
        match self.worth() {
            Worth::Int(integer) => Some(integer),
            Worth::Float(double) => exact_i64(double),
        }
    }

    /// Returns the integer if the number is kept as one: `7`, and not `7.0`. Arithmetic on two such is exact.
    pub fn kept_integer(&self) -> Option<i64> {
        if let Repr::Int(integer) = self.0 { Some(integer) } else { None }
    }

    /// Returns the bytes of a spelling that is kept.
    pub(super) fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Int(_) | Repr::Float(_) => 0,
            Repr::Text(_, text) => text.len() + super::ALLOCATION_BYTES,
        }
    }

    /// Says whether the value is an integer, of any size.
    pub fn is_integer(&self) -> bool {
        match self.worth() {
            Worth::Int(_) => true,
            Worth::Float(double) => double.fract() == 0.0,
        }
    }

    /// Appends what [`fmt::Display`] shows.
    pub(super) fn write_to(&self, target: &mut impl Target) {
        match &self.0 {
            Repr::Int(integer) => target.text(itoa::Buffer::new().format(*integer)),
            Repr::Float(double) => target.text(&double_text(*double)),
            Repr::Text(_, text) => target.text(text),
        }
    }

    /// Forgets how the number was written.
    pub(super) fn respell(&mut self) {
        if let Repr::Text(double, _) = self.0 {
            self.0 = Repr::Float(double);
        }
    }

    /// Appends the number in the spelling that the service gives it when a query computes or projects it.
    pub(super) fn write_computed_to(&self, target: &mut impl Target) {
        match &self.0 {
            Repr::Int(integer) => target.text(itoa::Buffer::new().format(*integer)),
            Repr::Float(double) | Repr::Text(double, _) => {
                target.text(&double_text(without_negative_zero(*double)));
            }
        }
    }

    fn worth(&self) -> Worth {
        match &self.0 {
            Repr::Int(integer) => Worth::Int(*integer),
            Repr::Float(double) | Repr::Text(double, _) => Worth::Float(*double),
        }
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Number {
        Number::from_i64(integer)
    }
}

impl Ord for Number {
    /// Compares by exact value. NaN, which only [`Number::computed`] makes, is one value above all others.
    fn cmp(&self, other: &Number) -> Ordering {
        match (self.worth(), other.worth()) {
            (Worth::Int(a), Worth::Int(b)) => a.cmp(&b),
            (Worth::Int(a), Worth::Float(b)) => order_mixed(a, b),
            (Worth::Float(a), Worth::Int(b)) => order_mixed(b, a).reverse(),
            (Worth::Float(a), Worth::Float(b)) => {
                a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
            }
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Number {}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other).is_eq()
    }
}

impl fmt::Display for Number {
    /// Writes the original spelling, or for computed numbers that of the service.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(integer) => integer.fmt(f),
            Repr::Float(double) => f.write_str(&double_text(*double)),
            Repr::Text(_, text) => f.write_str(text),
        }
    }
}

fn without_negative_zero(double: f64) -> f64 {
    double + 0.0
}

/// 2^63, the first double above every `i64`.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

fn exact_i64(double: f64) -> Option<i64> {
    let is_exact = double.fract() == 0.0 && (-I64_END..I64_END).contains(&double);
    #[expect(clippy::cast_possible_truncation, reason = "range and fraction were checked")]
    is_exact.then_some(double as i64)
}

/// Compares an integer with a double without rounding either.
fn order_mixed(integer: i64, double: f64) -> Ordering {
    if double >= I64_END || double.is_nan() {
        return Ordering::Less;
    }
    if double < -I64_END {
        return Ordering::Greater;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the double is in range")]
    let whole = double.floor() as i64;
    let has_fraction = double.fract() != 0.0;
    integer.cmp(&whole).then(if has_fraction { Ordering::Less } else { Ordering::Equal })
}

/// Says whether a number that was stored so has the same spelling in a query's answer, by rules that are quick to check.
/// `false` for one that has costs a closer look, no more.
pub fn is_plain_number(text: &[u8]) -> bool {
    /// Every integer of so many digits is one of 64 bits.
    const DIGITS_MAX: usize = 18;
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.iter().all(u8::is_ascii_digit) {
        return digits.len() <= DIGITS_MAX && text != b"-0";
    }
    std::str::from_utf8(text).is_ok_and(is_spelled_canonically)
}

/// Says whether [`double_text`] would spell the number just so, by rules that are quick to check:
/// a plain fraction of at most 15 significant digits, not too small, without a trailing zero.
///
/// Sound, because decimals of up to 15 digits are told apart by doubles: the shortest decimal that
/// reads back is then the given one. (`false` for a canonical text costs an allocation, no more.)
fn is_spelled_canonically(text: &str) -> bool {
    const DIGITS_MAX: usize = 15;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let Some((whole, fraction)) = digits.split_once('.') else { return false };
    let is_plain = whole.len() + fraction.len() <= DIGITS_MAX && !fraction.ends_with('0');
    let is_large_enough = whole != "0" || !fraction.starts_with("000");
    is_plain && is_large_enough && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the text of a double as the service writes it: 15 significant digits if they read back as the same double,
/// else 17; from 1e15 on always 17. Exponents have two digits or three, as C prints them: `1e-05`, `1.5e+300`.
pub fn double_text(double: f64) -> String {
    const SHORT_END: f64 = 1e15;
    if double.fract() == 0.0
        && double.abs() < SHORT_END
        && (double != 0.0 || double.is_sign_positive())
    {
        #[expect(clippy::cast_possible_truncation, reason = "an integer far below 2^63")]
        return itoa::Buffer::new().format(double as i64).to_owned();
    }
    if double.abs() < SHORT_END {
        let short = significant(double, 15);
        if short.parse() == Ok(double) {
            return short;
        }
    }
    significant(double, 17)
}

/// Prints so many significant digits, without trailing zeros: plainly where the exponent is from −4 to below the
/// number of digits, else in scientific form.
fn significant(double: f64, n_digits: usize) -> String {
    let scientific = format!("{double:.*e}", n_digits.saturating_sub(1));
    // Only numbers that are none have no exponent.
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific.replace("inf", "Infinity");
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let mut digits = mantissa.replace('.', "");
    digits.truncate(digits.trim_end_matches('0').len().max(1));
    let point = usize::try_from(exponent).unwrap_or_default() + 1;
    match exponent {
        -4..0 => {
            let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or_default());
            format!("{sign}0.{zeros}{digits}")
        }
        0.. if point <= n_digits => match digits.split_at_checked(point) {
            Some((whole, fraction)) if !fraction.is_empty() => format!("{sign}{whole}.{fraction}"),
            _ => format!("{sign}{digits:0<point$}"),
        },
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let exponent_sign = if exponent < 0 { '-' } else { '+' };
            format!("{sign}{first}{dot}{rest}e{exponent_sign}{:02}", exponent.unsigned_abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn number(text: &str) -> Number {
        match super::super::parse(text.as_bytes()) {
            Ok(super::super::Value::Number(number)) => number,
            other => panic!("{text} is {other:?}"),
        }
    }

    #[test]
    fn every_spelling_survives() {
        for text in [
            "0",
            "-0",
            "-0.0",
            "1",
            "1.0",
            "1.10",
            "-1.5",
            "0.1",
            "0.0001",
            "0.00001",
            "1e2",
            "1E+2",
            "1e-400",
            "9007199254740993",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "18446744073709551615",
            "123456789012345678901234567890",
            "0.1000000000000000055511151231257827",
            "123456789.123456",
            "1234567890.123456",
            "3.141592653589793",
            "100.5",
            "0.000123",
        ] {
            assert_eq!(number(text).to_string(), text);
        }
    }

    #[test]
    fn a_text_held_as_a_double_prints_the_same() {
        for text in ["0.1", "-12.75", "99999999999999.9", "0.00123456789", "1.5", "123456.000001"] {
            assert!(is_spelled_canonically(text), "{text}");
            assert_eq!(Number::from_f64(text.parse().unwrap()).unwrap().to_string(), text);
        }
        for text in ["1.0", "0.10", "0.0001", "1e5", "1.5e3", "1234567890.123456", "1"] {
            assert!(!is_spelled_canonically(text), "{text}");
        }
    }

    #[test]
    fn computed_doubles_print_in_the_style_of_the_service() {
        #[rustfmt::skip]
        let table = [
            (30.0, "30"), (-0.0, "0"), (0.1, "0.1"), (-2.5, "-2.5"), (1e15, "1000000000000000"),
            (1e16, "10000000000000000"), (1.5e16, "15000000000000000"), (90_920_708_369_793_712.0, "90920708369793712"), (1e17, "1e+17"),
            (18_446_744_073_709_551_615.0, "1.8446744073709552e+19"), (1e-4, "0.0001"), (1e-5, "1e-05"), (1e-6, "1e-06"),
            (1.5e-7, "1.5e-07"), (5e-324, "4.94065645841247e-324"), (f64::MAX, "1.7976931348623157e+308"), (0.1 + 0.2, "0.30000000000000004"),
            (1.0 / 3.0, "0.33333333333333331"), (1e23, "9.9999999999999992e+22"), (1.5e300, "1.5000000000000001e+300"), (1e100, "1e+100"),
            (94_906_265.624_251_56, "94906265.624251559"), (1234.5, "1234.5"), (-0.000_123, "-0.000123"), (1e-23, "1e-23"),
        ];
        for (double, expected) in table {
            let printed = Number::from_f64(double).unwrap().to_string();
            assert_eq!(printed, expected);
            let read_back = number(&printed).as_f64();
            assert_eq!(read_back.to_bits(), (double + 0.0).to_bits(), "{printed} reads back");
            assert_eq!(number(&printed), Number::from_f64(double).unwrap(), "{printed} exactly");
        }
        assert!(Number::from_f64(f64::NAN).is_none());
        assert!(Number::from_f64(f64::NEG_INFINITY).is_none());
    }

    #[test]
    fn integers_are_exact_or_refused() {
        #[rustfmt::skip]
        let table = [
            ("7", Some(7)), ("7.0", Some(7)), ("70e-1", Some(7)), ("-0", Some(0)), ("7.5", None),
            ("9223372036854775807", Some(i64::MAX)), ("9223372036854775808", None),
            ("-9223372036854775808", Some(i64::MIN)), ("-9223372036854775808.0", Some(i64::MIN)),
            ("-1e19", None), ("9007199254740993", Some(9_007_199_254_740_993)), ("1e300", None),
        ];
        for (text, expected) in table {
            assert_eq!(number(text).as_i64(), expected, "{text}");
        }
        assert!(number("1e300").is_integer());
        assert!(!number("0.5").is_integer());
    }

    #[test]
    fn negative_zero_is_zero() {
        for text in ["-0", "-0.0", "-0e5", "-1e-400"] {
            assert!(number(text).as_f64().is_sign_positive(), "{text}");
            assert_eq!(number(text), number("0"));
        }
    }
}
