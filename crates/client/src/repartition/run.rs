//! The run of a job: one small step after the other, each saved.

use super::copy::Moving;
use super::job::{Cursor, Job, Phase, Progress};
use super::{Refusal, Repartitioner};
use crate::host::ensure;
use crate::items::{COPY_MARK, source_of};
use crate::{
    ContainerLink, ContainerTemplate, ReadMode, ReadScope, ResolverState, Result, Retry, Scheme,
    Statement, load_state, save_state,
};

// Limit: writers that follow the published state make at most a few extra passes necessary.
const PASSES_MAX: u32 = 100;

/// What a pass does to each item that moves.
#[derive(Clone, Copy)]
enum Work {
    Copy,
    Verify,
    Delete,
}

impl Repartitioner {
    /// Does the job that was begun, or what is left of it, and reports after each page.
    pub async fn run(&self, report: &mut (dyn FnMut(Phase, Progress) + Send)) -> Result<Progress> {
        let (mut job, mut version) = Job::load(&*self.jobs).await?.ok_or(Refusal::NotBegun)?;
        let next = self.scheme(&job.next)?;
        loop {
            report(job.phase, job.progress);
            match job.phase {
                Phase::Planned => {
                    self.make_containers(&job, &next).await?;
                    self.publish(&job, ReadMode::ReadBoth).await?;
                    job.enter(Phase::Copying);
                }
                Phase::Copying => {
                    if self.step(&mut job, &next, Work::Copy).await? {
                        job.enter(Phase::Verifying);
                    }
                }
                Phase::Verifying => {
                    if self.pass(&mut job, &next, Work::Verify).await? {
                        self.publish(&job, ReadMode::ReadNext).await?;
                        job.enter(Phase::Deleting);
                    }
                }
                Phase::Deleting => {
                    if self.pass(&mut job, &next, Work::Delete).await? {
                        self.drop_containers(&job, &next).await?;
                        self.publish_next(&job).await?;
                        job.enter(Phase::Done);
                    }
                }
                Phase::Done => return Ok(job.progress),
            }
            version = self.jobs.save(&job.to_value()?, Some(&version)).await?;
        }
    }

    /// Works on one page. Returns whether it was the last of a pass that found nothing to change.
    async fn pass(&self, job: &mut Job, next: &Scheme, work: Work) -> Result<bool> {
        if !self.step(job, next, work).await? {
            return Ok(false);
        }
        if job.cursor.n_changed == 0 {
            job.cursor.n_changed = self.settle_all(next).await?;
        }
        is_clean(job)
    }

    /// Looks back from all copies that runs which were killed have left. Returns how many there were.
    ///
    /// A copy whose source is there is found from its source, too; this is for those whose source is gone.
    async fn settle_all(&self, next: &Scheme) -> Result<u64> {
        let statement = Statement::new(format!("SELECT * FROM c WHERE IS_DEFINED(c.{COPY_MARK})"));
        let mut n_settled = 0;
        for owner in next.resolver.containers_for_read(&ReadScope::All)? {
            let mut at = None;
            loop {
                let page = self.page_of(&statement, &owner, at.as_deref()).await?;
                for copy in &page.rows {
                    let Some(source) = source_of(copy) else { continue };
                    let (_, partition) = next.keys_of(copy)?;
                    self.settle(&source, &owner, &partition, copy).await?;
                    n_settled += 1;
                }
                at = page.continuation;
                if at.is_none() {
                    break;
                }
            }
        }
        Ok(n_settled)
    }

    /// Works on one page. Returns whether it was the last of the pass.
    async fn step(&self, job: &mut Job, next: &Scheme, work: Work) -> Result<bool> {
        let Some(source) = job.sources.get(job.cursor.source_index).cloned() else {
            return Ok(true);
        };
        let page = match self.page(&source, job.cursor.continuation.as_deref()).await {
            // A continuation of an earlier run may be refused: begin the container again.
            Err(error) if error.is_service(400) && job.cursor.continuation.is_some() => {
                job.cursor.continuation = None;
                return Ok(false);
            }
            // Dropped by an earlier run of this phase.
            Err(error) if error.is_service(404) && matches!(work, Work::Delete) => {
                crate::ItemPage::default()
            }
            result => result?,
        };
        for item in &page.rows {
            if matches!(work, Work::Copy) {
                job.progress.n_scanned += 1;
            }
            if let Some(moving) = Moving::find(next, &source, item)? {
                self.apply(job, &moving, work).await?;
            }
        }
        job.cursor.continuation = page.continuation;
        if job.cursor.continuation.is_none() {
            job.cursor.source_index += 1;
        }
        Ok(job.cursor.source_index >= job.sources.len())
    }

