//! A finished run, and how it becomes one store batch.
//!
//! Hot path: [`Draft::seal`] runs under the writer lock. Texts were copied into their records before; sealing stamps
//! them and builds small keys.

use std::sync::Arc;

use bytes::Bytes;
use model::{Charge, ETag, Lsn, Status};
use store::Batch;

use super::attached::NewAttachment;
use super::attached_draft::AttachedDraft;
use super::run::Running;
use super::slot::{Base, Image, Slot};
use super::step::{New, TransactionContext};
use crate::attachments::render as render_attachment;
use crate::index::{PathDictionary, PathDictionaryView, TermChange};
use crate::keys::{AttachmentAt, CommitPosition};
use crate::reader::render;
use crate::record::{
    AttachmentRecord, Change, Fresh, Head, ItemRecord, LogicalRecord, VersionKind, VersionRecord,
    due, encode_number,
};
use crate::{ItemOutcome, Result};

// Limit: images of what a transaction overwrote. A store batch has room for the versions it writes (a request is two
// MiB) but not for a hundred large items that it replaces; beyond this the feed shows no previous image.
const PREVIOUS_BYTES_MAX: usize = 32 << 20;

/// The answer to one step, before it is known which LSN and number its item gets.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) status: Status,
    pub(crate) charge: Charge,
    pub(crate) shown: Shown,
}

/// The item that an answer shows.
#[derive(Debug)]
pub(crate) enum Shown {
    Nothing,
    /// 304: the etag without the item.
    Unchanged {
        etag: ETag,
        lsn: Lsn,
    },
    Stored {
        number: u64,
        record: ItemRecord,
    },
    Written {
        slot: usize,
        new: Arc<New>,
    },
    AttachmentStored {
        at: AttachmentAt,
        record: Arc<AttachmentRecord>,
    },
    AttachmentWritten {
        at: AttachmentAt,
        /// Its slot among the attachments.
        slot: usize,
        new: Arc<NewAttachment>,
    },
}

impl Shown {
    /// Bytes of the item in the answer, as it was written.
    pub(super) fn text_len(&self) -> usize {
        match self {
            Shown::Nothing | Shown::Unchanged { .. } => 0,
            Shown::Stored { record, .. } => record.text().len(),
            Shown::Written { new, .. } => new.record.text().len(),
            Shown::AttachmentStored { record, .. } => record.text.len(),
            Shown::AttachmentWritten { new, .. } => new.text.len(),
        }
    }
}

/// One entry of the all-versions feed to be.
#[derive(Debug)]
pub(crate) struct VersionDraft {
    pub(super) kind: VersionKind,
    pub(super) slot: usize,
    pub(super) current: Option<Arc<New>>,
    pub(super) previous: Image,
}

/// What a slot needs written.
#[derive(Debug)]
struct Put {
    record: Fresh,
    ttl: i32,
    /// The key entry to write; `None` if the item keeps its id.
    key: Option<Bytes>,
    is_new: bool,
}

#[derive(Debug)]
struct SlotDraft {
    base: Option<Base>,
    /// The number that is promised to a new item.
    promised: Option<u64>,
    put: Option<Put>,
    /// What changes in the index; `None` when nothing is written.
    terms: Option<TermChange>,
}

/// Entries that go, whatever comes. They stand before everything else in the batch.
#[derive(Debug, Default)]
pub(super) struct Deletes {
    /// Of families that writers read.
    pub(super) visible: Vec<Bytes>,
    /// Of all others.
    pub(super) silent: Vec<Vec<u8>>,
}

/// All that a transaction changes, but for its LSN, its time and the numbers of new items.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) results: Vec<Done>,
    slots: Vec<SlotDraft>,
    deletes: Deletes,
    unique_puts: Vec<(Bytes, usize)>,
    versions: Vec<VersionDraft>,
    attached: Option<AttachedDraft>,
    logical_key: Bytes,
    before: LogicalRecord,
    after: LogicalRecord,
}

/// A draft with its place in the order of commits.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) lsn: Lsn,
    pub(crate) ts: u32,
    /// The item number of each slot.
    pub(crate) numbers: Vec<u64>,
}

impl Running<'_> {
    pub(crate) fn finish(self, results: Vec<Done>) -> Result<Draft> {
        let context = self.context;
        let mut deletes = Deletes::default();
        for (key, holder) in &self.uniques {
            if holder.is_none() && self.released.contains_key(key) {
                deletes.visible.push(key.clone());
            }
        }
        let stays = |key: &Bytes, slot: usize| self.released.get(key) == Some(&slot);
        let unique_puts = self
            .uniques
            .iter()
            .filter_map(|(key, holder)| Some((key.clone(), (*holder)?)))
            .filter(|(key, slot)| is_written(&self.slots[*slot]) && !stays(key, *slot))
            .collect();
        let next = self.view.attachments.next;
        let attached = self.attached.finish(context, next, &mut deletes)?;
        let dictionary = &self.view.dictionary;
        let slots =
            self.slots.into_iter().map(|slot| slot.finish(context, dictionary, &mut deletes));
        let slots = slots.collect::<Result<_>>()?;
        Ok(Draft {
            results,
            slots,
            deletes,
            unique_puts,
            versions: self.versions,
            attached,
            logical_key: context.keys.logical(&context.place).into(),
            before: self.before,
            after: LogicalRecord { n_items: self.n_items, bytes: self.bytes, lsn: Lsn::ZERO },
        })
    }
}

