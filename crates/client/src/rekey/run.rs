//! The run of a copy: one small step after the other, each saved.

use std::collections::HashMap;

use serde_json::Value;

use super::job::{Job, Phase, Progress};
use super::spec::Keyed;
use super::{Refusal, Rekey};
use crate::host::ensure;
use crate::items::id_of;
use crate::join::join_all;
use crate::{
    BoxFuture, ContainerLink, ContainerTemplate, ItemPage, PageRequest, Result, Retry, Statement,
};

// Limit: each pass repairs what changed during the one before; writers that outrun this many never let it settle.
const PASSES_MAX: u32 = 8;

// Limit: pages of changes that are copied after following has ended; writers that outrun them are not waited for.
const DRAINED_MAX: u32 = 1000;

/// Which way a pass compares.
#[derive(Clone, Copy)]
enum Pass {
    Source,
    Target,
}

impl Rekey {
    /// Copies, follows as long as `follow` says so, verifies. Continues a run that was interrupted.
    ///
    /// `follow` is asked after each page of changes; `|| false` goes on to verifying as soon as all are copied. A
    /// run that was interrupted while verifying follows first: much may have changed since.
    pub async fn run(
        &self,
        follow: &mut (dyn FnMut() -> bool + Send),
        report: &mut (dyn FnMut(Phase, Progress) + Send),
    ) -> Result<Progress> {
        let (mut job, mut version) = match Job::load(&*self.jobs).await? {
            Some((mut job, version)) => {
                job.check(&self.spec)?;
                if job.phase == Phase::Done {
                    return Err(Refusal::Finished.into());
                }
                if matches!(job.phase, Phase::VerifyingSource | Phase::VerifyingTarget) {
                    job.enter(Phase::Following);
                }
                (job, Some(version))
            }
            None => (
                Job::new(self.spec.clone(), self.source_template().await?.partition_key_paths),
                None,
            ),
        };
        let source_paths = job.source_paths.clone();
        let keyed = self.spec.keyed(&source_paths)?;
        let mut n_drained = 0;
        loop {
            report(job.phase, job.progress);
            match job.phase {
                Phase::Planned => {
                    self.make_target(version.is_none()).await?;
                    // The job is saved before the first copy, so whoever finds items later knows whose they are.
                    job.enter(Phase::Copying);
                }
                Phase::Copying => {
                    if self.copy_changes(&mut job, &keyed).await? {
                        job.enter(Phase::Following);
                    }
                }
                Phase::Following => {
                    let is_idle = self.copy_changes(&mut job, &keyed).await?;
                    n_drained += 1;
                    if follow() {
                        n_drained = 0;
                        if is_idle {
                            self.host.pause(self.options.poll).await;
                        }
                    } else if is_idle || n_drained >= DRAINED_MAX {
                        n_drained = 0;
                        job.n_changed = 0;
                        job.progress.n_verified = 0;
                        job.enter(Phase::VerifyingSource);
                    }
                }
                Phase::VerifyingSource => {
                    if self.verify(&mut job, &keyed, Pass::Source).await? {
                        job.enter(Phase::VerifyingTarget);
                    }
                }
                Phase::VerifyingTarget => {
                    if self.verify(&mut job, &keyed, Pass::Target).await? {
                        // A change that came during the pass asks for another one.
                        let n_before = job.progress.n_copied;
                        self.copy_changes(&mut job, &keyed).await?;
                        job.n_changed += job.progress.n_copied - n_before;
                        end_pass(&mut job);
                    }
                }
                Phase::Done => return Ok(job.progress),
            }
            version = Some(self.jobs.save(&job.to_value()?, version.as_ref()).await?);
        }
    }

    pub(super) async fn source_template(&self) -> Result<ContainerTemplate> {
        let name = self.spec.source.name();
        let found = self.host.template(name).await?;
        found.ok_or_else(|| Refusal::NoSource(name.to_owned()).into())
    }

