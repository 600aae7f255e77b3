//! Counts of operations by kind and status, lock-free, and the snapshot for `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

use model::{Charge, Status};
use store::StoreStatistics;

use crate::operation::{ItemAction, Operation};

/// Operation names in metrics, in the order of [`index`].
const OPERATIONS: [&str; 22] = [
    "resource_create",
    "resource_read",
    "resource_replace",
    "resource_delete",
    "resource_list",
    "resource_query",
    "ranges",
    "item_create",
    "item_upsert",
    "item_read",
    "item_replace",
    "item_patch",
    "item_delete",
    "batch",
    "bulk",
    "read_feed",
    "change_feed",
    "query",
    "partition_delete",
    "procedure",
    "attachment",
    "media",
];

/// Status codes that are counted apart; others share the last place, shown as 0.
const CODES: [u16; 23] = [
    200, 201, 202, 204, 207, 304, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 424, 429, 449,
    500, 501, 503, 0,
];

#[derive(Debug)]
pub(crate) struct Metrics {
    counts: [[AtomicU64; CODES.len()]; OPERATIONS.len()],
    charges: [AtomicU64; OPERATIONS.len()],
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            counts: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))),
            charges: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

/// An operation's place in the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationIndex(usize);

impl Metrics {
    pub(crate) fn count(&self, operation: OperationIndex, status: Status, charge: Charge) {
        let code = CODES.iter().position(|code| *code == status.code).unwrap_or(CODES.len() - 1);
        if let Some(counter) = self.counts.get(operation.0).and_then(|counts| counts.get(code)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(counter) = self.charges.get(operation.0) {
            counter.fetch_add(charge.parts(), Ordering::Relaxed);
        }
    }

    pub(crate) fn operations(&self) -> Vec<OperationCount> {
        let mut all = Vec::new();
        for (operation, counts) in OPERATIONS.iter().zip(&self.counts) {
            for (code, counter) in CODES.iter().zip(counts) {
                let count = counter.load(Ordering::Relaxed);
                if count > 0 {
                    all.push(OperationCount { operation, code: *code, count });
                }
            }
        }
        all
    }

    pub(crate) fn charges(&self) -> Vec<(&'static str, Charge)> {
        let charge = |counter: &AtomicU64| Charge::from_parts(counter.load(Ordering::Relaxed));
        let all = OPERATIONS.into_iter().zip(self.charges.iter().map(charge));
        all.filter(|(_, charge)| charge.hundredths() > 0).collect()
    }
}

/// How often an operation ended with a status code (0: any other).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationCount {
    pub operation: &'static str,
    pub code: u16,
    pub count: u64,
}

/// Figures of one physical partition.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeMetrics {
    pub database: String,
    pub container: String,
    pub range: model::RangeId,
    pub n_items: u64,
    pub bytes: u64,
    /// Logical partitions that are nearly full.
    pub n_crowded: u64,
    pub lsn: u64,
    /// Since the range was opened.
    pub charge: Charge,
    pub n_throttled: u64,
    /// The busiest second of the last minute over the range's share of the throughput.
    pub normalised: f64,
}

/// A snapshot for `/metrics`.
#[derive(Debug, Clone)]
pub struct AccountMetrics {
    pub operations: Vec<OperationCount>,
    pub charges: Vec<(&'static str, Charge)>,
    pub n_databases: usize,
    pub n_containers: usize,
    pub ranges: Vec<RangeMetrics>,
    /// Deleted partitions whose bytes are not yet reclaimed.
    pub n_partitions_to_reclaim: usize,
    /// Whether the store takes writes.
    pub is_writable: bool,
    pub store: StoreStatistics,
    /// Memory that queries hold now, and may hold together.
    pub query_bytes: usize,
    pub query_bytes_max: usize,
    /// The same for scripts.
    pub script_bytes: usize,
    pub script_bytes_max: usize,
    /// Queries refused because others held the memory.
    pub n_queries_refused: u64,
}

pub(crate) fn index(operation: &Operation) -> OperationIndex {
    OperationIndex(match operation {
        Operation::Create { .. } => 0,
        Operation::Read { .. } => 1,
        Operation::Replace { .. } => 2,
        Operation::Delete { .. } => 3,
        Operation::List { .. } => 4,
        Operation::QueryResources { .. } => 5,
        Operation::Ranges { .. } => 6,
        Operation::Item(item) => match &item.action {
            ItemAction::Create { is_upsert: false, .. } => 7,
            ItemAction::Create { is_upsert: true, .. } => 8,
            ItemAction::Read { .. } => 9,
            ItemAction::Replace { .. } => 10,
            ItemAction::Patch { .. } => 11,
            ItemAction::Delete { .. } => 12,
            ItemAction::Batch { is_atomic: true, .. } => 13,
            ItemAction::Batch { is_atomic: false, .. } => 14,
            ItemAction::Head | ItemAction::ReadFeed => 15,
            ItemAction::ChangeFeed { .. } => 16,
            ItemAction::Query { .. } | ItemAction::QueryPlan { .. } => 17,
            ItemAction::DeleteLogicalPartition => 18,
            ItemAction::Execute { .. } => 19,
            ItemAction::Attachment { .. } => 20,
            ItemAction::Media { .. } => 21,
        },
        Operation::Media { .. } => 21,
    })
}
