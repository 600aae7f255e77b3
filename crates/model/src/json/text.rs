//! A string as it stands in a JSON text, not yet decoded.

#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;

/// The inside of a JSON string, without its quotes. Decoding is put off, because most strings are
/// skipped and most of the others have no escapes.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    raw: &'a str,
    has_escapes: bool,
}

impl<'a> Text<'a> {
    /// Invariant: every backslash in `raw` starts a legal escape; the scanner has checked that.
    #[inline]
    pub(super) fn new(raw: &'a str, has_escapes: bool) -> Text<'a> {
        Text { raw, has_escapes }
    }

    /// Returns the characters as they were written, escapes and all.
    #[inline]
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// Returns the string it stands for. A lone surrogate escape becomes U+FFFD.
    #[inline]
    pub fn decode(&self) -> Cow<'a, str> {
        if self.has_escapes { Cow::Owned(unescape(self.raw)) } else { Cow::Borrowed(self.raw) }
    }

    /// Says whether it stands for `other`, without an allocation in the common case.
    #[inline]
    pub fn is(&self, other: &str) -> bool {
        if self.has_escapes { self.decode() == other } else { self.raw == other }
    }
}

fn unescape(raw: &str) -> String {
    let mut decoded = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        decoded.push_str(&rest[..at]);
        let (character, length) = read_escape(&rest[at..]);
        decoded.push(character);
        rest = &rest[at + length..];
    }
    decoded.push_str(rest);
    decoded
}

/// Reads the escape at the start of `text`: the character, and the bytes it takes.
fn read_escape(text: &str) -> (char, usize) {
    let simple = match text.as_bytes().get(1) {
        Some(b'u') => return read_unicode_escape(text),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{C}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(&other) => char::from(other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (simple, 2.min(text.len()))
}

fn read_unicode_escape(text: &str) -> (char, usize) {
    let unit = |start: usize| -> Option<u16> {
        let digits = text.get(start..start + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(0) else { return (char::REPLACEMENT_CHARACTER, text.len().min(6)) };
    let second = if matches!(first, 0xD800..=0xDBFF) { unit(6) } else { None };
    let pair = [first, second.unwrap_or_default()];
    let units = if second.is_some() { &pair[..] } else { &pair[..1] };
    match char::decode_utf16(units.iter().copied()).next() {
        Some(Ok(character)) => (character, 6 * character.len_utf16()),
        Some(Err(_)) | None => (char::REPLACEMENT_CHARACTER, 6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, expected: &str) {
        let text = Text::new(raw, raw.contains('\\'));
        assert_eq!(text.decode(), expected, "{raw}");
        assert!(text.is(expected), "{raw}");
        assert!(!text.is("another"), "{raw}");
    }

    #[test]
    fn escapes_decode() {
        check("plain é", "plain é");
        check(r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{C}\n\r\t");
        check(r"\u0041\u00e9x\u00E9", "AéxÉ".replace('É', "é").as_str());
        check(r"\u0000", "\0");
        check(r"a\uD83D\uDE00b", "a😀b");
    }

    #[test]
    fn lone_surrogates_become_the_replacement_character() {
        check(r"\uD83D", "\u{FFFD}");
        check(r"\uDE00x", "\u{FFFD}x");
        check(r"\uD83D\u0041", "\u{FFFD}A");
        check(r"\uD83D\uD83D\uDE00", "\u{FFFD}😀");
        check(r"\uD83D\n", "\u{FFFD}\n");
    }
}
