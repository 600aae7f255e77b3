//! `bench`: what Orrery costs against a baseline, measured in one run on one machine.
//!
//! Absolute rates depend on the machine; the ratios in the last column are what is judged. Load generator
//! and server share the cores, in both halves of each ratio.

mod bare;
mod cpu_pinning;
mod creates;
mod direct;
mod explorer;
mod growth;
mod keep_awake;
mod load;
mod plans;
mod queries;
mod range_scaling;
mod raw_store;
mod reads;
mod resolvers;
mod rows;
mod scripts;
mod setup;
mod split;
mod start;
mod table;
mod wait_idle;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use model::Env;

use crate::{process, workspace};
use table::Table;

pub(crate) use bare::serve as bare_handler;
pub(crate) use keep_awake::stay as stay_awake;

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Seconds per measurement
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Items of the large container in the growth and query measurements
    #[arg(long, default_value_t = 1_000_000)]
    items: u64,
    /// Megabytes of the partition that the split measurement splits
    #[arg(long, default_value_t = 1024)]
    megabytes: u64,
    /// Only these parts; none means all
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Measure this server instead of building the release one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Start,
    Reads,
    Creates,
    Direct,
    Growth,
    Scripts,
    Plans,
    Queries,
    Resolvers,
    Split,
    Spread,
    Explorer,
}

/// What every part needs.
#[derive(Debug)]
struct Bench {
    binary: PathBuf,
    duration: Duration,
    n_items_large: u64,
    split_bytes: u64,
    env: Env,
}

/// Connections, and so requests at a time, of each load.
const CONNECTIONS: [usize; 3] = [1, 16, 64];

pub(crate) fn run(arguments: &BenchArguments) -> Result<()> {
    // Load generator and baselines run in this process: built without optimisation they would flatter us.
    if cfg!(debug_assertions) {
        let mut optimised = workspace::cargo(&["run", "--release", "--package", "xtask", "--"]);
        optimised.args(std::env::args_os().skip(1));
        return process::run(optimised);
    }
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => workspace::release_binary()?,
    };
    let bench = Bench {
        binary,
        duration: Duration::from_secs(arguments.seconds),
        n_items_large: arguments.items,
        split_bytes: arguments.megabytes << 20,
        env: Env::system(),
    };
    let wants = |part| arguments.parts.is_empty() || arguments.parts.contains(&part);
    // One thread for the load keeps it off the server's cores as far as possible.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut table = Table::new();
    if wants(Part::Start) {
        runtime.block_on(start::measure(&bench, &mut table))?;
    }
    if wants(Part::Reads) {
        runtime.block_on(reads::measure(&bench, &mut table))?;
    }
    if wants(Part::Creates) {
        runtime.block_on(creates::measure(&bench, &mut table))?;
    }
    if wants(Part::Direct) {
        runtime.block_on(direct::measure(&bench, &mut table))?;
    }
    if wants(Part::Growth) {
        runtime.block_on(growth::measure(&bench, &mut table))?;
    }
    if wants(Part::Scripts) {
        runtime.block_on(scripts::measure(&bench, &mut table))?;
    }
    if wants(Part::Plans) {
        plans::measure(&bench, &mut table)?;
    }
    if wants(Part::Queries) {
        runtime.block_on(queries::measure(&bench, &mut table))?;
    }
    if wants(Part::Resolvers) {
        resolvers::measure(&bench, &mut table)?;
    }
    if wants(Part::Split) {
        runtime.block_on(split::measure(&bench, &mut table))?;
    }
    if wants(Part::Spread) {
        runtime.block_on(range_scaling::measure(&bench, &mut table))?;
    }
    if wants(Part::Explorer) {
        runtime.block_on(explorer::measure(&bench, &mut table))?;
    }
    println!("\n{table}");
    Ok(())
}
