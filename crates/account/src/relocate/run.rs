//! Carries out one relocation, step by step.

use std::sync::Arc;
use std::time::Duration;

use partition::Partition;
use partition::relocate::{Relocation, Target};
use store::Batch;

use super::layout::Wish;
use super::plan::Plan;
use super::registry::Relocations;
use super::status::{RelocationEnd, RelocationKind, RelocationStep};
use crate::account::Inner;
use crate::catalog::{Catalog, Garbage};
use crate::error::{Error, Result};
use crate::jobs;
use crate::range_map::RangeEntry;
use crate::threads::BackgroundWorker;

/// A replay that found no more than this is taken as caught up: the rest fits the pause.
const SMALL_GAP: usize = 64;
const SMALL_GAP_BYTES: usize = 64 << 10;

/// Limit: replays that found more although nothing was left over. The writers are as fast as the replay then, and what
/// is left behind the fence is what one replay finds.
const CHASES_MAX: usize = 50;

/// Runs the relocation to its end and notes it.
pub(super) async fn run(inner: Inner, id: u64, plan: Plan) {
    let relocations = Arc::clone(&inner.relocations);
    let turn = relocations.turn().await;
    let container = plan.container;
    let outcome = drive(&inner, id, plan).await;
    drop(turn);
    let end = match outcome {
        Ok(()) => RelocationEnd::Done,
        Err(_) if inner.catalog.tables().container(container).is_none() => {
            RelocationEnd::Failed("the container was deleted meanwhile".to_owned())
        }
        Err(error) => {
            tracing::warn!(%error, relocation = id, "a relocation failed; the old ranges serve on");
            RelocationEnd::Failed(error.to_string())
        }
    };
    // Bytes go last; what is left after a failure here is on the list of the jobs.
    if let Err(error) = jobs::reclaim(&inner).await {
        tracing::warn!(%error, relocation = id, "bytes of a relocation are not reclaimed yet");
    }
    relocations.end(id, end, inner.env().now_ms());
    relocations.due.notify_one();
}

async fn drive(inner: &Inner, id: u64, plan: Plan) -> Result<()> {
    let relocations = &inner.relocations;
    let discarded = {
        let run = RelocationRun { inner, relocations, id };
        run.relocate(plan).await?
    };
    relocations.pass(id, RelocationStep::Reclaim).await?;
    for garbage in discarded {
        inner.catalog.add_garbage(garbage);
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
struct RelocationRun<'a> {
    inner: &'a Inner,
    relocations: &'a Relocations,
    id: u64,
}

/// New partitions that are garbage if the relocation ends before they are put to work.
#[derive(Debug)]
struct Reserved<'a> {
    catalog: &'a Catalog,
    entries: Vec<RangeEntry>,
    is_kept: bool,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            for entry in &self.entries {
                self.catalog.add_garbage(Garbage::closed(entry.incarnation));
            }
        }
    }
}

/// Lets writers try again when the fence falls, whichever way.
struct Fence<'a>(&'a Relocations);

impl Drop for Fence<'_> {
    fn drop(&mut self) {
        self.0.lifted();
    }
}

impl<'a> RelocationRun<'a> {
    /// Puts new partitions in the place of the old; returns the old ones.
    async fn relocate(self, plan: Plan) -> Result<Vec<Garbage>> {
        let wish = Arc::new(Wish::of(&plan));
        let mut reserved = self.reserve(&wish).await?;
        self.pass(RelocationStep::Copy).await?;
        // Declared before the relocation: falls after it, when the sources take writes again or never will.
        let _fence = Fence(self.relocations);
        let mut relocation = self.begin(&plan, &reserved.entries).await?;
        let mut thread = BackgroundWorker::default();
        while !self.copy(&mut relocation, &mut thread).await? {}
        drop(thread);
        self.pass(RelocationStep::CatchUp).await?;
        self.catch_up(&mut relocation).await?;
        self.pass(RelocationStep::Fence).await?;
        let start = self.inner.env().monotonic();
        relocation.fence().await?;
        relocation.finish().await?;
        self.pass(RelocationStep::CutOver).await?;
        let answer = self.cut_over(&wish, &plan, &relocation, &reserved.entries).await;
        match answer {
            Ok(()) => {
                reserved.is_kept = true;
                relocation.retire();
            }
            Err(error) if is_undone(&error) => return Err(error),
            Err(error) => {
                // Whether the commit happened is unknown: nobody may write to either side before a restart has looked.
                reserved.is_kept = true;
                relocation.retire();
                return Err(error);
            }
        }
        let pause = self.inner.env().monotonic().saturating_sub(start);
        self.relocations.update(self.id, |status| status.write_pause = Some(pause));
        Ok(plan.sources.iter().map(|range| Garbage::of(&range.partition)).collect())
    }

