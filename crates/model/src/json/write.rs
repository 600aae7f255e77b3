//! [`Value`] → text: compact, strings escaped no more than JSON demands.

use std::fmt;

use super::{Value, scan};

impl Value {
    /// Appends the compact JSON text.
    pub fn write_to(&self, target: &mut Vec<u8>) {
        // A vector never refuses bytes.
        let _ = write_value(self, &mut Bytes(target));
    }
}

/// Appends a JSON string, quotes included.
pub fn write_string(text: &str, target: &mut Vec<u8>) {
    if scan::plain_length(text.as_bytes()) == text.len() {
        target.reserve(text.len() + 2);
        target.push(b'"');
        target.extend_from_slice(text.as_bytes());
        target.push(b'"');
        return;
    }
    // A vector never refuses bytes.
    let _ = write_quoted(text, &mut Bytes(target));
}

/// Recursion is bounded by the depth of the value, which the parser bounds.
pub(super) fn write_value(value: &Value, target: &mut impl fmt::Write) -> fmt::Result {
    match value {
        Value::Null => target.write_str("null"),
        Value::Bool(true) => target.write_str("true"),
        Value::Bool(false) => target.write_str("false"),
        Value::Number(number) => write!(target, "{number}"),
        Value::String(text) => write_quoted(text, target),
        Value::Array(elements) => {
            let mut separator = '[';
            for element in elements {
                target.write_char(separator)?;
                write_value(element, target)?;
                separator = ',';
            }
            target.write_str(if elements.is_empty() { "[]" } else { "]" })
        }
        Value::Object(object) => {
            let mut separator = '{';
            for (name, value) in object.iter() {
                target.write_char(separator)?;
                write_quoted(name, target)?;
                target.write_char(':')?;
                write_value(value, target)?;
                separator = ',';
            }
            target.write_str(if object.is_empty() { "{}" } else { "}" })
        }
    }
}

fn write_quoted(text: &str, target: &mut impl fmt::Write) -> fmt::Result {
    target.write_char('"')?;
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at(scan::plain_length(rest.as_bytes()));
        target.write_str(plain)?;
        let Some(&byte) = special.as_bytes().first() else { break };
        match byte {
            b'"' => target.write_str("\\\""),
            b'\\' => target.write_str("\\\\"),
            b'\n' => target.write_str("\\n"),
            b'\r' => target.write_str("\\r"),
            b'\t' => target.write_str("\\t"),
            0x08 => target.write_str("\\b"),
            0x0C => target.write_str("\\f"),
            _ => write!(target, "\\u{byte:04x}"),
        }?;
        rest = &special[1..];
    }
    target.write_char('"')
}

struct Bytes<'a>(&'a mut Vec<u8>);

impl fmt::Write for Bytes<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let value = super::super::parse(text.as_bytes()).unwrap();
        assert_eq!(value.to_text(), expected);
        let mut bytes = Vec::new();
        value.write_to(&mut bytes);
        assert_eq!(bytes, expected.as_bytes());
    }

    #[test]
    fn the_text_is_compact_and_ordered() {
        check(" { \"b\" : [ 1 , true , null ] , \"a\" : { } } ", r#"{"b":[1,true,null],"a":{}}"#);
        check("[ ]", "[]");
        check("[[],[[]]]", "[[],[[]]]");
    }

    #[test]
    fn strings_are_escaped_only_where_needed() {
        check(
            r#""\u0022\u005c\/\b\f\n\r\t\u0001\u007f\u00e9\ud83d\ude00""#,
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\u{7f}é😀\"",
        );
    }

    #[test]
    fn numbers_keep_their_spelling() {
        check(
            "[1.0,1e2,-0,0.10,18446744073709551615,1E-400]",
            "[1.0,1e2,-0,0.10,18446744073709551615,1E-400]",
        );
    }
}
