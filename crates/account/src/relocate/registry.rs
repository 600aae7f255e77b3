//! Which relocations there are, how far they are, what holds them, and who waits for them.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use model::{Env, RangeId};
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::error::RelocationError;
use super::options::RelocationOptions;
use super::plan::Plan;
use super::signal::{Signal, Watcher};
use super::status::{RelocationEnd, RelocationStatus, RelocationStep};
use crate::error::Result;
use crate::range_map::Range;

// Limit: ended relocations that are remembered.
const ENDED_MAX: usize = 1000;

/// How long they are.
const ENDED_MS_MAX: u64 = 24 * 3600 * 1000;

/// How long a range is left alone after a relocation of it failed, unless somebody commands another.
const RETRY_MS: u64 = 30_000;

#[derive(Debug)]
pub(crate) struct Relocations {
    env: Env,
    state: Mutex<RegistryState>,
    /// Raised when anything here changes.
    changes: Signal,
    /// Raised when a fence is lifted, by new ranges or by giving up.
    lifts: Signal,
    turns: Arc<Semaphore>,
    /// Tells the jobs that something may be due.
    pub(crate) due: Notify,
}

#[derive(Debug, Default)]
struct RegistryState {
    last_id: u64,
    active: BTreeMap<u64, Job>,
    ended: VecDeque<RelocationStatus>,
    holds: HashSet<(u64, RelocationStep)>,
}

#[derive(Debug)]
struct Job {
    /// Number of the container.
    container: u64,
    status: RelocationStatus,
    is_cancelled: bool,
}

impl Relocations {
    pub(crate) fn new(options: &RelocationOptions, env: Env) -> Relocations {
        Relocations {
            env,
            state: Mutex::default(),
            changes: Signal::default(),
            lifts: Signal::default(),
            turns: Arc::new(Semaphore::new(options.at_once_max.max(1))),
            due: Notify::new(),
        }
    }

    /// Registers a relocation, if no other works on its ranges.
    pub(super) fn enter(&self, plan: &Plan, now_ms: u64) -> Result<u64, RelocationError> {
        let mut state = self.state.lock();
        let sources: Vec<RangeId> = plan.sources.iter().map(Range::id).collect();
        let is_taken = |id: &&RangeId| {
            state
                .active
                .values()
                .any(|job| job.container == plan.container && job.status.sources.contains(*id))
        };
        if let Some(id) = sources.iter().find(is_taken) {
            return Err(RelocationError::Busy(*id));
        }
        state.last_id += 1;
        let id = state.last_id;
        let statistics = plan.sources.iter().map(|range| range.partition.statistics());
        let (n_items, bytes) = statistics.fold((0, 0), |(items, bytes), statistics| {
            (items + statistics.n_items, bytes + statistics.bytes)
        });
        let status = RelocationStatus {
            id,
            container: plan.path.clone(),
            kind: plan.kind,
            reason: plan.reason,
            sources,
            targets: Vec::new(),
            step: RelocationStep::Reserve,
            steps: vec![(RelocationStep::Reserve, now_ms)],
            is_waiting: true,
            n_items,
            bytes,
            n_copied: 0,
            bytes_copied: 0,
            n_replayed: 0,
            write_pause: None,
            started_ms: now_ms,
            ended_ms: None,
            end: None,
        };
        let job = Job { container: plan.container, status, is_cancelled: false };
        state.active.insert(id, job);
        drop(state);
        self.changed();
        Ok(id)
    }

