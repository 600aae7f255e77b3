//! Figures of a partition and of its logical partitions.

use std::sync::atomic::{AtomicU64, Ordering};

use model::{Lsn, PartitionKey};

use crate::keys::{LogicalPrefix, place_of};
use crate::partition::Partition;
use crate::record::{Head, LogicalRecord};
use crate::{Logical, Result};

/// Counters as of the last submitted commit. Dead items count until they are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    pub n_items: u64,
    /// Bytes of item text, without system properties and index, and of attachments with the media that we keep.
    pub bytes: u64,
    pub n_logical: u64,
    pub n_attachments: u64,
    /// Bytes of the media that we keep for attachments.
    pub media_bytes: u64,
    /// Logical partitions with four fifths of the bytes that they may have, or more.
    pub n_crowded: usize,
    pub lsn: Lsn,
}

/// Counters of one logical partition.
#[derive(Debug, Clone, PartialEq)]
pub struct LogicalStatistics {
    pub key: PartitionKey,
    pub n_items: u64,
    pub bytes: u64,
    pub lsn: Lsn,
}

/// How much a partition holds, as of the last submitted commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub n_items: u64,
    pub bytes: u64,
}

/// What every answer tells of the head, readable without the writer's lock. The two numbers may be of two commits.
#[derive(Debug, Default)]
pub(crate) struct UsageCounters {
    n_items: AtomicU64,
    bytes: AtomicU64,
}

impl UsageCounters {
    pub(crate) fn set(&self, head: &Head) {
        self.n_items.store(head.n_items, Ordering::Relaxed);
        self.bytes.store(head.bytes, Ordering::Relaxed);
    }

    fn get(&self) -> Usage {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Usage { n_items: load(&self.n_items), bytes: load(&self.bytes) }
    }
}

impl Partition {
    /// Returns items and bytes; unlike [`Partition::statistics`] it takes no lock.
    pub fn usage(&self) -> Usage {
        self.inner().usage.get()
    }

    pub fn statistics(&self) -> Statistics {
        let lsn = self.lsn();
        let writer = self.inner().writer.lock();
        let head = &writer.head;
        Statistics {
            n_items: head.n_items,
            bytes: head.bytes,
            n_logical: head.n_logical,
            n_attachments: head.attachments.n_attachments,
            media_bytes: head.attachments.media_bytes,
            n_crowded: writer.near_full.len(),
            lsn,
        }
    }

    /// Returns up to `items_max` logical partitions above `after`, in order of effective partition key.
    pub fn logical_partitions(
        &self,
        after: Option<&Logical>,
        items_max: usize,
    ) -> Result<Vec<LogicalStatistics>> {
        let reader = self.reader();
        let after = after.map(|at| LogicalPrefix::new(at, &reader.settings.definition));
        let mut found = Vec::new();
        for entry in reader.scan(reader.keys.logicals(after.as_ref())).take(items_max) {
            let (key, value) = entry?;
            let LogicalRecord { n_items, bytes, lsn } = LogicalRecord::decode(&value)?;
            let key = place_of(&key).to_logical()?.key;
            found.push(LogicalStatistics { key, n_items, bytes, lsn });
        }
        Ok(found)
    }
}
