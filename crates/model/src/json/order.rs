//! The one order of all values, used by ORDER BY, MIN, MAX and the range index.
//!
//! undefined < null < false < true < numbers < strings < arrays < objects. Numbers compare by exact
//! value, strings by UTF-16 unit as every SDK does when it merges pages.
//!
//! Arrays and objects among themselves: the service uses a structural hash, which gives no order a
//! user could predict. Ours is element by element (a prefix comes first), and for objects property
//! by property in the order of names. It agrees with equality: `order` is `Equal` exactly when the
//! values are equal.

use std::cmp::Ordering;

use super::{Object, Value};

/// Compares two values; `None` is undefined.
pub fn order(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => order_values(a, b),
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
    }
}

/// Compares two strings by their UTF-16 units.
///
/// UTF-8 bytes order by code point, which differs in one case: characters above U+FFFF (lead byte
/// F0 and up) stand as surrogates below U+E000…U+FFFF (lead bytes EE and EF).
pub fn order_strings(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    match a.iter().zip(b).find(|(one, two)| one != two) {
        Some((&one, &two)) => utf16_rank(one).cmp(&utf16_rank(two)),
        None => a.len().cmp(&b.len()),
    }
}

fn utf16_rank(byte: u8) -> u8 {
    match byte {
        0xEE | 0xEF => byte + 0x10,
        _ => byte,
    }
}

fn order_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => order_strings(a, b),
        (Value::Array(a), Value::Array(b)) => order_arrays(a, b),
        (Value::Object(a), Value::Object(b)) => order_objects(a, b),
        _ => type_rank(a).cmp(&type_rank(b)),
    }
}

fn type_rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

fn order_arrays(a: &[Value], b: &[Value]) -> Ordering {
    let different = a.iter().zip(b).map(|(a, b)| order_values(a, b)).find(|order| order.is_ne());
    different.unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn order_objects(a: &Object, b: &Object) -> Ordering {
    let (a, b) = (a.sorted(), b.sorted());
    let pairs = a.iter().zip(&b);
    let mut orders = pairs.map(|((a_name, a), (b_name, b))| {
        order_strings(a_name, b_name).then_with(|| order_values(a, b))
    });
    let different = orders.find(|order| order.is_ne());
    different.unwrap_or_else(|| a.len().cmp(&b.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values in ascending order; those on one line are equal.
    const LADDER: &[&[&str]] = &[
        &["null"],
        &["false"],
        &["true"],
        &["-1.7976931348623157e308"],
        &["-9223372036854775809", "-9223372036854775808", "-9223372036854775808.0"],
        &["-9223372036854775807"],
        &["-1", "-1.0"],
        &["0", "-0", "0.0", "-0.0", "1e-400"],
        &["5e-324"],
        &["1", "1.0", "10e-1"],
        &["2"],
        &["10", "1e1"],
        &["9007199254740992", "9007199254740992.0", "9007199254740993.0"],
        &["9007199254740993"],
        &["9223372036854775806"],
        &["9223372036854775807"],
        &["9223372036854775808", "9223372036854775808.0"],
        &["18446744073709551615", "18446744073709551616"],
        &["1.7976931348623157e308"],
        &["\"\""],
        &["\"\\u0000\""],
        &["\"A\""],
        &["\"B\""],
        &["\"a\"", "\"\\u0061\""],
        &["\"aa\""],
        &["\"é\""],
        &["\"\u{D7FF}\""],
        &["\"\u{10000}\""],
        &["\"\u{10FFFF}\""],
        &["\"\u{E000}\""],
        &["\"\u{FFFF}\""],
        &["[]"],
        &["[1]", "[1.0]"],
        &["[1,1]"],
        &["[2]"],
        &["[[]]"],
        &["{}"],
        &["{\"a\":1}"],
        &["{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}"],
        &["{\"a\":2}"],
        &["{\"b\":0}"],
    ];

    #[test]
    fn values_sort_by_type_then_value() {
        let mut ladder: Vec<(usize, Option<Value>)> = vec![(0, None)];
        for (step, texts) in LADDER.iter().enumerate() {
            let parse = |text: &&str| super::super::parse(text.as_bytes()).unwrap();
            ladder.extend(texts.iter().map(|text| (step + 1, Some(parse(text)))));
        }
        for (a_step, a) in &ladder {
            for (b_step, b) in &ladder {
                let expected = a_step.cmp(b_step);
                assert_eq!(order(a.as_ref(), b.as_ref()), expected, "{a:?} vs {b:?}");
                assert_eq!(a == b, expected.is_eq(), "{a:?} == {b:?}");
            }
        }
    }

    #[test]
    fn strings_sort_by_utf16_unit() {
        let strings = [
            "",
            "a",
            "a\u{FFFF}",
            "a\u{10000}",
            "\u{10000}b",
            "\u{FFFF}",
            "\u{E000}x",
            "z\u{D7FF}",
        ];
        for a in strings {
            for b in strings {
                let (a16, b16): (Vec<u16>, Vec<u16>) =
                    (a.encode_utf16().collect(), b.encode_utf16().collect());
                assert_eq!(order_strings(a, b), a16.cmp(&b16), "{a:?} vs {b:?}");
            }
        }
    }
}
