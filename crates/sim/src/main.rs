//! Runs many seeds and tells which failed. `cargo xtask sim` calls it.
#![allow(clippy::print_stdout, reason = "a command-line tool talks to a person")]

use std::process::ExitCode;

use clap::Parser;

/// Simulations of an account under load, relocations and crashes.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many seeds to run
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    first: u64,
}

fn main() -> ExitCode {
    let Arguments { seeds, first } = Arguments::parse();
    let (mut n_failed, mut n_calls, mut n_relocations) = (0_u64, 0_usize, 0_u64);
    for seed in first..first.saturating_add(seeds) {
        match sim::run(seed) {
            Ok(summary) => {
                n_calls += summary.n_calls;
                n_relocations += summary.n_relocations;
            }
            Err(problem) => {
                n_failed += 1;
                let problem: String = problem.chars().take(2000).collect();
                println!("seed {seed} failed: {problem}");
                println!("  again: cargo xtask sim --first {seed} --seeds 1");
            }
        }
    }
    let n_passed = seeds - n_failed;
    println!(
        "sim: {n_passed} seeds passed, {n_failed} failed ({n_calls} calls, {n_relocations} relocations)"
    );
    if n_failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
