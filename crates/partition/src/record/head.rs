//! The head: one record per partition, rewritten by every commit.
//!
//! Invariant: every commit names the head it was built on as its condition, so the heads of a partition form a
//! chain without forks.

use bytes::Bytes;
use model::Lsn;

use super::FORMAT;
use super::fields::Fields;
use crate::{Error, Result};

/// Item numbers are `rid_prefix << 40 | counter`: unique in the container, growing in the partition, and the top
/// four bits stay clear for the kind of a rid.
const COUNTER_BITS: u32 = 40;

/// The mark at the end of a head whose partition has hidden items.
const HAS_HIDDEN: u8 = 1;
/// The counters of attachments, in heads that have them.
const ATTACHMENT_BYTES: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// Grows when the partition gets another owner.
    pub(crate) epoch: u64,
    pub(crate) lsn: Lsn,
    pub(crate) rid_prefix: u16,
    /// The counter of the next item.
    pub(crate) next_item: u64,
    pub(crate) n_items: u64,
    /// Bytes of item text.
    pub(crate) bytes: u64,
    pub(crate) n_logical: u64,
    /// The last `_ts` given. Time never runs backwards inside a partition, so feed order is also time order.
    pub(crate) ts: u32,
    /// The all-versions feed has lost entries of commits up to here.
    pub(crate) versions_trimmed: Lsn,
    /// Up to here the feed is in the order of commits but not of time: it was merged from several.
    pub(crate) merged: Lsn,
    pub(crate) attachments: AttachmentCounters,
    /// Some item is, or was, kept from queries: the index alone answers nothing.
    pub(crate) has_hidden: bool,
}

/// What a partition has of attachments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AttachmentCounters {
    pub(crate) n_attachments: u64,
    /// Bytes of the media that we keep.
    pub(crate) media_bytes: u64,
    /// Above every number that an attachment of an item here ever had; zero if there never was one.
    pub(crate) next: u32,
}

impl Head {
    pub(crate) fn first(rid_prefix: u16, lsn: Lsn) -> Head {
        Head {
            epoch: 1,
            lsn,
            rid_prefix,
            next_item: 1,
            n_items: 0,
            bytes: 0,
            n_logical: 0,
            ts: 0,
            versions_trimmed: Lsn::ZERO,
            merged: Lsn::ZERO,
            attachments: AttachmentCounters::default(),
            has_hidden: false,
        }
    }

    /// Takes the place of these heads: one commit above all of them.
    pub(crate) fn follow(&mut self, heads: &[Head]) {
        let last = |of: fn(&Head) -> Lsn| heads.iter().map(of).max().unwrap_or_default();
        let end = last(|head| head.lsn);
        self.lsn = end.next();
        self.ts = heads.iter().map(|head| head.ts).max().unwrap_or_default();
        // A feed that lost entries anywhere has lost them for readers of the whole.
        self.versions_trimmed = last(|head| head.versions_trimmed);
        self.has_hidden |= heads.iter().any(|head| head.has_hidden);
        self.merged = if heads.len() > 1 { end } else { last(|head| head.merged) };
        self.attachments.next =
            heads.iter().map(|head| head.attachments.next).max().unwrap_or_default();
    }

    /// Gives out the number of a new item.
    pub(crate) fn take_number(&mut self) -> u64 {
        let number = u64::from(self.rid_prefix) << COUNTER_BITS | self.next_item;
        self.next_item += 1;
        number
    }

