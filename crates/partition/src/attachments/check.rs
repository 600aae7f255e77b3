//! Proves that the families of attachments agree with each other, with the items and with the counters.

use std::collections::HashMap;

use model::Value;

use super::chunk_count;
use crate::Result;
use crate::consistency::Report;
use crate::keys::{AttachmentAt, Family, LogicalPrefix, attachment_of};
use crate::reader::Reader;
use crate::record::{AttachmentCounters, AttachmentName, AttachmentRecord, Head, LogicalRecord};

impl Reader {
    /// Checks all attachments, adds them to the counters of their logical partitions and returns their bytes.
    pub(crate) fn check_attachments(
        &self,
        head: &Head,
        logical: &mut HashMap<LogicalPrefix, LogicalRecord>,
        report: &mut Report,
    ) -> Result<u64> {
        let mut found = AttachmentCounters::default();
        let (mut bytes, mut n_chunks) = (0, 0);
        for entry in self.scan(self.keys.family(Family::Attachment)) {
            let (key, value) = entry?;
            let (at, record) = (attachment_of(&key)?, AttachmentRecord::decode(&value)?);
            self.check_attachment(at, &record, head, report)?;
            found.n_attachments += 1;
            found.media_bytes += record.media_bytes.unwrap_or(0);
            n_chunks += u64::from(chunk_count(record.media_bytes.unwrap_or(0)));
            bytes += record.bytes();
            let counted = logical.entry(record.place.clone()).or_default();
            counted.bytes += record.bytes();
            counted.lsn = counted.lsn.max(record.lsn);
        }
        let count = |family| self.scan(self.keys.family(family)).count();
        let (n_names, n_stored) =
            (count(Family::AttachmentName) as u64, count(Family::Media) as u64);
        report.check(n_names == found.n_attachments, || {
            format!("{n_names} names of {} attachments", found.n_attachments)
        });
        report.check(n_stored == n_chunks, || {
            format!("{n_stored} pieces of media, the attachments say {n_chunks}")
        });
        let expected = AttachmentCounters { next: head.attachments.next, ..found };
        report.check(head.attachments == expected, || {
            format!("{found:?}, the head says {:?}", head.attachments)
        });
        Ok(bytes)
    }

    fn check_attachment(
        &self,
        at: AttachmentAt,
        record: &AttachmentRecord,
        head: &Head,
        report: &mut Report,
    ) -> Result<()> {
        let owner = self.item(at.item)?;
        let is_at_item = owner.is_some_and(|item| item.place() == record.place);
        report.check(is_at_item, || format!("attachment {at:?} has no item in its place"));
        let is_behind = record.lsn <= head.lsn && record.ts <= head.ts;
        report.check(is_behind, || format!("attachment {at:?} is ahead of the head"));
        let is_numbered = at.number < head.attachments.next;
        report.check(is_numbered, || format!("the number of {at:?} was never given out"));
        let name = self.snapshot.get(&self.keys.attachment_name(at.item, &record.id))?;
        let name = name.as_deref().map(AttachmentName::decode).transpose()?;
        let expected = AttachmentName {
            number: at.number,
            text_bytes: u32::try_from(record.text.len()).unwrap_or(u32::MAX),
            media_bytes: record.media_bytes,
        };
        report.check(name == Some(expected), || format!("the name of {at:?} says {name:?}"));
        let id = model::json::parse(&record.text).ok();
        let id = id.as_ref().and_then(|value| value.get("id")).and_then(Value::as_str);
        report.check(id == Some(&record.id), || format!("the text of {at:?} has the id {id:?}"));
        if let Some(media_bytes) = record.media_bytes {
            let is_whole = self.media(at, media_bytes).is_ok();
            report.check(is_whole, || format!("the media of {at:?} is torn"));
        }
        Ok(())
    }
}
