//! Byte scanners for strings and numbers.
//!
//! Hot path: every byte of every item goes through here. No allocation, no decoding.

#![deny(clippy::indexing_slicing)]

use super::error::JsonFault;

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// Finds the closing quote of a string, from its first escape on.
#[cold]
pub(super) fn string_end(bytes: &[u8], first_escape: usize) -> Result<usize, (JsonFault, usize)> {
    let mut at = first_escape;
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at),
            Some(b'\\') => at += escape_length(bytes, at)?,
            Some(_) => return Err((JsonFault::String, at)),
            None => return Err((JsonFault::End, at)),
        }
        at += plain_length(bytes.get(at..).unwrap_or_default());
    }
}

/// Counts the bytes before the first quote, backslash or control character.
#[inline]
pub fn plain_length(bytes: &[u8]) -> usize {
    // Short strings are the rule and end in the first words.
    const SHORT: usize = 16;
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let stops = special_bytes(u64::from_le_bytes(*word));
        if stops != 0 {
            return at + stops.trailing_zeros() as usize / 8;
        }
        at += 8;
        if at == SHORT {
            at += plain_blocks_length(bytes.get(SHORT..).unwrap_or_default());
        }
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len())
}

/// Counts the bytes in whole blocks without special bytes. Written so that a block is a few vector
/// instructions: no branch before all its bytes are seen.
fn plain_blocks_length(bytes: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let has_special =
        |block: &[u8; BLOCK]| block.iter().fold(false, |any, &byte| any | is_special(byte));
    blocks.iter().position(has_special).unwrap_or(blocks.len()) * BLOCK
}

#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "a branch per byte would keep out vectors")]
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
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

/// Where a number ends, and whether it could be too large for a double.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberEnd {
    /// Index of the byte after it.
    pub(super) at: usize,
    /// Only long numbers and those with an exponent can overflow; the others need no look.
    pub(super) may_overflow: bool,
}

/// Finds the end of the number that starts at `start`, by the grammar of JSON.
#[inline]
pub(super) fn number_end(bytes: &[u8], start: usize) -> Result<NumberEnd, (JsonFault, usize)> {
    const BYTES_SAFE: usize = 300;
    let mut at = start + usize::from(bytes.get(start) == Some(&b'-'));
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        _ => digits_end(bytes, at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits_end(bytes, at + 1)?;
    }
    let has_exponent = matches!(bytes.get(at), Some(b'e' | b'E'));
    if has_exponent {
        let has_sign = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
        at = digits_end(bytes, at + 1 + usize::from(has_sign))?;
    }
    match bytes.get(at) {
        // `01`, `1.2.3` and `-0a` are one bad token, not two.
        Some(byte) if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-') => {
            Err((JsonFault::Number, at))
        }
        _ => Ok(NumberEnd { at, may_overflow: has_exponent || at - start > BYTES_SAFE }),
    }
}

#[inline]
fn digits_end(bytes: &[u8], start: usize) -> Result<usize, (JsonFault, usize)> {
    let mut at = start;
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    match bytes.get(at) {
        _ if at > start => Ok(at),
        Some(_) => Err((JsonFault::Number, at)),
        None => Err((JsonFault::End, at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stopping_byte_is_found_at_every_offset() {
        for stop in (0..0x20).chain([b'"', b'\\']) {
            for offset in 0..120 {
                let mut bytes = vec![0xFF_u8; 130];
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
            for length in [1, 7, 8, 9, 16, 31, 47, 48, 49, 100] {
                assert_eq!(plain_length(&vec![byte; length]), length, "{byte:#x}");
            }
        }
    }

    #[test]
    fn numbers_end_where_the_grammar_says() {
        for good in ["0", "-0", "10", "1.5", "1e5", "1E+5", "1.25e-7", "-12.0"] {
            let text = format!("{good},");
            let end = number_end(text.as_bytes(), 0).unwrap();
            assert_eq!(end.at, good.len(), "{good}");
            assert_eq!(end.may_overflow, good.contains(['e', 'E']), "{good}");
            assert_eq!(number_end(good.as_bytes(), 0), Ok(end), "{good}");
        }
        for bad in
            ["-", "01", "-01", "1.", ".5", "1e", "1e+", "+1", "1.2.3", "1a", "0x1", "--1", "1e5.0"]
        {
            assert!(number_end(bad.as_bytes(), 0).is_err(), "{bad}");
        }
    }
}
