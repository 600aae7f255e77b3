//! `BatchOperation`: one operation of a batch request.

#![deny(clippy::indexing_slicing)]

use bytes::Bytes;

use super::{
    Error, OPERATION_SCHEMA,
    cursor::{Cursor, Path, SparseValue, code, put_binary, put_row_header, put_varuint},
    record_io,
};

/// Entries of the token table, the empty one included.
const N_TOKENS: u32 = 13;

/// One operation, as written. `kind`: create 0, patch 1, read 2, delete 4, replace 5, upsert 20.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Operation {
    pub kind: i32,
    /// JSON text of the array.
    pub partition_key: Option<String>,
    pub id: Option<String>,
    pub body: Option<Bytes>,
    pub indexing_directive: Option<String>,
    pub if_match: Option<String>,
    pub if_none_match: Option<String>,
    pub minimal: Option<bool>,
}

/// Reads the operations of a request.
pub fn decode_operations(body: &Bytes, n_operations_max: usize) -> Result<Vec<Operation>, Error> {
    record_io::records(body, n_operations_max)?.iter().map(decode).collect()
}

fn decode(row: &Bytes) -> Result<Operation, Error> {
    let mut cursor = Cursor::new(row);
    match cursor.row_header()? {
        OPERATION_SCHEMA => {}
        other => return Err(Error::Schema(other)),
    }
    let presence = cursor.byte()?;
    let has = |bit: u8| presence & (1 << bit) != 0;
    let kind = cursor.int32()?;
    let _resource_type = cursor.int32()?;
    if !has(0) {
        return Err(Error::Missing("operationType"));
    }
    let mut operation = Operation { kind, ..Operation::default() };
    if has(2) {
        operation.partition_key = Some(cursor.utf8()?);
    }
    if has(3) {
        // Without the partition key itself we could not check it against the item.
        return Err(Error::Unsupported("effectivePartitionKey"));
    }
    if has(4) {
        operation.id = Some(cursor.utf8()?);
    }
    if has(5) {
        return Err(Error::Unsupported("binaryId"));
    }
    if has(6) {
        operation.body = Some(cursor.binary()?);
    }
    while !cursor.is_at_end() {
        sparse(&mut cursor, &mut operation)?;
    }
    Ok(operation)
}

fn sparse(cursor: &mut Cursor<'_>, operation: &mut Operation) -> Result<(), Error> {
    let column = cursor.sparse(N_TOKENS)?;
    let token = match &column.path {
        Path::Token(token) => *token,
        Path::Name(name) => token_of(name),
    };
    match (token, column.value) {
        (_, SparseValue::Null) => {}
        (8, SparseValue::Utf8(text)) => operation.indexing_directive = Some(text),
        (9, SparseValue::Utf8(text)) => operation.if_match = Some(text),
        (10, SparseValue::Utf8(text)) => operation.if_none_match = Some(text),
        (11, _) => return Err(Error::Unsupported("timeToLiveInSeconds")),
        (12, SparseValue::Bool(flag)) => operation.minimal = Some(flag),
        (8, _) => return Err(Error::Column("indexingDirective")),
        (9, _) => return Err(Error::Column("ifMatch")),
        (10, _) => return Err(Error::Column("ifNoneMatch")),
        (12, _) => return Err(Error::Column("minimalReturnPreference")),
        (_, _) => return Err(Error::Unsupported("of that name")),
    }
    Ok(())
}

/// Columns may also be written with their name in full.
fn token_of(name: &[u8]) -> u32 {
    match name {
        b"indexingDirective" => 8,
        b"ifMatch" => 9,
        b"ifNoneMatch" => 10,
        b"timeToLiveInSeconds" => 11,
        b"minimalReturnPreference" => 12,
        _ => 0,
    }
}

/// Writes a request as the .NET SDK does.
pub fn encode_operations(operations: &[Operation]) -> Vec<u8> {
    let mut out = Vec::new();
    record_io::put_segment(&mut out);
    for operation in operations {
        record_io::put_record(&mut out, &encode(operation));
    }
    out
}

