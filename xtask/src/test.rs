//! `test`: everything CI needs, in one run, closed by one line that counts.

use anyhow::{Result, bail};
use clap::Args;

use crate::conformance::{self, Matrix};
use crate::crash::{self, CrashArguments};
use crate::disk_faults::{DamageArguments, PowerCutArguments};
use crate::sim::SimArguments;
use crate::tally::Counts;
use crate::{browser, check, disk_faults, sim, workspace};

// Limit: kill cycles in CI, a minute or so; `--slow` runs the long proof.
const CYCLES_FAST: u32 = 5;
const CYCLES_SLOW: u32 = 200;
const TRANSFERS_FAST: u32 = 3;
const TRANSFERS_SLOW: u32 = 100;
const SEEDS_SLOW: u64 = 1000;
const POWER_CUTS_SLOW: u64 = 1000;
const DAMAGE_INPUTS_SLOW: u64 = 2000;

#[derive(Debug, Args)]
pub(crate) struct TestArguments {
    /// Also the long runs: 200 crash cycles, 1,000 seeds of the simulation, 1,000 power cuts, 2,000
    /// damaged folders, the whole conformance matrix, slow store tests
    #[arg(long)]
    slow: bool,
}

pub(crate) fn run(arguments: &TestArguments) -> Result<()> {
    let mut counts = check::steps(arguments.slow)?;
    if arguments.slow {
        // The fast run has its seeds among the cargo tests.
        counts += check::step("sim", || sim::run(&SimArguments::with_seeds(SEEDS_SLOW)));
        let cuts = PowerCutArguments::with_cuts(POWER_CUTS_SLOW);
        counts += check::step("power-cut", || disk_faults::power_cut(&cuts));
        let damage = DamageArguments::with_inputs(DAMAGE_INPUTS_SLOW);
        counts += check::step("damage", || disk_faults::damage(&damage));
    }
    match workspace::release_binary() {
        Ok(binary) => {
            let cycles = if arguments.slow { CYCLES_SLOW } else { CYCLES_FAST };
            let crash = CrashArguments::with_cycles(cycles);
            counts += check::step("crash", || crash::run_binary(&binary, &crash));
            let cycles = if arguments.slow { TRANSFERS_SLOW } else { TRANSFERS_FAST };
            let transfers = CrashArguments::transfers(cycles);
            counts += check::step("crash --transfers", || crash::run_binary(&binary, &transfers));
            let matrix = if arguments.slow { Matrix::Full } else { Matrix::Diagonal };
            counts += browser::drive(&binary, false)?;
            counts += conformance::run_all(&binary, matrix)?;
        }
        Err(error) => {
            println!("── the release binary FAILED: {error:#}");
            counts += Counts::step(false);
        }
    }
    println!("{counts}");
    if !counts.is_good() {
        bail!("some tests failed");
    }
    Ok(())
}
