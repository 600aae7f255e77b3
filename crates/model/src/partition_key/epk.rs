//! A place in the hash space.

use std::{fmt, str::FromStr};

use crate::{Failure, Status};

/// Limit: bytes of one effective partition key. The longest real ones are those of three old-style
/// strings, some 310 bytes.
const EPK_BYTES_MAX: usize = 1024;

/// Width of one hashed component.
pub(super) const HASH_BYTES: usize = 16;

/// The effective partition key: where a partition key falls in the hash space.
///
/// Byte order is routing order. The empty key is the lowest; `FF` lies above every real one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epk(Vec<u8>);

/// A text that is not an effective partition key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an effective partition key is an even number of hex digits, at most 2048")]
pub struct EpkError;

impl Failure for EpkError {
    fn status(&self) -> Status {
        Status::BAD_REQUEST
    }
}

impl Epk {
    /// The lowest key.
    pub const MIN: Epk = Epk(Vec::new());

    /// Returns the end of the hash space, above every real key.
    pub fn max() -> Epk {
        Epk(vec![0xFF])
    }

    /// Takes the bytes of a key.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Epk {
        Epk(bytes.into())
    }

    /// Parses the wire form: hex digits in pairs, of either case; empty for the lowest key.
    pub fn parse(hex: &str) -> Result<Epk, EpkError> {
        if hex.len() > 2 * EPK_BYTES_MAX || !hex.len().is_multiple_of(2) {
            return Err(EpkError);
        }
        let (pairs, _) = hex.as_bytes().as_chunks::<2>();
        pairs.iter().copied().map(parse_pair).collect::<Option<_>>().map(Epk).ok_or(EpkError)
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the key without trailing components that are all zero.
    ///
    /// Wire: some services and SDKs pad the bounds of hierarchical containers to full width and
    /// mean the same place. Apply this to bounds that come from a client before comparing them.
    #[must_use]
    pub fn without_padding(&self) -> Epk {
        let mut bytes = self.0.as_slice();
        while let Some((rest, last)) = bytes.split_last_chunk::<HASH_BYTES>() {
            if rest.is_empty() || *last != [0; HASH_BYTES] {
                break;
            }
            bytes = rest;
        }
        Epk(bytes.to_vec())
    }

    /// Returns the end of the range that holds exactly this key and its extensions.
    ///
    /// The number that the bytes spell plus one; `00` for the lowest key.
    #[must_use]
    pub fn successor(&self) -> Epk {
        let mut bytes = self.0.clone();
        // A trailing FF has no successor of its width: the byte before it moves instead.
        while bytes.last() == Some(&0xFF) {
            bytes.pop();
        }
        match bytes.last_mut() {
            Some(last) => *last += 1,
            None if self.0.is_empty() => bytes.push(0),
            None => bytes = [&self.0[..], &[0]].concat(),
        }
        Epk(bytes)
    }

    /// Returns the end of the range of all keys that begin with this one: `FF` appended, which is
    /// above every hashed component.
    pub(super) fn prefix_end(&self) -> Epk {
        Epk([&self.0[..], &[0xFF]].concat())
    }
}

impl fmt::Display for Epk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

impl fmt::Debug for Epk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Epk({self})")
    }
}

impl FromStr for Epk {
    type Err = EpkError;

    fn from_str(hex: &str) -> Result<Epk, EpkError> {
        Epk::parse(hex)
    }
}

fn parse_pair([high, low]: [u8; 2]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epk(hex: &str) -> Epk {
        Epk::parse(hex).unwrap()
    }

    #[test]
    fn hex_reads_back_in_upper_case() {
        assert_eq!(epk("").to_string(), "");
        assert_eq!(epk("05c1eF").to_string(), "05C1EF");
        assert_eq!(Epk::MIN, epk(""));
        assert_eq!(Epk::max(), epk("FF"));
        let long = "00".repeat(EPK_BYTES_MAX + 1);
        for bad in ["0", "0G", "é", "+1", " 1", "0x", &long] {
            assert_eq!(Epk::parse(bad), Err(EpkError), "{bad:.10}");
        }
    }

    #[test]
    fn byte_order_is_routing_order() {
        let keys = ["", "00", "0000", "05C1", "05C1DF", "1F", "3FFF", "FF"].map(epk);
        assert!(keys.is_sorted());
    }

    #[test]
    fn the_successor_is_the_next_number_of_the_same_width() {
        #[rustfmt::skip]
        let table = [
            ("", "00"), ("00", "01"), ("0A0B", "0A0C"), ("0AFF", "0B"), ("0AFFFF", "0B"), ("FF", "FF00"), ("FFFF", "FFFF00"),
            ("3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "40"),
        ];
        for (key, next) in table {
            assert_eq!(epk(key).successor(), epk(next), "{key}");
        }
    }

    #[test]
    fn padding_is_whole_zero_components_after_the_first() {
        let (zero, one) = ("00".repeat(16), "1F".repeat(16));
        let table = [
            (format!("{one}{zero}{zero}"), one.clone()),
            (format!("{one}{zero}{one}"), format!("{one}{zero}{one}")),
            (zero.clone(), zero.clone()),
            (format!("{zero}{zero}"), zero.clone()),
            ("05C1D529E345DC00".to_owned(), "05C1D529E345DC00".to_owned()),
        ];
        for (key, expected) in table {
            assert_eq!(epk(&key).without_padding(), epk(&expected), "{key}");
        }
    }
}
