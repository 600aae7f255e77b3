//! Store keys of the catalog. The catalog lives under incarnation 0, which no physical partition has.

use bytes::Bytes;
use store::KeyRange;

const INCARNATION: [u8; 8] = [0; 8];
const HEAD: u8 = b'h';
const RECORD: u8 = b'r';
const GARBAGE: u8 = b'g';

/// Counters and the account's secret.
pub(crate) fn head() -> Vec<u8> {
    family(HEAD)
}

pub(crate) fn record(number: u64) -> Vec<u8> {
    numbered(RECORD, number)
}

pub(crate) fn records() -> KeyRange {
    KeyRange::prefix(&family(RECORD))
}

/// Marks an incarnation whose bytes are to be removed.
pub(crate) fn garbage(incarnation: u64) -> Vec<u8> {
    numbered(GARBAGE, incarnation)
}

pub(crate) fn garbages() -> KeyRange {
    KeyRange::prefix(&family(GARBAGE))
}

/// The number at the end of a record or garbage key.
pub(crate) fn number(key: &Bytes) -> Option<u64> {
    key.get(INCARNATION.len() + 1..)?.try_into().ok().map(u64::from_be_bytes)
}

fn family(family: u8) -> Vec<u8> {
    let mut key = INCARNATION.to_vec();
    key.push(family);
    key
}

fn numbered(kind: u8, number: u64) -> Vec<u8> {
    let mut key = family(kind);
    key.extend_from_slice(&number.to_be_bytes());
    key
}