fn is_written(slot: &Slot) -> bool {
    matches!(slot.image, Image::Written(_))
}

impl Slot {
    /// Compares the end with the beginning; what happened between is of no interest to the store.
    fn finish(
        self,
        context: &TransactionContext,
        dictionary: &PathDictionaryView,
        deletes: &mut Deletes,
    ) -> Result<SlotDraft> {
        let keys = context.keys;
        let is_stored = matches!(self.image, Image::Stored);
        if let (Some(base), false) = (&self.base, is_stored) {
            deletes.silent.push(keys.change(base.record.moment));
            if let Some(due) = base.record.due() {
                deletes.silent.push(keys.expiry(due, base.number));
            }
        }
        let put = match (&self.image, &self.base) {
            (Image::Written(new), base) => {
                let keeps_id = base.as_ref().is_some_and(|base| base.id == new.id);
                if let (Some(base), false) = (base, keeps_id) {
                    deletes.visible.push(keys.key(&context.place, &base.id).into());
                }
                Some(Put {
                    record: new.record.clone(),
                    ttl: new.ttl,
                    key: (!keeps_id).then(|| keys.key(&context.place, &new.id).into()),
                    is_new: base.is_none(),
                })
            }
            (Image::Absent, Some(base)) => {
                deletes.visible.push(keys.key(&context.place, &base.id).into());
                deletes.silent.push(keys.member(&context.place, base.number));
                deletes.visible.push(keys.item(base.number).into());
                None
            }
            (Image::Absent | Image::Stored, _) => None,
        };
        let promised = self.provisional.map(|provisional| provisional.number);
        let terms = match &self.image {
            Image::Stored => None,
            Image::Absent if self.base.is_none() => None,
            Image::Absent => Some(TermChange::between(self.held, None, &dictionary.rules)?),
            Image::Written(new) => {
                let wanted = self.wanted.map(|wanted| (wanted, new.record.text()));
                Some(TermChange::between(self.held, wanted, &dictionary.rules)?)
            }
        };
        Ok(SlotDraft { base: self.base, promised, put, terms })
    }
}

/// Collects a batch and, beside it, the writes that later writers must see before it is acknowledged.
pub(super) struct Writes<'a> {
    pub(super) batch: &'a mut Batch,
    visible: &'a mut Vec<(Bytes, Option<Bytes>)>,
}

impl Writes<'_> {
    fn delete(&mut self, key: Bytes) {
        self.visible.push((key.clone(), None));
        self.batch.delete(key);
    }

    pub(super) fn put(&mut self, key: Bytes, value: Bytes) {
        self.visible.push((key.clone(), Some(value.clone())));
        self.batch.put(key, value);
    }
}

impl Draft {
    /// Bytes of the logical partition once the draft is committed.
    pub(crate) fn bytes_after(&self) -> u64 {
        self.after.bytes
    }

    /// Takes the next LSN of `head` and writes the draft into `batch`, the head excepted.
    ///
    /// `visible` receives the writes of families that writers read.
    pub(crate) fn seal(
        self,
        context: &TransactionContext,
        head: &mut Head,
        dictionary: &mut PathDictionary,
        now: u32,
        batch: &mut Batch,
        visible: &mut Vec<(Bytes, Option<Bytes>)>,
    ) -> (Sealed, Vec<Done>) {
        head.lsn = head.lsn.next();
        head.ts = head.ts.max(now);
        let (lsn, ts) = (head.lsn, head.ts);
        let numbers: Vec<u64> = self
            .slots
            .iter()
            .map(|slot| {
                let known = slot.base.as_ref().map(|base| base.number).or(slot.promised);
                known.unwrap_or_else(|| head.take_number())
            })
            .collect();
        let mut writes = Writes { batch, visible };
        for key in self.deletes.silent {
            writes.batch.delete(key);
        }
        for key in self.deletes.visible {
            writes.delete(key);
        }
        for (key, slot) in self.unique_puts {
            writes.put(key, encode_number(numbers[slot]));
        }
        let mut n_image_bytes = 0;
        for (seq, version) in (0..u16::MAX).zip(self.versions) {
            let base = self.slots[version.slot].base.as_ref();
            let number = numbers[version.slot];
            let mut record = version.seal(context, base, number, lsn, ts);
            n_image_bytes += record.previous.len();
            if n_image_bytes > PREVIOUS_BYTES_MAX {
                record.previous = Bytes::new();
            }
            writes.batch.put(context.keys.version(CommitPosition { lsn, seq }), record.encode());
        }
        let mut seq = 0;
        for (slot, number) in self.slots.into_iter().zip(&numbers) {
            if let Some(change) = slot.terms {
                change.seal(context.keys, *number, dictionary, writes.batch);
            }
            if let Some(put) = slot.put {
                head.has_hidden |= put.record.is_hidden();
                put.seal(context, *number, CommitPosition { lsn, seq }, ts, &mut writes);
                seq += 1;
            }
        }
        if let Some(attached) = self.attached {
            attached.seal(context, &mut head.attachments, lsn, ts, &mut writes);
        }
        count(head, self.before, self.after);
        let after = LogicalRecord { lsn, ..self.after };
        if after.n_items == 0 {
            writes.delete(self.logical_key);
        } else {
            writes.put(self.logical_key, after.encode());
        }
        (Sealed { lsn, ts, numbers }, self.results)
    }
}

