//! `orrery repartition`: containers come to a ring, or go, while the application reads and writes.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, Subcommand};
use client::repartition::{Job, Options, Phase, Plan, Progress, Repartitioner};
use client::{
    ContainerStateStore, ContainerTemplate, FileStateStore, HashPartitionResolver, ItemStore,
    KeySource, ManagedPartitionResolver, Naming, PartitionResolver as _, Registry, ResolverState,
    StateStore, load_state, save_state,
};

use crate::progress::{bar, show};
use crate::remote::{RemoteArguments, block_on};

const EXAMPLES: &str = "\
Examples:
  orrery repartition init --database shop --state ring.json --by /customer --containers 3
  orrery repartition plan --database shop --state ring.json --add 1
                                           what would move, from where to where, how much
  orrery repartition apply --database shop --state ring.json --add 1
  orrery repartition resume --database shop --state ring.json
                                           after a crash
  orrery repartition status --database shop --state ring.json

The state is the JSON of a resolver, in a file or in an item (--state-item CONTAINER/ID). All writers follow it, and
look at it more often than --grace.";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum RepartitionCommand {
    /// Make the containers of a new ring, and its state
    Init(InitArguments),
    /// Say what a change would move
    Plan(ChangeArguments),
    /// Change the containers, moving items
    Apply(ChangeArguments),
    /// Continue a change that was interrupted
    Resume(StateArguments),
    /// Say how far a change is
    Status(StateArguments),
}

#[derive(Debug, Args)]
pub(crate) struct StateArguments {
    #[command(flatten)]
    remote: RemoteArguments,

    /// File that holds the state
    #[arg(long, value_name = "FILE", required_unless_present = "state_item")]
    state: Option<PathBuf>,

    /// Item that holds the state, in a container with the partition key /id
    #[arg(long, value_name = "CONTAINER/ID", conflicts_with = "state")]
    state_item: Option<String>,

    /// Path of the containers' own partition key, if it is not the key of the ring; twice or three times for a
    /// hierarchical one
    #[arg(long, value_name = "PATH")]
    partition_key: Vec<String>,

    /// Seconds until every client has noticed a change of the state and ended what it was doing
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    grace: u64,
}

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    #[command(flatten)]
    state: StateArguments,

    /// Path of the key that items are placed by
    #[arg(long, value_name = "PATH")]
    by: String,

    /// Number of containers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    containers: u64,

    /// Names of containers begin with this
    #[arg(long, value_name = "TEXT", default_value = "ring-")]
    prefix: String,

    /// Points on the ring for each container
    #[arg(long, value_name = "N", default_value_t = 16)]
    virtual_nodes: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    #[command(flatten)]
    state: StateArguments,

    /// Containers to add to a ring
    #[arg(long, value_name = "N", group = "change")]
    add: Option<u32>,

    /// Containers to take from a ring, the last ones first
    #[arg(long, value_name = "N", group = "change")]
    remove: Option<u32>,

    /// File with the state to change to: another range map, for example
    #[arg(long, value_name = "FILE", group = "change")]
    to: Option<PathBuf>,
}

pub(crate) fn run(command: &RepartitionCommand) -> Result<()> {
    block_on(async {
        match command {
            RepartitionCommand::Init(arguments) => init(arguments).await,
            RepartitionCommand::Plan(arguments) => {
                let manager = arguments.state.manager()?;
                let next = next(&manager, arguments).await?;
                println!("{}", plan_text(&manager.plan(&next).await?));
                Ok(())
            }
            RepartitionCommand::Apply(arguments) => {
                let manager = arguments.state.manager()?;
                let next = next(&manager, arguments).await?;
                println!("{}", plan_text(&manager.begin(&next).await?));
                finish(&manager, &arguments.state).await
            }
            RepartitionCommand::Resume(arguments) => finish(&arguments.manager()?, arguments).await,
            RepartitionCommand::Status(arguments) => status(arguments).await,
        }
    })
}

impl StateArguments {
    /// The stores of state and job; the job stands beside the state.
    fn stores(&self) -> Result<(Arc<dyn StateStore>, Arc<dyn StateStore>)> {
        if let Some(file) = &self.state {
            let mut job = file.clone().into_os_string();
            job.push(".job");
            return Ok((Arc::new(FileStateStore::new(file)), Arc::new(FileStateStore::new(job))));
        }
        let place = self.state_item.as_deref().unwrap_or_default();
        let (container, id) =
            place.split_once('/').context("--state-item is not of the form CONTAINER/ID")?;
        let items: Arc<dyn ItemStore> = Arc::new(self.remote.open()?);
        Ok((
            Arc::new(ContainerStateStore::new(items.clone(), container, id)),
            Arc::new(ContainerStateStore::new(items, container, format!("{id}.job"))),
        ))
    }

