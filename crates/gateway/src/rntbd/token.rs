//! Tokens: a two-byte id, a type byte and a value, little-endian, one behind the other.
//!
//! Wire: ids that nobody knows are skipped by their type byte, because new SDKs add tokens.

#![deny(clippy::indexing_slicing)]

use bytes::{BufMut, BytesMut};

/// A decoded value. Strings and bytes of all three lengths look alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TokenValue<'a> {
    Byte(u8),
    Unsigned(u64),
    Signed(i64),
    Guid([u8; 16]),
    Text(&'a str),
    Bytes(&'a [u8]),
    Real(f64),
}

/// Why the tokens of a frame cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("a token ends early")]
    Truncated,
    #[error("the token type {0:#04x} is unknown")]
    UnknownType(u8),
    #[error("a string is not UTF-8")]
    NotUtf8,
}

/// The tokens of one frame, in the order in which they stand.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Tokens<'a> {
        Tokens { rest: bytes }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], TokenError> {
        let (first, rest) = self.rest.split_first_chunk::<N>().ok_or(TokenError::Truncated)?;
        self.rest = rest;
        Ok(*first)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], TokenError> {
        let (first, rest) = self.rest.split_at_checked(length).ok_or(TokenError::Truncated)?;
        self.rest = rest;
        Ok(first)
    }

    /// A length of one, two or four bytes, then as many bytes.
    fn sized(&mut self, width: u8) -> Result<&'a [u8], TokenError> {
        let length = match width {
            1 => u32::from(u8::from_le_bytes(self.take()?)),
            2 => u32::from(u16::from_le_bytes(self.take()?)),
            _ => u32::from_le_bytes(self.take()?),
        };
        self.slice(usize::try_from(length).map_err(|_| TokenError::Truncated)?)
    }

    fn text(&mut self, width: u8) -> Result<TokenValue<'a>, TokenError> {
        let bytes = self.sized(width)?;
        std::str::from_utf8(bytes).map(TokenValue::Text).map_err(|_| TokenError::NotUtf8)
    }

    fn token(&mut self) -> Result<(u16, TokenValue<'a>), TokenError> {
        let id = u16::from_le_bytes(self.take()?);
        let [kind] = self.take()?;
        let value = match kind {
            0x00 => TokenValue::Byte(u8::from_le_bytes(self.take()?)),
            0x01 => TokenValue::Unsigned(u16::from_le_bytes(self.take()?).into()),
            0x02 => TokenValue::Unsigned(u32::from_le_bytes(self.take()?).into()),
            0x03 => TokenValue::Signed(i32::from_le_bytes(self.take()?).into()),
            0x04 => TokenValue::Unsigned(u64::from_le_bytes(self.take()?)),
            0x05 => TokenValue::Signed(i64::from_le_bytes(self.take()?)),
            0x06 => TokenValue::Guid(self.take()?),
            0x07 => self.text(1)?,
            0x08 => self.text(2)?,
            0x09 => self.text(4)?,
            0x0A => TokenValue::Bytes(self.sized(1)?),
            0x0B => TokenValue::Bytes(self.sized(2)?),
            0x0C => TokenValue::Bytes(self.sized(4)?),
            0x0D => TokenValue::Real(f32::from_le_bytes(self.take()?).into()),
            0x0E => TokenValue::Real(f64::from_le_bytes(self.take()?)),
            other => return Err(TokenError::UnknownType(other)),
        };
        Ok((id, value))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Result<(u16, TokenValue<'a>), TokenError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let token = self.token();
        if token.is_err() {
            self.rest = &[];
        }
        Some(token)
    }
}

/// Writes tokens behind one another.
#[derive(Debug)]
pub(crate) struct TokenWriter<'a> {
    out: &'a mut BytesMut,
}

