//! An item: a fixed header, its place, and the user's JSON text exactly as it was sent.
//!
//! Hot path: no parsing, no copy of the text on reads. The lsn, sequence number and time of a write stand at fixed
//! offsets, so that a record is laid out before the writer lock is taken and only stamped under it.

use bytes::Bytes;
use model::json::ItemText;
use model::{ETag, Lsn};

use super::FORMAT;
use super::fields::Fields;
use crate::keys::{CommitPosition, LogicalPrefix};
use crate::{Error, Result};

const LSN_AT: usize = 1;
const SEQ_AT: usize = 9;
const TS_AT: usize = 11;
const TTL_AT: usize = 15;
const SCALARS_AT: usize = 19;
/// The highest bit of the number of scalars: queries do not find the item.
const HIDDEN: u32 = 1 << 31;
/// The bit below: what follows is no number of scalars, but how many bytes of the text were added.
const PATCHED: u32 = 1 << 30;
/// The bit below: the item can be read without its links.
const BARE: u32 = 1 << 29;
const FLAGS: u32 = HIDDEN | PATCHED | BARE;
const HEADER_BYTES: usize = 25;

/// A stored item.
#[derive(Debug, Clone)]
pub(crate) struct ItemRecord {
    bytes: Bytes,
    pub(crate) moment: CommitPosition,
    pub(crate) ts: u32,
    /// The item's own `ttl`; zero when it has none (zero is no legal value).
    pub(crate) ttl: i32,
    /// Queries do not find the item; everything else does.
    pub(crate) is_hidden: bool,
    /// The item can be read without its links.
    pub(crate) is_bare: bool,
    n_added: u32,
    text_at: usize,
}

impl ItemRecord {
    pub(crate) fn decode(bytes: Bytes) -> Result<ItemRecord> {
        let mut fields = Fields::open(&bytes, "an item record")?;
        let moment = CommitPosition { lsn: Lsn(fields.u64()?), seq: fields.u16()? };
        let ts = fields.u32()?;
        let ttl = i32::from_be_bytes(fields.array()?);
        // How many scalars the item has, which nothing needs any more, and marks.
        let scalars = fields.u32()?;
        let (is_hidden, is_bare) = (scalars & HIDDEN != 0, scalars & BARE != 0);
        let n_added = added(scalars);
        let place_bytes = usize::from(fields.u16()?);
        fields.take(place_bytes)?;
        let text_at = HEADER_BYTES + place_bytes;
        Ok(ItemRecord { bytes, moment, ts, ttl, is_hidden, is_bare, n_added, text_at })
    }

    pub(crate) fn text(&self) -> &[u8] {
        self.bytes.get(self.text_at..).unwrap_or_default()
    }

    pub(crate) fn item_text(&self) -> ItemText<'_> {
        ItemText { bytes: self.text(), n_added: self.n_added as usize }
    }

    /// The text without a copy: it keeps all of what the store handed out alive.
    pub(crate) fn text_bytes(&self) -> Bytes {
        self.bytes.slice(self.text_at.min(self.bytes.len())..)
    }

    pub(crate) fn place_bytes(&self) -> &[u8] {
        self.bytes.get(HEADER_BYTES..self.text_at).unwrap_or_default()
    }

    pub(crate) fn place(&self) -> LogicalPrefix {
        let end = self.text_at.min(self.bytes.len());
        LogicalPrefix::from_bytes(self.bytes.slice(HEADER_BYTES.min(end)..end))
    }

    /// The stored bytes with another place in the feed, which must be of the same commit.
    pub(crate) fn at(&self, moment: CommitPosition) -> Bytes {
        if moment == self.moment {
            return self.bytes.clone();
        }
        let mut bytes = self.bytes.to_vec();
        for (slot, byte) in bytes.iter_mut().skip(SEQ_AT).zip(moment.seq.to_be_bytes()) {
            *slot = byte;
        }
        bytes.into()
    }

    pub(crate) fn etag(&self) -> ETag {
        ETag::from_lsn(self.moment.lsn, u64::from(self.ts))
    }

    /// When the entry in the expiry family falls due, if there is one.
    pub(crate) fn due(&self) -> Option<u32> {
        due(self.ts, self.ttl)
    }
}

