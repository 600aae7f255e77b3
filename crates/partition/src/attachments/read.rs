//! Reads of attachments and of the media that we keep.

use bytes::{Bytes, BytesMut};
use model::{Charge, ETag, ItemBody, Rid, Status};

use super::{chunk_count, decode_chunk};
use crate::keys::{AttachmentAt, LogicalPrefix, attachment_of};
use crate::partition::Partition;
use crate::reader::Reader;
use crate::record::{AttachmentName, AttachmentRecord};
use crate::{Error, ItemOutcome, Logical, PageLimits, Result, Settings, charge};

/// Where an attachment is: its logical partition, the id of its item and its own.
#[derive(Debug, Clone)]
pub struct FoundAttachment {
    pub at: Logical,
    pub item: String,
    pub id: String,
}

/// One page of the attachments of an item, in creation order.
#[derive(Debug)]
pub struct AttachmentPage {
    /// Whole attachments with system properties.
    pub attachments: Vec<Bytes>,
    /// Pass as `after` to go on; `None` at the end.
    pub next: Option<u32>,
    /// The rid of the item.
    pub item: Rid,
    pub charge: Charge,
}

/// What is known of media without its bytes.
#[derive(Debug)]
pub struct MediaFacts {
    pub content_type: String,
    pub n_bytes: u64,
    pub etag: ETag,
    pub charge: Charge,
}

/// Media as it was uploaded.
#[derive(Debug)]
pub struct FoundMedia {
    pub content_type: String,
    pub bytes: Bytes,
    pub etag: ETag,
    pub charge: Charge,
}

impl Partition {
    /// Reads one attachment. Fails with `ItemMissing` also when there is no such item.
    pub fn read_attachment(
        &self,
        at: &Logical,
        item: &str,
        id: &str,
        if_none_match: Option<&str>,
    ) -> Result<ItemOutcome> {
        let reader = self.reader();
        let (number, record) = reader.find_attachment(at, item, id)?;
        self.has_seen(record.lsn);
        let (etag, item_lsn) = (record.etag(), Some(record.lsn));
        if if_none_match.is_some_and(|header| etag.matches(header)) {
            let (status, charge) = (Status::NOT_MODIFIED, charge::nothing());
            let (etag, is_bare) = (Some(etag), false);
            return Ok(ItemOutcome { status, body: None, etag, item_lsn, is_bare, charge });
        }
        Ok(ItemOutcome {
            status: Status::OK,
            body: Some(render(&reader.settings, number, &record.text, &etag, record.ts)),
            etag: Some(etag),
            item_lsn,
            is_bare: false,
            charge: charge::read(record.text.len()),
        })
    }

    /// Returns the attachments of an item with numbers above `after`.
    pub fn attachments(
        &self,
        at: &Logical,
        item: &str,
        after: Option<u32>,
        limits: PageLimits,
    ) -> Result<AttachmentPage> {
        let reader = self.reader();
        let item = reader.item_number(at, item)?;
        let (mut attachments, mut sizes, mut n_bytes) = (Vec::new(), Vec::new(), 0);
        let (mut next, mut last) = (None, None);
        for entry in reader.attachments_of(item, after) {
            let (number, record) = entry?;
            let etag = record.etag();
            let text = render(&reader.settings, number, &record.text, &etag, record.ts);
            let is_full = attachments.len() >= limits.items_max.max(1)
                || n_bytes + text.len() > limits.bytes_max;
            if is_full && last.is_some() {
                next = last;
                break;
            }
            n_bytes += text.len();
            sizes.push(record.text.len());
            attachments.push(text);
            last = Some(number.number);
        }
        let item = Rid::item(&reader.settings.container, item);
        Ok(AttachmentPage { attachments, next, item, charge: charge::page(sizes) })
    }

    /// Finds the attachment of a live item by the numbers that its rid carries.
    pub fn find_attachment(&self, item: u64, number: u32) -> Result<Option<FoundAttachment>> {
        let reader = self.reader();
        let Some(owner) = reader.item(item)? else { return Ok(None) };
        if !reader.liveness.is_live(&owner) {
            return Ok(None);
        }
        let key = reader.keys.attachment(AttachmentAt { item, number });
        let Some(bytes) = reader.snapshot.get(&key)? else { return Ok(None) };
        let record = AttachmentRecord::decode(&bytes)?;
        let body = ItemBody::parse(owner.text())
            .map_err(|_| Error::Corrupt("a stored item is not an item"))?;
        let (at, item) = (owner.place().to_logical()?, body.id().to_owned());
        Ok(Some(FoundAttachment { at, item, id: record.id }))
    }