    async fn apply(&self, job: &mut Job, moving: &Moving<'_>, work: Work) -> Result<()> {
        match work {
            Work::Copy => job.progress.n_copied += u64::from(self.copy(moving).await?),
            Work::Verify => {
                let is_changed = self.verify(moving).await?;
                job.cursor.n_changed += u64::from(is_changed);
                job.progress.n_verified += u64::from(!is_changed);
            }
            Work::Delete => {
                // Gone or not: a pass that found anything is followed by another.
                job.cursor.n_changed += 1;
                job.progress.n_deleted += u64::from(self.delete_source(moving).await?);
            }
        }
        Ok(())
    }

    /// Makes the containers of the next scheme that are missing.
    async fn make_containers(&self, job: &Job, next: &Scheme) -> Result<()> {
        let there = self.host.list().await?;
        for link in next.resolver.containers_for_read(&ReadScope::All)? {
            if there.iter().any(|it| it == link.name()) {
                continue;
            }
            let template = template_of(&job.next, &link)
                .ok_or_else(|| Refusal::ContainerMissing(link.to_string()))?;
            ensure(&*self.host, link.name(), template, &Retry::default()).await?;
        }
        Ok(())
    }

    /// Drops the containers that the next scheme does not have. The last pass found them empty.
    async fn drop_containers(&self, job: &Job, next: &Scheme) -> Result<()> {
        let kept = next.resolver.containers_for_read(&ReadScope::All)?;
        // Invariant: a resolver cannot be built without a container, so one is always left.
        assert!(!kept.is_empty(), "the next scheme keeps at least one container");
        for link in job.sources.iter().filter(|it| !kept.contains(it)) {
            self.host.delete(link.name()).await?;
        }
        Ok(())
    }

    /// Publishes a transition, and waits until every client has noticed.
    async fn publish(&self, job: &Job, mode: ReadMode) -> Result<()> {
        let transition = |mode| ResolverState::Transition {
            current: Box::new(job.current.clone()),
            next: Box::new(job.next.clone()),
            mode,
        };
        let before = match mode {
            ReadMode::ReadNext => transition(ReadMode::ReadBoth),
            ReadMode::ReadBoth | ReadMode::ReadCurrent | ReadMode::None => job.current.clone(),
        };
        self.change_state(&before, &transition(mode)).await?;
        self.host.pause(self.options.grace).await;
        Ok(())
    }

    async fn publish_next(&self, job: &Job) -> Result<()> {
        let before = ResolverState::Transition {
            current: Box::new(job.current.clone()),
            next: Box::new(job.next.clone()),
            mode: ReadMode::ReadNext,
        };
        self.change_state(&before, &job.next).await
    }

    /// Replaces one published state by another; fine if that was done before a crash.
    async fn change_state(&self, before: &ResolverState, after: &ResolverState) -> Result<()> {
        let (found, version) = load_state(&*self.states).await?.ok_or(Refusal::StateChanged)?;
        if found == *after {
            return Ok(());
        }
        if found != *before {
            return Err(Refusal::StateChanged.into());
        }
        save_state(&*self.states, after, Some(&version)).await.map(|_| ())
    }
}

/// Ends a pass. Returns whether it changed nothing; otherwise another one begins.
fn is_clean(job: &mut Job) -> Result<bool> {
    if job.cursor.n_changed == 0 {
        return Ok(true);
    }
    let n_passes = job.cursor.n_passes + 1;
    if n_passes >= PASSES_MAX {
        return Err(Refusal::Unsettled.into());
    }
    job.cursor = Cursor { n_passes, ..Cursor::default() };
    Ok(false)
}

/// Finds the template by which a container of a scheme is made.
fn template_of<'a>(
    state: &'a ResolverState,
    link: &ContainerLink,
) -> Option<&'a ContainerTemplate> {
    match state {
        ResolverState::Managed(it) => it.hash.containers.contains(link).then_some(&it.template),
        ResolverState::Spillover(it) => Some(&it.options.template),
        ResolverState::Chained { resolvers } => {
            resolvers.iter().find_map(|it| template_of(it, link))
        }
        ResolverState::Composite { branches, .. } => {
            branches.values().find_map(|it| template_of(it, link))
        }
        ResolverState::Transition { next, .. } => template_of(next, link),
        ResolverState::Hash(_) | ResolverState::Range { .. } | ResolverState::Lookup { .. } => None,
    }
}