impl<'a> TokenWriter<'a> {
    pub(crate) fn new(out: &'a mut BytesMut) -> TokenWriter<'a> {
        TokenWriter { out }
    }

    fn head(&mut self, id: u16, kind: u8) {
        self.out.put_u16_le(id);
        self.out.put_u8(kind);
    }

    pub(crate) fn byte(&mut self, id: u16, value: u8) {
        self.head(id, 0x00);
        self.out.put_u8(value);
    }

    pub(crate) fn unsigned(&mut self, id: u16, value: u32) {
        self.head(id, 0x02);
        self.out.put_u32_le(value);
    }

    pub(crate) fn signed_long(&mut self, id: u16, value: i64) {
        self.head(id, 0x05);
        self.out.put_i64_le(value);
    }

    pub(crate) fn double(&mut self, id: u16, value: f64) {
        self.head(id, 0x0E);
        self.out.put_f64_le(value);
    }

    pub(crate) fn guid(&mut self, id: u16, value: [u8; 16]) {
        self.head(id, 0x06);
        self.out.put_slice(&value);
    }

    /// A string of up to 255 bytes; a longer one is left out.
    pub(crate) fn small_text(&mut self, id: u16, value: &[u8]) {
        if let Ok(length) = u8::try_from(value.len()) {
            self.head(id, 0x07);
            self.out.put_u8(length);
            self.out.put_slice(value);
        }
    }

    /// A string of up to 65,535 bytes; a longer one is left out.
    pub(crate) fn text(&mut self, id: u16, value: &[u8]) {
        if let Ok(length) = u16::try_from(value.len()) {
            self.head(id, 0x08);
            self.out.put_u16_le(length);
            self.out.put_slice(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Vec<Result<(u16, TokenValue<'_>), TokenError>> {
        Tokens::new(bytes).collect()
    }

    #[test]
    fn every_type_is_read() {
        #[rustfmt::skip]
        let table: [(&[u8], TokenValue<'_>); 15] = [
            (&[0x00, 7], TokenValue::Byte(7)),
            (&[0x01, 1, 2], TokenValue::Unsigned(0x0201)),
            (&[0x02, 1, 0, 0, 0], TokenValue::Unsigned(1)),
            (&[0x03, 0xFF, 0xFF, 0xFF, 0xFF], TokenValue::Signed(-1)),
            (&[0x04, 1, 0, 0, 0, 0, 0, 0, 0x80], TokenValue::Unsigned(0x8000_0000_0000_0001)),
            (&[0x05, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], TokenValue::Signed(-2)),
            (&[0x06, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
             TokenValue::Guid([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])),
            (&[0x07, 2, b'a', b'b'], TokenValue::Text("ab")),
            (&[0x08, 2, 0, 0xC3, 0xA9], TokenValue::Text("é")),
            (&[0x09, 1, 0, 0, 0, b'c'], TokenValue::Text("c")),
            (&[0x0A, 1, 9], TokenValue::Bytes(&[9])),
            (&[0x0B, 1, 0, 9], TokenValue::Bytes(&[9])),
            (&[0x0C, 1, 0, 0, 0, 9], TokenValue::Bytes(&[9])),
            (&[0x0D, 0, 0, 0x80, 0x3F], TokenValue::Real(1.0)),
            (&[0x0E, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F], TokenValue::Real(1.0)),
        ];
        for (bytes, expected) in table {
            let token = [&[0x34, 0x12], bytes].concat();
            assert_eq!(decoded(&token), [Ok((0x1234, expected))], "{bytes:?}");
            for end in 1..token.len() {
                let cut = token.get(..end).unwrap();
                assert_eq!(decoded(cut), [Err(TokenError::Truncated)], "{bytes:?} cut at {end}");
            }
        }
    }

    #[test]
    fn tokens_that_cannot_be_read_end_the_list() {
        assert_eq!(decoded(&[1, 0, 0x0F, 1, 2, 3]), [Err(TokenError::UnknownType(0x0F))]);
        assert_eq!(decoded(&[1, 0, 0xFF]), [Err(TokenError::UnknownType(0xFF))]);
        assert_eq!(decoded(&[1, 0, 0x07, 1, 0xFF]), [Err(TokenError::NotUtf8)]);
        assert_eq!(decoded(&[]), []);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut out = BytesMut::new();
        let mut tokens = TokenWriter::new(&mut out);
        tokens.byte(1, 2);
        tokens.unsigned(2, 0x0102_0304);
        tokens.signed_long(3, -5);
        tokens.double(4, 1.24);
        tokens.small_text(5, b"x");
        tokens.text(6, "é".as_bytes());
        tokens.guid(7, [3; 16]);
        tokens.small_text(8, &[b'x'; 256]);
        tokens.text(9, &vec![b'x'; 65_536]);
        let expected = [
            (1, TokenValue::Byte(2)),
            (2, TokenValue::Unsigned(0x0102_0304)),
            (3, TokenValue::Signed(-5)),
            (4, TokenValue::Real(1.24)),
            (5, TokenValue::Text("x")),
            (6, TokenValue::Text("é")),
            (7, TokenValue::Guid([3; 16])),
        ];
        assert_eq!(decoded(&out), expected.map(Ok));
    }
}
