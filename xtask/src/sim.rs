//! `sim`: the simulation of `crates/sim` over many seeds, in a release build.

use anyhow::Result;
use clap::Args;

use crate::{process, workspace};

#[derive(Debug, Args)]
pub(crate) struct SimArguments {
    /// How many seeds to run
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    first: u64,
}

impl SimArguments {
    pub(crate) fn with_seeds(seeds: u64) -> SimArguments {
        SimArguments { seeds, first: 1 }
    }
}

pub(crate) fn run(arguments: &SimArguments) -> Result<()> {
    let (seeds, first) = (arguments.seeds.to_string(), arguments.first.to_string());
    let words =
        ["run", "--release", "-q", "-p", "orrery-sim", "--", "--seeds", &seeds, "--first", &first];
    process::run(workspace::cargo(&words))
}
