//! The state of a repartitioning, saved after every step.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{BoxFuture, ContainerLink, Error, ResolverState, Result};

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

    pub(super) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.cursor = Cursor::default();
    }
}

/// A place for the job of a scheme. Only one process may run a job at a time.
pub trait JobStore: Debug + Send + Sync {
    /// Returns the job, `None` if there never was one.
    fn load(&self) -> BoxFuture<'_, Result<Option<Job>>>;

    /// Saves the job.
    fn save<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<()>>;
}

/// Keeps a job in a file, replaced whole.
#[derive(Clone, Debug)]
pub struct FileJobStore {
    path: PathBuf,
}

impl FileJobStore {
    /// Uses a file.
    pub fn new(path: impl Into<PathBuf>) -> FileJobStore {
        FileJobStore { path: path.into() }
    }

    fn write(&self, job: &Job) -> Result<()> {
        let text =
            serde_json::to_vec_pretty(job).map_err(|it| Error::StateInvalid(it.to_string()))?;
        let mut name = self.path.as_os_str().to_owned();
        name.push(".new");
        let draft = PathBuf::from(name);
        let mut file = File::create(&draft)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&draft, &self.path)?;
        Ok(())
    }
}

impl JobStore for FileJobStore {
    fn load(&self) -> BoxFuture<'_, Result<Option<Job>>> {
        Box::pin(async move {
            match fs::read(&self.path) {
                Ok(text) => {
                    let job = serde_json::from_slice(&text);
                    job.map(Some).map_err(|it| Error::StateInvalid(it.to_string()))
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn save<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.write(job) })
    }
}
