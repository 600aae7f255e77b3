//! The records of a few numbers: item numbers, feed entries, counters, purge marks.

use bytes::Bytes;
use model::Lsn;

use super::FORMAT;
use super::fields::Fields;
use crate::{Error, Result};

/// Key and unique entries point at an item by number.
pub(crate) fn encode_number(number: u64) -> Bytes {
    let mut bytes = Vec::with_capacity(9);
    bytes.push(FORMAT);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.into()
}

pub(crate) fn decode_number(bytes: &[u8]) -> Result<u64> {
    let mut fields = Fields::open(bytes, "an item reference")?;
    let number = fields.u64()?;
    fields.close()?;
    Ok(number)
}

/// A purge mark holds the commit up to which a logical partition was deleted.
pub(crate) fn encode_lsn(lsn: Lsn) -> Bytes {
    encode_number(lsn.0)
}

pub(crate) fn decode_lsn(bytes: &[u8]) -> Result<Lsn> {
    decode_number(bytes).map(Lsn)
}

/// A latest-version feed entry. The time is here so that a start time and default expiry need no item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) number: u64,
    pub(crate) ts: u32,
}

impl Change {
    pub(crate) fn encode(self) -> Bytes {
        let mut bytes = Vec::with_capacity(13);
        bytes.push(FORMAT);
        bytes.extend_from_slice(&self.number.to_be_bytes());
        bytes.extend_from_slice(&self.ts.to_be_bytes());
        bytes.into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Change> {
        let mut fields = Fields::open(bytes, "a feed entry")?;
        let change = Change { number: fields.u64()?, ts: fields.u32()? };
        fields.close()?;
        Ok(change)
    }
}

/// The counters of one logical partition. The entry exists while `n_items` is above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LogicalRecord {
    pub(crate) n_items: u64,
    /// Bytes of item text.
    pub(crate) bytes: u64,
    /// The last commit that touched the logical partition.
    pub(crate) lsn: Lsn,
}

impl LogicalRecord {
    pub(crate) fn encode(self) -> Bytes {
        let mut bytes = Vec::with_capacity(25);
        bytes.push(FORMAT);
        bytes.extend_from_slice(&self.n_items.to_be_bytes());
        bytes.extend_from_slice(&self.bytes.to_be_bytes());
        bytes.extend_from_slice(&self.lsn.0.to_be_bytes());
        bytes.into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<LogicalRecord> {
        let mut fields = Fields::open(bytes, "the counters of a logical partition")?;
        let record =
            LogicalRecord { n_items: fields.u64()?, bytes: fields.u64()?, lsn: Lsn(fields.u64()?) };
        fields.close()?;
        Ok(record)
    }
}

/// The name entry of an attachment: its number, and what is needed to remove it without a look at its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttachmentName {
    pub(crate) number: u32,
    pub(crate) text_bytes: u32,
    /// Bytes of the media that we keep; `None` when the attachment links to something else.
    pub(crate) media_bytes: Option<u64>,
}

impl AttachmentName {
    /// What the attachment counts in its logical partition: text and media.
    pub(crate) fn bytes(self) -> u64 {
        u64::from(self.text_bytes) + self.media_bytes.unwrap_or(0)
    }

    pub(crate) fn encode(self) -> Bytes {
        let mut bytes = Vec::with_capacity(18);
        bytes.push(FORMAT);
        bytes.extend_from_slice(&self.number.to_be_bytes());
        bytes.extend_from_slice(&self.text_bytes.to_be_bytes());
        bytes.push(u8::from(self.media_bytes.is_some()));
        bytes.extend_from_slice(&self.media_bytes.unwrap_or(0).to_be_bytes());
        bytes.into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<AttachmentName> {
        const WHAT: &str = "the name of an attachment";
        let mut fields = Fields::open(bytes, WHAT)?;
        let (number, text_bytes) = (fields.u32()?, fields.u32()?);
        let media_bytes = match (fields.u8()?, fields.u64()?) {
            (0, _) => None,
            (1, bytes) => Some(bytes),
            _ => return Err(Error::Corrupt(WHAT)),
        };
        fields.close()?;
        Ok(AttachmentName { number, text_bytes, media_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_records_read_back_and_torn_ones_do_not() {
        assert_eq!(decode_number(&encode_number(5)).unwrap(), 5);
        assert_eq!(decode_lsn(&encode_lsn(Lsn(6))).unwrap(), Lsn(6));
        let change = Change { number: 1, ts: 2 };
        assert_eq!(Change::decode(&change.encode()).unwrap(), change);
        let logical = LogicalRecord { n_items: 1, bytes: 2, lsn: Lsn(3) };
        assert_eq!(LogicalRecord::decode(&logical.encode()).unwrap(), logical);
        for media_bytes in [None, Some(0), Some(7)] {
            let name = AttachmentName { number: 1, text_bytes: 2, media_bytes };
            assert_eq!(AttachmentName::decode(&name.encode()).unwrap(), name);
            assert!(AttachmentName::decode(&name.encode()[..17]).is_err());
        }
        assert!(decode_number(&encode_number(5)[..8]).is_err());
        assert!(Change::decode(&[]).is_err());
        assert!(LogicalRecord::decode(&change.encode()).is_err());
    }
}
