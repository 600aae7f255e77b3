//! The attachments of items in a transaction.
//!
//! An attachment is reached through the slot of its item, so everything that says whether the item is alive says it for
//! the attachment too. Whatever removes an item removes its attachments with it ([`Running::detach`]).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use model::{ETag, Lsn, Rid, Status, Value};
use store::Direction;

use super::draft::{Done, Shown};
use super::run::Running;
use super::step::Step;
use crate::attachments::{
    ATTACHMENTS_MAX, AttachmentBody, AttachmentContent, AttachmentOp, MEDIA_BYTES_MAX, Media,
};
use crate::charge;
use crate::keys::{AttachmentAt, Family, attachment_id_of, family_of, item_of_attached};
use crate::record::{AttachmentName, AttachmentRecord};
use crate::{Error, Result};

/// An attachment before the transaction.
#[derive(Debug, Clone)]
pub(crate) struct AttachedBase {
    pub(crate) id: String,
    pub(crate) name: AttachmentName,
}

/// An attachment at this point of the transaction.
#[derive(Debug, Clone)]
pub(crate) enum AttachedImage {
    Absent,
    Stored(Arc<AttachmentRecord>),
    Written(Arc<NewAttachment>),
}

/// A version of an attachment that is to be written.
#[derive(Debug)]
pub(crate) struct NewAttachment {
    pub(crate) id: String,
    pub(crate) text: Bytes,
    pub(crate) media: NewMedia,
}

/// The media of a new version.
#[derive(Debug, Clone)]
pub(crate) enum NewMedia {
    /// Somewhere else.
    Linked,
    /// As it is in the store, with so many bytes.
    Kept(u64),
    Fresh(Bytes),
}

impl NewMedia {
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            NewMedia::Linked => None,
            NewMedia::Kept(bytes) => Some(*bytes),
            NewMedia::Fresh(media) => Some(media.len() as u64),
        }
    }
}

/// What a script is shown of an attachment that its own transaction wrote, for the stamp of the commit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttachedStamp {
    pub(crate) lsn: Lsn,
    pub(crate) ts: u32,
}

#[derive(Debug)]
pub(crate) struct AttachedSlot {
    /// The slot of its item.
    pub(crate) item: usize,
    pub(crate) at: AttachmentAt,
    pub(crate) base: Option<AttachedBase>,
    pub(crate) image: AttachedImage,
    /// Set by scripts only.
    pub(crate) provisional: Option<AttachedStamp>,
}

impl AttachedSlot {
    fn text(&self) -> &[u8] {
        match &self.image {
            AttachedImage::Absent => &[],
            AttachedImage::Stored(record) => &record.text,
            AttachedImage::Written(new) => &new.text,
        }
    }

    fn media_bytes(&self) -> Option<u64> {
        match &self.image {
            AttachedImage::Absent => None,
            AttachedImage::Stored(record) => record.media_bytes,
            AttachedImage::Written(new) => new.media.bytes(),
        }
    }

    /// Text and media now.
    fn bytes(&self) -> u64 {
        self.text().len() as u64 + self.media_bytes().unwrap_or(0)
    }

    pub(crate) fn etag(&self) -> Option<ETag> {
        match (&self.image, &self.provisional) {
            (AttachedImage::Stored(record), _) => Some(record.etag()),
            (AttachedImage::Written(_), Some(AttachedStamp { lsn, ts })) => {
                Some(ETag::from_lsn(*lsn, u64::from(*ts)))
            }
            _ => None,
        }
    }

    /// What a condition header means for the attachment as it is now.
    fn is_named_by(&self, header: &str) -> bool {
        self.etag().map_or(header.trim() == "*", |etag| etag.matches(header))
    }
}

/// The attachments that a transaction has looked at or changed.
#[derive(Debug, Default)]
pub(crate) struct Attached {
    pub(crate) slots: Vec<AttachedSlot>,
    /// By slot of the item and id; `None` means that the item has no such attachment now.
    by_name: HashMap<(usize, String), Option<usize>>,
    /// How many numbers were given to new ones.
    pub(super) n_numbered: u32,
    /// How many were removed with their items.
    pub(crate) n_detached: usize,
}

