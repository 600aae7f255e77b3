//! Texts that are almost JSON, and that the service takes: raw control characters in strings, and two properties of one
//! name. They are rewritten once, so that everybody behind sees plain JSON: the characters are escaped, and of the
//! properties the last value stays, in the place of the first.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::{Event, JsonError, JsonFault, Reader, Value, parse, reader::Leniency};

/// Parses a text that may need mending.
pub fn parse_mended(bytes: &[u8]) -> Result<Value, JsonError> {
    match parse(bytes) {
        Err(error) if can_mend(error) => parse(mended(bytes).ok_or(error)?.as_bytes()),
        parsed => parsed,
    }
}

pub(super) fn can_mend(error: JsonError) -> bool {
    matches!(error.fault, JsonFault::String | JsonFault::DuplicateName)
}

/// Rewrites a text; `None` if something else is wrong with it too.
pub(super) fn mended(bytes: &[u8]) -> Option<String> {
    let escaped = escaped(std::str::from_utf8(bytes).ok()?)?;
    let mut reader = Reader::with(&escaped, Leniency::DuplicateNames);
    let first = reader.next().ok()??;
    let mut out = String::with_capacity(escaped.len());
    copy(&mut reader, first, &mut out)?;
    reader.next().ok()?.is_none().then_some(out)
}

/// Escapes control characters inside strings. Outside of them they are space, or a fault that stays one.
fn escaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let (mut is_inside, mut is_escape) = (false, false);
    for character in text.chars() {
        if is_inside && character < ' ' {
            // Behind a backslash it is no escape that anybody knows.
            if is_escape {
                return None;
            }
            match character {
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                other => drop(write!(out, "\\u{:04x}", u32::from(other))),
            }
            continue;
        }
        if character == '"' && !is_escape {
            is_inside = !is_inside;
        }
        is_escape = is_inside && !is_escape && character == '\\';
        out.push(character);
    }
    Some(out)
}

/// Copies a value without its duplicates. Recursion is bounded by the reader's depth.
fn copy<'t>(reader: &mut Reader<'t>, first: Event<'t>, out: &mut String) -> Option<()> {
    match first {
        Event::BeginObject => copy_object(reader, out),
        Event::BeginArray => {
            out.push('[');
            let mut is_first = true;
            loop {
                match reader.next().ok()?? {
                    Event::EndArray => break,
                    event => {
                        if !is_first {
                            out.push(',');
                        }
                        is_first = false;
                        copy(reader, event, out)?;
                    }
                }
            }
            out.push(']');
            Some(())
        }
        _ => {
            out.push_str(reader.text().get(reader.event_start()..reader.event_end())?);
            Some(())
        }
    }
}

fn copy_object(reader: &mut Reader<'_>, out: &mut String) -> Option<()> {
    let mut members: Vec<(&str, String)> = Vec::new();
    let mut places = HashMap::new();
    while let Event::Name(name) = reader.next().ok()?? {
        let first = reader.next().ok()??;
        let mut value = String::new();
        copy(reader, first, &mut value)?;
        let place = *places.entry(name.decode()).or_insert(members.len());
        match members.get_mut(place) {
            Some((_, earlier)) => *earlier = value,
            None => members.push((name.raw(), value)),
        }
    }
    out.push('{');
    for (index, (name, value)) in members.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\"{name}\":{value}");
    }
    out.push('}');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_service_takes_becomes_plain_json() {
        let table = [
            ("{\"a\":\"x\ty\nz\r\u{1}\"}", r#"{"a":"x\ty\nz\r\u0001"}"#),
            ("{\"t\tb\" :\t1}", r#"{"t\tb":1}"#),
            ("{\"q\":\"\\\"\t\\\\\"}", r#"{"q":"\"\t\\"}"#),
            (r#"{"a":1,"b":2,"a":3.50}"#, r#"{"a":3.50,"b":2}"#),
            (r#"{"x":{"a":1,"\u0061":[{"b":1,"b":{}}]}}"#, r#"{"x":{"a":[{"b":{}}]}}"#),
            (r#"[{"a":1,"a":2},[],"s",null]"#, r#"[{"a":2},[],"s",null]"#),
        ];
        for (text, expected) in table {
            assert_eq!(mended(text.as_bytes()).as_deref(), Some(expected), "{text}");
            assert!(parse(expected.as_bytes()).is_ok(), "{expected}");
            assert!(parse_mended(text.as_bytes()).is_ok());
        }
    }

    #[test]
    fn nothing_else_is_mended() {
        for text in [
            "{\"a\":\"\t\"",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\t\",}",
            "\"\t\" 1",
            "\"\\\t\"",
            "{\u{1}}",
            "",
        ] {
            assert_eq!(mended(text.as_bytes()), None, "{text}");
            assert!(parse_mended(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(mended(b"\"\xff\t\""), None);
    }

    #[test]
    fn many_duplicates_take_no_longer_than_many_names() {
        let mut text = String::from("{");
        for n in 0..200_000 {
            let _ = write!(text, "\"n{}\":{n},", n % 1000);
        }
        text.push_str("\"end\":0}");
        assert_eq!(parse_mended(text.as_bytes()).unwrap().as_object().unwrap().len(), 1001);
    }
}
