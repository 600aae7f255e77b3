//! What is told about ranges and relocations.

use std::time::Duration;

use model::{EpkRange, Lsn, RangeId};

/// What a relocation makes of its ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocationKind {
    /// One range becomes two.
    Split,
    /// Two neighbours become one.
    Merge,
    /// The range stays; its data goes to a new partition, with a new index.
    Move,
}

/// What started a relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocationReason {
    Command,
    /// More throughput than the ranges can serve.
    Throughput,
    /// More bytes than a physical partition may hold.
    Storage,
    Heat,
}

/// The steps of a relocation, in order. A step that is held does not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RelocationStep {
    /// Takes ids and empty partitions from the catalog.
    Reserve,
    /// Copies items while the sources serve.
    Copy,
    /// Replays what was written meanwhile, until little is left.
    CatchUp,
    /// Keeps writes waiting and replays the rest.
    Fence,
    /// Puts the new ranges in the place of the old ones: one commit.
    CutOver,
    /// Removes the bytes of the old partitions.
    Reclaim,
}

impl RelocationStep {
    pub const ALL: [RelocationStep; 6] = [
        RelocationStep::Reserve,
        RelocationStep::Copy,
        RelocationStep::CatchUp,
        RelocationStep::Fence,
        RelocationStep::CutOver,
        RelocationStep::Reclaim,
    ];

    pub fn name(self) -> &'static str {
        match self {
            RelocationStep::Reserve => "reserve",
            RelocationStep::Copy => "copy",
            RelocationStep::CatchUp => "catch-up",
            RelocationStep::Fence => "fence",
            RelocationStep::CutOver => "cut-over",
            RelocationStep::Reclaim => "reclaim",
        }
    }

    pub fn from_name(name: &str) -> Option<RelocationStep> {
        RelocationStep::ALL.into_iter().find(|step| step.name() == name)
    }
}

impl RelocationKind {
    pub fn name(self) -> &'static str {
        match self {
            RelocationKind::Split => "split",
            RelocationKind::Merge => "merge",
            RelocationKind::Move => "move",
        }
    }
}

impl RelocationReason {
    pub fn name(self) -> &'static str {
        match self {
            RelocationReason::Command => "command",
            RelocationReason::Throughput => "throughput",
            RelocationReason::Storage => "storage",
            RelocationReason::Heat => "heat",
        }
    }
}

/// How a relocation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelocationEnd {
    Done,
    /// The old ranges serve on.
    Failed(String),
}

/// One relocation, as it is now.
#[derive(Debug, Clone)]
pub struct RelocationStatus {
    pub id: u64,
    /// `dbs/d/colls/c`
    pub container: String,
    pub kind: RelocationKind,
    pub reason: RelocationReason,
    pub sources: Vec<RangeId>,
    /// The new ranges, known once they are reserved.
    pub targets: Vec<RangeId>,
    pub step: RelocationStep,
    /// The steps that have begun, and when.
    pub steps: Vec<(RelocationStep, u64)>,
    /// Waits before `step`, because somebody holds it there or because it is not its turn.
    pub is_waiting: bool,
    /// Items of the sources when it began.
    pub n_items: u64,
    /// Item bytes of the sources when it began.
    pub bytes: u64,
    pub n_copied: u64,
    pub bytes_copied: u64,
    pub n_replayed: u64,
    /// How long writes were kept waiting.
    pub write_pause: Option<Duration>,
    pub started_ms: u64,
    pub ended_ms: Option<u64>,
    pub end: Option<RelocationEnd>,
}

impl RelocationStatus {
    /// How much is copied, from 0 to 1.
    pub fn progress(&self) -> f64 {
        if self.step >= RelocationStep::CatchUp || self.end == Some(RelocationEnd::Done) {
            return 1.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 52 bits")]
        let share = self.n_copied as f64 / self.n_items.max(1) as f64;
        share.min(1.0)
    }
}

/// One range of a container, as it is now.
#[derive(Debug, Clone)]
pub struct RangeDescription {
    pub id: RangeId,
    pub epks: EpkRange,
    /// Where it begins and ends in the hash space, from 0 to 1.
    pub places: [f64; 2],
    /// All ancestors, oldest first.
    pub parents: Vec<RangeId>,
    pub n_items: u64,
    /// Bytes of item text.
    pub bytes: u64,
    /// Logical partitions.
    pub n_logical: u64,
    pub lsn: Lsn,
    pub created_seconds: u64,
    /// The relocation that is replacing the range.
    pub relocation: Option<RelocationStatus>,
}

impl RangeDescription {
    /// `online`, `splitting`, `merging` or `moving`.
    pub fn status(&self) -> &'static str {
        match self.relocation.as_ref().map(|relocation| relocation.kind) {
            None => "online",
            Some(RelocationKind::Split) => "splitting",
            Some(RelocationKind::Merge) => "merging",
            Some(RelocationKind::Move) => "moving",
        }
    }
}
