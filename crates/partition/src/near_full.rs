//! Tracks logical partitions that are nearly full, for a metric that warns before they refuse writes.

use std::collections::HashMap;

use bytes::Bytes;

use crate::Result;
use crate::keys::{Family, LogicalPrefix, place_of};
use crate::partition::Partition;
use crate::record::LogicalRecord;

// Limit: nearly full logical partitions that are remembered; with more, the figure stays at this.
const NEAR_FULL_MAX: usize = 1_000;

/// Nearly full means this share of the limit, in percent.
const NEARLY_PERCENT: u64 = 80;

/// Lives in the writer, under its lock.
#[derive(Debug, Default)]
pub(crate) struct NearFull {
    bytes: HashMap<Bytes, u64>,
    /// Those that nobody wrote to since the start are known too.
    is_complete: bool,
}

fn is_nearly_full(bytes: u64, limit: u64) -> bool {
    bytes >= (limit / 100).saturating_mul(NEARLY_PERCENT)
}

impl NearFull {
    /// Notes the bytes of a logical partition after a write.
    pub(crate) fn note(&mut self, place: &LogicalPrefix, bytes: u64, limit: u64) {
        if !is_nearly_full(bytes, limit) {
            if !self.bytes.is_empty() {
                self.bytes.remove(place.as_bytes());
            }
        } else if self.bytes.len() < NEAR_FULL_MAX || self.bytes.contains_key(place.as_bytes()) {
            self.bytes.insert(place.clone().into_bytes(), bytes);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl Partition {
    /// Looks once, after the start, for logical partitions that were nearly full before it. Does nothing where there
    /// can be none.
    pub fn find_near_full(&self) -> Result<()> {
        let limit = self.settings().logical_bytes_max;
        {
            let mut writer = self.inner().writer.lock();
            if writer.near_full.is_complete {
                return Ok(());
            }
            writer.near_full.is_complete = true;
            if !is_nearly_full(writer.head.bytes, limit) {
                return Ok(());
            }
        }
        let reader = self.reader();
        for entry in reader.scan(reader.keys.family(Family::Logical)) {
            let (key, value) = entry?;
            let record = LogicalRecord::decode(&value)?;
            if is_nearly_full(record.bytes, limit) {
                let place = place_of(&key);
                let mut writer = self.inner().writer.lock();
                // A write since has said something newer.
                if !writer.near_full.bytes.contains_key(place.as_bytes()) {
                    writer.near_full.note(&place, record.bytes, limit);
                }
            }
        }
        Ok(())
    }
}
