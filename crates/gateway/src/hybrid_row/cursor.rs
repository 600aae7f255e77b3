//! Reading and writing the primitives of a row.

#![deny(clippy::indexing_slicing)]

use bytes::Bytes;

use super::{Error, VERSION};

/// A position in foreign bytes. Every read checks that the bytes are there.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    whole: &'a Bytes,
    rest: &'a [u8],
}

/// Type codes of sparse columns.
pub(super) mod code {
    pub(in super::super) const NULL: u8 = 1;
    pub(in super::super) const FALSE: u8 = 2;
    pub(in super::super) const TRUE: u8 = 3;
    pub(in super::super) const INT32: u8 = 7;
    pub(in super::super) const UINT32: u8 = 11;
    pub(in super::super) const FLOAT64: u8 = 16;
    pub(in super::super) const UTF8: u8 = 20;
    pub(in super::super) const BINARY: u8 = 21;
}

/// A sparse column: the name by token or in full, and its value.
#[derive(Debug, PartialEq)]
pub(super) struct Sparse {
    pub(super) path: Path,
    pub(super) value: SparseValue,
}

#[derive(Debug, PartialEq)]
pub(super) enum Path {
    Token(u32),
    Name(Bytes),
}

#[derive(Debug, PartialEq)]
pub(super) enum SparseValue {
    Null,
    Bool(bool),
    Int32(i32),
    UInt32(u32),
    Float64(f64),
    Utf8(String),
    Binary(Bytes),
}

impl<'a> Cursor<'a> {
    pub(super) fn new(whole: &'a Bytes) -> Cursor<'a> {
        Cursor { whole, rest: whole }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn position(&self) -> usize {
        self.whole.len() - self.rest.len()
    }

    pub(super) fn seek(&mut self, position: usize) -> Result<(), Error> {
        if position < self.position() {
            return Err(Error::Length);
        }
        self.rest = self.whole.get(position..).ok_or(Error::Truncated)?;
        Ok(())
    }

    pub(super) fn take(&mut self, n: usize) -> Result<Bytes, Error> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(self.whole.slice_ref(taken))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn int32(&mut self) -> Result<i32, Error> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn uint32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    /// A length that is stored as int32.
    pub(super) fn length(&mut self) -> Result<usize, Error> {
        usize::try_from(self.int32()?).map_err(|_| Error::Length)
    }

    /// Groups of seven bits, lowest first; the top bit says that more follow.
    pub(super) fn varuint(&mut self) -> Result<u32, Error> {
        let mut value = 0_u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| Error::Length);
            }
        }
        Err(Error::Length)
    }

    pub(super) fn binary(&mut self) -> Result<Bytes, Error> {
        let length = usize::try_from(self.varuint()?).map_err(|_| Error::Length)?;
        self.take(length)
    }

    pub(super) fn utf8(&mut self) -> Result<String, Error> {
        let bytes = self.binary()?;
        std::str::from_utf8(&bytes).map(str::to_owned).map_err(|_| Error::Utf8)
    }

    /// `0x81` and the schema id.
    pub(super) fn row_header(&mut self) -> Result<i32, Error> {
        match self.byte()? {
            VERSION => self.int32(),
            other => Err(Error::NotARow(other)),
        }
    }

    /// One sparse column of a schema whose token table has `n_tokens` entries.
    pub(super) fn sparse(&mut self, n_tokens: u32) -> Result<Sparse, Error> {
        let kind = self.byte()?;
        let token = self.varuint()?;
        let path = match token.checked_sub(n_tokens) {
            None => Path::Token(token),
            Some(length) => {
                Path::Name(self.take(usize::try_from(length).map_err(|_| Error::Length)?)?)
            }
        };
        let value = match kind {
            code::NULL => SparseValue::Null,
            code::FALSE => SparseValue::Bool(false),
            code::TRUE => SparseValue::Bool(true),
            code::INT32 => SparseValue::Int32(self.int32()?),
            code::UINT32 => SparseValue::UInt32(self.uint32()?),
            code::FLOAT64 => SparseValue::Float64(f64::from_le_bytes(self.array()?)),
            code::UTF8 => SparseValue::Utf8(self.utf8()?),
            code::BINARY => SparseValue::Binary(self.binary()?),
            other => return Err(Error::Type(other)),
        };
        Ok(Sparse { path, value })
    }
}

/// Writes the header of a row.
pub(super) fn put_row_header(out: &mut Vec<u8>, schema: i32) {
    out.push(VERSION);
    out.extend_from_slice(&schema.to_le_bytes());
}

pub(super) fn put_varuint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7F).unwrap_or(0x7F) | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or(0x7F));
}

/// Writes a variable column, or the payload of a sparse one.
pub(super) fn put_binary(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varuint(out, bytes.len());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varuints_read_back() {
        for value in [0_usize, 1, 127, 128, 300, 16_383, 16_384, 2_097_152, u32::MAX as usize] {
            let mut out = Vec::new();
            put_varuint(&mut out, value);
            let bytes = Bytes::from(out);
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(cursor.varuint().unwrap() as usize, value);
            assert!(cursor.is_at_end());
        }
    }

    #[test]
    fn endless_and_cut_varuints_are_refused() {
        for (bytes, expected) in [
            (&[0xFF; 10][..], Error::Length),
            (&[0xFF, 0xFF, 0xFF, 0xFF, 0x7F], Error::Length),
            (&[0x80], Error::Truncated),
            (&[], Error::Truncated),
        ] {
            let bytes = Bytes::copy_from_slice(bytes);
            assert_eq!(Cursor::new(&bytes).varuint(), Err(expected));
        }
    }

    #[test]
    fn sparse_columns_have_tokens_or_names() {
        let bytes = Bytes::from_static(&[0x03, 0x0C, 0x14, 0x0F, b'a', b'b', 0x01, b'x']);
        let mut cursor = Cursor::new(&bytes);
        let first = cursor.sparse(13).unwrap();
        assert_eq!(first, Sparse { path: Path::Token(12), value: SparseValue::Bool(true) });
        let second = cursor.sparse(13).unwrap();
        let path = Path::Name(Bytes::from_static(b"ab"));
        assert_eq!(second, Sparse { path, value: SparseValue::Utf8("x".to_owned()) });
    }
}