impl Running<'_> {
    pub(super) fn attachment(
        &mut self,
        step: &Step,
        item: &str,
        op: &AttachmentOp,
    ) -> Result<Done> {
        let item = self.existing(item)?;
        match op {
            AttachmentOp::Create(content) => self.attach(item, content),
            AttachmentOp::Upsert(content) => match self.find_attached(item, content.id())? {
                Some(slot) => {
                    self.check_attached(step, slot)?;
                    self.reattach(slot, content)
                }
                None => self.attach(item, content),
            },
            AttachmentOp::Replace { id, content } => {
                let slot = self.find_attached(item, id)?.ok_or_else(Error::missing)?;
                self.check_attached(step, slot)?;
                if content.id() != id && self.find_attached(item, content.id())?.is_some() {
                    return Err(Error::ItemExists { charge: charge::conflict(0, false) });
                }
                self.reattach(slot, content)
            }
            AttachmentOp::ReplaceMedia { id, media } => {
                let slot = self.find_attached(item, id)?.ok_or_else(Error::missing)?;
                self.check_attached(step, slot)?;
                self.replace_media(slot, media)
            }
            AttachmentOp::Delete { id } => {
                let slot = self.find_attached(item, id)?.ok_or_else(Error::missing)?;
                self.check_attached(step, slot)?;
                let charge = charge::attachment(self.attached.slots[slot].bytes());
                self.remove_attached(slot);
                Ok(Done { status: Status::NO_CONTENT, charge, shown: Shown::Nothing })
            }
            AttachmentOp::Read { id } => {
                let slot = self.find_attached(item, id)?.ok_or_else(Error::missing)?;
                self.read_attached(step, slot)
            }
        }
    }

    fn attach(&mut self, item: usize, content: &AttachmentContent) -> Result<Done> {
        if self.find_attached(item, content.id())?.is_some() {
            return Err(Error::ItemExists { charge: charge::conflict(0, false) });
        }
        if self.attached_names(item)?.len() >= ATTACHMENTS_MAX {
            return Err(Error::AttachmentsFull { n_max: ATTACHMENTS_MAX });
        }
        // Numbers of one item differ; two transactions of different logical partitions may take the same.
        let next = self.view.attachments.next.max(1).checked_add(self.attached.n_numbered);
        let number = next.filter(|number| *number < u32::MAX).ok_or(Error::AttachmentsSpent)?;
        let item_number = self.slots[item].number();
        let item_number = item_number.ok_or(Error::Corrupt("an item has no number yet"))?;
        let at = AttachmentAt { item: item_number, number };
        let slot = self.attached.slots.len();
        self.attached.slots.push(AttachedSlot {
            item,
            at,
            base: None,
            image: AttachedImage::Absent,
            provisional: None,
        });
        let done =
            self.new_attachment(slot, content).and_then(|new| self.write_attached(slot, new));
        match done {
            Ok(new) => {
                self.attached.n_numbered += 1;
                let charge = charge::attachment(self.attached.slots[slot].bytes());
                let shown = Shown::AttachmentWritten { at, slot, new };
                Ok(Done { status: Status::CREATED, charge, shown })
            }
            Err(error) => {
                self.attached.slots.pop();
                Err(error)
            }
        }
    }

    fn reattach(&mut self, slot: usize, content: &AttachmentContent) -> Result<Done> {
        let new = self.new_attachment(slot, content)?;
        self.overwrite_attached(slot, new)
    }

    fn replace_media(&mut self, slot: usize, media: &Media) -> Result<Done> {
        let old = &self.attached.slots[slot];
        if old.media_bytes().is_none() {
            return Err(Error::missing());
        }
        let mut value = model::json::parse(old.text())
            .map_err(|_| Error::Corrupt("a stored attachment is not JSON"))?;
        if let Value::Object(object) = &mut value {
            object.insert("contentType", media.content_type.as_str());
        }
        let id = value.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let new = NewAttachment {
            id,
            text: value.to_text().into_bytes().into(),
            media: NewMedia::Fresh(checked(media)?),
        };
        self.overwrite_attached(slot, new)
    }

    fn overwrite_attached(&mut self, slot: usize, new: NewAttachment) -> Result<Done> {
        let before = charge::attachment(self.attached.slots[slot].bytes());
        let new = self.write_attached(slot, new)?;
        let after = charge::attachment(self.attached.slots[slot].bytes());
        let at = self.attached.slots[slot].at;
        Ok(Done {
            status: Status::OK,
            charge: before + after,
            shown: Shown::AttachmentWritten { at, slot, new },
        })
    }

    fn read_attached(&mut self, step: &Step, slot: usize) -> Result<Done> {
        let attached = &self.attached.slots[slot];
        let at = attached.at;
        if let (Some(header), AttachedImage::Stored(record)) =
            (&step.if_none_match, &attached.image)
            && attached.is_named_by(header)
        {
            let shown = Shown::Unchanged { etag: record.etag(), lsn: record.lsn };
            return Ok(Done { status: Status::NOT_MODIFIED, charge: charge::nothing(), shown });
        }
        let shown = match &attached.image {
            AttachedImage::Absent => return Err(Error::missing()),
            AttachedImage::Stored(record) => {
                Shown::AttachmentStored { at, record: Arc::clone(record) }
            }
            AttachedImage::Written(new) => {
                Shown::AttachmentWritten { at, slot, new: Arc::clone(new) }
            }
        };
        Ok(Done { status: Status::OK, charge: charge::read(attached.text().len()), shown })
    }

    fn check_attached(&self, step: &Step, slot: usize) -> Result<()> {
        let slot = &self.attached.slots[slot];
        let missed = step.if_match.as_ref().is_some_and(|header| !slot.is_named_by(header));
        let forbidden = step.if_none_match.as_ref().is_some_and(|header| slot.is_named_by(header));
        if missed || forbidden { Err(Error::EtagMismatch) } else { Ok(()) }
    }

    /// Makes the version that the content asks for, over what the slot has now.
    fn new_attachment(&self, slot: usize, content: &AttachmentContent) -> Result<NewAttachment> {
        let slot = &self.attached.slots[slot];
        let item = Rid::item(&self.context.settings.container, slot.at.item);
        let link = format!("/media/{}", Rid::attachment(&item, slot.at.number).to_media_id());
        match content {
            AttachmentContent::Json(AttachmentBody { body, link: named }) => {
                // Who keeps the link to our media keeps the media; who names another lets go of it.
                let is_own = *named == link;
                let media = match &slot.image {
                    AttachedImage::Stored(record) if is_own => {
                        record.media_bytes.map_or(NewMedia::Linked, NewMedia::Kept)
                    }
                    AttachedImage::Written(new) if is_own => new.media.clone(),
                    _ => NewMedia::Linked,
                };
                let text = Bytes::copy_from_slice(body.text());
                Ok(NewAttachment { id: body.id().to_owned(), text, media })
            }
            AttachmentContent::Media { id, media } => {
                let mut object = model::Object::new();
                object.insert("id", id.as_str());
                object.insert("contentType", media.content_type.as_str());
                object.insert("media", link.as_str());
                let text = Value::Object(object).to_text().into_bytes().into();
                Ok(NewAttachment { id: id.clone(), text, media: NewMedia::Fresh(checked(media)?) })
            }
        }
    }

    /// Gives the slot a new image.
    fn write_attached(&mut self, slot: usize, new: NewAttachment) -> Result<Arc<NewAttachment>> {
        let old_bytes = self.attached.slots[slot].bytes();
        let new_bytes = new.text.len() as u64 + new.media.bytes().unwrap_or(0);
        self.check_room(old_bytes, new_bytes)?;
        self.bytes = self.bytes.saturating_sub(old_bytes) + new_bytes;
        let new = Arc::new(new);
        let Attached { slots, by_name, .. } = &mut self.attached;
        let slot_of = &mut slots[slot];
        if let Some(old) = id_of(slot_of) {
            by_name.insert((slot_of.item, old.to_owned()), None);
        }
        by_name.insert((slot_of.item, new.id.clone()), Some(slot));
        slot_of.image = AttachedImage::Written(Arc::clone(&new));
        slot_of.provisional = None;
        Ok(new)
    }

    fn remove_attached(&mut self, slot: usize) {
        let Attached { slots, by_name, .. } = &mut self.attached;
        let slot = &mut slots[slot];
        self.bytes = self.bytes.saturating_sub(slot.bytes());
        if let Some(old) = id_of(slot) {
            by_name.insert((slot.item, old.to_owned()), None);
        }
        slot.image = AttachedImage::Absent;
    }

    fn find_attached(&mut self, item: usize, id: &str) -> Result<Option<usize>> {
        if let Some(known) = self.attached.by_name.get(&(item, id.to_owned())) {
            return Ok(*known);
        }
        let Some(base) = self.stored_with_attachments(item) else { return Ok(None) };
        let keys = self.context.keys;
        let Some(bytes) = self.view.get(&keys.attachment_name(base, id))? else { return Ok(None) };
        let name = AttachmentName::decode(&bytes)?;
        let at = AttachmentAt { item: base, number: name.number };
        let bytes = self.view.get(&keys.attachment(at))?;
        let bytes = bytes.ok_or(Error::Corrupt("a name points at no attachment"))?;
        let image = AttachedImage::Stored(AttachmentRecord::decode(&bytes)?.into());
        let slot = self.attached.slots.len();
        let base = Some(AttachedBase { id: id.to_owned(), name });
        self.attached.slots.push(AttachedSlot { item, at, base, image, provisional: None });
        self.attached.by_name.insert((item, id.to_owned()), Some(slot));
        Ok(Some(slot))
    }

    /// The number of the item if the store may have attachments of it.
    fn stored_with_attachments(&self, item: usize) -> Option<u64> {
        let base = self.slots[item].base.as_ref()?;
        (self.view.attachments.n_attachments > 0).then_some(base.number)
    }

    /// The attachments that an item has now, by id: those that the store has and no slot knows with their names there,
    /// the others by slot.
    fn attached_names(&self, item: usize) -> Result<BTreeMap<String, Has>> {
        let mut names = BTreeMap::new();
        if let Some(number) = self.stored_with_attachments(item) {
            for (id, name) in self.view.attachment_names(self.context.keys, number)? {
                names.insert(id, Has::Stored(name));
            }
        }
        for ((owner, id), slot) in &self.attached.by_name {
            if *owner == item {
                match slot {
                    Some(slot) => drop(names.insert(id.clone(), Has::Slot(*slot))),
                    None => drop(names.remove(id)),
                }
            }
        }
        Ok(names)
    }

    /// The attachments that the live item with this id has now, by number.
    pub(crate) fn attached_entries(&mut self, item: &str) -> Result<BTreeMap<u32, AttachedEntry>> {
        let item = self.existing(item)?;
        let mut entries = BTreeMap::new();
        for (id, has) in self.attached_names(item)? {
            let (at, slot) = match has {
                Has::Slot(slot) => (self.attached.slots[slot].at, Some(slot)),
                Has::Stored(name) => {
                    let Some(item) = self.stored_with_attachments(item) else { continue };
                    (AttachmentAt { item, number: name.number }, None)
                }
            };
            entries.insert(at.number, AttachedEntry { id, at, slot });
        }
        Ok(entries)
    }

    /// Removes all attachments of an item, which is about to be removed itself.
    pub(super) fn detach(&mut self, item: usize) -> Result<()> {
        if self.attached.slots.is_empty() && self.view.attachments.n_attachments == 0 {
            return Ok(());
        }
        for (id, has) in self.attached_names(item)? {
            self.attached.n_detached += 1;
            match has {
                Has::Slot(slot) => self.remove_attached(slot),
                Has::Stored(name) => {
                    let Some(number) = self.stored_with_attachments(item) else { continue };
                    let at = AttachmentAt { item: number, number: name.number };
                    self.bytes = self.bytes.saturating_sub(name.bytes());
                    self.attached.by_name.insert((item, id.clone()), None);
                    self.attached.slots.push(AttachedSlot {
                        item,
                        at,
                        base: Some(AttachedBase { id, name }),
                        image: AttachedImage::Absent,
                        provisional: None,
                    });
                }
            }
        }
        Ok(())
    }
}

