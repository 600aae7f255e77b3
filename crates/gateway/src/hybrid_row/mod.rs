//! Batches in `HybridRow`: the binary rows that the .NET SDK sends and requires back.
//!
//! A body is a `RecordIO` stream: one segment row, then per record a header row (length and CRC-32)
//! and the row itself. A row is `0x81`, a schema id, a presence byte, fixed columns, present variable
//! columns and sparse columns. Everything is little-endian.
//!
//! ```text
//! 81 F0D8FF7F 01 0A000000            segment, 10 bytes long
//! 81 F1D8FF7F <len i32> <crc u32>    record header
//! 81 7054E17F <presence> …           BatchOperation (requests) or 81 7154E17F … BatchResult
//! ```
//!
//! Invariant: decoding never reads past the body, never allocates more than it holds, never panics.

mod cursor;
mod operation;
mod record_io;
mod result;

use bytes::Bytes;
use model::{Failure, Status};

pub use self::{
    operation::{Operation, decode_operations, encode_operations},
    result::{ResultRow, decode_results, encode_results},
};

/// The first byte of every body in this form.
pub const VERSION: u8 = 0x81;

const SEGMENT_SCHEMA: i32 = 2_147_473_648;
const RECORD_SCHEMA: i32 = 2_147_473_649;
const OPERATION_SCHEMA: i32 = 2_145_473_648;
const RESULT_SCHEMA: i32 = 2_145_473_649;

/// Why bytes are not a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the batch ends early")]
    Truncated,
    #[error("byte {0:#04x} is not the start of a row")]
    NotARow(u8),
    #[error("schema {0} does not belong into a batch")]
    Schema(i32),
    #[error("a length in the batch is impossible")]
    Length,
    #[error("a record of the batch is damaged (checksum)")]
    Checksum,
    #[error("a text in the batch is not UTF-8")]
    Utf8,
    #[error("type {0} of a sparse column is unknown")]
    Type(u8),
    #[error("column {0} is missing")]
    Missing(&'static str),
    #[error("column {0} is not supported")]
    Unsupported(&'static str),
    #[error("column {0} has the wrong type")]
    Column(&'static str),
}

impl Failure for Error {
    fn status(&self) -> Status {
        Status::BAD_REQUEST
    }
}

/// Says whether a body is in this form.
pub fn is_hybrid_row(body: &Bytes) -> bool {
    body.first() == Some(&VERSION)
}
