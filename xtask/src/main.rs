//! `cargo xtask`: every project command that is not plain cargo. Run bare, it prints the menu.
//!
//! Nothing runs in CI that cannot be run at home by the same command.

#![allow(clippy::print_stdout, reason = "a command-line tool talks to a person")]

mod bench;
mod browser;
mod check;
mod client;
mod conformance;
mod crash;
mod disk_faults;
mod dist;
mod fuzz;
mod process;
mod ranges;
mod server;
mod sim;
mod soak;
mod tally;
mod test;
mod tidy;
mod witness;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Project commands of Orrery.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", arg_required_else_help = true, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Format, lints, tidiness and all cargo tests: what CI runs first
    Check,
    /// Everything CI runs: check, crash, conformance with the toolchains that exist
    Test(test::TestArguments),
    /// Drive the release binary with the official SDKs: python, javascript, go, rust, java
    Conformance(conformance::ConformanceArguments),
    /// Drive the explorer of the release binary in Chromium, and leave pictures under the target folder
    Browser(browser::BrowserArguments),
    /// Run the text cases of queries and of the wire
    Cases(check::CasesArguments),
    /// Kill the server under load, restart it, and compare what it kept with what it acknowledged
    Crash(crash::CrashArguments),
    /// Cut the power at the writes and syncs of the store, and compare what is left with what it acknowledged
    PowerCut(disk_faults::PowerCutArguments),
    /// Damage the files of the store, and look whether that is refused or reported
    Damage(disk_faults::DamageArguments),
    /// A mixed load with splits for a long time: memory, descriptors, threads and disk must level off
    Soak(soak::SoakArguments),
    /// Simulate an account under load, relocations and crashes, one seed after another
    Sim(sim::SimArguments),
    /// Measure start, memory, reads, creates, growth, disk, scripts and queries, each against a baseline
    Bench(bench::BenchArguments),
    /// Package a stripped binary with completions, manual, licences and checksums
    Dist(dist::DistArguments),
    /// Check layers, file lengths, headers, leftover markers and document lengths
    Tidy,
    /// Compare query plans, errors and values with those of the command in `ORRERY_WITNESS`
    Witness(witness::WitnessArguments),
    /// Run fuzz targets for a while (needs cargo-fuzz)
    Fuzz(fuzz::FuzzArguments),
    /// Build and run a scratch server in memory; further options go to `orrery serve`
    Serve {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// The baseline of `bench`: answers every request with the same recorded response
    #[command(hide = true)]
    BareHandler { recorded: std::path::PathBuf },
    /// Part of `bench`: keeps one core busy
    #[command(hide = true)]
    StayAwake,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Check => check::run(),
        Command::Test(arguments) => test::run(&arguments),
        Command::Conformance(arguments) => conformance::run(&arguments),
        Command::Browser(arguments) => browser::run(&arguments),
        Command::Cases(arguments) => check::cases(&arguments),
        Command::Crash(arguments) => crash::run(&arguments),
        Command::PowerCut(arguments) => disk_faults::power_cut(&arguments),
        Command::Damage(arguments) => disk_faults::damage(&arguments),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Dist(arguments) => dist::run(&arguments),
        Command::Tidy => tidy::run(),
        Command::Witness(arguments) => witness::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Serve { options } => server::serve_scratch(&options),
        Command::BareHandler { recorded } => bench::bare_handler(&recorded),
        Command::StayAwake => {
            bench::stay_awake();
            Ok(())
        }
    }
}
