//! Limits of partitions and of the work that keeps them.

use std::num::NonZeroU64;

use partition::LOGICAL_BYTES_MAX;
pub use partition::relocate::Pace;

/// Limit: 50 GB per physical partition, as on the service.
const PARTITION_BYTES: u64 = 50 << 30;
/// Limit: a smaller limit would split for ever.
const PARTITION_BYTES_MIN: u64 = 100 << 10;
/// Limit: 10,000 RU/s per physical partition, as on the service.
const PARTITION_THROUGHPUT: u64 = 10_000;
/// Limit: relocations that copy at the same time; others wait for their turn.
const AT_ONCE: usize = 4;

/// When partitions split by themselves, and how much the work may take from clients.
#[derive(Debug, Clone)]
pub struct RelocationOptions {
    /// Item bytes above which a physical partition is split. Values below 100 KB count as 100 KB.
    pub partition_bytes: u64,
    /// Item bytes above which a logical partition takes no more (403, sub-status 1014).
    pub logical_partition_bytes: u64,
    /// Throughput of one physical partition; more makes splits.
    pub partition_throughput: u64,
    /// Splits partitions that use nearly all of their throughput for a minute.
    pub splits_on_heat: bool,
    /// Whether throughput and storage start splits by themselves.
    pub is_automatic: bool,
    /// What all copies together may move per second; `None` lets them go as fast as they can between requests.
    pub copy_bytes_per_second: Option<NonZeroU64>,
    pub at_once_max: usize,
    /// Items and bytes of one step: how long requests may have to wait for it.
    pub pace: Pace,
}

impl Default for RelocationOptions {
    fn default() -> RelocationOptions {
        RelocationOptions {
            partition_bytes: PARTITION_BYTES,
            logical_partition_bytes: LOGICAL_BYTES_MAX,
            partition_throughput: PARTITION_THROUGHPUT,
            splits_on_heat: false,
            is_automatic: true,
            copy_bytes_per_second: None,
            at_once_max: AT_ONCE,
            pace: Pace::default(),
        }
    }
}

impl RelocationOptions {
    pub(super) fn bytes_max(&self) -> u64 {
        self.partition_bytes.max(PARTITION_BYTES_MIN)
    }
}
