//! Byte scanners for strings and numbers.
//!
//! Hot path: every byte of every item goes through here. No allocation, no decoding.

use super::error::JsonFault;

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// Where a string ends, and whether it has escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StringEnd {
    /// Index of the closing quote.
    pub(super) quote: usize,
    pub(super) has_escapes: bool,
}

/// Finds the closing quote of the string whose first character is at `start`.
#[inline]
pub(super) fn string_end(bytes: &[u8], start: usize) -> Result<StringEnd, (JsonFault, usize)> {
    let mut at = start;
    let mut has_escapes = false;
    loop {
        at += plain_length(bytes.get(at..).unwrap_or_default());
        match bytes.get(at) {
            Some(b'"') => return Ok(StringEnd { quote: at, has_escapes }),
            Some(b'\\') => {
                has_escapes = true;
                at += escape_length(bytes, at)?;
            }
            Some(_) => return Err((JsonFault::String, at)),
            None => return Err((JsonFault::End, at)),
        }
    }
}

/// Counts the bytes before the first quote, backslash or control character.
#[inline]
fn plain_length(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let stops = special_bytes(u64::from_le_bytes(*word));
        if stops != 0 {
            return index * 8 + stops.trailing_zeros() as usize / 8;
        }
    }
    let is_special = |&byte: &u8| byte == b'"' || byte == b'\\' || byte < 0x20;
    words.len() * 8 + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// Marks quotes, backslashes and control characters in eight bytes at once, by the top bit of each.
///
/// The borrow of a subtraction can mark bytes *above* a true mark falsely; only the lowest mark is
/// used, and that one is true.
#[inline]
fn special_bytes(word: u64) -> u64 {
    let quotes = word ^ (ONES * 0x22);
    let backslashes = word ^ (ONES * 0x5C);
    let is_zero = |w: u64| w.wrapping_sub(ONES) & !w;
    let is_control = word.wrapping_sub(ONES * 0x20) & !word;
    (is_zero(quotes) | is_zero(backslashes) | is_control) & TOPS
}

fn escape_length(bytes: &[u8], at: usize) -> Result<usize, (JsonFault, usize)> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
        Some(b'u') => {
            for index in at + 2..at + 6 {
                match bytes.get(index) {
                    Some(byte) if byte.is_ascii_hexdigit() => {}
                    Some(_) => return Err((JsonFault::String, index)),
                    None => return Err((JsonFault::End, index)),
                }
            }
            Ok(6)
        }
        Some(_) => Err((JsonFault::String, at + 1)),
        None => Err((JsonFault::End, at + 1)),
    }
}

/// Finds the end of the number that starts at `start`, by the grammar of JSON.
#[inline]
pub(super) fn number_end(bytes: &[u8], start: usize) -> Result<usize, (JsonFault, usize)> {
    let mut at = start + usize::from(bytes.get(start) == Some(&b'-'));
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        _ => digits_end(bytes, at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits_end(bytes, at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let has_sign = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
        at = digits_end(bytes, at + 1 + usize::from(has_sign))?;
    }
    match bytes.get(at) {
        // `01`, `1.2.3` and `-0a` are one bad token, not two.
        Some(byte) if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-') => {
            Err((JsonFault::Number, at))
        }
        _ => Ok(at),
    }
}

#[inline]
fn digits_end(bytes: &[u8], start: usize) -> Result<usize, (JsonFault, usize)> {
    let digits = bytes.get(start..).unwrap_or_default();
    let length = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    match (length, digits.first()) {
        (0, None) => Err((JsonFault::End, start)),
        (0, Some(_)) => Err((JsonFault::Number, start)),
        _ => Ok(start + length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stopping_byte_is_found_at_every_offset() {
        for stop in (0..0x20).chain([b'"', b'\\']) {
            for offset in 0..40 {
                let mut bytes = vec![0xFF_u8; 48];
                bytes[offset] = stop;
                assert_eq!(plain_length(&bytes), offset, "{stop:#x} at {offset}");
                bytes[offset + 1] = b'"';
                assert_eq!(plain_length(&bytes), offset, "{stop:#x} at {offset} with a follower");
            }
        }
    }

    #[test]
    fn no_other_byte_stops() {
        for byte in (0x20..=0xFF_u8).filter(|byte| !matches!(byte, b'"' | b'\\')) {
            for length in [1, 7, 8, 9, 16, 31] {
                assert_eq!(plain_length(&vec![byte; length]), length, "{byte:#x}");
            }
        }
    }

    #[test]
    fn numbers_end_where_the_grammar_says() {
        for good in ["0", "-0", "10", "1.5", "1e5", "1E+5", "1.25e-7", "-12.0"] {
            let text = format!("{good},");
            assert_eq!(number_end(text.as_bytes(), 0), Ok(good.len()), "{good}");
            assert_eq!(number_end(good.as_bytes(), 0), Ok(good.len()), "{good}");
        }
        for bad in
            ["-", "01", "-01", "1.", ".5", "1e", "1e+", "+1", "1.2.3", "1a", "0x1", "--1", "1e5.0"]
        {
            assert!(number_end(bad.as_bytes(), 0).is_err(), "{bad}");
        }
    }
}