    /// Makes the target like the source but for the key, or checks the one there is.
    async fn make_target(&self, is_new_job: bool) -> Result<()> {
        let mut template = self.source_template().await?;
        template.partition_key_paths.clone_from(&self.spec.paths);
        let target = &self.spec.target;
        ensure(&*self.host, target.name(), &template, &Retry::default()).await?;
        let made = self.host.template(target.name()).await?.unwrap_or(template);
        if made.partition_key_paths != self.spec.paths {
            let found = made.partition_key_paths.join(", ");
            return Err(Refusal::TargetKey { name: target.to_string(), found }.into());
        }
        if is_new_job && !self.page(target, None).await?.rows.is_empty() {
            return Err(Refusal::TargetNotEmpty(target.to_string()).into());
        }
        Ok(())
    }

    /// Copies one page of changes. Returns whether there are no more for now.
    async fn copy_changes(&self, job: &mut Job, keyed: &Keyed<'_>) -> Result<bool> {
        let page = self.changes.changes(&keyed.spec.source, job.position.as_deref()).await?;
        let latest = latest(keyed, &page.items)?;
        let n_now = self.options.parallelism.max(1);
        for items in latest.chunks(n_now) {
            let work = items
                .iter()
                .map(|item| Box::pin(self.write_copy(keyed, item)) as BoxFuture<'_, Result<bool>>);
            for result in join_all(work.collect()).await {
                result?;
            }
        }
        let n_items = page.items.len() as u64;
        job.progress.n_copied += n_items;
        if job.phase == Phase::Following {
            job.progress.n_followed += n_items;
        }
        job.position = Some(page.continuation);
        Ok(page.is_caught_up)
    }

    /// Compares one page. Returns whether it was the last of the pass.
    async fn verify(&self, job: &mut Job, keyed: &Keyed<'_>, pass: Pass) -> Result<bool> {
        let container = match pass {
            Pass::Source => &keyed.spec.source,
            Pass::Target => &keyed.spec.target,
        };
        let page = match self.page(container, job.continuation.as_deref()).await {
            // A continuation of an earlier run may be refused: begin the pass again.
            Err(error) if error.is_service(400) && job.continuation.is_some() => {
                job.continuation = None;
                return Ok(false);
            }
            page => page?,
        };
        let n_now = self.options.parallelism.max(1);
        for items in page.rows.chunks(n_now) {
            let work = items.iter().map(|item| match pass {
                Pass::Source => {
                    Box::pin(self.verify_source(keyed, item)) as BoxFuture<'_, Result<bool>>
                }
                Pass::Target => Box::pin(self.verify_target(keyed, item)),
            });
            for result in join_all(work.collect()).await {
                count(job, pass, result?);
            }
        }
        job.continuation = page.continuation;
        Ok(job.continuation.is_none())
    }

    pub(super) async fn page(
        &self,
        container: &ContainerLink,
        at: Option<&str>,
    ) -> Result<ItemPage> {
        let request = PageRequest {
            container,
            statement: &Statement::new("SELECT * FROM c"),
            partition: None,
            continuation: at,
            rows_max: Some(self.options.page_items),
        };
        self.items.page(request).await
    }
}

/// The last version of each item, so that copies can be written in any order.
fn latest<'a>(keyed: &Keyed<'_>, items: &'a [Value]) -> Result<Vec<&'a Value>> {
    let mut latest = HashMap::new();
    for item in items {
        latest.insert((keyed.source_partition(item)?, id_of(item)?), item);
    }
    Ok(latest.into_values().collect())
}

fn count(job: &mut Job, pass: Pass, is_changed: bool) {
    job.n_changed += u64::from(is_changed);
    let (changed, fine) = match pass {
        Pass::Source => (&mut job.progress.n_repaired, Some(&mut job.progress.n_verified)),
        Pass::Target => (&mut job.progress.n_removed, None),
    };
    if is_changed {
        *changed += 1;
    } else if let Some(fine) = fine {
        *fine += 1;
    }
}

/// Ends a pass over both containers: the job is done if nothing had to be changed, else another one follows.
fn end_pass(job: &mut Job) {
    job.progress.n_passes += 1;
    job.progress.is_settled = job.n_changed == 0;
    if job.progress.is_settled || job.progress.n_passes >= PASSES_MAX {
        job.enter(Phase::Done);
    } else {
        // What has changed during the pass comes with the feed first.
        job.enter(Phase::Following);
    }
}
