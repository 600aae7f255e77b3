//! Terms: values as bytes in the order of `model::order`.
//!
//! ```text
//! null 02 · false 03 · true 04 · negative number 05 magnitude, complemented · zero 06
//! positive number 07 magnitude · text 08 bytes 00 · long text 08 bytes 01 · array 09 · object 0A
//! ```
//! A magnitude is the double without its sign (63 bits) and then what the double lost of a 64-bit integer (16
//! bits), in groups of seven bits; the low bit of each byte says whether any later bit is set, and the first byte
//! without it is the last. Small integers take two or three bytes.
//!
//! Bytes of a text are moved so that they sort by UTF-16 unit; 00 and 01 are written 01 01 and 01 02.

#![deny(clippy::indexing_slicing)]

use model::{Number, Value};

/// Limit: bytes of a text in a term; longer ones are cut and checked on the item.
pub const TERM_TEXT_BYTES_MAX: usize = 96;

const END_OF_TEXT: u8 = 0;
const CUT: u8 = 1;

/// The first byte of a term. Never renumber: indexes on disk have it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum Tag {
    Null = 2,
    False = 3,
    True = 4,
    Negative = 5,
    Zero = 6,
    Positive = 7,
    Text = 8,
    Array = 9,
    Object = 10,
}

/// One value in the index.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Term(Vec<u8>);

