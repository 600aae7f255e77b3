//! `crash`: kill -9 under load, restart, compare.
//!
//! Sixteen writers, each the only one that writes its items, send single writes and atomic batches over
//! shared logical partitions, and attachments with and without media; every other time ranges are split, merged and
//! moved meanwhile. At a random moment the server is killed by its process id. After a restart (itself killed now and
//! then) the following must hold:
//!
//! - every acknowledged write is there, with its content or with that of the one write in flight;
//! - a batch is there whole or not at all, and so is the end of an item with its attachments;
//! - media is there byte by byte, and the account counts its bytes;
//! - the change feed from the beginning holds each live item once, with its newest content, and one that
//!   goes on from a position taken before the kill misses nothing;
//! - the container's item counter equals the number of items.
//!
//! With `--transfers` the load is a stored procedure instead: see [`transfers`].

mod attached;
mod ledger;
pub(crate) mod mover;
mod observe;
mod site;
mod transfers;
mod verify;
mod writer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use model::Env;
use tokio::task::JoinSet;

use crate::server::Server;
use crate::workspace;
use ledger::Ledger;
use observe::Follower;
use site::Site;
use writer::Writer;

pub(crate) const CONTAINER: &str = "dbs/crash/colls/items";

// Limit: writers run between these bounds before the kill.
const LOAD_MS_MIN: u64 = 50;
const LOAD_MS_MAX: u64 = 900;
/// After this many kills comes an orderly stop, which must keep as much and shorten the next start.
const KILLS_PER_STOP: u32 = 20;

#[derive(Debug, Args)]
pub(crate) struct CrashArguments {
    /// Kills to survive
    #[arg(long, default_value_t = 5)]
    cycles: u32,
    /// Concurrent writers
    #[arg(long, default_value_t = 16)]
    writers: u32,
    /// Repeats the choices of an earlier run (the timing of the machine stays its own)
    #[arg(long)]
    seed: Option<u64>,
    /// Use this server instead of building the release one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Ranges of the container
    #[arg(long, default_value_t = 4)]
    min_partitions: u32,
    /// Instead: transfers between accounts by a stored procedure, whose sum must never change
    #[arg(long)]
    transfers: bool,
}

impl CrashArguments {
    pub(crate) fn with_cycles(cycles: u32) -> CrashArguments {
        let (seed, binary) = (None, None);
        CrashArguments { cycles, writers: 16, seed, binary, min_partitions: 4, transfers: false }
    }

    /// The same for transfers.
    pub(crate) fn transfers(cycles: u32) -> CrashArguments {
        CrashArguments { transfers: true, ..CrashArguments::with_cycles(cycles) }
    }
}

pub(crate) fn run(arguments: &CrashArguments) -> Result<()> {
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => workspace::release_binary()?,
    };
    run_binary(&binary, arguments)
}

pub(crate) fn run_binary(binary: &Path, arguments: &CrashArguments) -> Result<()> {
    let seed = arguments.seed.unwrap_or_else(|| Env::system().random_u64() >> 32);
    let option = if arguments.transfers { " --transfers" } else { "" };
    println!(
        "crash: {} cycles, {} writers, {} ranges; repeat with: cargo xtask crash{option} --seed {seed} --cycles {}",
        arguments.cycles, arguments.writers, arguments.min_partitions, arguments.cycles
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let run = async {
        if arguments.transfers {
            transfers::run(binary, arguments, seed).await
        } else {
            Harness::new(binary, arguments, seed)?.run(arguments.cycles).await
        }
    };
    runtime.block_on(run).with_context(|| format!("seed {seed}"))
}

/// Everything that outlives one server process.
struct Harness {
    site: Site,
    choices: Env,
    writers: Vec<Writer>,
    follower: Follower,
}

impl Harness {
    fn new(binary: &Path, arguments: &CrashArguments, seed: u64) -> Result<Harness> {
        let choices = Env::fixed(seed, 0);
        let writers =
            (0..arguments.writers).map(|n| Writer::new(n, choices.random_u64())).collect();
        Ok(Harness {
            site: Site::new(binary, arguments.min_partitions)?,
            choices,
            writers,
            follower: Follower::default(),
        })
    }

    async fn run(mut self, cycles: u32) -> Result<()> {
        let mut server = self.site.start()?;
        self.site.make_container(&server).await?;
        let mut n_acknowledged = 0;
        for cycle in 1..=cycles {
            let load_ms = LOAD_MS_MIN + self.choices.random_u64() % (LOAD_MS_MAX - LOAD_MS_MIN);
            let relocates = cycle % 2 == 0;
            let (n, n_relocations) = self.load_and_kill(server, load_ms, relocates).await?;
            n_acknowledged += n;
            let n_restart_kills = self.site.kill_restarts(&self.choices).await?;
            server = self.site.start().with_context(|| format!("cycle {cycle}: restart"))?;
            let start = server.start;
            let n_items =
                self.verify(&server).await.with_context(|| format!("cycle {cycle} of {cycles}"))?;
            if cycle % KILLS_PER_STOP == 0 {
                server
                    .stop(&self.site.env)
                    .with_context(|| format!("cycle {cycle}: orderly stop"))?;
                server = self.site.start()?;
                self.verify(&server)
                    .await
                    .with_context(|| format!("cycle {cycle}: after a stop"))?;
                println!("crash: orderly stop, restarted in {} ms", server.start.as_millis());
            }
            println!(
                "crash: cycle {cycle}: killed after {load_ms} ms and {n_relocations} relocations, restarted in {} ms{}, {n_acknowledged} \
                 acknowledged so far, {n_items} items and attachments agree",
                start.as_millis(),
                if n_restart_kills > 0 { " (after a kill in the start)" } else { "" },
            );
        }
        server.stop(&self.site.env).context("orderly stop at the end")
    }

    /// Lets all writers run, kills the server, and returns how many writes were acknowledged and relocations done.
    async fn load_and_kill(
        &mut self,
        server: Server,
        load_ms: u64,
        relocates: bool,
    ) -> Result<(u64, u64)> {
        let account = self.site.account(&server)?;
        let mut tasks = JoinSet::new();
        for writer in std::mem::take(&mut self.writers) {
            tasks.spawn(writer.run(account.clone()));
        }
        let choices = Env::fixed(self.choices.random_u64(), 0);
        let mover = relocates.then(|| {
            let plan = mover::Plan { container: CONTAINER, pause: Duration::ZERO };
            tokio::spawn(mover::run(account, plan, choices))
        });
        tokio::time::sleep(Duration::from_millis(load_ms)).await;
        server.kill()?;
        let mut n_acknowledged = 0;
        while let Some(done) = tasks.join_next().await {
            let (writer, n) = done.context("a writer panicked")??;
            n_acknowledged += n;
            self.writers.push(writer);
        }
        // Tasks end in any order; the seed must not depend on it.
        self.writers.sort_by_key(Writer::number);
        let n_relocations = match mover {
            Some(mover) => mover.await.context("the mover panicked")??,
            None => 0,
        };
        Ok((n_acknowledged, n_relocations))
    }

    async fn verify(&mut self, server: &Server) -> Result<usize> {
        let account = self.site.account(server)?;
        let seen = observe::observe(&account, &mut self.follower).await?;
        let ledgers: Vec<&mut Ledger> = self.writers.iter_mut().map(Writer::ledger).collect();
        verify::verify(ledgers, &seen)?;
        Ok(seen.items.len())
    }
}