/// A record that has not been written: everything but lsn, sequence number and time.
#[derive(Debug, Clone)]
pub(crate) struct Fresh {
    bytes: Vec<u8>,
    text_at: usize,
}

impl Fresh {
    pub(crate) fn new(
        place: &LogicalPrefix,
        ttl: Option<i32>,
        n_terms: usize,
        text: &[u8],
    ) -> Result<Fresh> {
        let place_bytes = u16::try_from(place.as_bytes().len())
            .map_err(|_| Error::Corrupt("a partition key is longer than the model allows"))?;
        let text_at = HEADER_BYTES + place.as_bytes().len();
        let mut bytes = Vec::with_capacity(text_at + text.len());
        bytes.push(FORMAT);
        bytes.resize(TTL_AT, 0);
        bytes.extend_from_slice(&ttl.unwrap_or(0).to_be_bytes());
        let n_terms = u32::try_from(n_terms).unwrap_or(u32::MAX) & !FLAGS;
        bytes.extend_from_slice(&n_terms.to_be_bytes());
        bytes.extend_from_slice(&place_bytes.to_be_bytes());
        bytes.extend_from_slice(place.as_bytes());
        bytes.extend_from_slice(text);
        Ok(Fresh { bytes, text_at })
    }

    pub(crate) fn text(&self) -> &[u8] {
        self.bytes.get(self.text_at..).unwrap_or_default()
    }

    pub(crate) fn item_text(&self) -> ItemText<'_> {
        let scalars = self.bytes.get(SCALARS_AT..).and_then(|bytes| bytes.first_chunk());
        let n_added = scalars.map_or(0, |bytes| added(u32::from_be_bytes(*bytes)));
        ItemText { bytes: self.text(), n_added: n_added as usize }
    }

    /// Remembers how many bytes of the text were added.
    pub(crate) fn set_added(&mut self, n_added: usize) {
        // Invariant: an item has at most 2 MiB, so the number stays below the marks.
        let hidden = if self.is_hidden() { HIDDEN } else { 0 };
        let bare = if self.is_bare() { BARE } else { 0 };
        let marked = u32::try_from(n_added).unwrap_or(0) & !FLAGS | PATCHED | hidden | bare;
        for (slot, byte) in self.bytes.iter_mut().skip(SCALARS_AT).zip(marked.to_be_bytes()) {
            *slot = byte;
        }
    }

    /// Keeps the item from queries.
    pub(crate) fn hide(&mut self) {
        self.mark(HIDDEN);
    }

    pub(crate) fn is_hidden(&self) -> bool {
        self.is_marked(HIDDEN)
    }

    /// Remembers that the item can be read without its links.
    pub(crate) fn bare(&mut self) {
        self.mark(BARE);
    }

    pub(crate) fn is_bare(&self) -> bool {
        self.is_marked(BARE)
    }

    // Invariant: marks are in the first of the four bytes.
    fn mark(&mut self, mark: u32) {
        if let Some(byte) = self.bytes.get_mut(SCALARS_AT) {
            *byte |= mark.to_be_bytes()[0];
        }
    }

    fn is_marked(&self, mark: u32) -> bool {
        self.bytes.get(SCALARS_AT).is_some_and(|byte| byte & mark.to_be_bytes()[0] != 0)
    }

    /// Turns the record into its final bytes.
    pub(crate) fn stamp(mut self, moment: CommitPosition, ts: u32) -> Bytes {
        for (at, field) in [
            (LSN_AT, &moment.lsn.0.to_be_bytes()[..]),
            (SEQ_AT, &moment.seq.to_be_bytes()[..]),
            (TS_AT, &ts.to_be_bytes()[..]),
        ] {
            for (slot, byte) in self.bytes.iter_mut().skip(at).zip(field) {
                *slot = *byte;
            }
        }
        self.bytes.into()
    }
}

/// How many bytes of its text were added, by what stands in place of the scalars.
fn added(scalars: u32) -> u32 {
    if scalars & PATCHED == 0 { 0 } else { scalars & !FLAGS }
}

