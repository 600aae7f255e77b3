//! Escapes that stand for no character.
//!
//! `\ud800` without its second half is legal JSON text and no Unicode: strict readers refuse the
//! whole item. Wire: the service stores U+FFFD instead, and so do we. Its escape is as long as the
//! one it replaces, so every other byte stays where it is.

use std::borrow::Cow;

use super::super::raw::raw_properties;

const REPLACEMENT: &str = "\\ufffd";

/// Replaces each half of a surrogate pair that stands alone. Text without one is not copied.
pub(super) fn repaired(text: &str) -> Cow<'_, str> {
    let lone: Vec<usize> = lone_surrogates(text);
    if lone.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut repaired = String::with_capacity(text.len());
    let mut copied = 0;
    for start in lone {
        repaired.push_str(&text[copied..start]);
        repaired.push_str(REPLACEMENT);
        copied = start + REPLACEMENT.len();
    }
    repaired.push_str(&text[copied..]);
    Cow::Owned(repaired)
}

/// Says whether the `id` of the object in a text has half of a pair.
///
/// Ids that differ in half a character only would become the same, so no resource may have such an id.
#[must_use]
pub fn has_halved_id(text: &[u8]) -> bool {
    let mut found = [None];
    let is_read = raw_properties(text, &["id"].into_iter(), &mut found).is_ok();
    let id = found[0].and_then(|id| std::str::from_utf8(id.text).ok());
    is_read && id.is_some_and(|id| matches!(repaired(id), Cow::Owned(_)))
}

fn lone_surrogates(text: &str) -> Vec<usize> {
    let mut lone = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        match unit_at(text, at) {
            Some(0xD800..=0xDBFF) if matches!(unit_at(text, at + 6), Some(0xDC00..=0xDFFF)) => {
                at += 12;
            }
            Some(0xD800..=0xDFFF) => {
                lone.push(at);
                at += 6;
            }
            Some(_) => at += 6,
            // Any other escape is a backslash and one character.
            None => at += 2,
        }
    }
    lone
}

/// The UTF-16 unit of the escape `\uXXXX` that starts here, if one does.
fn unit_at(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_halves_are_replaced() {
        #[rustfmt::skip]
        let table = [
            (r#"{"a":"x\ud800y"}"#,             r#"{"a":"x\ufffdy"}"#),
            (r#"{"a":"\uDC00\uD83D"}"#,         r#"{"a":"\ufffd\ufffd"}"#),
            (r#"{"a":"\ud83d\ude00"}"#,         r#"{"a":"\ud83d\ude00"}"#),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#,   r#"{"a":"\ufffd\ud83d\ude00"}"#),
            (r#"{"a":"\\ud800"}"#,              r#"{"a":"\\ud800"}"#),
            (r#"{"a":"\\\ud800\n"}"#,           r#"{"a":"\\\ufffd\n"}"#),
            (r#"{"a":"é\u00e9"}"#,              r#"{"a":"é\u00e9"}"#),
        ];
        for (sent, stored) in table {
            assert_eq!(repaired(sent), stored, "{sent}");
        }
    }

    #[test]
    fn only_the_id_of_the_object_itself_counts() {
        for (text, expected) in [
            (r#"{"id":"\ud800"}"#, true),
            (r#"{"a":1,"\u0069d":"x\udc00"}"#, true),
            (r#"{"id":"\ud83d\ude00"}"#, false),
            (r#"{"a":{"id":"\ud800"},"id":"x"}"#, false),
            (r#"{"a":"\ud800"}"#, false),
            (r#"{"id":7}"#, false),
            ("[]", false),
            ("{", false),
        ] {
            assert_eq!(has_halved_id(text.as_bytes()), expected, "{text}");
        }
    }
}
