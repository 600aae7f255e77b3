//! Attachments of items that go over one by one: copied from a source that is not copied raw, or touched since.
//!
//! They are set to their state in a snapshot like items, apart from them: an item may have more media than fits a step.
//! Between two steps a target may have attachments whose item it has not, or not yet; at the end it has what the
//! sources have.

use bytes::Bytes;
use store::Batch;

use super::target::{Builder, Sheet};
use super::{Pace, SourcePartition};
use crate::attachments::chunk_count;
use crate::keys::{AttachmentAt, attachment_of};
use crate::reader::Reader;
use crate::record::{AttachmentName, AttachmentRecord};
use crate::{Error, Result};

/// An attachment as a source has it now: `None` when it is gone.
pub(super) type AttachedState = (AttachmentAt, Option<Whole>);

/// An attachment with its media.
#[derive(Debug)]
pub(super) struct Whole {
    bytes: Bytes,
    record: AttachmentRecord,
    chunks: Vec<Bytes>,
}

impl Reader {
    fn whole(&self, at: AttachmentAt, bytes: Bytes) -> Result<Whole> {
        let record = AttachmentRecord::decode(&bytes)?;
        let n_chunks = chunk_count(record.media_bytes.unwrap_or(0));
        let chunk = |index| {
            let chunk = self.snapshot.get(&self.keys.media_chunk(at, index))?;
            chunk.ok_or(Error::Corrupt("media is not as long as its attachment says"))
        };
        let chunks = (0..n_chunks).map(chunk).collect::<Result<_>>()?;
        Ok(Whole { bytes, record, chunks })
    }
}

impl Whole {
    fn n_bytes(&self) -> usize {
        self.bytes.len() + self.chunks.iter().map(Bytes::len).sum::<usize>()
    }
}

impl SourcePartition {
    /// The attachments after those that are copied, their bytes, and whether they are the last.
    pub(super) fn next_attachments(
        &self,
        reader: &Reader,
        pace: Pace,
    ) -> Result<(Vec<AttachedState>, usize, bool)> {
        let (mut states, mut n_bytes) = (Vec::new(), 0);
        for entry in reader.scan(reader.keys.attachments(self.copied_attachment)) {
            if pace.is_full(states.len(), n_bytes) {
                return Ok((states, n_bytes, false));
            }
            let (key, value) = entry?;
            let at = attachment_of(&key)?;
            let whole = reader.whole(at, value)?;
            n_bytes += whole.n_bytes();
            states.push((at, Some(whole)));
        }
        Ok((states, n_bytes, true))
    }

    /// Takes touched attachments off the list, with the state that they have now.
    pub(super) fn touched_attachments(
        &mut self,
        reader: &Reader,
        pace: Pace,
    ) -> Result<(Vec<AttachedState>, usize)> {
        let (mut states, mut n_bytes) = (Vec::new(), 0);
        while !pace.is_full(states.len(), n_bytes) {
            let Some(at) = self.touched.attachments.pop_first() else { break };
            let stored = reader.snapshot.get(&reader.keys.attachment(at))?;
            let whole = stored.map(|bytes| reader.whole(at, bytes)).transpose()?;
            n_bytes += whole.as_ref().map_or(0, Whole::n_bytes);
            states.push((at, whole));
        }
        Ok((states, n_bytes))
    }
}

impl Builder {
    /// Makes attachments what the sources say they are.
    pub(super) async fn set_attachments(&mut self, states: &[AttachedState]) -> Result<()> {
        self.settle().await?;
        let mut sheet = Sheet::new(self.snapshot());
        let mut changes = Vec::with_capacity(states.len());
        for (at, whole) in states {
            let old = sheet.snapshot.get(&self.keys.attachment(*at))?;
            let old = old.as_ref().map(AttachmentRecord::decode).transpose()?;
            let new = match whole {
                Some(whole) if self.owns(whole.record.place.as_bytes())? => Some(whole),
                Some(_) | None => None,
            };
            if old.is_some() || new.is_some() {
                changes.push((*at, old, new));
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        // What goes before what comes: an id may pass from one attachment to another.
        for (at, old, new) in &changes {
            if let Some(old) = old {
                self.retract_attachment(&mut sheet, *at, old, *new)?;
            }
        }
        for (at, _, new) in &changes {
            if let Some(new) = new {
                self.install_attachment(&mut sheet, *at, new)?;
            }
        }
        self.count(&mut sheet);
        self.commit(sheet.batch);
        self.settle().await
    }

    fn retract_attachment(
        &mut self,
        sheet: &mut Sheet,
        at: AttachmentAt,
        old: &AttachmentRecord,
        new: Option<&Whole>,
    ) -> Result<()> {
        let keys = self.keys;
        let name = keys.attachment_name(at.item, &old.id);
        let holder =
            sheet.snapshot.get(&name)?.as_deref().map(AttachmentName::decode).transpose()?;
        // Another attachment may have taken the name since, and come here before this one went.
        if holder.is_some_and(|holder| holder.number == at.number) {
            sheet.batch.delete(name);
        }
        sheet.batch.delete(keys.attachment(at));
        let media_bytes = old.media_bytes.unwrap_or(0);
        let n_kept = new.map_or(0, |new| new.chunks.len());
        for index in (0..chunk_count(media_bytes)).skip(n_kept) {
            sheet.batch.delete(keys.media_chunk(at, index));
        }
        let counters = &mut self.head.attachments;
        counters.n_attachments = counters.n_attachments.saturating_sub(1);
        counters.media_bytes = counters.media_bytes.saturating_sub(media_bytes);
        let counters = sheet.counters_of(self.keys, &self.recent, old.place.clone())?;
        counters.now.bytes = counters.now.bytes.saturating_sub(old.bytes());
        Ok(())
    }

    fn install_attachment(
        &mut self,
        sheet: &mut Sheet,
        at: AttachmentAt,
        new: &Whole,
    ) -> Result<()> {
        put(&mut sheet.batch, self.keys, at, new);
        let counters = &mut self.head.attachments;
        counters.n_attachments += 1;
        counters.media_bytes += new.record.media_bytes.unwrap_or(0);
        let counters = sheet.counters_of(self.keys, &self.recent, new.record.place.clone())?;
        counters.now.bytes += new.record.bytes();
        counters.now.lsn = counters.now.lsn.max(new.record.lsn);
        Ok(())
    }
}

fn put(batch: &mut Batch, keys: crate::keys::Keys, at: AttachmentAt, new: &Whole) {
    let record = &new.record;
    let name = AttachmentName {
        number: at.number,
        text_bytes: u32::try_from(record.text.len()).unwrap_or(u32::MAX),
        media_bytes: record.media_bytes,
    };
    batch.put(keys.attachment_name(at.item, &record.id), name.encode());
    batch.put(keys.attachment(at), new.bytes.clone());
    for (index, chunk) in (0..).zip(&new.chunks) {
        batch.put(keys.media_chunk(at, index), chunk.clone());
    }
}
