//! Properties of an object as they stand in its text, for whoever copies them to another text.
//!
//! Hot path: runs over every item of which a query returns a few properties. Nothing is allocated.

#![deny(clippy::indexing_slicing)]

use super::JsonError;
use super::pick::{Scanner, is};

/// A value as it stands in a text.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'t> {
    /// The bytes, quotes included.
    pub text: &'t [u8],
    /// What they are.
    pub kind: RawKind,
}

/// What is known of a value by the look of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawKind {
    /// `null`, `true` or `false`.
    Literal,
    /// A number, which keeps its spelling wherever it goes.
    Number,
    /// A string without escapes: it is written as it stands.
    PlainString,
    /// Anything that may be written differently than it stands.
    Other,
}

/// Finds properties of the object in a text, those that are there: each name has its place in `found`, which is empty.
///
/// Invariant: as for [`super::pick`], the text was checked when it was written. There are no more names than places.
///
/// # Errors
/// The text is not JSON.
pub fn raw_properties<'t, 'n>(
    text: &'t [u8],
    names: &(impl Iterator<Item = &'n str> + Clone),
    found: &mut [Option<Raw<'t>>],
) -> Result<(), JsonError> {
    let mut n_left = names.clone().take(found.len()).count();
    let mut scanner = Scanner { text, at: 0 };
    if !scanner.enter() {
        return Ok(());
    }
    while n_left > 0 {
        let Some(name) = scanner.next_name()? else { break };
        let (bytes, has_escapes) = scanner.raw()?;
        // One property may be wanted twice; a broken text that has it twice must not count twice.
        for (place, own) in found.iter_mut().zip(names.clone()) {
            if place.is_none() && is(name, own) {
                *place = Some(Raw { text: bytes, kind: kind(bytes, has_escapes) });
                n_left -= 1;
            }
        }
    }
    Ok(())
}

fn kind(bytes: &[u8], has_escapes: bool) -> RawKind {
    match bytes {
        [b'"', ..] if !has_escapes => RawKind::PlainString,
        [b'-' | b'0'..=b'9', ..] => RawKind::Number,
        b"null" | b"true" | b"false" => RawKind::Literal,
        _ => RawKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Picks, pick};
    use super::*;

    #[test]
    fn what_is_copied_is_what_would_be_written() {
        let text = r#" { "a" : -1.50e3 , "b":"x\u0041","c":"é\u007f😀", "d" : [1, {"a":2}] ,"e":{ "a":1},
            "f":null,"g":true,"\u0068":false,"i":"","j":18446744073709551616,"k":-0 } "#;
        let text = text.replace("\\u007f", "\u{7f}");
        let names = ["k", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "none"];
        let mut found = [None; 12];
        raw_properties(text.as_bytes(), &names.into_iter(), &mut found).unwrap();
        for (name, raw) in names.iter().zip(found) {
            let mut picks = Picks::NOTHING;
            picks.add([*name]);
            let picked = pick(text.as_bytes(), &picks, 0).unwrap();
            let Some(raw) = raw else {
                assert_eq!(picked.get(name), None, "{name}");
                continue;
            };
            let written = picked.get(name).unwrap().to_text();
            let is_other = matches!(*name, "b" | "d" | "e");
            assert_eq!(raw.kind == RawKind::Other, is_other, "{name}");
            if is_other {
                let value = super::super::parse(raw.text).unwrap();
                assert_eq!(value.to_text(), written, "{name}");
            } else {
                assert_eq!(raw.text, written.as_bytes(), "{name}");
            }
        }
    }

    #[test]
    fn one_property_may_be_wanted_twice_and_broken_text_is_no_panic() {
        let found = |text: &str| {
            let mut found = [None; 4];
            raw_properties(text.as_bytes(), &["a", "b", "a"].into_iter(), &mut found)?;
            Ok::<_, JsonError>(
                found.map(|raw| raw.map(|raw| String::from_utf8_lossy(raw.text).into_owned())),
            )
        };
        let text = |text: &str| Some(text.to_owned());
        let expected = [text(r#""x""#), text("1"), text(r#""x""#), None];
        assert_eq!(found(r#"{"b":1,"a":"x","c":"#).unwrap(), expected);
        assert_eq!(found(r#"{"a":"x","a":2,"b":1}"#).unwrap(), expected);
        assert_eq!(found("[1]").unwrap(), [None, None, None, None]);
        for broken in ["{", r#"{"a"#, r#"{"a":"#, r#"{"a":}"#, r#"{"a":"\"#, "{1}"] {
            assert!(found(broken).is_err(), "{broken}");
        }
    }
}
