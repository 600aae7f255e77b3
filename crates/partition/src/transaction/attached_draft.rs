//! What a finished transaction writes and removes of attachments.

use std::sync::Arc;

use bytes::Bytes;
use model::Lsn;

use super::attached::{
    Attached, AttachedBase, AttachedImage, AttachedSlot, NewAttachment, NewMedia,
};
use super::draft::{Deletes, Writes};
use super::step::TransactionContext;
use crate::Result;
use crate::attachments::{chunk_count, chunks};
use crate::keys::AttachmentAt;
use crate::record::{AttachmentCounters, AttachmentName, FreshAttachment};

#[derive(Debug)]
pub(super) struct AttachedDraft {
    puts: Vec<AttachedPut>,
    before: Tally,
    after: Tally,
    /// Above every number that was given out.
    next: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    n_attachments: u64,
    media_bytes: u64,
}

impl Tally {
    fn add(&mut self, media_bytes: Option<u64>) {
        self.n_attachments += 1;
        self.media_bytes += media_bytes.unwrap_or(0);
    }
}

#[derive(Debug)]
struct AttachedPut {
    at: AttachmentAt,
    name_key: Bytes,
    name: AttachmentName,
    record: FreshAttachment,
    new: Arc<NewAttachment>,
}

impl Attached {
    /// Compares the end with the beginning, as for items.
    pub(super) fn finish(
        self,
        context: &TransactionContext,
        next: u32,
        deletes: &mut Deletes,
    ) -> Result<Option<AttachedDraft>> {
        if self.slots.is_empty() {
            return Ok(None);
        }
        let (mut before, mut after) = (Tally::default(), Tally::default());
        let mut puts = Vec::new();
        for slot in self.slots {
            if let (Some(base), true) = (&slot.base, is_changed(&slot)) {
                before.add(base.name.media_bytes);
                base.delete(context, &slot, deletes);
            }
            if let AttachedImage::Written(new) = slot.image {
                after.add(new.media.bytes());
                puts.push(AttachedPut::new(context, slot.at, new)?);
            }
        }
        let next = if self.n_numbered > 0 { next.max(1) + self.n_numbered } else { 0 };
        Ok(Some(AttachedDraft { puts, before, after, next }))
    }
}

fn is_changed(slot: &AttachedSlot) -> bool {
    !matches!(slot.image, AttachedImage::Stored(_))
}

impl AttachedBase {
    /// Removes what the new version does not write again.
    fn delete(&self, context: &TransactionContext, slot: &AttachedSlot, deletes: &mut Deletes) {
        let keys = context.keys;
        let old_chunks = chunk_count(self.name.media_bytes.unwrap_or(0));
        let new_chunks = match &slot.image {
            AttachedImage::Written(new) => {
                if new.id != self.id {
                    deletes.visible.push(keys.attachment_name(slot.at.item, &self.id).into());
                }
                match &new.media {
                    NewMedia::Linked => 0,
                    NewMedia::Kept(_) => old_chunks,
                    NewMedia::Fresh(media) => chunk_count(media.len() as u64),
                }
            }
            AttachedImage::Absent | AttachedImage::Stored(_) => {
                deletes.visible.push(keys.attachment_name(slot.at.item, &self.id).into());
                deletes.visible.push(keys.attachment(slot.at).into());
                0
            }
        };
        for index in new_chunks..old_chunks {
            deletes.silent.push(keys.media_chunk(slot.at, index));
        }
    }
}

impl AttachedPut {
    fn new(
        context: &TransactionContext,
        at: AttachmentAt,
        new: Arc<NewAttachment>,
    ) -> Result<AttachedPut> {
        let media_bytes = new.media.bytes();
        let text_bytes = u32::try_from(new.text.len()).unwrap_or(u32::MAX);
        Ok(AttachedPut {
            at,
            name_key: context.keys.attachment_name(at.item, &new.id).into(),
            name: AttachmentName { number: at.number, text_bytes, media_bytes },
            record: FreshAttachment::new(&context.place, media_bytes, &new.id, &new.text)?,
            new,
        })
    }
}

impl AttachedDraft {
    /// Writes everything into the batch of a commit and moves the counters along.
    pub(super) fn seal(
        self,
        context: &TransactionContext,
        counters: &mut AttachmentCounters,
        lsn: Lsn,
        ts: u32,
        writes: &mut Writes<'_>,
    ) {
        let keys = context.keys;
        for put in self.puts {
            writes.put(put.name_key, put.name.encode());
            writes.put(keys.attachment(put.at).into(), put.record.stamp(lsn, ts));
            if let NewMedia::Fresh(media) = &put.new.media {
                for (index, chunk) in chunks(media) {
                    writes.batch.put(keys.media_chunk(put.at, index), chunk);
                }
            }
        }
        let moved = |now: u64, before: u64, after: u64| (now + after).saturating_sub(before);
        let (before, after) = (self.before, self.after);
        *counters = AttachmentCounters {
            n_attachments: moved(counters.n_attachments, before.n_attachments, after.n_attachments),
            media_bytes: moved(counters.media_bytes, before.media_bytes, after.media_bytes),
            next: counters.next.max(self.next),
        };
    }
}