/// An attachment of an item at this point of the transaction.
#[derive(Debug)]
pub(crate) struct AttachedEntry {
    pub(crate) id: String,
    pub(crate) at: AttachmentAt,
    /// `None` for one that is as the view has it, and was not looked at.
    pub(crate) slot: Option<usize>,
}

/// Where an attachment of an item is known from.
enum Has {
    Stored(AttachmentName),
    Slot(usize),
}

impl super::View {
    /// The names of an item's attachments: the snapshot's under what is on the way.
    pub(crate) fn attachment_names(
        &self,
        keys: crate::keys::Keys,
        item: u64,
    ) -> Result<BTreeMap<String, AttachmentName>> {
        let mut names = BTreeMap::new();
        let range = store::KeyRange::prefix(&keys.attachment_name(item, ""));
        for entry in self.snapshot.scan(range, Direction::Forward) {
            let (key, value) = entry?;
            names.insert(attachment_id_of(&key)?.to_owned(), AttachmentName::decode(&value)?);
        }
        for (key, pending) in &self.overlay {
            if family_of(key)? != Family::AttachmentName || item_of_attached(key)? != item {
                continue;
            }
            let id = attachment_id_of(key)?;
            match &pending.value {
                Some(value) => drop(names.insert(id.to_owned(), AttachmentName::decode(value)?)),
                None => drop(names.remove(id)),
            }
        }
        Ok(names)
    }
}

fn id_of(slot: &AttachedSlot) -> Option<&str> {
    match &slot.image {
        AttachedImage::Absent => None,
        AttachedImage::Stored(record) => Some(&record.id),
        AttachedImage::Written(new) => Some(&new.id),
    }
}

fn checked(media: &Media) -> Result<Bytes> {
    if media.bytes.len() > MEDIA_BYTES_MAX {
        return Err(Error::MediaTooLarge { bytes: media.bytes.len(), bytes_max: MEDIA_BYTES_MAX });
    }
    Ok(media.bytes.clone())
}
