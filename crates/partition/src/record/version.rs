//! One entry of the all-versions feed: what happened to an item, with the images before and after.

use bytes::Bytes;
use model::Lsn;

use super::FORMAT;
use super::fields::Fields;
use crate::keys::LogicalPrefix;
use crate::{Error, Result};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum VersionKind {
    Create = 1,
    Replace = 2,
    Delete = 3,
    /// A delete because the item's time was over.
    Expire = 4,
}

/// Texts are the user's JSON without system properties. A create has no `previous`, a delete no `current`.
#[derive(Debug, Clone)]
pub(crate) struct VersionRecord {
    pub(crate) kind: VersionKind,
    pub(crate) number: u64,
    pub(crate) ts: u32,
    pub(crate) previous_lsn: Lsn,
    pub(crate) previous_ts: u32,
    pub(crate) place: LogicalPrefix,
    pub(crate) current: Bytes,
    pub(crate) previous: Bytes,
}

impl VersionRecord {
    pub(crate) fn encode(&self) -> Bytes {
        let place = self.place.as_bytes();
        let room = 32 + place.len() + self.current.len() + self.previous.len();
        let mut bytes = Vec::with_capacity(room);
        bytes.push(FORMAT);
        bytes.push(self.kind as u8);
        bytes.extend_from_slice(&self.number.to_be_bytes());
        bytes.extend_from_slice(&self.ts.to_be_bytes());
        bytes.extend_from_slice(&self.previous_lsn.0.to_be_bytes());
        bytes.extend_from_slice(&self.previous_ts.to_be_bytes());
        bytes.extend_from_slice(&u16::try_from(place.len()).unwrap_or(u16::MAX).to_be_bytes());
        bytes.extend_from_slice(place);
        let n_current = u32::try_from(self.current.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&n_current.to_be_bytes());
        bytes.extend_from_slice(&self.current);
        bytes.extend_from_slice(&self.previous);
        bytes.into()
    }

    pub(crate) fn decode(bytes: &Bytes) -> Result<VersionRecord> {
        const WHAT: &str = "an all-versions entry";
        let mut fields = Fields::open(bytes, WHAT)?;
        let kind = match fields.u8()? {
            1 => VersionKind::Create,
            2 => VersionKind::Replace,
            3 => VersionKind::Delete,
            4 => VersionKind::Expire,
            _ => return Err(Error::Corrupt(WHAT)),
        };
        let number = fields.u64()?;
        let ts = fields.u32()?;
        let previous_lsn = Lsn(fields.u64()?);
        let previous_ts = fields.u32()?;
        let n_place = usize::from(fields.u16()?);
        let place = LogicalPrefix::from_bytes(bytes.slice_ref(fields.take(n_place)?));
        let n_current = fields.u32()? as usize;
        let current = bytes.slice_ref(fields.take(n_current)?);
        let previous = bytes.slice_ref(fields.rest());
        Ok(VersionRecord { kind, number, ts, previous_lsn, previous_ts, place, current, previous })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_reads_back() {
        let record = VersionRecord {
            kind: VersionKind::Replace,
            number: 4,
            ts: 5,
            previous_lsn: Lsn(6),
            previous_ts: 7,
            place: LogicalPrefix::from_bytes(Bytes::from_static(b"\0\0p")),
            current: Bytes::from_static(b"{\"a\":1}"),
            previous: Bytes::from_static(b"{}"),
        };
        let bytes = record.encode();
        let read = VersionRecord::decode(&bytes).unwrap();
        assert_eq!(format!("{read:?}"), format!("{record:?}"));
        for length in 0..bytes.len() - record.previous.len() {
            assert!(VersionRecord::decode(&bytes.slice(..length)).is_err(), "{length}");
        }
    }
}
