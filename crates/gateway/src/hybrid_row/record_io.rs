//! The framing: a segment, then records with length and checksum.

#![deny(clippy::indexing_slicing)]

use bytes::Bytes;

use super::{
    Error, RECORD_SCHEMA, SEGMENT_SCHEMA,
    cursor::{Cursor, put_row_header},
};

/// Smallest segment row: header, presence byte and its own length.
const SEGMENT_BYTES: usize = 10;

/// Splits a stream into the bytes of its first records, checksums verified.
pub(super) fn records(stream: &Bytes, n_records_max: usize) -> Result<Vec<Bytes>, Error> {
    let mut cursor = Cursor::new(stream);
    let mut records = Vec::new();
    while !cursor.is_at_end() {
        let start = cursor.position();
        match cursor.row_header()? {
            SEGMENT_SCHEMA => skip_segment(&mut cursor, start)?,
            RECORD_SCHEMA => {
                if records.len() == n_records_max {
                    break;
                }
                records.push(record(&mut cursor)?);
            }
            other => return Err(Error::Schema(other)),
        }
    }
    Ok(records)
}

/// Skips what a segment may say about itself; its length covers the optional columns.
fn skip_segment(cursor: &mut Cursor<'_>, start: usize) -> Result<(), Error> {
    let presence = cursor.byte()?;
    let length = cursor.length()?;
    if presence & 1 == 0 || length < SEGMENT_BYTES {
        return Err(Error::Length);
    }
    cursor.seek(start.checked_add(length).ok_or(Error::Length)?)
}

fn record(cursor: &mut Cursor<'_>) -> Result<Bytes, Error> {
    let length = cursor.length()?;
    let expected = cursor.uint32()?;
    let body = cursor.take(length)?;
    if crc32fast::hash(&body) == expected { Ok(body) } else { Err(Error::Checksum) }
}

/// Starts a stream.
pub(super) fn put_segment(out: &mut Vec<u8>) {
    put_row_header(out, SEGMENT_SCHEMA);
    out.push(0x01);
    out.extend_from_slice(&10_i32.to_le_bytes());
}

/// Appends one record.
pub(super) fn put_record(out: &mut Vec<u8>, body: &[u8]) {
    put_row_header(out, RECORD_SCHEMA);
    // Limit: a record is a part of a body or page, far below 2 GiB.
    let length = i32::try_from(body.len()).unwrap_or(i32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(bodies: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        put_segment(&mut out);
        for body in bodies {
            put_record(&mut out, body);
        }
        out
    }

    #[test]
    fn the_framing_has_the_documented_bytes() {
        let out = stream(&[b"x"]);
        let segment = [0x81, 0xF0, 0xD8, 0xFF, 0x7F, 0x01, 0x0A, 0, 0, 0];
        assert_eq!(out[..10], segment);
        assert_eq!(out[10..19], [0x81, 0xF1, 0xD8, 0xFF, 0x7F, 1, 0, 0, 0]);
        assert_eq!(out[19..23], 0x8CDC_1683_u32.to_le_bytes());
    }

    #[test]
    fn records_read_back() {
        let out = Bytes::from(stream(&[b"one", b"", b"three"]));
        let read = records(&out, 3).unwrap();
        assert_eq!(read, [&b"one"[..], b"", b"three"]);
        assert_eq!(records(&out, 2).unwrap(), [&b"one"[..], b""]);
    }

    #[test]
    fn a_segment_may_be_longer_than_its_length_column() {
        let mut out = stream(&[]);
        out[6] = 13;
        out.extend_from_slice(b"abc");
        put_record(&mut out, b"x");
        assert_eq!(records(&Bytes::from(out), 9).unwrap(), [&b"x"[..]]);
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let good = stream(&[b"hello", b"world"]);
        // The presence byte of the segment (5) may announce columns that its length covers.
        for index in (0..good.len()).filter(|index| *index != 5) {
            let mut bad = good.clone();
            bad[index] ^= 0x10;
            let read = records(&Bytes::from(bad), 9);
            assert_ne!(read.ok(), records(&Bytes::from(good.clone()), 9).ok(), "byte {index}");
            let cut = Bytes::copy_from_slice(&good[..index]);
            // A cut between records gives fewer of them, never damaged ones.
            if let Ok(read) = records(&cut, 9) {
                assert!(read.len() < 2, "cut at {index}");
            }
        }
    }
}
