//! `soak`: a mixed load for a long time at a low rate, with splits, merges and moves, and a look at what the server
//! takes meanwhile.
//!
//! Sixteen connections create, replace, read, query and delete items, run a procedure and read changes; each item lives
//! for a while and is deleted, so that what is kept stays the same and whatever grows is a leak. Memory, descriptors,
//! threads and bytes on disk are sampled; their highest values in the third and in the last quarter of the run are
//! compared. The first half is for caches, buffers and tables to fill.
//!
//! What must hold: none of the four has grown by more than the allowance of its kind, and the server logged no error.

mod load;
mod sample;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use model::Env;
use tokio::task::JoinSet;

use crate::client::{Account, Connection, Request};
use crate::crash::mover;
use crate::server::{Server, WELL_KNOWN_KEY};
use crate::workspace;
use load::Worker;
use sample::{Sample, Series};

pub(crate) const CONTAINER: &str = "dbs/soak/colls/items";

#[derive(Debug, Args)]
pub(crate) struct SoakArguments {
    /// How long
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Requests per second, all connections together
    #[arg(long, default_value_t = 200)]
    rate: u64,
    /// `--memory` of the server, in MiB
    #[arg(long, default_value_t = 512)]
    memory: u32,
    /// Repeats the choices of an earlier run
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Use this server instead of building the release one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Connections that share the rate.
const WORKERS: u64 = 16;
/// Samples of a run; the last quarter has enough of them to see compactions come and go.
const SAMPLES: u64 = 120;
/// Between two relocations: copies must not be all of the load.
const RELOCATION_PAUSE: Duration = Duration::from_secs(20);

pub(crate) fn run(arguments: &SoakArguments) -> Result<()> {
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => workspace::release_binary()?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(soak(&binary, arguments))
}

async fn soak(binary: &std::path::Path, arguments: &SoakArguments) -> Result<()> {
    let env = Env::system();
    let folder = workspace::scratch("soak")?;
    let data = folder.path().join("data");
    let (shown, memory) = (data.to_string_lossy().into_owned(), arguments.memory.to_string());
    let options = ["--data", &shown, "--min-partitions", "4", "--memory", &memory];
    let server = Server::start(binary, &options, &folder.path().join("server.log"), &env)?;
    let account = Account::new(&server.authority, WELL_KNOWN_KEY, &env)?;
    prepare(&account).await?;

    let pause = Duration::from_secs(1) * u32::try_from(WORKERS)?
        / u32::try_from(arguments.rate.max(1)).context("the rate is too high")?;
    let mut tasks = JoinSet::new();
    for number in 0..WORKERS {
        let worker = Worker::new(number, arguments.seed);
        tasks.spawn(worker.run(account.clone(), pause));
    }
    let choices = Env::fixed(arguments.seed, 0);
    let relocations = tokio::spawn(mover::run(
        account.clone(),
        mover::Plan { container: CONTAINER, pause: RELOCATION_PAUSE },
        choices,
    ));
    let series = watch(&server, &data, arguments, &mut tasks).await?;
    tasks.abort_all();
    if relocations.is_finished() {
        let n_done = relocations.await.context("the mover panicked")??;
        bail!("no more relocations after {n_done}");
    }
    relocations.abort();
    while tasks.join_next().await.is_some() {}
    server.stop(&env).context("orderly stop at the end")?;
    let grown = series.judge();
    if !grown.is_empty() {
        bail!("it does not level off: {}", grown.join("; "));
    }
    println!("soak: everything levels off");
    Ok(())
}

/// Takes samples until the time is up; a worker that ends has failed.
async fn watch(
    server: &Server,
    data: &std::path::Path,
    arguments: &SoakArguments,
    tasks: &mut JoinSet<Result<()>>,
) -> Result<Series> {
    let every = Duration::from_secs(arguments.minutes * 60) / u32::try_from(SAMPLES)?;
    let mut series = Series::default();
    println!("soak: {}", Sample::HEAD);
    for number in 1..=SAMPLES {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            Some(ended) = tasks.join_next() => {
                ended.context("a worker panicked")??;
                bail!("a worker ended");
            }
        }
        let sample = Sample::take(server, data).await?;
        if number.is_multiple_of(SAMPLES / 20) {
            println!("soak: {:>4} s {sample}", every.as_secs() * number);
        }
        series.push(sample);
    }
    Ok(series)
}

async fn prepare(account: &Account) -> Result<()> {
    let mut connection = Connection::open(&account.authority).await?;
    for (path, body) in [
        ("dbs", r#"{"id":"soak"}"#.to_owned()),
        (
            "dbs/soak/colls",
            r#"{"id":"items","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#
                .to_owned(),
        ),
        (&format!("{CONTAINER}/sprocs"), load::procedure()),
    ] {
        let request = Request::new("POST", path).body(body);
        connection.call(account, &request).await?.expect_success(path)?;
    }
    Ok(())
}
