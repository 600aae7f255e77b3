//! The opaque version of one resource.

use std::fmt;

use crate::{Env, Lsn};

/// An etag: text that changes with every write of a resource, double quotes included.
///
/// Wire: `_etag` (where the quotes are escaped), the `etag` header, `If-Match`, `If-None-Match`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag(String);

impl ETag {
    /// Returns the etag of the item version written by commit `lsn` at `ts_seconds`.
    ///
    /// Derived and therefore never stored: two versions of one item have different lsns. The shape
    /// (8-4-4-4-12 hex digits) is the service's; the time is in it so that an item that is written
    /// again under the same lsn in a copied partition still differs.
    pub fn from_lsn(lsn: Lsn, ts_seconds: u64) -> ETag {
        let Lsn(lsn) = lsn;
        let mut text = *b"\"00000000-0000-0000-0000-000000000000\"";
        put_hex(lsn, &mut text[1..9]);
        put_hex(lsn >> 32, &mut text[10..14]);
        put_hex(lsn >> 48, &mut text[15..19]);
        put_hex(ts_seconds, &mut text[25..33]);
        ETag(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns the etag of a resource that is not an item and was written at `ts_seconds`: random digits in the form
    /// of an item's, so that two writes within one second differ.
    pub fn random_at(env: &Env, ts_seconds: u64) -> ETag {
        let mut bytes = [0; 8];
        env.fill_random(&mut bytes);
        // 48 bits: the third group is always zero.
        ETag::from_lsn(Lsn(u64::from_le_bytes(bytes) >> 16), ts_seconds)
    }

    /// Returns an etag that no other resource has, for what is not written at a time.
    pub fn random(env: &Env) -> ETag {
        ETag(format!("\"{}\"", env.uuid()))
    }

    /// Takes a text that was an etag before (stored, or sent by a client), adding missing quotes.
    pub fn from_text(text: &str) -> ETag {
        ETag(format!("\"{}\"", unquote(text)))
    }

    /// Returns the text with its double quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Says whether the value of an `If-Match` or `If-None-Match` header names this version.
    ///
    /// `*` names every version. Quotes may be missing, a weak mark (`W/`) is ignored, and a list
    /// matches if one of its members does.
    pub fn matches(&self, header: &str) -> bool {
        let own = unquote(&self.0);
        header.split(',').any(|one| {
            let one = one.trim();
            one == "*" || unquote(one) == own
        })
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Fills a place with the lowest hexadecimal digits. `fmt` would take most of the time of rendering an item.
fn put_hex(number: u64, place: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut rest = number;
    for slot in place.iter_mut().rev() {
        *slot = DIGITS[(rest & 0xF) as usize];
        rest >>= 4;
    }
}

fn unquote(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix("W/").unwrap_or(text);
    text.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_shows_lsn_and_time_in_the_service_shape() {
        let etag = ETag::from_lsn(Lsn(0x1122_3344_5566_7788), 0x5F8E_4A3B);
        assert_eq!(etag.as_str(), "\"55667788-3344-1122-0000-5f8e4a3b0000\"");
    }

    #[test]
    fn every_lsn_has_its_own_etag() {
        let one = ETag::from_lsn(Lsn(1), 9);
        for lsn in [0, 2, 1 << 32 | 1, 1 << 48 | 1, 1 << 63 | 1] {
            assert_ne!(one, ETag::from_lsn(Lsn(lsn), 9));
        }
    }

    #[test]
    fn conditions_match_with_and_without_quotes() {
        let etag = ETag::from_lsn(Lsn(1), 2);
        let bare = etag.as_str().trim_matches('"').to_owned();
        let quoted = etag.as_str().to_owned();
        for header in
            ["*", " * ", &bare, &quoted, &format!("W/{quoted}"), &format!("\"x\", {quoted}")]
        {
            assert!(etag.matches(header), "{header}");
        }
        for header in ["", "\"\"", "\"*\"", "\"", &bare[1..], &quoted[1..], "x,y"] {
            assert!(!etag.matches(header), "{header}");
        }
        assert_eq!(ETag::from_text(&bare), etag);
        assert_eq!(ETag::from_text(&quoted), etag);
    }

    #[test]
    fn random_etags_differ() {
        let env = Env::fixed(1, 0);
        assert_ne!(ETag::random(&env), ETag::random(&env));
    }
}
