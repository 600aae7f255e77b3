//! What a writer sees: submitted writes over the last acknowledged snapshot.

use std::sync::Arc;

use bytes::Bytes;
use model::Lsn;
use store::Snapshot;

use crate::Result;
use crate::index::PathDictionaryView;
use crate::reader::Liveness;
use crate::record::AttachmentCounters;

/// A submitted write that the store has not acknowledged; `value` is `None` for a delete.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) ticket: u64,
    pub(crate) value: Option<Bytes>,
}

/// Submitted writes by key, of the families that writers read.
pub(crate) type Overlay = imbl::HashMap<Bytes, Pending>;

/// Invariant: the overlay was taken before the snapshot. An acknowledged write leaves the overlay only after
/// snapshots show it, so nothing falls between the two.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) overlay: Overlay,
    pub(crate) snapshot: Arc<dyn Snapshot>,
    pub(crate) liveness: Liveness,
    /// The last submitted commit that the view is known to show whole.
    pub(crate) base: Lsn,
    pub(crate) generation: u64,
    pub(crate) dictionary: PathDictionaryView,
    /// As of the last submitted commit.
    pub(crate) attachments: AttachmentCounters,
}

impl View {
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Bytes>> {
        if !self.overlay.is_empty()
            && let Some(pending) = self.overlay.get(key)
        {
            return Ok(pending.value.clone());
        }
        Ok(self.snapshot.get(key)?)
    }
}
