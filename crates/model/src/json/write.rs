//! [`Value`] → text: compact, strings escaped no more than JSON demands.

use super::{Number, Value, scan};

impl Value {
    /// Appends the compact JSON text.
    pub fn write_to(&self, target: &mut Vec<u8>) {
        write_value(self, target);
    }
}

impl Value {
    /// Appends the compact JSON text, with numbers in the spelling that they get in a query's answer.
    pub fn write_computed_to(&self, target: &mut Vec<u8>) {
        write_with(self, target, &Number::write_computed_to);
    }

    /// Returns the text of [`Value::write_computed_to`].
    pub fn to_computed_text(&self) -> String {
        let mut text = String::new();
        write_with(self, &mut text, &Number::write_computed_to);
        text
    }
}

/// Appends a JSON string, quotes included.
pub fn write_string(text: &str, target: &mut Vec<u8>) {
    write_quoted(text, target);
}

/// Where text goes. Memory never refuses any, which spares the detour over `fmt`.
pub(super) trait Target {
    fn text(&mut self, text: &str);

    /// Appends a character of ASCII.
    fn ascii(&mut self, byte: u8);
}

impl Target for Vec<u8> {
    fn text(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }

    fn ascii(&mut self, byte: u8) {
        self.push(byte);
    }
}

impl Target for String {
    fn text(&mut self, text: &str) {
        self.push_str(text);
    }

    fn ascii(&mut self, byte: u8) {
        self.push(char::from(byte));
    }
}

/// Recursion is bounded by the depth of the value, which the parser bounds.
pub(super) fn write_value(value: &Value, target: &mut impl Target) {
    write_with(value, target, &Number::write_to);
}

/// Recursion is bounded as that of [`write_value`].
fn write_with<T: Target>(value: &Value, target: &mut T, number: &impl Fn(&Number, &mut T)) {
    match value {
        Value::Null => target.text("null"),
        Value::Bool(true) => target.text("true"),
        Value::Bool(false) => target.text("false"),
        Value::Number(own) => number(own, target),
        Value::String(text) => write_quoted(text, target),
        Value::Array(elements) => {
            let mut separator = b'[';
            for element in elements {
                target.ascii(separator);
                write_with(element, target, number);
                separator = b',';
            }
            target.text(if elements.is_empty() { "[]" } else { "]" });
        }
        Value::Object(object) => {
            let mut separator = b'{';
            for (name, value) in object.iter() {
                target.ascii(separator);
                write_quoted(name, target);
                target.ascii(b':');
                write_with(value, target, number);
                separator = b',';
            }
            target.text(if object.is_empty() { "{}" } else { "}" });
        }
    }
}

fn write_quoted(text: &str, target: &mut impl Target) {
    target.ascii(b'"');
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at(scan::plain_length(rest.as_bytes()));
        target.text(plain);
        let Some(&byte) = special.as_bytes().first() else { break };
        match byte {
            b'"' => target.text("\\\""),
            b'\\' => target.text("\\\\"),
            b'\n' => target.text("\\n"),
            b'\r' => target.text("\\r"),
            b'\t' => target.text("\\t"),
            0x08 => target.text("\\b"),
            0x0C => target.text("\\f"),
            _ => target.text(&format!("\\u{byte:04x}")),
        }
        rest = &special[1..];
    }
    target.ascii(b'"');
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
    fn computed_values_have_the_spelling_of_the_service() {
        let text =
            "[1.0,1e2,-0,-0.0,0.10,18446744073709551615,1E-400,9007199254740993,{\"a\":1.50}]";
        let value = super::super::parse(text.as_bytes()).unwrap();
        let expected = r#"[1,100,0,0,0.1,1.8446744073709552e+19,0,9007199254740993,{"a":1.5}]"#;
        assert_eq!(value.to_computed_text(), expected);
        let mut bytes = Vec::new();
        value.write_computed_to(&mut bytes);
        assert_eq!(bytes, expected.as_bytes());
    }

    #[test]
    fn numbers_keep_their_spelling() {
        check(
            "[1.0,1e2,-0,0.10,18446744073709551615,1E-400]",
            "[1.0,1e2,-0,0.10,18446744073709551615,1E-400]",
        );
    }
}
