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
    /// Spelled as [`write_double`] would.
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

    /// Returns the value as a double, rounding integers beyond 2^53. Never NaN, infinite or −0.
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
            Repr::Float(_) => target.text(&self.to_string()),
            Repr::Text(_, text) => target.text(text),
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
    /// Compares by exact value.
    fn cmp(&self, other: &Number) -> Ordering {
        match (self.worth(), other.worth()) {
            (Worth::Int(a), Worth::Int(b)) => a.cmp(&b),
            (Worth::Int(a), Worth::Float(b)) => order_mixed(a, b),
            (Worth::Float(a), Worth::Int(b)) => order_mixed(b, a).reverse(),
            (Worth::Float(a), Worth::Float(b)) => a.total_cmp(&b),
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
    /// Writes the original spelling, or for computed numbers the shortest that reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(integer) => integer.fmt(f),
            Repr::Float(double) => write_double(*double, f),
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
    if double >= I64_END {
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

/// Says whether [`write_double`] would spell the number just so, by rules that are quick to check:
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

/// Writes digits that read back as the same number: an integer below 1e17 exactly, a fraction of at
/// least 1e-5 plainly and as short as can be, all others as `1.8446744073709552e+19`, the style that the
/// service answers with.
///
/// Exactly, because an integer without exponent reads back as an `i64`, and the shortest digits of
/// a double beyond 2^53 may spell a neighbouring one.
fn write_double(double: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const PLAIN_MIN: f64 = 1e-5;
    const PLAIN_END: f64 = 1e17;
    if double.fract() == 0.0 && double.abs() < PLAIN_END {
        #[expect(clippy::cast_possible_truncation, reason = "an integer far below 2^63")]
        return write!(f, "{}", double as i64);
    }
    if (PLAIN_MIN..PLAIN_END).contains(&double.abs()) {
        return write!(f, "{double}");
    }
    let scientific = format!("{double:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(f, "{mantissa}e{sign}{:02}", exponent.unsigned_abs())
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
            (18_446_744_073_709_551_615.0, "1.8446744073709552e+19"), (1e-5, "0.00001"), (1e-6, "1e-06"),
            (1.5e-7, "1.5e-07"), (5e-324, "5e-324"), (f64::MAX, "1.7976931348623157e+308"), (0.1 + 0.2, "0.30000000000000004"),
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
