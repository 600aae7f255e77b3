//! The string forms of binary JSON: dictionary, plain, packed, and references to earlier strings.
//!
//! | marker | form |
//! |---|---|
//! | `20..40` | one of 32 well-known names |
//! | `40..68` | a name from a dictionary that clients never send: refused |
//! | `71..75` | base64 text, kept as its bytes |
//! | `75..78` | a GUID in text: lower case, upper case, quoted |
//! | `78..7B` | two characters a byte, from a set of sixteen |
//! | `7B..80` | 4 to 7 bits a character |
//! | `80..C0` | UTF-8, the length in the marker |
//! | `C0..C3` | UTF-8 after a length of 1, 2 or 4 bytes |
//! | `C3..C7` | the offset, 1 to 4 bytes wide, of an earlier string |

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::BinaryError;
use super::cursor::Cursor;

/// Wire: the order is fixed by the format.
pub(super) const WELL_KNOWN: [&str; 32] = [
    "$s",
    "$t",
    "$v",
    "_attachments",
    "_etag",
    "_rid",
    "_self",
    "_ts",
    "attachments/",
    "coordinates",
    "geometry",
    "GeometryCollection",
    "id",
    "url",
    "Value",
    "label",
    "LineString",
    "link",
    "MultiLineString",
    "MultiPoint",
    "MultiPolygon",
    "name",
    "Name",
    "Type",
    "Point",
    "Polygon",
    "properties",
    "type",
    "value",
    "Feature",
    "FeatureCollection",
    "_id",
];

pub(super) const LOWER_HEX: &[u8; 16] = b"0123456789abcdef";
const UPPER_HEX: &[u8; 16] = b"0123456789ABCDEF";
const DATE_TIME: &[u8; 16] = b" 0123456789:-.TZ";

/// Reads the string that `marker` (already taken) announces.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>, marker: u8) -> Result<Cow<'a, str>, BinaryError> {
    match marker {
        0xC3..=0xC6 => {
            let target = cursor.length(usize::from(marker - 0xC2))?;
            let mut earlier = cursor.at(target);
            match earlier.byte()? {
                reference @ 0xC3..=0xC6 => Err(BinaryError::Marker(reference)),
                plain => read_plain(&mut earlier, plain),
            }
        }
        _ => read_plain(cursor, marker),
    }
}

fn read_plain<'a>(cursor: &mut Cursor<'a>, marker: u8) -> Result<Cow<'a, str>, BinaryError> {
    let owned = match marker {
        0x20..=0x3F => {
            return WELL_KNOWN
                .get(usize::from(marker - 0x20))
                .map(|name| Cow::Borrowed(*name))
                .ok_or(BinaryError::Marker(marker));
        }
        0x80..=0xBF => return utf8(cursor, usize::from(marker & 0x7F)),
        0xC0..=0xC2 => {
            let length = cursor.length(1 << (marker - 0xC0))?;
            return utf8(cursor, length);
        }
        0x71 => base64_text(cursor, 1, &STANDARD)?,
        0x72 => base64_text(cursor, 2, &STANDARD)?,
        0x73 => base64_text(cursor, 1, &URL_SAFE)?,
        0x74 => base64_text(cursor, 2, &URL_SAFE)?,
        0x75 => guid_text(cursor, LOWER_HEX)?,
        0x76 => guid_text(cursor, UPPER_HEX)?,
        0x77 => format!("\"{}\"", guid_text(cursor, LOWER_HEX)?),
        0x78 => pairs(cursor, LOWER_HEX)?,
        0x79 => pairs(cursor, UPPER_HEX)?,
        0x7A => pairs(cursor, DATE_TIME)?,
        0x7B..=0x7D => packed(cursor, u32::from(marker - 0x77), 1, true)?,
        0x7E => packed(cursor, 7, 1, false)?,
        0x7F => packed(cursor, 7, 2, false)?,
        other => return Err(BinaryError::Marker(other)),
    };
    Ok(Cow::Owned(owned))
}

