//! The attachments of an item as a script's transaction sees them.

use std::collections::BTreeMap;

use bytes::Bytes;
use model::Rid;
use query::{ItemSource, SourceItem};
use script::FeedPage;

use super::overlay::{PAGE_BYTES_MAX, PAGE_ITEMS_MAX};
use super::transaction::Transaction;
use crate::attachments::render;
use crate::record::AttachmentRecord;
use crate::transaction::{AttachedEntry, AttachedImage, Step};
use crate::{AttachmentCall, AttachmentOp, Error, ItemOutcome, Result, charge};

/// The attachments of one item, by number. Those that the transaction has not looked at are read as they are asked for.
#[derive(Debug)]
pub(super) struct AttachedSight<'a> {
    transaction: &'a Transaction,
    entries: BTreeMap<u32, AttachedEntry>,
}

impl Transaction {
    /// Carries out one call and shows its answer, as [`Transaction::apply`] does for an item.
    pub(super) fn apply_attachment(&mut self, call: AttachmentCall) -> Result<ItemOutcome> {
        let is_write = !matches!(call.op, AttachmentOp::Read { .. });
        let done = self.play(&Step::attachment(call), is_write)?;
        Ok(self.show(&done))
    }

    /// The id of the attachment of an item that a rid names.
    pub(super) fn attachment_id_of_rid(&mut self, item: &str, rid: &str) -> Result<String> {
        let container = self.context.settings.container;
        let named = Rid::parse(rid).and_then(|rid| rid.split_attachment());
        let (item_rid, number) = named.ok_or_else(Error::missing)?;
        let mut entries = self.with_running(|running| running.attached_entries(item))?;
        let entry = entries.remove(&number);
        let is_same = |entry: &AttachedEntry| Rid::item(&container, entry.at.item) == item_rid;
        entry.filter(is_same).map(|entry| entry.id).ok_or_else(Error::missing)
    }

    /// One page of the attachments of an item.
    pub(super) fn attached_page(
        &mut self,
        item: &str,
        after: Option<u64>,
        items_max: Option<usize>,
    ) -> Result<FeedPage> {
        let items_max = items_max.unwrap_or(PAGE_ITEMS_MAX).clamp(1, PAGE_ITEMS_MAX);
        let sight = self.attached_sight(item)?;
        let (mut items, mut sizes, mut n_bytes) = (Vec::<(u64, Bytes)>::new(), Vec::new(), 0);
        let mut next = None;
        for entry in sight.entries_after(after) {
            let (text, bytes) = sight.see(entry)?;
            let is_full = items.len() >= items_max || n_bytes + text.len() > PAGE_BYTES_MAX;
            if is_full && let Some((last, _)) = items.last() {
                next = Some(*last);
                break;
            }
            n_bytes += text.len();
            sizes.push(bytes);
            items.push((entry.at.number.into(), text));
        }
        self.charge += charge::page(sizes);
        Ok(FeedPage { items, next })
    }

    pub(super) fn attached_sight(&mut self, item: &str) -> Result<AttachedSight<'_>> {
        let entries = self.with_running(|running| running.attached_entries(item))?;
        Ok(AttachedSight { transaction: self, entries })
    }
}

impl AttachedSight<'_> {
    fn entries_after(&self, after: Option<u64>) -> impl Iterator<Item = &AttachedEntry> {
        // Numbers have 32 bits: nothing comes after one that does not fit.
        let after = after.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let entries = self.entries.iter();
        entries.filter(move |(number, _)| after.is_none_or(|after| **number > after)).map(|it| it.1)
    }

    /// The attachment as a reader would get it, and the length of its text.
    fn see(&self, entry: &AttachedEntry) -> Result<(Bytes, usize)> {
        let Transaction { context, view, paused, ts, .. } = self.transaction;
        let settings = &context.settings;
        let stored = |record: &AttachmentRecord| {
            let text = render(settings, entry.at, &record.text, &record.etag(), record.ts);
            (text, record.text.len())
        };
        let slot = entry.slot.map(|slot| &paused.attached.slots[slot]);
        match slot.map(|slot| (&slot.image, slot.etag())) {
            Some((AttachedImage::Stored(record), _)) => Ok(stored(record)),
            Some((AttachedImage::Written(new), Some(etag))) => {
                Ok((render(settings, entry.at, &new.text, &etag, *ts), new.text.len()))
            }
            Some(_) => Err(Error::Corrupt("an attachment that is gone has a name")),
            None => {
                let bytes = view.get(&context.keys.attachment(entry.at))?;
                let bytes = bytes.ok_or(Error::Corrupt("a name points at no attachment"))?;
                Ok(stored(&AttachmentRecord::decode(&bytes)?))
            }
        }
    }
}

impl ItemSource for AttachedSight<'_> {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = query::Result<SourceItem>> + '_> {
        let to_item = |entry: &AttachedEntry| -> Result<SourceItem> {
            let (text, bytes) = self.see(entry)?;
            let value = model::json::parse(&text)
                .map_err(|_| Error::Corrupt("a stored attachment is not JSON"))?;
            Ok(SourceItem::new(entry.at.number.into(), value, bytes))
        };
        let items = self.entries_after(after);
        Box::new(
            items.map(move |entry| to_item(entry).map_err(|error| query::Error::source(&error))),
        )
    }

    fn index(&self) -> Option<&dyn query::ItemIndex> {
        None
    }

    fn shared(&self) -> Option<&(dyn ItemSource + Sync)> {
        None
    }

    fn parts(&self) -> Option<query::Parts<'_>> {
        None
    }
}