    async fn pass(self, step: RelocationStep) -> Result<()> {
        self.relocations.pass(self.id, step).await
    }

    async fn reserve(self, wish: &Arc<Wish>) -> Result<Reserved<'a>> {
        self.pass(RelocationStep::Reserve).await?;
        let catalog = &self.inner.catalog;
        let draft = {
            let wish = Arc::clone(wish);
            catalog.change(move |draft| wish.reserve(draft))
        };
        let entries = draft.await?;
        let ids = entries.iter().map(|entry| entry.id).collect();
        self.relocations.update(self.id, |status| status.targets = ids);
        Ok(Reserved { catalog, entries, is_kept: false })
    }

    async fn begin(self, plan: &Plan, entries: &[RangeEntry]) -> Result<Relocation> {
        let sources: Vec<Partition> =
            plan.sources.iter().map(|range| range.partition.clone()).collect();
        let continues = plan.kind == RelocationKind::Move;
        let target = |entry: &RangeEntry| Target {
            incarnation: entry.incarnation,
            epks: entry.epks.clone(),
            continues,
        };
        let targets = entries.iter().map(target).collect();
        let store = Arc::clone(&self.inner.catalog.store);
        let mut relocation = Relocation::begin(&sources, store, targets).await?;
        relocation.pace = self.inner.options().relocation.pace;
        Ok(relocation)
    }

    /// Copies one step; true at the end.
    async fn copy(
        self,
        relocation: &mut Relocation,
        thread: &mut BackgroundWorker,
    ) -> Result<bool> {
        let step = match relocation.begin_reading().await? {
            Some(reading) => {
                let read = thread.run(move || reading.read()).await;
                relocation.hand_over(read.ok_or_else(ended)??).await?
            }
            None => relocation.copy_step().await?,
        };
        self.relocations.update(self.id, |status| {
            status.n_copied += step.n_items as u64;
            status.bytes_copied += step.bytes as u64;
        });
        self.rest(step.moved).await?;
        Ok(step.is_done)
    }

    async fn catch_up(self, relocation: &mut Relocation) -> Result<()> {
        let mut n_chases = 0;
        while n_chases < CHASES_MAX {
            let step = relocation.replay_step().await?;
            self.relocations.update(self.id, |status| status.n_replayed += step.n_items as u64);
            let has_rest = relocation.n_touched() > 0;
            let is_small = step.n_items <= SMALL_GAP && step.bytes <= SMALL_GAP_BYTES;
            if step.is_done || is_small && !has_rest {
                break;
            }
            if !has_rest {
                n_chases += 1;
            }
            self.rest(step.moved).await?;
        }
        Ok(())
    }

    /// Leaves room for requests: at least a turn of the scheduler, and what the limit of bandwidth asks for.
    async fn rest(self, bytes: usize) -> Result<()> {
        if self.relocations.is_cancelled(self.id) {
            return Err(super::RelocationError::Cancelled.into());
        }
        match self.inner.options().relocation.copy_bytes_per_second {
            None => tokio::task::yield_now().await,
            Some(rate) => {
                let shares = self.relocations.n_active().max(1) as u64;
                let micros = (bytes as u64).saturating_mul(1_000_000).saturating_mul(shares);
                tokio::time::sleep(Duration::from_micros(micros / rate)).await;
            }
        }
        Ok(())
    }

    async fn cut_over(
        self,
        wish: &Arc<Wish>,
        plan: &Plan,
        relocation: &Relocation,
        entries: &[RangeEntry],
    ) -> Result<()> {
        let mut conditions = Batch::new();
        relocation.expect_sources(&mut conditions);
        let settings = plan.sources.first().map(|range| range.partition.settings());
        let settings = settings.ok_or(super::RelocationError::LayoutChanged)?;
        let mut partitions = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            partitions.push(relocation.open(index, entry.id, Arc::clone(&settings))?);
        }
        let (wish, entries) = (Arc::clone(wish), entries.to_vec());
        let change = self
            .inner
            .catalog
            .change(move |draft| wish.cut_over(draft, &entries, partitions, &conditions));
        change.await
    }
}

/// The thread of a copy ended by a panic, which it has told of.
fn ended() -> Error {
    store::Error::Unavailable("the thread of the copy has ended".into()).into()
}

/// Says whether a failed cut-over surely did not happen.
fn is_undone(error: &Error) -> bool {
    matches!(
        error,
        Error::CatalogChanged
            | Error::NotFound
            | Error::Relocation(_)
            | Error::Partition(_)
            | Error::Store(
                store::Error::Unavailable(_) | store::Error::Exhausted(_) | store::Error::Conflict
            )
    )
}
