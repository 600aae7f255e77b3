//! Numbers with one order and one text, whatever they were written as.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A finite number. 2018, 2018.0 and 2.018e3 are one number with one text, "2018".
///
/// Integers that fit 64 bits are exact. The text of other numbers is that of JavaScript, the shortest that
/// reads back as the same double, so that writers in different languages agree.
#[derive(Clone, Copy, Debug)]
pub struct Number(Form);

#[derive(Clone, Copy, Debug)]
enum Form {
    Integer(i64),
    // Invariant: finite, and not an integer that fits `Integer`.
    Float(f64),
}

const TWO_63: f64 = 9_223_372_036_854_775_808.0;

impl Number {
    /// Makes a number of a double; `None` unless it is finite.
    #[expect(clippy::cast_possible_truncation, reason = "checked to be an integer in range")]
    pub fn from_f64(value: f64) -> Option<Number> {
        if !value.is_finite() {
            return None;
        }
        let is_integer = value.fract() == 0.0 && (-TWO_63..TWO_63).contains(&value);
        Some(Number(if is_integer { Form::Integer(value as i64) } else { Form::Float(value) }))
    }

    /// Returns the nearest double.
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
    pub fn as_f64(self) -> f64 {
        match self.0 {
            Form::Integer(it) => it as f64,
            Form::Float(it) => it,
        }
    }

    pub(crate) fn from_json(value: &serde_json::Number) -> Option<Number> {
        match value.as_i64() {
            Some(it) => Some(it.into()),
            None => value.as_f64().and_then(Number::from_f64),
        }
    }

    pub(crate) fn to_json(self) -> serde_json::Value {
        match self.0 {
            Form::Integer(it) => it.into(),
            Form::Float(it) => it.into(),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number(Form::Integer(value))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        match (self.0, other.0) {
            (Form::Integer(a), Form::Integer(b)) => a.cmp(&b),
            (Form::Float(a), Form::Float(b)) => a.total_cmp(&b),
            (Form::Integer(a), Form::Float(b)) => order(a, b),
            (Form::Float(a), Form::Integer(b)) => order(b, a).reverse(),
        }
    }
}

/// Compares without rounding the integer: 2^53 + 1 is not 2^53.
#[expect(clippy::cast_possible_truncation, reason = "the bounds are checked before")]
fn order(integer: i64, float: f64) -> Ordering {
    if float >= TWO_63 {
        return Ordering::Less;
    }
    if float < -TWO_63 {
        return Ordering::Greater;
    }
    let whole = float.floor() as i64;
    // Invariant: a float in this range has a fraction, so it lies strictly above its floor.
    if integer <= whole { Ordering::Less } else { Ordering::Greater }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Form::Integer(it) => it.hash(state),
            Form::Float(it) => it.to_bits().hash(state),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Form::Integer(it) => it.fmt(f),
            Form::Float(it) => f.write_str(&float_text(it)),
        }
    }
}

/// Lays the shortest digits out as JavaScript does: plain between 1e-7 and 1e21, else with an exponent.
fn float_text(value: f64) -> String {
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(|it| *it != '.').collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if value < 0.0 { "-" } else { "" };
    let n_digits = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The decimal point stands after `point` digits.
    let point = exponent + 1;
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or(0));
    if n_digits <= point && point <= 21 {
        format!("{sign}{digits}{}", zeros(point - n_digits))
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{sign}{whole}.{fraction}")
    } else if -6 < point && point <= 0 {
        format!("{sign}0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let plus = if exponent < 0 { "" } else { "+" };
        format!("{sign}{first}{dot}{rest}e{plus}{exponent}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_text() {
        #[rustfmt::skip]
        let table = [
            (2018.0, "2018"), (-0.0, "0"), (0.1, "0.1"), (-1.5, "-1.5"), (123.456, "123.456"),
            (1e-7, "1e-7"), (0.000_001, "0.000001"), (1.5e-9, "1.5e-9"), (1e21, "1e+21"),
            (1.25e25, "1.25e+25"), (1e20, "100000000000000000000"), (5e-324, "5e-324"),
        ];
        for (value, text) in table {
            assert_eq!(Number::from_f64(value).unwrap().to_string(), text);
        }
        assert!(Number::from_f64(f64::NAN).is_none());
    }

    #[test]
    fn integers_beyond_doubles_stay_apart() {
        let below = Number::from(9_007_199_254_740_992);
        let above = Number::from(9_007_199_254_740_993);
        assert!(below < above);
        assert!(Number::from_f64(1.5).unwrap() > Number::from(1));
        assert!(Number::from_f64(-1.5).unwrap() < Number::from(-1));
        assert!(Number::from_f64(1e300).unwrap() > Number::from(i64::MAX));
        assert!(Number::from_f64(-1e300).unwrap() < Number::from(i64::MIN));
    }
}
