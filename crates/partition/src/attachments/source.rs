//! The attachments of an item for queries: one consistent look, in creation order.

use query::{ItemSource, SourceItem};

use super::render;
use crate::partition::Partition;
use crate::reader::Reader;
use crate::{Error, Logical, Result};

/// The attachments of one item as they were when the source was made.
#[derive(Debug)]
pub struct AttachmentSource {
    reader: Reader,
    item: u64,
}

impl Partition {
    /// Opens the attachments of an item for a query.
    pub fn attachment_source(&self, at: &Logical, item: &str) -> Result<AttachmentSource> {
        let reader = self.reader();
        let item = reader.item_number(at, item)?;
        Ok(AttachmentSource { reader, item })
    }
}

impl AttachmentSource {
    /// The rid of the item.
    pub fn item(&self) -> model::Rid {
        model::Rid::item(&self.reader.settings.container, self.item)
    }
}

impl ItemSource for AttachmentSource {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = query::Result<SourceItem>> + '_> {
        // Numbers have 32 bits: nothing comes after one that does not fit.
        let after = after.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let attachments = self.reader.attachments_of(self.item, after).map(|entry| {
            let (at, record) = entry?;
            let text = render(&self.reader.settings, at, &record.text, &record.etag(), record.ts);
            let value = model::json::parse(&text)
                .map_err(|_| Error::Corrupt("a stored attachment is not JSON"))?;
            Ok(SourceItem::new(at.number.into(), value, record.text.len()))
        });
        Box::new(
            attachments.map(|entry: Result<SourceItem>| {
                entry.map_err(|error| query::Error::source(&error))
            }),
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
