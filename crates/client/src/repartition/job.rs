//! The state of a repartitioning, saved after every step.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::state::invalid;
use crate::{ContainerLink, Error, ResolverState, Result, StateStore, StateVersion};

/// The version that this crate writes.
pub(super) const VERSION: u32 = 1;

/// How far a job is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Nothing has been changed yet.
    Planned,
    /// Items are being copied.
    Copying,
    /// Copies are being compared with their sources.
    Verifying,
    /// Sources are being deleted.
    Deleting,
    /// Nothing is left to do.
    Done,
}

/// Where a pass over all sources stands.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cursor {
    pub(super) source_index: usize,
    pub(super) continuation: Option<String>,
    /// What this pass had to change; a pass that changed nothing is the last.
    pub(super) n_changed: u64,
    pub(super) n_passes: u32,
}

/// What has been done so far. After a crash a page may be counted twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Items looked at while copying.
    pub n_scanned: u64,
    /// Items copied.
    pub n_copied: u64,
    /// Copies seen at their new place.
    pub n_verified: u64,
    /// Sources deleted.
    pub n_deleted: u64,
    /// Items that the plan expected to move.
    pub n_planned: u64,
}

/// A repartitioning under way.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    pub(super) version: u32,
    pub(super) current: ResolverState,
    pub(super) next: ResolverState,
    pub(super) phase: Phase,
    pub(super) sources: Vec<ContainerLink>,
    pub(super) cursor: Cursor,
    pub(super) progress: Progress,
}

impl Job {
    /// Returns how far it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns what has been done.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Loads the job of a store, `None` if there never was one.
    pub async fn load(store: &dyn StateStore) -> Result<Option<(Job, StateVersion)>> {
        let Some((document, version)) = store.load().await? else { return Ok(None) };
        let job: Job = serde_json::from_value(document).map_err(invalid)?;
        if job.version == 0 || job.version > VERSION {
            let (found, supported) = (job.version.into(), VERSION.into());
            return Err(Error::StateVersion { found, supported });
        }
        Ok(Some((job, version)))
    }

    pub(super) fn to_value(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(invalid)
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.cursor = Cursor::default();
    }
}