    fn manager(&self) -> Result<Repartitioner> {
        let service = Arc::new(self.remote.open()?);
        let (states, jobs) = self.stores()?;
        let partition = match self.partition_key.as_slice() {
            [] => None,
            [path] => Some(KeySource::path(path)?),
            paths => Some(KeySource::paths(paths.iter().map(String::as_str))?),
        };
        let options =
            Options { grace: Duration::from_secs(self.grace), partition, ..Options::default() };
        let registry = Registry::new().container_host(service.clone());
        Ok(Repartitioner::new(service.clone(), service, states, jobs, registry, options))
    }
}

async fn init(arguments: &InitArguments) -> Result<()> {
    let service = arguments.state.remote.open()?;
    service.ensure().await?;
    let (states, _) = arguments.state.stores()?;
    ensure!(states.load().await?.is_none(), "there is a state already; it is left as it is");
    let mut paths = arguments.state.partition_key.clone();
    if paths.is_empty() {
        paths.push(arguments.by.clone());
    }
    let builder = HashPartitionResolver::builder(KeySource::path(&arguments.by)?)
        .virtual_nodes(arguments.virtual_nodes);
    let ring = ManagedPartitionResolver::create(
        &service,
        builder,
        Naming::new(arguments.prefix.as_str()),
        ContainerTemplate::new(paths),
        arguments.containers,
    );
    save_state(&*states, &ring.await?.state(), None).await?;
    println!("a ring of {} containers", arguments.containers);
    Ok(())
}

async fn next(manager: &Repartitioner, arguments: &ChangeArguments) -> Result<ResolverState> {
    match (arguments.add, arguments.remove, &arguments.to) {
        (Some(n), ..) => Ok(manager.resized(i64::from(n)).await?),
        (_, Some(n), _) => Ok(manager.resized(-i64::from(n)).await?),
        (.., Some(file)) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            Ok(ResolverState::from_json(&text)?)
        }
        (None, None, None) => bail!("say the change: --add, --remove or --to"),
    }
}

async fn finish(manager: &Repartitioner, arguments: &StateArguments) -> Result<()> {
    let (_, jobs) = arguments.stores()?;
    let n_planned = Job::load(&*jobs).await?.map_or(0, |(job, _)| job.progress().n_planned);
    let bar = bar(n_planned);
    let mut report = |phase, progress: Progress| match phase {
        Phase::Planned => show(&bar, "preparing", 0),
        Phase::Copying => show(&bar, "copying", progress.n_copied),
        Phase::Verifying => show(&bar, "verifying", progress.n_verified),
        Phase::Deleting => show(&bar, "deleting", progress.n_deleted),
        Phase::Done => show(&bar, "done", progress.n_deleted),
    };
    let progress = manager.run(&mut report).await?;
    bar.finish_and_clear();
    println!(
        "moved {} of {} planned items; {} were looked at",
        progress.n_deleted, progress.n_planned, progress.n_scanned
    );
    Ok(())
}

async fn status(arguments: &StateArguments) -> Result<()> {
    let (states, jobs) = arguments.stores()?;
    let (state, _) = load_state(&*states).await?.context("there is no state")?;
    println!("{}", state_text(&state));
    match Job::load(&*jobs).await? {
        None => println!("no change was ever begun"),
        Some((job, _)) => {
            let progress = job.progress();
            println!(
                "last change: {:?}; planned {}, copied {}, verified {}, deleted {}",
                job.phase(),
                progress.n_planned,
                progress.n_copied,
                progress.n_verified,
                progress.n_deleted
            );
        }
    }
    Ok(())
}

fn state_text(state: &ResolverState) -> String {
    match state {
        ResolverState::Managed(it) => {
            format!("a managed ring of {} containers", it.hash.containers.len())
        }
        ResolverState::Hash(it) => format!("a ring of {} containers", it.containers.len()),
        ResolverState::Range { ranges, .. } => format!("a map of {} ranges", ranges.len()),
        ResolverState::Lookup { entries, .. } => format!("a table of {} keys", entries.len()),
        ResolverState::Spillover(it) => format!("{} spilled containers", it.numbers.len()),
        ResolverState::Transition { mode, current, next } => {
            format!("a transition, {mode:?}, from {} to {}", state_text(current), state_text(next))
        }
        ResolverState::Chained { resolvers } => format!("a chain of {} resolvers", resolvers.len()),
        ResolverState::Composite { branches, .. } => {
            format!("a composite of {} branches", branches.len())
        }
        _ => "a scheme that this version does not know".to_owned(),
    }
}

fn plan_text(plan: &Plan) -> String {
    let n_bytes: u64 = plan.moves.values().map(|it| it.n_bytes).sum();
    let mut text = format!(
        "{} items move ({:.1} %, {n_bytes} bytes), {} stay",
        plan.n_moving(),
        plan.share() * 100.0,
        plan.n_staying
    );
    for ((from, to), what) in &plan.moves {
        let _ = write!(text, "\n  {from} -> {to}: {} items, {} bytes", what.n_items, what.n_bytes);
    }
    for (word, links) in [("made", &plan.added), ("dropped", &plan.removed)] {
        for link in links {
            let _ = write!(text, "\n  {link} is {word}");
        }
    }
    if plan.n_homeless > 0 {
        let _ = write!(text, "\n{} items would have no container", plan.n_homeless);
    }
    text
}
