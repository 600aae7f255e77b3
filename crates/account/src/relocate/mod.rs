//! Physical partitions that split, merge and move while clients work.
//!
//! One mechanism carries out all three: `partition::relocate` copies and replays, [`layout`] makes the result the
//! layout of the container in one catalog commit, [`run`] strings the steps together, [`registry`] knows them all.
//! [`auto`] starts splits by itself. The operator's side are the methods of [`Account`] below.

pub(crate) mod auto;
mod error;
mod heat;
mod layout;
mod options;
mod plan;
mod registry;
mod run;
mod signal;
mod status;

use std::sync::Arc;

use model::{Epk, RangeId};

pub use error::RelocationError;
pub use options::{Pace, RelocationOptions};
use plan::Plan;
pub(crate) use registry::Relocations;
pub(crate) use signal::Watcher;
pub use status::{
    RangeDescription, RelocationEnd, RelocationKind, RelocationReason, RelocationStatus,
    RelocationStep,
};

use crate::account::{Account, Inner};
use crate::container::Container;
use crate::error::{Error, Result};
use crate::operation::Link;

/// The name of the one store of an account.
const STORE: &str = "default";

/// Registers a relocation and lets it run.
fn start(inner: &Inner, plan: Plan) -> Result<u64> {
    let id = inner.relocations.enter(&plan, inner.env().now_ms())?;
    tokio::spawn(run::run(inner.share(), id, plan));
    Ok(id)
}

/// Waits until no relocation is active.
pub(crate) async fn until_idle(inner: &Inner) {
    let mut changes = inner.relocations.watch();
    loop {
        changes.catch_up();
        if inner.relocations.n_active() == 0 {
            return;
        }
        changes.changed().await;
    }
}

impl Account {
    /// Describes the ranges of a container in the order of the hash space.
    pub fn describe_ranges(&self, container: &Link) -> Result<Vec<RangeDescription>> {
        let container = self.container(container)?;
        let active = self.inner.relocations.active_in(container.record().number);
        let describe = |range: &crate::range_map::Range| {
            let statistics = range.partition.statistics();
            RangeDescription {
                id: range.id(),
                epks: range.entry.epks.clone(),
                places: [range.entry.epks.min(), range.entry.epks.max()]
                    .map(|epk| container.properties.definition.place(epk)),
                parents: range.entry.parents.clone(),
                n_items: statistics.n_items,
                bytes: statistics.bytes,
                n_logical: statistics.n_logical,
                lsn: statistics.lsn,
                created_seconds: range.entry.ts,
                relocation: active.iter().find(|job| job.sources.contains(&range.id())).cloned(),
            }
        };
        Ok(container.ranges.iter().map(describe).collect())
    }

    /// Starts to split a range: at the key `at`, which becomes the first of the upper half, or where it is best.
    ///
    /// Returns the id of the relocation, which goes on by itself.
    pub fn start_split(&self, container: &Link, range: RangeId, at: Option<Epk>) -> Result<u64> {
        let container = self.container(container)?;
        start(&self.inner, Plan::split(&container, range, at, RelocationReason::Command)?)
    }

    /// The middle of a range in the hash space, where the service splits; `None` if it is too narrow.
    pub fn midpoint(&self, container: &Link, range: RangeId) -> Result<Option<Epk>> {
        let container = self.container(container)?;
        let gone = || Error::RangeGone { range, container: container.rid_text.to_string() };
        let range = container.ranges.by_id(range).ok_or_else(gone)?;
        Ok(container.properties.definition.split_point(&range.entry.epks))
    }

    /// Starts to merge two neighbours, if throughput and storage allow it.
    pub fn start_merge(&self, container: &Link, ranges: [RangeId; 2]) -> Result<u64> {
        let container = self.container(container)?;
        let plan = {
            let tables = self.inner.catalog.tables();
            Plan::merge(&tables, &self.inner.options().relocation, &container, ranges)?
        };
        start(&self.inner, plan)
    }

    /// Starts to move a range to another store, or to a new place in its own: `None` or `default`, the one there is.
    /// Entries go over as they are, unless the index is to be built anew anyway.
    pub fn start_move(&self, container: &Link, range: RangeId, store: Option<&str>) -> Result<u64> {
        if let Some(name) = store.filter(|name| *name != STORE) {
            return Err(RelocationError::UnknownStore(name.to_owned()).into());
        }
        let container = self.container(container)?;
        start(&self.inner, Plan::relocate(&container, range)?)
    }

    /// Holds every relocation of the container before a step, those to come too.
    ///
    /// A hold before [`RelocationStep::CutOver`] keeps writes of the range waiting; after five seconds each is refused
    /// with 410/1007.
    pub fn hold_relocations(&self, container: &Link, step: RelocationStep) -> Result<()> {
        let number = self.container(container)?.record().number;
        self.inner.relocations.hold(number, step);
        Ok(())
    }

    /// Lets relocations of the container pass a step again.
    pub fn release_relocations(&self, container: &Link, step: RelocationStep) -> Result<()> {
        let number = self.container(container)?.record().number;
        self.inner.relocations.release(number, step);
        Ok(())
    }

    /// Active relocations, then those that ended, oldest first; the oldest of these are forgotten.
    pub fn relocations(&self) -> Vec<RelocationStatus> {
        self.inner.relocations.list()
    }

    pub fn relocation(&self, id: u64) -> Result<RelocationStatus> {
        Ok(self.inner.relocations.get(id).ok_or(RelocationError::Unknown(id))?)
    }

    /// Gives a relocation up, unless it has cut over already.
    pub fn cancel_relocation(&self, id: u64) -> Result<()> {
        Ok(self.inner.relocations.cancel(id)?)
    }

    /// Waits until a relocation has ended, well or not: [`RelocationStatus::end`] says how.
    pub async fn wait_for_relocation(&self, id: u64) -> Result<RelocationStatus> {
        self.wait_for(id, |status| status.end.is_some()).await
    }

    /// Waits until a relocation is held before a step, or has ended.
    pub async fn wait_for_hold(&self, id: u64, step: RelocationStep) -> Result<RelocationStatus> {
        self.wait_for(id, |status| status.end.is_some() || status.step == step && status.is_waiting)
            .await
    }

    async fn wait_for(
        &self,
        id: u64,
        is_there: impl Fn(&RelocationStatus) -> bool,
    ) -> Result<RelocationStatus> {
        let mut changes = self.inner.relocations.watch();
        loop {
            changes.catch_up();
            let status = self.relocation(id)?;
            if is_there(&status) {
                return Ok(status);
            }
            changes.changed().await;
        }
    }

    pub(crate) fn container(&self, link: &Link) -> Result<Arc<Container>> {
        let tables = self.inner.catalog.tables();
        let found = tables.find_owner(link)?;
        tables.container(found.number()).cloned().ok_or(Error::OwnerNotFound)
    }
}
