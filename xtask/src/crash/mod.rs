//! `crash`: kill -9 under load, restart, compare.
//!
//! Sixteen writers, each the only one that writes its items, send single writes and atomic batches over
//! shared logical partitions. At a random moment the server is killed by its process id. After a restart
//! (itself killed now and then) the following must hold:
//!
//! - every acknowledged write is there, with its content or with that of the one write in flight;
//! - a batch is there whole or not at all;
//! - the change feed from the beginning holds each live item once, with its newest content, and one that
//!   goes on from a position taken before the kill misses nothing;
//! - the container's item counter equals the number of items.

mod ledger;
mod observe;
mod verify;
mod writer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use model::Env;
use tokio::task::JoinSet;

use crate::client::{Account, Connection, Request};
use crate::server::{Server, WELL_KNOWN_KEY};
use crate::workspace;
use ledger::Ledger;
use observe::Follower;
use writer::Writer;

pub(crate) const CONTAINER: &str = "dbs/crash/colls/items";

// Limit: writers run between these bounds before the kill.
const LOAD_MS_MIN: u64 = 50;
const LOAD_MS_MAX: u64 = 900;
/// One restart in this many is killed before it is ready.
const RESTART_KILLS: u64 = 5;
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
}

impl CrashArguments {
    pub(crate) fn with_cycles(cycles: u32) -> CrashArguments {
        CrashArguments { cycles, writers: 16, seed: None, binary: None, min_partitions: 4 }
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
    println!(
        "crash: {} cycles, {} writers, {} ranges; repeat with: cargo xtask crash --seed {seed} --cycles {}",
        arguments.cycles, arguments.writers, arguments.min_partitions, arguments.cycles
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime
        .block_on(Harness::new(binary, arguments, seed)?.run(arguments.cycles))
        .with_context(|| format!("seed {seed}"))
}

/// Everything that outlives one server process.
struct Harness {
    binary: PathBuf,
    folder: tempfile::TempDir,
    min_partitions: String,
    env: Env,
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
            binary: binary.to_owned(),
            folder: workspace::scratch("crash")?,
            min_partitions: arguments.min_partitions.to_string(),
            env: Env::system(),
            choices,
            writers,
            follower: Follower::default(),
        })
    }

    async fn run(mut self, cycles: u32) -> Result<()> {
        let mut server = self.start()?;
        self.make_container(&server).await?;
        let mut n_acknowledged = 0;
        for cycle in 1..=cycles {
            let load_ms = LOAD_MS_MIN + self.choices.random_u64() % (LOAD_MS_MAX - LOAD_MS_MIN);
            n_acknowledged += self.load_and_kill(server, load_ms).await?;
            let n_restart_kills = self.kill_restarts().await?;
            server = self.start().with_context(|| format!("cycle {cycle}: restart"))?;
            let start = server.start;
            let n_items =
                self.verify(&server).await.with_context(|| format!("cycle {cycle} of {cycles}"))?;
            if cycle % KILLS_PER_STOP == 0 {
                server.stop(&self.env).with_context(|| format!("cycle {cycle}: orderly stop"))?;
                server = self.start()?;
                self.verify(&server)
                    .await
                    .with_context(|| format!("cycle {cycle}: after a stop"))?;
                println!("crash: orderly stop, restarted in {} ms", server.start.as_millis());
            }
            println!(
                "crash: cycle {cycle}: killed after {load_ms} ms, restarted in {} ms{}, {n_acknowledged} \
                 acknowledged so far, {n_items} items agree",
                start.as_millis(),
                if n_restart_kills > 0 { " (after a kill in the start)" } else { "" },
            );
        }
        server.stop(&self.env).context("orderly stop at the end")
    }

    fn options(&self) -> [String; 4] {
        let data = self.folder.path().join("data").to_string_lossy().into_owned();
        ["--data".to_owned(), data, "--min-partitions".to_owned(), self.min_partitions.clone()]
    }

    fn start(&self) -> Result<Server> {
        let options = self.options();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        Server::start(&self.binary, &options, &self.log(), &self.env)
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    fn account(&self, server: &Server) -> Result<Account> {
        Account::new(&server.authority, WELL_KNOWN_KEY, &self.env)
    }

    async fn make_container(&self, server: &Server) -> Result<()> {
        let account = self.account(server)?;
        let mut connection = Connection::open(&server.authority).await?;
        for (path, body) in [
            ("dbs", r#"{"id":"crash"}"#),
            (
                "dbs/crash/colls",
                r#"{"id":"items","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#,
            ),
        ] {
            let request = Request::new("POST", path).body(body);
            connection.call(&account, &request).await?.expect_success(path)?;
        }
        Ok(())
    }

    /// Lets all writers run, kills the server, and returns how many writes were acknowledged.
    async fn load_and_kill(&mut self, server: Server, load_ms: u64) -> Result<u64> {
        let account = self.account(&server)?;
        let mut tasks = JoinSet::new();
        for writer in std::mem::take(&mut self.writers) {
            tasks.spawn(writer.run(account.clone()));
        }
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
        Ok(n_acknowledged)
    }

    /// Now and then kills the recovery itself.
    async fn kill_restarts(&mut self) -> Result<u32> {
        if !self.choices.random_u64().is_multiple_of(RESTART_KILLS) {
            return Ok(0);
        }
        let options = self.options();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let mut child = Server::spawn(&self.binary, &options, &self.log())?;
        tokio::time::sleep(Duration::from_millis(self.choices.random_u64() % 40)).await;
        child.kill().context("cannot kill the restarting server")?;
        child.wait()?;
        Ok(1)
    }

    async fn verify(&mut self, server: &Server) -> Result<usize> {
        let account = self.account(server)?;
        let seen = observe::observe(&account, &mut self.follower).await?;
        let ledgers: Vec<&mut Ledger> = self.writers.iter_mut().map(Writer::ledger).collect();
        verify::verify(ledgers, &seen)?;
        Ok(seen.items.len())
    }
}