impl Term {
    /// Returns the term of a value.
    pub fn of(value: &Value) -> Term {
        let mut bytes = Vec::with_capacity(16);
        match value {
            Value::Null => push_tag(Tag::Null, &mut bytes),
            Value::Bool(value) => push_bool(*value, &mut bytes),
            Value::Number(number) => push_number(number, &mut bytes),
            Value::String(text) => push_text(text, &mut bytes),
            Value::Array(_) => push_tag(Tag::Array, &mut bytes),
            Value::Object(_) => push_tag(Tag::Object, &mut bytes),
        }
        Term(bytes)
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns whether the bytes of a term stand for one value only.
    pub fn is_exact(term: &[u8]) -> bool {
        match term.first() {
            Some(&tag) if tag == Tag::Text as u8 => term.last() == Some(&END_OF_TEXT),
            Some(&tag) => tag < Tag::Text as u8,
            None => false,
        }
    }

    /// Returns whether bytes are surely a whole term and not the beginning of others. Cut texts do not count.
    pub(crate) fn is_whole(bytes: &[u8]) -> bool {
        let Some((&tag, rest)) = bytes.split_first() else { return false };
        match rest.split_last() {
            None => {
                (Tag::Null as u8..=Tag::True as u8).contains(&tag)
                    || tag == Tag::Zero as u8
                    || tag >= Tag::Array as u8
            }
            Some((&last, _)) if tag == Tag::Positive as u8 => last & 1 == 0,
            Some((&last, _)) if tag == Tag::Negative as u8 => last & 1 == 1,
            Some((&last, _)) => last == END_OF_TEXT,
        }
    }
}

/// Returns the length of the term at the beginning of a composite term, and whether it stands for one value only.
pub(super) fn part_length(bytes: &[u8], descending: bool) -> Option<(usize, bool)> {
    let plain = |byte: &u8| if descending { !byte } else { *byte };
    let mut rest = bytes.iter().map(plain);
    let tag = rest.next()?;
    if tag == Tag::Negative as u8 || tag == Tag::Positive as u8 {
        let last = u8::from(tag == Tag::Negative as u8);
        return Some((rest.position(|byte| byte & 1 == last)? + 2, true));
    }
    if tag != Tag::Text as u8 {
        return Some((1, tag < Tag::Text as u8));
    }
    let mut length = 1;
    // A text is cut after a known number of bytes; only so is a cut told from an escape.
    for _ in 0..TERM_TEXT_BYTES_MAX {
        match rest.next()? {
            END_OF_TEXT => return Some((length + 1, true)),
            1 => {
                rest.next()?;
                length += 2;
            }
            _ => length += 1,
        }
    }
    Some((length + 1, rest.next()? == END_OF_TEXT))
}

/// Appends the term of null, an array or an object.
pub(super) fn push_tag(tag: Tag, bytes: &mut Vec<u8>) {
    bytes.push(tag as u8);
}

pub(super) fn push_bool(value: bool, bytes: &mut Vec<u8>) {
    push_tag(if value { Tag::True } else { Tag::False }, bytes);
}

fn push_number(number: &Number, bytes: &mut Vec<u8>) {
    match number.as_i64() {
        Some(integer) => push_integer(integer, bytes),
        None => push_double(number.as_f64(), bytes),
    }
}

/// Appends the term of a number as an item spells it.
pub(super) fn push_number_text(text: &str, bytes: &mut Vec<u8>) {
    let integer = text.parse().ok().filter(|_| !text.contains(['.', 'e', 'E']));
    match integer {
        Some(integer) => push_integer(integer, bytes),
        // Invariant: the reader has found the number well formed; the default can't be taken.
        None => push_double(text.parse().unwrap_or_default(), bytes),
    }
}

fn push_integer(integer: i64, bytes: &mut Vec<u8>) {
    let magnitude = integer.unsigned_abs();
    // What a double cannot hold is cut off, not rounded, so that the double alone is already in order.
    let n_lost_bits = 11_u32.saturating_sub(magnitude.leading_zeros());
    let kept = magnitude >> n_lost_bits << n_lost_bits;
    let residue = u16::try_from(magnitude - kept).unwrap_or(u16::MAX);
    #[expect(clippy::cast_precision_loss, reason = "at most 53 significant bits are left")]
    let double = kept as f64;
    push_magnitude(double, integer < 0, residue, bytes);
}

fn push_double(double: f64, bytes: &mut Vec<u8>) {
    push_magnitude(double.abs(), double < 0.0, 0, bytes);
}

fn push_magnitude(double: f64, is_negative: bool, residue: u16, bytes: &mut Vec<u8>) {
    if double == 0.0 {
        return push_tag(Tag::Zero, bytes);
    }
    push_tag(if is_negative { Tag::Negative } else { Tag::Positive }, bytes);
    let mut rest = u128::from(double.to_bits() << 1) << 64 | u128::from(residue) << 49;
    let mut has_more = true;
    while has_more {
        let group = u8::try_from(rest >> 121).unwrap_or_default();
        rest <<= 7;
        has_more = rest != 0;
        let byte = group << 1 | u8::from(has_more);
        bytes.push(if is_negative { !byte } else { byte });
    }
}

pub(super) fn push_text(text: &str, bytes: &mut Vec<u8>) {
    push_tag(Tag::Text, bytes);
    push_text_bytes(text, bytes);
    bytes.push(if text.len() > TERM_TEXT_BYTES_MAX { CUT } else { END_OF_TEXT });
}

fn push_text_bytes(text: &str, bytes: &mut Vec<u8>) {
    for &byte in text.as_bytes().iter().take(TERM_TEXT_BYTES_MAX) {
        match byte {
            0 | 1 => bytes.extend_from_slice(&[1, byte + 1]),
            // UTF-16 puts what these begin (U+E000 to U+FFFF) after everything above U+FFFF.
            0xEE | 0xEF => bytes.push(byte + 0x10),
            _ => bytes.push(byte),
        }
    }
}

/// Returns the span of all texts that begin with `prefix`.
pub(crate) fn span_of_prefix(prefix: &str) -> super::TermSpan {
    let mut start = vec![Tag::Text as u8];
    push_text_bytes(prefix, &mut start);
    if prefix.len() > TERM_TEXT_BYTES_MAX {
        start.push(CUT);
    }
    let end = successor(&start);
    super::TermSpan { start, end }
}

/// Returns the first bytes after everything that begins with `prefix`.
pub(crate) fn successor(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    // Invariant: the first byte is a tag, far below FF, so something is left.
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(text: &str) -> Term {
        Term::of(&model::json::parse(text.as_bytes()).unwrap())
    }

    const NUMBERS: &[&str] = &[
        "-1.7976931348623157e308",
        "-9223372036854775808",
        "-9223372036854775807",
        "-1e18",
        "-9007199254740993",
        "-9007199254740992",
        "-300",
        "-1.5",
        "-1",
        "-0.1",
        "-5e-324",
        "0",
        "-0.0",
        "5e-324",
        "1e-300",
        "0.1",
        "0.5",
        "1",
        "1.0",
        "1.0000000000000002",
        "1.5",
        "2",
        "3",
        "7",
        "10",
        "15",
        "16",
        "17",
        "100",
        "255",
        "256",
        "1000",
        "65535",
        "1e5",
        "123456789",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "9007199254740994",
        "9007199254740995",
        "999999999999999999",
        "1e18",
        "9223372036854774784",
        "9223372036854774785",
        "9223372036854775806",
        "9223372036854775807",
        "9223372036854775808",
        "1.8446744073709552e19",
        "1.7976931348623157e308",
    ];

    fn values() -> Vec<Value> {
        let mut values: Vec<Value> = ["null", "false", "true"].map(json).to_vec();
        values.extend(NUMBERS.iter().map(|text| json(text)));
        let long = "é".repeat(60);
        let texts = [
            "",
            "\0",
            "\0\0",
            "\u{1}",
            "\u{1}\u{1}",
            "\u{2}",
            "a",
            "a\0",
            "a\0b",
            "a\u{1}",
            "aa",
            "b",
            "é",
            "\u{D7FF}",
            "\u{10000}",
            "\u{10FFFF}",
            "\u{E000}",
            "\u{FFFF}",
            "\u{FFFF}a",
            long.as_str(),
        ];
        values.extend(texts.map(Value::from));
        values.push(Value::from("x".repeat(TERM_TEXT_BYTES_MAX)));
        values
    }

    fn json(text: &str) -> Value {
        model::json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn bytes_sort_as_values_do() {
        let values = values();
        for left in &values {
            for right in &values {
                let (one, two) = (Term::of(left), Term::of(right));
                let expected = model::order(Some(left), Some(right));
                assert_eq!(one.cmp(&two), expected, "{left} {right}");
                let is_prefix = two.as_bytes().starts_with(one.as_bytes());
                assert_eq!(is_prefix, expected.is_eq(), "{left} is the beginning of {right}");
            }
        }
    }

    #[test]
    fn spellings_of_items_give_the_same_term() {
        for text in NUMBERS {
            let mut bytes = Vec::new();
            push_number_text(text, &mut bytes);
            assert_eq!(bytes, term(text).as_bytes(), "{text}");
        }
    }

    #[test]
    fn terms_are_whole_and_their_beginnings_are_not() {
        for value in values() {
            let term = Term::of(&value);
            let is_cut = term.as_bytes().last() == Some(&CUT) && value.as_str().is_some();
            assert_eq!(Term::is_whole(term.as_bytes()), !is_cut, "{value}");
            for end in 0..term.as_bytes().len() {
                assert!(!Term::is_whole(&term.as_bytes()[..end]) || end == 0, "{value} {end}");
            }
        }
    }

    #[test]
    fn long_texts_are_cut_and_stay_in_order() {
        let whole = "x".repeat(TERM_TEXT_BYTES_MAX);
        let long = Term::of(&Value::from(format!("{whole}y")));
        let longer = Term::of(&Value::from(format!("{whole}z")));
        let exact = Term::of(&Value::from(whole.as_str()));
        assert_eq!(long, longer);
        assert!(exact < long && long < term("\"y\""));
        assert!(Term::is_exact(exact.as_bytes()) && !Term::is_exact(long.as_bytes()));
        assert!(long.as_bytes().len() <= TERM_TEXT_BYTES_MAX + 2);
        assert!(!Term::is_exact(term("[]").as_bytes()) && !Term::is_exact(term("{}").as_bytes()));
    }

    #[test]
    fn a_prefix_spans_the_texts_that_begin_with_it() {
        let long = "q".repeat(TERM_TEXT_BYTES_MAX + 5);
        let all = ["", "a", "ab", "ab\0", "abc", "ac", "b", "\u{FFFF}", long.as_str(), "qq"];
        for prefix in all {
            let span = span_of_prefix(prefix);
            for text in all {
                let found = span.contains(Term::of(&Value::from(text)).as_bytes());
                assert!(found || !text.starts_with(prefix), "{prefix:?} {text:?}");
                assert!(!found || text.starts_with(prefix), "{prefix:?} {text:?}");
            }
        }
    }

    #[test]
    fn small_numbers_are_short() {
        for (text, n_bytes) in
            [("0", 1), ("1", 3), ("7", 3), ("100", 4), ("1700000000", 8), ("0.1", 10)]
        {
            assert!(term(text).as_bytes().len() <= n_bytes, "{text}: {:?}", term(text));
        }
    }
}