    /// Waits until a relocation may work.
    pub(super) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.turns).acquire_owned().await.ok()
    }

    /// Begins a step when nobody holds it. Fails when the relocation was cancelled, which the last steps cannot be.
    pub(super) async fn pass(&self, id: u64, step: RelocationStep) -> Result<()> {
        let mut changes = self.changes.watch();
        let mut is_told = false;
        loop {
            changes.catch_up();
            {
                let mut state = self.state.lock();
                let RegistryState { active, holds, .. } = &mut *state;
                let Some(job) = active.get_mut(&id) else { return Ok(()) };
                if job.is_cancelled && step < RelocationStep::Reclaim {
                    return Err(RelocationError::Cancelled.into());
                }
                job.status.step = step;
                job.status.is_waiting = holds.contains(&(job.container, step));
                if !job.status.is_waiting {
                    if job.status.steps.last().is_none_or(|(last, _)| *last != step) {
                        job.status.steps.push((step, self.env.now_ms()));
                    }
                    break;
                }
            }
            if !is_told {
                is_told = true;
                self.changed();
            }
            changes.changed().await;
        }
        self.changed();
        Ok(())
    }

    pub(super) fn update(&self, id: u64, change: impl FnOnce(&mut RelocationStatus)) {
        if let Some(job) = self.state.lock().active.get_mut(&id) {
            change(&mut job.status);
        }
    }

    pub(super) fn end(&self, id: u64, end: RelocationEnd, now_ms: u64) {
        let mut state = self.state.lock();
        if let Some(mut job) = state.active.remove(&id) {
            job.status.is_waiting = false;
            job.status.ended_ms = Some(now_ms);
            job.status.end = Some(end);
            state.ended.push_back(job.status);
            let oldest_ms = now_ms.saturating_sub(ENDED_MS_MAX);
            let is_old =
                |status: &RelocationStatus| status.ended_ms.is_none_or(|ms| ms < oldest_ms);
            while state.ended.len() > ENDED_MAX || state.ended.front().is_some_and(is_old) {
                state.ended.pop_front();
            }
        }
        drop(state);
        self.changed();
    }

    pub(super) fn cancel(&self, id: u64) -> Result<(), RelocationError> {
        match self.state.lock().active.get_mut(&id) {
            Some(job) => job.is_cancelled = true,
            None => return Err(RelocationError::Unknown(id)),
        }
        self.changed();
        Ok(())
    }

    pub(super) fn is_cancelled(&self, id: u64) -> bool {
        self.state.lock().active.get(&id).is_some_and(|job| job.is_cancelled)
    }

    pub(super) fn hold(&self, container: u64, step: RelocationStep) {
        self.state.lock().holds.insert((container, step));
        self.changed();
    }

    pub(super) fn release(&self, container: u64, step: RelocationStep) {
        self.state.lock().holds.remove(&(container, step));
        self.changed();
    }

    /// Active ones first, then those that ended, oldest first.
    pub(super) fn list(&self) -> Vec<RelocationStatus> {
        let state = self.state.lock();
        let active = state.active.values().map(|job| job.status.clone());
        active.chain(state.ended.iter().cloned()).collect()
    }

    pub(super) fn get(&self, id: u64) -> Option<RelocationStatus> {
        let state = self.state.lock();
        let active = state.active.get(&id).map(|job| job.status.clone());
        active.or_else(|| state.ended.iter().find(|status| status.id == id).cloned())
    }

    /// The relocations of a container that have not ended.
    pub(crate) fn active_in(&self, container: u64) -> Vec<RelocationStatus> {
        let state = self.state.lock();
        let jobs = state.active.values().filter(|job| job.container == container);
        jobs.map(|job| job.status.clone()).collect()
    }

    /// Says whether a relocation of the range failed a short time ago: trying again at once would fail again.
    pub(super) fn has_failed_lately(&self, path: &str, range: RangeId, now_ms: u64) -> bool {
        let state = self.state.lock();
        state.ended.iter().rev().any(|status| {
            matches!(status.end, Some(RelocationEnd::Failed(_)))
                && status.container == path
                && status.sources.contains(&range)
                && status.ended_ms.is_some_and(|ended| now_ms < ended.saturating_add(RETRY_MS))
        })
    }

    pub(super) fn n_active(&self) -> usize {
        self.state.lock().active.len()
    }

    /// For those who wait for a change of anything here.
    pub(super) fn watch(&self) -> Watcher {
        self.changes.watch()
    }

    /// For writers that may meet a fence: changes when one is lifted.
    pub(crate) fn lifts(&self) -> Watcher {
        self.lifts.watch()
    }

    /// Lets writers try again.
    pub(super) fn lifted(&self) {
        self.lifts.raise();
    }

    pub(super) fn changed(&self) {
        self.changes.raise();
    }
}