    /// Returns how many bytes of media we keep for an attachment; zero if there is none, or no such attachment.
    pub fn media_bytes(&self, at: &Logical, item: &str, id: &str) -> Result<u64> {
        match self.reader().find_attachment(at, item, id) {
            Ok((_, record)) => Ok(record.media_bytes.unwrap_or(0)),
            Err(Error::ItemMissing { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Reads the media that we keep for an attachment. One that only links to media fails with `ItemMissing`.
    pub fn read_media(&self, at: &Logical, item: &str, id: &str) -> Result<FoundMedia> {
        let reader = self.reader();
        let (number, record) = reader.find_attachment(at, item, id)?;
        self.has_seen(record.lsn);
        let MediaFacts { content_type, n_bytes, etag, .. } = facts_of(&record)?;
        let bytes = reader.media(number, n_bytes)?;
        let charge = charge::media(bytes.len());
        Ok(FoundMedia { content_type, bytes, etag, charge })
    }

    /// Tells of the media that we keep for an attachment what [`Partition::read_media`] tells beside its bytes.
    pub fn media_facts(&self, at: &Logical, item: &str, id: &str) -> Result<MediaFacts> {
        let (_, record) = self.reader().find_attachment(at, item, id)?;
        self.has_seen(record.lsn);
        facts_of(&record)
    }
}

impl Reader {
    /// The number of the live item with this id.
    pub(super) fn item_number(&self, at: &Logical, item: &str) -> Result<u64> {
        let place = LogicalPrefix::new(at, &self.settings.definition);
        Ok(self.find(&place, item)?.ok_or_else(Error::missing)?.0)
    }

    fn find_attachment(
        &self,
        at: &Logical,
        item: &str,
        id: &str,
    ) -> Result<(AttachmentAt, AttachmentRecord)> {
        let item = self.item_number(at, item)?;
        let name = self.snapshot.get(&self.keys.attachment_name(item, id))?;
        let name = AttachmentName::decode(&name.ok_or_else(Error::missing)?)?;
        let at = AttachmentAt { item, number: name.number };
        let bytes = self.snapshot.get(&self.keys.attachment(at))?;
        let bytes = bytes.ok_or(Error::Corrupt("a name points at no attachment"))?;
        Ok((at, AttachmentRecord::decode(&bytes)?))
    }

    pub(super) fn attachments_of(
        &self,
        item: u64,
        after: Option<u32>,
    ) -> impl Iterator<Item = Result<(AttachmentAt, AttachmentRecord)>> + '_ {
        self.scan(self.keys.attachments_of(item, after)).map(|entry| {
            let (key, value) = entry?;
            Ok((attachment_of(&key)?, AttachmentRecord::decode(&value)?))
        })
    }

    /// Puts the pieces of media together.
    pub(crate) fn media(&self, at: AttachmentAt, media_bytes: u64) -> Result<Bytes> {
        const TORN: Error = Error::Corrupt("media is not as long as its attachment says");
        let n_bytes = usize::try_from(media_bytes).map_err(|_| TORN)?;
        let mut media = BytesMut::with_capacity(n_bytes);
        for index in 0..chunk_count(media_bytes) {
            let chunk = self.snapshot.get(&self.keys.media_chunk(at, index))?.ok_or(TORN)?;
            media.extend_from_slice(decode_chunk(&chunk)?);
        }
        if media.len() == n_bytes { Ok(media.freeze()) } else { Err(TORN) }
    }
}

/// What a record tells of its media. One that only links to media fails with `ItemMissing`.
fn facts_of(record: &AttachmentRecord) -> Result<MediaFacts> {
    let n_bytes = record.media_bytes.ok_or_else(Error::missing)?;
    let value = model::json::parse(&record.text)
        .map_err(|_| Error::Corrupt("a stored attachment is not JSON"))?;
    let content_type = value.get("contentType").and_then(model::Value::as_str);
    let content_type = content_type.unwrap_or("application/octet-stream").to_owned();
    let charge = charge::read(record.text.len());
    Ok(MediaFacts { content_type, n_bytes, etag: record.etag(), charge })
}

/// Splices the system properties into an attachment's text.
pub(crate) fn render(
    settings: &Settings,
    at: AttachmentAt,
    text: &[u8],
    etag: &ETag,
    ts: u32,
) -> Bytes {
    let item = Rid::item(&settings.container, at.item);
    let link = format!("{}docs/{item}/", settings.container_link);
    let rid = Rid::attachment(&item, at.number);
    model::with_attachment_properties(text, &rid, &link, etag, u64::from(ts)).into()
}
