//! What a relocation hears from the writer of a source: which items are touched, and whether writes still get in.

use std::collections::BTreeSet;

use model::Lsn;
use store::Batch;

use crate::keys::number_if_item;
use crate::partition::Partition;
use crate::{Error, Result};

// Limit: items written again while they are copied, eight bytes each and some more. A relocation that falls further
// behind gives up.
const TOUCHED_MAX: usize = 8_000_000;

/// Lives in the writer, under its lock, while the partition is the source of a relocation.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    touched: BTreeSet<u64>,
    has_overflowed: bool,
    /// No write gets in any more. Stays so for ever once another partition has taken over.
    is_fenced: bool,
}

impl Tap {
    /// Notes the items of a batch that is being submitted.
    pub(crate) fn note(&mut self, batch: &Batch) {
        self.touched.extend(batch.writes().iter().filter_map(|write| number_if_item(&write.key)));
        if self.touched.len() > TOUCHED_MAX {
            self.has_overflowed = true;
            self.touched.clear();
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

    /// Takes the numbers of the items that were touched since the last call. A snapshot that has the returned commit
    /// shows what was done to them.
    pub(super) fn take_touched(&self) -> Result<(Lsn, BTreeSet<u64>)> {
        let mut writer = self.inner().writer.lock();
        let lsn = writer.head.lsn;
        match &mut writer.tap {
            Some(tap) if tap.has_overflowed => Err(Error::RelocationBehind),
            Some(tap) => Ok((lsn, std::mem::take(&mut tap.touched))),
            None => Ok((lsn, BTreeSet::new())),
        }
    }

    /// Says whether the partition is the source of a relocation.
    pub(crate) fn is_tapped(&self) -> bool {
        self.inner().writer.lock().tap.is_some()
    }
}