/// A GUID value or bytes. JSON has neither, so they become the customary text.
pub(super) fn read_blob(cursor: &mut Cursor<'_>, marker: u8) -> Result<String, BinaryError> {
    if marker == 0xD3 {
        let mut guid: [u8; 16] = cursor.array()?;
        // Wire: the first three fields are little-endian integers.
        let (fields, _) = guid.split_at_mut(8);
        let (first, rest) = fields.split_at_mut(4);
        let (second, third) = rest.split_at_mut(2);
        first.reverse();
        second.reverse();
        third.reverse();
        let digits: Vec<u8> = guid.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
        return Ok(dashed(&digits, LOWER_HEX));
    }
    let length = cursor.length(1 << (marker - 0xDD))?;
    Ok(STANDARD.encode(cursor.bytes(length)?))
}

fn utf8<'a>(cursor: &mut Cursor<'a>, length: usize) -> Result<Cow<'a, str>, BinaryError> {
    let bytes = cursor.bytes(length)?;
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| BinaryError::Utf8)
}

/// Groups of four characters, then how the last group was padded: 0 to 2 signs written, or the
/// complement of that number when the text went without them.
fn base64_text(
    cursor: &mut Cursor<'_>,
    width: usize,
    engine: &impl base64::Engine,
) -> Result<String, BinaryError> {
    let n_characters = cursor.length(width)? * 4;
    let padding = cursor.byte()?;
    let (n_signs, n_dropped) = match padding {
        0..=2 => (usize::from(padding), 0),
        _ => (usize::from(!padding), usize::from(!padding)),
    };
    let n_encoded = n_characters.checked_sub(n_signs).ok_or(BinaryError::Length)?;
    let mut text = engine.encode(cursor.bytes(n_encoded * 3 / 4)?);
    let n_kept = n_characters - n_dropped;
    if n_kept > text.len() {
        return Err(BinaryError::Length);
    }
    text.truncate(n_kept);
    Ok(text)
}

/// Sixteen bytes of two digits each, low half first.
fn guid_text(cursor: &mut Cursor<'_>, set: &[u8; 16]) -> Result<String, BinaryError> {
    let bytes: [u8; 16] = cursor.array()?;
    let digits: Vec<u8> = bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect();
    Ok(dashed(&digits, set))
}

fn dashed(digits: &[u8], set: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, digit) in digits.iter().enumerate() {
        if matches!(index, 8 | 12 | 16 | 20) {
            text.push('-');
        }
        text.push(character(set, *digit));
    }
    text
}

fn pairs(cursor: &mut Cursor<'_>, set: &[u8; 16]) -> Result<String, BinaryError> {
    let length = cursor.length(1)?;
    let bytes = cursor.bytes(length.div_ceil(2))?;
    let text = bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]).take(length);
    if length % 2 == 1 && bytes.last().is_some_and(|byte| byte >> 4 != 0) {
        return Err(BinaryError::Length);
    }
    Ok(text.map(|digit| character(set, digit)).collect())
}

fn character(set: &[u8; 16], digit: u8) -> char {
    char::from(set.get(usize::from(digit & 15)).copied().unwrap_or_default())
}

/// Characters of `bits` bits each, lowest bits first, relative to a first character if `has_base`.
fn packed(
    cursor: &mut Cursor<'_>,
    bits: u32,
    width: usize,
    has_base: bool,
) -> Result<String, BinaryError> {
    let length = cursor.length(width)?;
    let base = if has_base { cursor.byte()? } else { 0 };
    let bytes = cursor.bytes((length * bits as usize).div_ceil(8))?;
    let mut text = String::with_capacity(length);
    let (mut window, mut n_bits) = (0_u32, 0);
    let mut source = bytes.iter();
    for _ in 0..length {
        if n_bits < bits {
            window |= u32::from(source.next().copied().unwrap_or_default()) << n_bits;
            n_bits += 8;
        }
        let [low, ..] = (window & ((1 << bits) - 1)).to_le_bytes();
        text.push(char::from(low.wrapping_add(base)));
        window >>= bits;
        n_bits -= bits;
    }
    Ok(text)
}
