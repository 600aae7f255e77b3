//! Cosmos binary JSON: the compact form in which some SDKs send item bodies.
//!
//! The Rust SDK sends it by default and .NET when asked, told apart from text by the first byte,
//! [`PREAMBLE`], with which no UTF-8 text can begin. [`to_text`] turns such a body into JSON text, so
//! that everything behind it sees one form; [`from_text`] does the opposite for clients that ask for such answers.
//!
//! A value is one marker byte and what the marker calls for; all integers are little-endian:
//!
//! | marker | value |
//! |---|---|
//! | `00..20` | the integer itself |
//! | `20..C7` | a string, see `strings.rs` |
//! | `C7..D0`, `D7..DD` | a number |
//! | `D0`, `D1`, `D2` | null, false, true |
//! | `E0..E8` / `E8..F0` | an array / object: empty, single, or with length (and count) of 1, 2 or 4 bytes |
//! | `F0..F4` | an array of bare numbers of one type, or of such arrays |

mod cursor;
mod encode;
mod strings;

use cursor::Cursor;
pub use encode::{Encoder, Open, from_text};

use super::{DEPTH_MAX, Number, write_string};

/// The first byte of every binary body.
pub const PREAMBLE: u8 = 0x80;

/// Limit: text that one body may become. References let a few bytes stand for a long string again and
/// again; no item may be larger than 2 MiB, so anything past this is an attack or a mistake.
pub const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Why a binary body is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BinaryError {
    /// The body ends inside a value.
    #[error("binary JSON ends too early")]
    Truncated,
    /// A byte that starts no value, or none that belongs here.
    #[error("binary JSON has an unknown marker {0:#04x}")]
    Marker(u8),
    /// Lengths or counts that contradict the bytes.
    #[error("binary JSON has a length that does not fit")]
    Length,
    /// A string that is not UTF-8.
    #[error("binary JSON has a string that is not UTF-8")]
    Utf8,
    /// A number without a JSON form.
    #[error("binary JSON has a number that is not finite")]
    NotFinite,
    /// Nesting beyond [`DEPTH_MAX`].
    #[error("binary JSON is nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// Text beyond [`TEXT_BYTES_MAX`].
    #[error("binary JSON expands to more than {TEXT_BYTES_MAX} bytes")]
    TooLarge,
}

/// Whether a body is binary JSON rather than text.
pub fn is_binary(body: &[u8]) -> bool {
    body.first() == Some(&PREAMBLE)
}

/// Rewrites a binary body as JSON text.
///
/// # Errors
/// When the body is malformed, too deep, or would become longer than [`TEXT_BYTES_MAX`].
pub fn to_text(body: &[u8]) -> Result<Vec<u8>, BinaryError> {
    let mut writer = Writer { cursor: Cursor::new(body), text: Vec::with_capacity(body.len() * 2) };
    if writer.cursor.byte()? != PREAMBLE {
        return Err(BinaryError::Marker(body.first().copied().unwrap_or_default()));
    }
    writer.value(0)?;
    if writer.cursor.is_at_end() { Ok(writer.text) } else { Err(BinaryError::Length) }
}

struct Writer<'a> {
    cursor: Cursor<'a>,
    text: Vec<u8>,
}