/// When an item written at `ts` with its own `ttl` falls due.
pub(crate) fn due(ts: u32, ttl: i32) -> Option<u32> {
    match u32::try_from(ttl) {
        Ok(0) | Err(_) => None,
        Ok(seconds) => Some(ts.saturating_add(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamped_record_reads_back() {
        let place = LogicalPrefix::from_bytes(Bytes::from_static(b"\x01\0\0key"));
        let fresh = Fresh::new(&place, Some(-1), 7, br#"{"id":"a"}"#).unwrap();
        assert_eq!(fresh.text(), br#"{"id":"a"}"#);
        let moment = CommitPosition { lsn: Lsn(0x0102_0304), seq: 5 };
        let bytes = fresh.stamp(moment, 1_700_000_000);
        let record = ItemRecord::decode(bytes.clone()).unwrap();
        assert_eq!((record.moment, record.ts, record.ttl), (moment, 1_700_000_000, -1));
        assert_eq!(record.text(), br#"{"id":"a"}"#);
        assert_eq!((record.place(), record.place_bytes()), (place.clone(), place.as_bytes()));
        for length in 0..HEADER_BYTES + place.as_bytes().len() {
            assert!(ItemRecord::decode(bytes.slice(..length)).is_err(), "{length}");
        }
    }

    #[test]
    fn a_hidden_record_says_so_wherever_it_goes() {
        let place = LogicalPrefix::from_bytes(Bytes::from_static(b"\x01\0\0key"));
        let mut fresh = Fresh::new(&place, None, usize::MAX, b"{}").unwrap();
        let decode = |fresh: &Fresh| {
            let bytes = fresh.clone().stamp(CommitPosition { lsn: Lsn(1), seq: 0 }, 1);
            ItemRecord::decode(bytes).unwrap()
        };
        assert_eq!((fresh.is_hidden(), decode(&fresh).is_hidden), (false, false));
        fresh.hide();
        let record = decode(&fresh);
        assert_eq!((fresh.is_hidden(), record.is_hidden), (true, true));
        let moved = ItemRecord::decode(record.at(CommitPosition { lsn: Lsn(1), seq: 9 })).unwrap();
        assert!(moved.is_hidden && !moved.is_bare);
    }

    #[test]
    fn a_bare_record_says_so_after_a_patch_too() {
        let place = LogicalPrefix::from_bytes(Bytes::from_static(b"\x01\0\0key"));
        let mut fresh = Fresh::new(&place, None, usize::MAX, br#"{"id":"a","n":1}"#).unwrap();
        assert!(!fresh.is_bare());
        fresh.bare();
        fresh.set_added(6);
        assert!(fresh.is_bare() && !fresh.is_hidden());
        let record =
            ItemRecord::decode(fresh.stamp(CommitPosition { lsn: Lsn(1), seq: 0 }, 1)).unwrap();
        assert_eq!((record.is_bare, record.is_hidden), (true, false));
        assert_eq!(record.item_text().n_added, 6);
    }

    #[test]
    fn a_record_remembers_what_patches_added() {
        let place = LogicalPrefix::from_bytes(Bytes::from_static(b"\x01\0\0key"));
        let mut fresh = Fresh::new(&place, None, usize::MAX, br#"{"id":"a","n":1}"#).unwrap();
        fresh.hide();
        assert_eq!(fresh.item_text().n_added, 0);
        fresh.set_added(6);
        assert_eq!(fresh.item_text().n_added, 6);
        let record =
            ItemRecord::decode(fresh.stamp(CommitPosition { lsn: Lsn(1), seq: 0 }, 1)).unwrap();
        assert_eq!((record.item_text().n_added, record.is_hidden), (6, true));
    }

    #[test]
    fn only_positive_ttls_fall_due() {
        assert_eq!(due(10, 0), None);
        assert_eq!(due(10, -1), None);
        assert_eq!(due(10, 5), Some(15));
        assert_eq!(due(u32::MAX, 5), Some(u32::MAX));
    }
}
