//! `BatchResult`: one result of a batch response.

#![deny(clippy::indexing_slicing)]

use account::BatchResult;
use bytes::Bytes;

use super::{
    Error, RESULT_SCHEMA,
    cursor::{Cursor, Path, SparseValue, code, put_binary, put_row_header, put_varuint},
    record_io,
};

/// Entries of the token table, the empty one included.
const N_TOKENS: u32 = 7;

/// One result, as read by a client.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultRow {
    pub status: i32,
    pub substatus: i32,
    pub etag: Option<String>,
    pub body: Option<Bytes>,
    pub retry_after_ms: Option<u32>,
    pub charge: Option<f64>,
}

/// Writes the body of a response.
pub fn encode_results(results: &[BatchResult]) -> Vec<u8> {
    let mut out = Vec::new();
    record_io::put_segment(&mut out);
    for result in results {
        record_io::put_record(&mut out, &encode(result));
    }
    out
}

fn encode(result: &BatchResult) -> Vec<u8> {
    let mut row = Vec::with_capacity(64 + result.body.as_ref().map_or(0, Bytes::len));
    put_row_header(&mut row, RESULT_SCHEMA);
    let etag = result.etag.as_ref().map(|etag| etag.as_str().as_bytes());
    let body = result.body.as_deref();
    row.push(0b11 | (u8::from(etag.is_some()) << 2) | (u8::from(body.is_some()) << 3));
    row.extend_from_slice(&i32::from(result.status.code).to_le_bytes());
    row.extend_from_slice(&result.status.sub.to_le_bytes());
    for bytes in [etag, body].into_iter().flatten() {
        put_binary(&mut row, bytes);
    }
    if let Some(wait_ms) = result.retry_after_ms {
        row.push(code::UINT32);
        put_varuint(&mut row, 5);
        row.extend_from_slice(&u32::try_from(wait_ms).unwrap_or(u32::MAX).to_le_bytes());
    }
    row.push(code::FLOAT64);
    put_varuint(&mut row, 6);
    let units = result.charge.as_f64();
    row.extend_from_slice(&units.to_le_bytes());
    row
}

/// Reads the body of a response, as the .NET SDK does.
pub fn decode_results(body: &Bytes) -> Result<Vec<ResultRow>, Error> {
    record_io::records(body, usize::MAX)?.iter().map(decode).collect()
}

fn decode(row: &Bytes) -> Result<ResultRow, Error> {
    let mut cursor = Cursor::new(row);
    match cursor.row_header()? {
        RESULT_SCHEMA => {}
        other => return Err(Error::Schema(other)),
    }
    let presence = cursor.byte()?;
    let mut result =
        ResultRow { status: cursor.int32()?, substatus: cursor.int32()?, ..ResultRow::default() };
    if presence & 0b100 != 0 {
        result.etag = Some(cursor.utf8()?);
    }
    if presence & 0b1000 != 0 {
        result.body = Some(cursor.binary()?);
    }
    while !cursor.is_at_end() {
        let column = cursor.sparse(N_TOKENS)?;
        match (column.path, column.value) {
            (Path::Token(5), SparseValue::UInt32(wait_ms)) => result.retry_after_ms = Some(wait_ms),
            (Path::Token(6), SparseValue::Float64(charge)) => result.charge = Some(charge),
            (_, _) => return Err(Error::Unsupported("of that name")),
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use model::{Charge, ETag, Status};

    use super::*;

    #[test]
    fn a_result_has_the_documented_bytes() {
        let result = BatchResult {
            status: Status::CREATED,
            charge: Charge::from_hundredths(100),
            etag: None,
            body: None,
            retry_after_ms: None,
        };
        #[rustfmt::skip]
        let expected = [
            0x81, 0x71, 0x54, 0xE1, 0x7F, 0x03, 0xC9, 0, 0, 0, 0, 0, 0, 0,
            0x10, 0x06, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F,
        ];
        assert_eq!(encode(&result), expected);
    }

    #[test]
    fn results_read_back() {
        let etag = ETag::from_lsn(model::Lsn(7), 1);
        let result = BatchResult {
            status: Status::TOO_MANY_REQUESTS,
            charge: Charge::from_hundredths(571),
            etag: Some(etag.clone()),
            body: Some(Bytes::from(vec![b'x'; 300])),
            retry_after_ms: Some(42),
        };
        let bytes = Bytes::from(encode_results(&[result]));
        let expected = ResultRow {
            status: 429,
            substatus: 3200,
            etag: Some(etag.as_str().to_owned()),
            body: Some(Bytes::from(vec![b'x'; 300])),
            retry_after_ms: Some(42),
            charge: Some(5.71),
        };
        assert_eq!(decode_results(&bytes).unwrap(), [expected]);
    }
}
