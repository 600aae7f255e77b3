//! `power-cut` and `damage`: long runs of the store's tests with a simulated disk and with damaged files.

use anyhow::Result;
use clap::Args;

use crate::{process, workspace};

#[derive(Debug, Args)]
pub(crate) struct PowerCutArguments {
    /// How many cuts; from 500 on also in a workload that fills a log
    #[arg(long, default_value_t = 1000)]
    cuts: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    first: u64,
}

impl PowerCutArguments {
    pub(crate) fn with_cuts(cuts: u64) -> PowerCutArguments {
        PowerCutArguments { cuts, first: 1 }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DamageArguments {
    /// How many damaged folders
    #[arg(long, default_value_t = 2000)]
    inputs: u64,
    /// The seed of the data and of the damage
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl DamageArguments {
    pub(crate) fn with_inputs(inputs: u64) -> DamageArguments {
        DamageArguments { inputs, seed: 1 }
    }
}

pub(crate) fn power_cut(arguments: &PowerCutArguments) -> Result<()> {
    run(
        "power_cut",
        &[("ORRERY_POWER_CUTS", arguments.cuts), ("ORRERY_POWER_CUT_FIRST", arguments.first)],
    )
}

pub(crate) fn damage(arguments: &DamageArguments) -> Result<()> {
    run(
        "damage",
        &[("ORRERY_DAMAGE_INPUTS", arguments.inputs), ("ORRERY_DAMAGE_SEED", arguments.seed)],
    )
}

fn run(test: &str, settings: &[(&str, u64)]) -> Result<()> {
    let words = ["test", "-q", "-p", "orrery-store", "--test", test, "--", "--nocapture"];
    let mut command = workspace::cargo(&words);
    for (name, value) in settings {
        command.env(name, value.to_string());
    }
    process::run(command)
}
