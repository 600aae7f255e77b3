//! The state of a copy, saved after every step.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Refusal, Spec};
use crate::state::invalid;
use crate::{Error, Result, StateStore, StateVersion};

/// The version that this crate writes.
const VERSION: u32 = 1;

/// How far a copy is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Nothing has been changed yet.
    Planned,
    /// The change feed is read for the first time.
    Copying,
    /// Changes are copied as they come.
    Following,
    /// Items of the source are compared with their copies.
    VerifyingSource,
    /// Copies are compared with their sources.
    VerifyingTarget,
    /// Nothing is left to do.
    Done,
}

/// What has been done so far. After a crash a page may be counted twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Entries of the change feed that were copied.
    pub n_copied: u64,
    /// Of these, entries that came after the feed was read to its end for the first time.
    pub n_followed: u64,
    /// Items of the source that were found equal in the target, in the last pass.
    pub n_verified: u64,
    /// Copies that had to be made again while verifying.
    pub n_repaired: u64,
    /// Copies that were removed because their source is gone or has another key.
    pub n_removed: u64,
    /// Passes over both containers.
    pub n_passes: u32,
    /// Whether the last pass found nothing to do. If not, writers were too busy: stop them and verify again.
    pub is_settled: bool,
}

/// A copy under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    version: u32,
    pub(super) spec: Spec,
    /// The partition key paths of the source.
    pub(super) source_paths: Vec<String>,
    pub(super) phase: Phase,
    /// Where the change feed goes on.
    pub(super) position: Option<String>,
    /// Where the pass of verifying goes on.
    pub(super) continuation: Option<String>,
    /// What this pass had to change.
    pub(super) n_changed: u64,
    pub(super) progress: Progress,
}

impl Job {
    pub(super) fn new(spec: Spec, source_paths: Vec<String>) -> Job {
        Job {
            version: VERSION,
            spec,
            source_paths,
            phase: Phase::Planned,
            position: None,
            continuation: None,
            n_changed: 0,
            progress: Progress::default(),
        }
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

    /// Returns how far it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns what has been done.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Returns what is copied.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.continuation = None;
    }

    pub(super) fn to_value(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(invalid)
    }

    /// Refuses the job of another specification.
    pub(super) fn check(&self, spec: &Spec) -> Result<()> {
        let text = |it: &Spec| serde_json::to_value(it).map_err(invalid);
        if text(&self.spec)? == text(spec)? {
            return Ok(());
        }
        let (source_name, target_name) =
            (self.spec.source.to_string(), self.spec.target.to_string());
        Err(Refusal::OtherJob { source_name, target_name }.into())
    }
}
