//! What a repartitioning would do, before it does anything.

use std::collections::BTreeMap;

use super::job::{Cursor, Job, Phase, Progress, VERSION};
use super::{Refusal, Repartitioner};
use crate::items::without_system_properties;
use crate::{
    ContainerLink, Error, ItemPage, PageRequest, ReadScope, ResolverState, Result, Scheme,
    Statement, load_state,
};

/// Items that go from one container to another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Move {
    /// How many.
    pub n_items: u64,
    /// Their size as JSON text.
    pub n_bytes: u64,
}

/// What a repartitioning would do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// What moves, by source and target.
    pub moves: BTreeMap<(ContainerLink, ContainerLink), Move>,
    /// Items that stay where they are.
    pub n_staying: u64,
    /// Items that have no container in the next scheme; a job is refused while there are any.
    pub n_homeless: u64,
    /// Containers that come.
    pub added: Vec<ContainerLink>,
    /// Containers that go.
    pub removed: Vec<ContainerLink>,
}

impl Plan {
    /// Returns how many items move.
    pub fn n_moving(&self) -> u64 {
        self.moves.values().map(|it| it.n_items).sum()
    }

    /// Returns the share of all items that moves.
    #[expect(clippy::cast_precision_loss, reason = "a share is not a matter of single items")]
    pub fn share(&self) -> f64 {
        let n_all = self.n_moving() + self.n_staying + self.n_homeless;
        if n_all == 0 { 0.0 } else { self.n_moving() as f64 / n_all as f64 }
    }
}

impl Repartitioner {
    /// Reads every item once and says what would move. Changes nothing.
    pub async fn plan(&self, next: &ResolverState) -> Result<Plan> {
        let (current, _) = load_state(&*self.states).await?.ok_or(Refusal::NoState)?;
        let (from, to) = (self.scheme(&current)?, self.scheme(next)?);
        let sources = from.resolver.containers_for_read(&ReadScope::All)?;
        let targets = to.resolver.containers_for_read(&ReadScope::All)?;
        let mut plan = Plan {
            added: targets.iter().filter(|it| !sources.contains(it)).cloned().collect(),
            removed: sources.iter().filter(|it| !targets.contains(it)).cloned().collect(),
            ..Plan::default()
        };
        for source in &sources {
            let mut at = None;
            loop {
                let page = self.page(source, at.as_deref()).await?;
                for item in &page.rows {
                    count(&mut plan, &to, source, item)?;
                }
                at = page.continuation;
                if at.is_none() {
                    break;
                }
            }
        }
        Ok(plan)
    }

    /// Begins a job; [`Repartitioner::run`] does it.
    pub async fn begin(&self, next: &ResolverState) -> Result<Plan> {
        let before = Job::load(&*self.jobs).await?;
        if before.as_ref().is_some_and(|(it, _)| it.phase != Phase::Done) {
            return Err(Refusal::Unfinished.into());
        }
        let plan = self.plan(next).await?;
        if plan.n_homeless > 0 {
            return Err(Refusal::Homeless(plan.n_homeless).into());
        }
        let (current, _) = load_state(&*self.states).await?.ok_or(Refusal::NoState)?;
        let sources = self.scheme(&current)?.resolver.containers_for_read(&ReadScope::All)?;
        let job = Job {
            version: VERSION,
            current,
            next: next.clone(),
            phase: Phase::Planned,
            sources,
            cursor: Cursor::default(),
            progress: Progress { n_planned: plan.n_moving(), ..Progress::default() },
        };
        self.jobs.save(&job.to_value()?, before.as_ref().map(|(_, it)| it)).await?;
        Ok(plan)
    }

    pub(super) async fn page(&self, source: &ContainerLink, at: Option<&str>) -> Result<ItemPage> {
        self.page_of(&Statement::new("SELECT * FROM c"), source, at).await
    }

    pub(super) async fn page_of(
        &self,
        statement: &Statement,
        container: &ContainerLink,
        at: Option<&str>,
    ) -> Result<ItemPage> {
        let request = PageRequest {
            container,
            statement,
            partition: None,
            continuation: at,
            rows_max: Some(self.options.page_items),
        };
        self.items.page(request).await
    }
}

fn count(
    plan: &mut Plan,
    to: &Scheme,
    source: &ContainerLink,
    item: &serde_json::Value,
) -> Result<()> {
    let owner = to.keys_of(item).and_then(|(key, _)| to.resolver.container_for_create(&key));
    match owner {
        Ok(owner) if owner == *source => plan.n_staying += 1,
        Ok(owner) => {
            let entry = plan.moves.entry((source.clone(), owner)).or_default();
            entry.n_items += 1;
            entry.n_bytes += without_system_properties(item).to_string().len() as u64;
        }
        Err(Error::NoContainer { .. } | Error::KeyMissing { .. } | Error::KeyNotScalar { .. }) => {
            plan.n_homeless += 1;
        }
        Err(error) => return Err(error),
    }
    Ok(())
}