impl Put {
    fn seal(
        self,
        context: &TransactionContext,
        number: u64,
        moment: CommitPosition,
        ts: u32,
        writes: &mut Writes<'_>,
    ) {
        let keys = context.keys;
        if let Some(key) = self.key {
            writes.put(key, encode_number(number));
        }
        if self.is_new {
            writes.batch.put(keys.member(&context.place, number), Bytes::new());
        }
        writes.put(keys.item(number).into(), self.record.stamp(moment, ts));
        writes.batch.put(keys.change(moment), Change { number, ts }.encode());
        if let Some(due) = due(ts, self.ttl) {
            writes.batch.put(keys.expiry(due, number), Bytes::new());
        }
    }
}

impl VersionDraft {
    fn seal(
        self,
        context: &TransactionContext,
        base: Option<&Base>,
        number: u64,
        lsn: Lsn,
        ts: u32,
    ) -> VersionRecord {
        let copy = |new: &Arc<New>| Bytes::copy_from_slice(new.record.text());
        let (previous, previous_lsn, previous_ts) = match (&self.previous, base) {
            (Image::Written(new), _) => (copy(new), lsn, ts),
            (Image::Stored, Some(base)) => {
                let record = &base.record;
                (Bytes::copy_from_slice(record.text()), record.moment.lsn, record.ts)
            }
            (Image::Absent | Image::Stored, _) => (Bytes::new(), Lsn::ZERO, 0),
        };
        VersionRecord {
            kind: self.kind,
            number,
            ts,
            previous_lsn,
            previous_ts,
            place: context.place.clone(),
            current: self.current.as_ref().map(copy).unwrap_or_default(),
            previous,
        }
    }
}

/// Moves the partition's counters as the logical partition's moved.
fn count(head: &mut Head, before: LogicalRecord, after: LogicalRecord) {
    head.n_items = (head.n_items + after.n_items).saturating_sub(before.n_items);
    head.bytes = (head.bytes + after.bytes).saturating_sub(before.bytes);
    let exists = |record: LogicalRecord| u64::from(record.n_items > 0);
    head.n_logical = (head.n_logical + exists(after)).saturating_sub(exists(before));
}

impl Done {
    /// Turns the answer into what the caller gets, once the commit is durable. `sealed` is absent when nothing was
    /// written.
    pub(crate) fn into_outcome(
        self,
        context: &TransactionContext,
        sealed: Option<&Sealed>,
    ) -> ItemOutcome {
        let settings = &context.settings;
        let is_bare = match &self.shown {
            Shown::Stored { record, .. } => record.is_bare,
            Shown::Written { new, .. } => new.record.is_bare(),
            _ => false,
        };
        let (body, etag, item_lsn) = match (self.shown, sealed) {
            (Shown::Unchanged { etag, lsn }, _) => (None, Some(etag), Some(lsn)),
            (Shown::Stored { number, record }, _) => {
                let etag = record.etag();
                let body = render(settings, number, record.item_text(), &etag, record.ts, None);
                (Some(body), Some(etag), Some(record.moment.lsn))
            }
            (Shown::Written { slot, new }, Some(sealed)) => {
                let etag = ETag::from_lsn(sealed.lsn, u64::from(sealed.ts));
                let number = sealed.numbers[slot];
                let body = render(settings, number, new.record.item_text(), &etag, sealed.ts, None);
                (Some(body), Some(etag), Some(sealed.lsn))
            }
            (Shown::AttachmentStored { at, record }, _) => {
                let etag = record.etag();
                let body = render_attachment(settings, at, &record.text, &etag, record.ts);
                (Some(body), Some(etag), Some(record.lsn))
            }
            (Shown::AttachmentWritten { at, new, .. }, Some(sealed)) => {
                let etag = ETag::from_lsn(sealed.lsn, u64::from(sealed.ts));
                let body = render_attachment(settings, at, &new.text, &etag, sealed.ts);
                (Some(body), Some(etag), Some(sealed.lsn))
            }
            (Shown::Nothing | Shown::Written { .. } | Shown::AttachmentWritten { .. }, _) => {
                (None, None, None)
            }
        };
        ItemOutcome { status: self.status, body, etag, item_lsn, is_bare, charge: self.charge }
    }
}