    /// The numbers that items of this partition had or can have so far.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        let first = u64::from(self.rid_prefix) << COUNTER_BITS;
        (first, first | self.next_item)
    }

    /// Says whether this can be the next head of a chain that had `before`: no counter that only grows went back.
    pub(crate) fn follows(&self, before: &Head) -> bool {
        self.epoch == before.epoch
            && self.rid_prefix == before.rid_prefix
            && self.lsn >= before.lsn
            && self.next_item >= before.next_item
            && self.ts >= before.ts
            && self.versions_trimmed >= before.versions_trimmed
            && self.attachments.next >= before.attachments.next
    }

    pub(crate) fn encode(&self) -> Bytes {
        debug_assert!(self.n_logical <= self.n_items, "a logical partition has an item");
        debug_assert!(self.n_items > 0 || self.bytes == 0, "bytes are those of items");
        debug_assert!(self.merged <= self.lsn, "what was merged was committed");
        debug_assert!(self.versions_trimmed <= self.lsn, "what was trimmed was committed");
        let mut bytes = Vec::with_capacity(91);
        bytes.push(FORMAT);
        bytes.extend_from_slice(&self.epoch.to_be_bytes());
        bytes.extend_from_slice(&self.lsn.0.to_be_bytes());
        bytes.extend_from_slice(&self.rid_prefix.to_be_bytes());
        bytes.extend_from_slice(&self.next_item.to_be_bytes());
        bytes.extend_from_slice(&self.n_items.to_be_bytes());
        bytes.extend_from_slice(&self.bytes.to_be_bytes());
        bytes.extend_from_slice(&self.n_logical.to_be_bytes());
        bytes.extend_from_slice(&self.ts.to_be_bytes());
        bytes.extend_from_slice(&self.versions_trimmed.0.to_be_bytes());
        bytes.extend_from_slice(&self.merged.0.to_be_bytes());
        let AttachmentCounters { n_attachments, media_bytes, next } = self.attachments;
        // Most partitions never have an attachment.
        if next > 0 {
            bytes.extend_from_slice(&n_attachments.to_be_bytes());
            bytes.extend_from_slice(&media_bytes.to_be_bytes());
            bytes.extend_from_slice(&next.to_be_bytes());
        }
        if self.has_hidden {
            bytes.push(HAS_HIDDEN);
        }
        bytes.into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Head> {
        let mut fields = Fields::open(bytes, "the head record")?;
        let head = Head {
            epoch: fields.u64()?,
            lsn: Lsn(fields.u64()?),
            rid_prefix: fields.u16()?,
            next_item: fields.u64()?,
            n_items: fields.u64()?,
            bytes: fields.u64()?,
            n_logical: fields.u64()?,
            ts: fields.u32()?,
            versions_trimmed: Lsn(fields.u64()?),
            // Heads written before merges existed end here.
            merged: if fields.is_empty() { Lsn::ZERO } else { Lsn(fields.u64()?) },
            attachments: if fields.len() < ATTACHMENT_BYTES {
                AttachmentCounters::default()
            } else {
                AttachmentCounters {
                    n_attachments: fields.u64()?,
                    media_bytes: fields.u64()?,
                    next: fields.u32()?,
                }
            },
            has_hidden: !fields.is_empty() && read_mark(&mut fields)?,
        };
        fields.close()?;
        Ok(head)
    }
}

/// Reads the mark that heads end with whose partition has hidden items.
fn read_mark(fields: &mut Fields<'_>) -> Result<bool> {
    match fields.u8()? {
        HAS_HIDDEN => Ok(true),
        _ => Err(Error::Corrupt("the head record")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_survives_its_bytes_and_nothing_else_does() {
        let mut head = Head::first(3, Lsn(40));
        assert_eq!(head.take_number(), 3 << 40 | 1);
        assert_eq!(head.take_number(), 3 << 40 | 2);
        let bytes = head.encode();
        assert_eq!(Head::decode(&bytes).unwrap(), head);
        let before_merges = bytes.len() - 8;
        for length in (0..bytes.len()).filter(|length| *length != before_merges) {
            assert!(Head::decode(&bytes[..length]).is_err(), "{length}");
        }
        assert_eq!(Head::decode(&bytes[..before_merges]).unwrap(), head);
        let mut attached = head.clone();
        attached.attachments = AttachmentCounters { n_attachments: 1, media_bytes: 2, next: 3 };
        let longer = attached.encode();
        assert_eq!(Head::decode(&longer).unwrap(), attached);
        for length in bytes.len() + 1..longer.len() {
            assert!(Head::decode(&longer[..length]).is_err(), "{length}");
        }
        assert!(Head::decode(&[&bytes[..], &[0]].concat()).is_err());
        head.has_hidden = true;
        let hidden = head.encode();
        assert_eq!(Head::decode(&hidden).unwrap(), head);
        assert!(Head::decode(&[&hidden[..], &[1]].concat()).is_err());
        attached.has_hidden = true;
        assert_eq!(Head::decode(&attached.encode()).unwrap(), attached);
        assert!(Head::decode(&[&[9], &bytes[1..]].concat()).is_err());
    }
}
