//! How much media the account keeps for attachments, against its limit.
//!
//! The bytes are counted by the partitions, in the commits that write them; here is only their sum. What is on its way is
//! reserved beside it, so that uploads at the same time do not all find the same room.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::account::Inner;
use crate::error::{Error, Result};

/// Media of the account now, and what it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MediaUsage {
    pub bytes: u64,
    pub bytes_max: u64,
}

/// Bytes of uploads under way.
#[derive(Debug, Default)]
pub(crate) struct MediaUploads {
    bytes: AtomicU64,
}

/// Room that an upload holds until it is counted.
#[derive(Debug)]
pub(crate) struct Room {
    uploads: Arc<MediaUploads>,
    bytes: u64,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.uploads.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

impl Inner {
    pub(crate) fn media_usage(&self) -> MediaUsage {
        let containers: Vec<_> = self.catalog.tables().containers().cloned().collect();
        let ranges = containers.iter().flat_map(|container| container.ranges.iter());
        let bytes = ranges.map(|range| range.partition.statistics().media_bytes).sum();
        MediaUsage { bytes, bytes_max: self.options().media_bytes_max }
    }

    /// Reserves room for media that takes the place of `old_bytes`. Whoever does not grow is never refused.
    pub(crate) fn reserve_media(&self, n_bytes: u64, old_bytes: u64) -> Result<Room> {
        let bytes = n_bytes.saturating_sub(old_bytes);
        let uploads = Arc::clone(&self.media_uploads);
        let under_way = uploads.bytes.fetch_add(bytes, Ordering::AcqRel) + bytes;
        let room = Room { uploads, bytes };
        let MediaUsage { bytes: kept, bytes_max } = self.media_usage();
        if bytes > 0 && kept.saturating_add(under_way) > bytes_max {
            return Err(Error::MediaFull { bytes_max });
        }
        Ok(room)
    }
}
