//! What a relocation hears from the writer of a source: which items are touched, and whether writes still get in.

use std::collections::BTreeSet;

use model::Lsn;
use store::Batch;

use crate::keys::{AttachmentAt, attachment_if_record, number_if_item};
use crate::partition::Partition;
use crate::{Error, Result};

/// What was written: items by number, and attachments.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) items: BTreeSet<u64>,
    pub(super) attachments: BTreeSet<AttachmentAt>,
}

impl Touched {
    pub(super) fn len(&self) -> usize {
        self.items.len() + self.attachments.len()
    }
}

// Limit: items and attachments written again while they are copied, eight bytes each and some more. A relocation that falls further
// behind gives up.
const TOUCHED_MAX: usize = 8_000_000;

/// Lives in the writer, under its lock, while the partition is the source of a relocation.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    touched: Touched,
    has_overflowed: bool,
    /// No write gets in any more. Stays so for ever once another partition has taken over.
    is_fenced: bool,
}

impl Tap {
    /// Notes the items of a batch that is being submitted.
    pub(crate) fn note(&mut self, batch: &Batch) {
        for write in batch.writes() {
            if let Some(number) = number_if_item(&write.key) {
                self.touched.items.insert(number);
            } else if let Some(at) = attachment_if_record(&write.key) {
                self.touched.attachments.insert(at);
            }
        }
        if self.touched.len() > TOUCHED_MAX {
            self.has_overflowed = true;
            self.touched = Touched::default();
        }
    }

    pub(crate) fn is_fenced(&self) -> bool {
        self.is_fenced
    }
}

impl Partition {
    /// Starts to listen. Fails when another relocation listens already.
    pub(super) fn tap(&self) -> Result<()> {
        let mut writer = self.inner().writer.lock();
        if writer.tap.is_some() {
            return Err(Error::Relocating);
        }
        writer.tap = Some(Tap::default());
        Ok(())
    }

    /// Stops to listen and lets writes in again.
    pub(super) fn untap(&self) {
        self.inner().writer.lock().tap = None;
    }

    /// Keeps every write out from now on.
    pub(super) fn fence(&self) {
        if let Some(tap) = &mut self.inner().writer.lock().tap {
            tap.is_fenced = true;
        }
    }

    /// Takes what was touched since the last call. A snapshot that has the returned commit
    /// shows what was done to them.
    pub(super) fn take_touched(&self) -> Result<(Lsn, Touched)> {
        let mut writer = self.inner().writer.lock();
        let lsn = writer.head.lsn;
        match &mut writer.tap {
            Some(tap) if tap.has_overflowed => Err(Error::RelocationBehind),
            Some(tap) => Ok((lsn, std::mem::take(&mut tap.touched))),
            None => Ok((lsn, Touched::default())),
        }
    }

    /// Says whether the partition is the source of a relocation.
    pub(crate) fn is_tapped(&self) -> bool {
        self.inner().writer.lock().tap.is_some()
    }
}