fn encode(operation: &Operation) -> Vec<u8> {
    const DOCUMENT: i32 = 2;
    let mut row = Vec::new();
    put_row_header(&mut row, OPERATION_SCHEMA);
    let variable = [
        (2, operation.partition_key.as_ref().map(String::as_bytes)),
        (4, operation.id.as_ref().map(String::as_bytes)),
        (6, operation.body.as_deref()),
    ];
    let present = variable.iter().filter(|(_, bytes)| bytes.is_some());
    row.push(present.fold(0b11, |bits, (bit, _)| bits | (1 << bit)));
    row.extend_from_slice(&operation.kind.to_le_bytes());
    row.extend_from_slice(&DOCUMENT.to_le_bytes());
    for bytes in variable.iter().filter_map(|(_, bytes)| *bytes) {
        put_binary(&mut row, bytes);
    }
    let texts = [
        (8, &operation.indexing_directive),
        (9, &operation.if_match),
        (10, &operation.if_none_match),
    ];
    for (token, text) in texts {
        if let Some(text) = text {
            row.push(code::UTF8);
            put_varuint(&mut row, token);
            put_binary(&mut row, text.as_bytes());
        }
    }
    if let Some(minimal) = operation.minimal {
        row.push(if minimal { code::TRUE } else { code::FALSE });
        put_varuint(&mut row, 12);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Operation {
        Operation {
            kind: 20,
            partition_key: Some("[\"a\"]".to_owned()),
            id: Some("i".repeat(200)),
            body: Some(Bytes::from_static(b"{\"id\":\"i\"}")),
            indexing_directive: Some("Include".to_owned()),
            if_match: Some("\"e\"".to_owned()),
            if_none_match: Some("*".to_owned()),
            minimal: Some(true),
        }
    }

    #[test]
    fn operations_read_back() {
        let operations = [full(), Operation { kind: 2, ..Operation::default() }];
        let bytes = Bytes::from(encode_operations(&operations));
        assert_eq!(decode_operations(&bytes, 100).unwrap(), operations);
    }

    #[test]
    fn a_row_has_the_documented_bytes() {
        let operation =
            Operation { id: Some("x".to_owned()), minimal: Some(false), ..Operation::default() };
        #[rustfmt::skip]
        let expected = [
            0x81, 0x70, 0x54, 0xE1, 0x7F, 0b1_0011, 0, 0, 0, 0, 2, 0, 0, 0, 1, b'x', 2, 12,
        ];
        assert_eq!(encode(&operation), expected);
    }

    #[test]
    fn columns_that_would_be_lost_are_refused() {
        let good = encode(&full());
        for (bit, name) in [(3, "effectivePartitionKey"), (5, "binaryId")] {
            let mut bad = good.clone();
            bad[5] |= 1 << bit;
            assert_eq!(decode(&Bytes::from(bad)), Err(Error::Unsupported(name)));
        }
        let mut bad = good.clone();
        bad.extend_from_slice(&[code::INT32, 11, 60, 0, 0, 0]);
        assert_eq!(decode(&Bytes::from(bad)), Err(Error::Unsupported("timeToLiveInSeconds")));
        let mut bad = good;
        bad.extend_from_slice(&[code::TRUE, 9]);
        assert_eq!(decode(&Bytes::from(bad)), Err(Error::Column("ifMatch")));
    }

    #[test]
    fn columns_may_be_named_in_full() {
        let mut row = encode(&Operation::default());
        row.extend_from_slice(&[code::UTF8, 13 + 7]);
        row.extend_from_slice(b"ifMatch\x01e");
        assert_eq!(decode(&Bytes::from(row)).unwrap().if_match.as_deref(), Some("e"));
    }

    #[test]
    fn cut_rows_are_refused() {
        let good = encode(&full());
        let start_of_sparse = good.len() - 2;
        for length in 0..good.len() {
            let cut = decode(&Bytes::copy_from_slice(&good[..length]));
            if length < start_of_sparse - 30 {
                assert!(cut.is_err(), "cut at {length}");
            }
            assert_ne!(cut.ok(), Some(full()), "cut at {length}");
        }
    }
}
