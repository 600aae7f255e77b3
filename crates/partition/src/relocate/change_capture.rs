//! Change capture: the writer of a source notes which items it touches while they are copied, and fences writes off.
//!
//! Invariant: an item that is written after the capture began is noted before its commit is submitted.

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
pub(crate) struct ChangeCapture {
    touched: Touched,
    has_overflowed: bool,
    /// No write gets in any more. Stays so for ever once another partition has taken over.
    is_fenced: bool,
}

impl ChangeCapture {
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
    pub(super) fn start_capture(&self) -> Result<()> {
        let mut writer = self.inner().writer.lock();
        if writer.capture.is_some() {
            return Err(Error::Relocating);
        }
        writer.capture = Some(ChangeCapture::default());
        Ok(())
    }

    /// Stops to listen and lets writes in again.
    pub(super) fn stop_capture(&self) {
        self.inner().writer.lock().capture = None;
    }

    /// Keeps every write out from now on.
    pub(super) fn fence(&self) {
        if let Some(capture) = &mut self.inner().writer.lock().capture {
            capture.is_fenced = true;
        }
    }

    /// Takes what was touched since the last call. A snapshot that has the returned commit
    /// shows what was done to them.
    pub(super) fn take_touched(&self) -> Result<(Lsn, Touched)> {
        let mut writer = self.inner().writer.lock();
        let lsn = writer.head.lsn;
        match &mut writer.capture {
            Some(capture) if capture.has_overflowed => Err(Error::RelocationBehind),
            Some(capture) => Ok((lsn, std::mem::take(&mut capture.touched))),
            None => Ok((lsn, Touched::default())),
        }
    }

    /// Says whether the partition is the source of a relocation.
    pub(crate) fn is_captured(&self) -> bool {
        self.inner().writer.lock().capture.is_some()
    }
}
