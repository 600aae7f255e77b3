//! An attachment: when it was written, where its item is, how much media we keep for it, its id and its JSON text.
//!
//! The media itself lies beside it in pieces, so that no value of the store is large.

use bytes::Bytes;
use model::{ETag, Lsn};

use super::FORMAT;
use super::fields::Fields;
use crate::keys::LogicalPrefix;
use crate::{Error, Result};

const LSN_AT: usize = 1;
const TS_AT: usize = 9;
const HEADER_BYTES: usize = 13;

/// Whether the media is ours or a link to somewhere else.
const LINKED: u8 = 0;
const MANAGED: u8 = 1;

/// A stored attachment.
#[derive(Debug, Clone)]
pub(crate) struct AttachmentRecord {
    pub(crate) lsn: Lsn,
    pub(crate) ts: u32,
    /// Bytes of the media that we keep; `None` when the attachment links to something else.
    pub(crate) media_bytes: Option<u64>,
    pub(crate) place: LogicalPrefix,
    pub(crate) id: String,
    pub(crate) text: Bytes,
}

impl AttachmentRecord {
    pub(crate) fn decode(bytes: &Bytes) -> Result<AttachmentRecord> {
        const WHAT: &str = "an attachment record";
        let mut fields = Fields::open(bytes, WHAT)?;
        let (lsn, ts) = (Lsn(fields.u64()?), fields.u32()?);
        let media_bytes = match (fields.u8()?, fields.u64()?) {
            (LINKED, _) => None,
            (MANAGED, bytes) => Some(bytes),
            _ => return Err(Error::Corrupt(WHAT)),
        };
        let n_place = usize::from(fields.u16()?);
        let place = LogicalPrefix::from_bytes(bytes.slice_ref(fields.take(n_place)?));
        let n_id = usize::from(fields.u16()?);
        let id = std::str::from_utf8(fields.take(n_id)?).map_err(|_| Error::Corrupt(WHAT))?;
        let (id, text) = (id.to_owned(), bytes.slice_ref(fields.rest()));
        Ok(AttachmentRecord { lsn, ts, media_bytes, place, id, text })
    }

    pub(crate) fn etag(&self) -> ETag {
        ETag::from_lsn(self.lsn, u64::from(self.ts))
    }

    /// What the attachment counts in its logical partition: text and media.
    pub(crate) fn bytes(&self) -> u64 {
        self.text.len() as u64 + self.media_bytes.unwrap_or(0)
    }
}

/// A record that has not been written: everything but lsn and time.
#[derive(Debug, Clone)]
pub(crate) struct FreshAttachment(Vec<u8>);

impl FreshAttachment {
    pub(crate) fn new(
        place: &LogicalPrefix,
        media_bytes: Option<u64>,
        id: &str,
        text: &[u8],
    ) -> Result<FreshAttachment> {
        let length = |bytes: &[u8]| {
            u16::try_from(bytes.len()).map(u16::to_be_bytes).map_err(|_| {
                Error::Corrupt("an id or a partition key is longer than the model allows")
            })
        };
        let (place, id) = (place.as_bytes(), id.as_bytes());
        let mut bytes = Vec::with_capacity(HEADER_BYTES + 13 + place.len() + id.len() + text.len());
        bytes.push(FORMAT);
        bytes.resize(HEADER_BYTES, 0);
        bytes.push(if media_bytes.is_some() { MANAGED } else { LINKED });
        bytes.extend_from_slice(&media_bytes.unwrap_or(0).to_be_bytes());
        for part in [place, id] {
            bytes.extend_from_slice(&length(part)?);
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(text);
        Ok(FreshAttachment(bytes))
    }

    /// Turns the record into its final bytes.
    pub(crate) fn stamp(&self, lsn: Lsn, ts: u32) -> Bytes {
        let mut bytes = self.0.clone();
        for (at, field) in [(LSN_AT, &lsn.0.to_be_bytes()[..]), (TS_AT, &ts.to_be_bytes()[..])] {
            for (slot, byte) in bytes.iter_mut().skip(at).zip(field) {
                *slot = *byte;
            }
        }
        bytes.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamped_attachment_reads_back() {
        let place = LogicalPrefix::from_bytes(Bytes::from_static(b"\x01\0\0key"));
        for media_bytes in [None, Some(0), Some(1 << 40)] {
            let fresh =
                FreshAttachment::new(&place, media_bytes, "a b", br#"{"id":"a b"}"#).unwrap();
            let bytes = fresh.stamp(Lsn(0x0102), 7);
            let record = AttachmentRecord::decode(&bytes).unwrap();
            assert_eq!((record.lsn, record.ts, record.media_bytes), (Lsn(0x0102), 7, media_bytes));
            assert_eq!((record.place, record.id.as_str()), (place.clone(), "a b"));
            assert_eq!(&record.text[..], br#"{"id":"a b"}"#);
            for length in 0..bytes.len() - record.text.len() {
                assert!(AttachmentRecord::decode(&bytes.slice(..length)).is_err(), "{length}");
            }
        }
    }
}