impl Writer<'_> {
    fn value(&mut self, depth: usize) -> Result<(), BinaryError> {
        if depth > DEPTH_MAX {
            return Err(BinaryError::TooDeep);
        }
        if self.text.len() > TEXT_BYTES_MAX {
            return Err(BinaryError::TooLarge);
        }
        let marker = self.cursor.byte()?;
        match marker {
            0x00..=0x1F => self.number(&Number::from_i64(i64::from(marker))),
            0x20..=0xC6 => self.string(marker)?,
            0xC7..=0xCE | 0xD7..=0xDC => {
                let number = bare_number(&mut self.cursor, marker)?;
                self.number(&number);
            }
            0xD0 => self.text.extend_from_slice(b"null"),
            0xD1 => self.text.extend_from_slice(b"false"),
            0xD2 => self.text.extend_from_slice(b"true"),
            0xD3 | 0xDD..=0xDF => {
                let text = strings::read_blob(&mut self.cursor, marker)?;
                write_string(&text, &mut self.text);
            }
            0xE0..=0xE7 => self.container(marker - 0xE0, Shape::Array, depth)?,
            0xE8..=0xEF => self.container(marker - 0xE8, Shape::Object, depth)?,
            0xF0..=0xF3 => self.number_arrays(marker)?,
            _ => return Err(BinaryError::Marker(marker)),
        }
        Ok(())
    }

    fn number(&mut self, number: &Number) {
        self.text.extend_from_slice(number.to_string().as_bytes());
    }

    fn string(&mut self, marker: u8) -> Result<(), BinaryError> {
        let text = strings::read(&mut self.cursor, marker)?;
        write_string(&text, &mut self.text);
        Ok(())
    }

    /// `form` is the marker's place among the eight of its kind: empty, single, three with a byte
    /// length, three with a byte length and a count.
    fn container(&mut self, form: u8, shape: Shape, depth: usize) -> Result<(), BinaryError> {
        let (open, close) = shape.brackets();
        self.text.push(open);
        match form {
            0 => {}
            1 => self.member(shape, depth)?,
            _ => {
                let width = 1_usize << ((form - 2) % 3);
                let n_bytes = self.cursor.length(width)?;
                let n_members = if form >= 5 { Some(self.cursor.length(width)?) } else { None };
                self.members(shape, n_bytes, n_members, depth)?;
            }
        }
        self.text.push(close);
        Ok(())
    }

    fn members(
        &mut self,
        shape: Shape,
        n_bytes: usize,
        n_members: Option<usize>,
        depth: usize,
    ) -> Result<(), BinaryError> {
        let end = self.cursor.end_of(n_bytes)?;
        let mut seen = 0;
        while self.cursor.position() < end {
            if seen > 0 {
                self.text.push(b',');
            }
            self.member(shape, depth)?;
            seen += 1;
        }
        let fits = self.cursor.position() == end && n_members.is_none_or(|count| count == seen);
        if fits { Ok(()) } else { Err(BinaryError::Length) }
    }

    fn member(&mut self, shape: Shape, depth: usize) -> Result<(), BinaryError> {
        if shape == Shape::Object {
            match self.cursor.byte()? {
                name @ 0x20..=0xC6 => self.string(name)?,
                other => return Err(BinaryError::Marker(other)),
            }
            self.text.push(b':');
        }
        self.value(depth + 1)
    }

    /// Arrays of bare numbers: `F0`/`F1` one array, `F2`/`F3` an array of arrays of equal length.
    fn number_arrays(&mut self, marker: u8) -> Result<(), BinaryError> {
        let width = if marker.is_multiple_of(2) { 1 } else { 2 };
        let is_nested = marker >= 0xF2;
        if is_nested {
            let inner = self.cursor.byte()?;
            if inner != marker - 2 {
                return Err(BinaryError::Marker(inner));
            }
        }
        let item = self.cursor.byte()?;
        let n_inner = self.cursor.length(width)?;
        if !is_nested {
            return self.number_array(item, n_inner);
        }
        let n_outer = self.cursor.length(width)?;
        self.text.push(b'[');
        for index in 0..n_outer {
            if index > 0 {
                self.text.push(b',');
            }
            self.number_array(item, n_inner)?;
        }
        self.text.push(b']');
        Ok(())
    }

    fn number_array(&mut self, item: u8, count: usize) -> Result<(), BinaryError> {
        if !matches!(item, 0xCD | 0xCE | 0xD7..=0xDC) {
            return Err(BinaryError::Marker(item));
        }
        self.text.push(b'[');
        for index in 0..count {
            if index > 0 {
                self.text.push(b',');
            }
            let number = bare_number(&mut self.cursor, item)?;
            self.number(&number);
        }
        self.text.push(b']');
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Array,
    Object,
}

impl Shape {
    fn brackets(self) -> (u8, u8) {
        match self {
            Self::Array => (b'[', b']'),
            Self::Object => (b'{', b'}'),
        }
    }
}

fn bare_number(cursor: &mut Cursor<'_>, marker: u8) -> Result<Number, BinaryError> {
    let integer = match marker {
        0xC7 => return Ok(Number::from_u64(u64::from_le_bytes(cursor.array()?))),
        0xCC | 0xCE => return finite(f64::from_le_bytes(cursor.array()?)),
        0xCD => return finite(f64::from(f32::from_le_bytes(cursor.array()?))),
        0xC8 | 0xD7 => i64::from(cursor.byte()?),
        0xC9 | 0xD9 => i64::from(i16::from_le_bytes(cursor.array()?)),
        0xCA | 0xDA => i64::from(i32::from_le_bytes(cursor.array()?)),
        0xCB | 0xDB => i64::from_le_bytes(cursor.array()?),
        0xD8 => i64::from(i8::from_le_bytes(cursor.array()?)),
        0xDC => i64::from(u32::from_le_bytes(cursor.array()?)),
        other => return Err(BinaryError::Marker(other)),
    };
    Ok(Number::from_i64(integer))
}

fn finite(double: f64) -> Result<Number, BinaryError> {
    Number::from_f64(double).ok_or(BinaryError::NotFinite)
}

#[cfg(test)]
mod tests;
