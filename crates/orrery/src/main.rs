//! The Orrery server binary: parse, dispatch, exit code.
//!
//! Arguments pass through two typed stages: [`arguments`] records what was typed or set in the environment,
//! [`settings`] resolves it (keys decoded, host looked up, folders named). Nothing below this crate reads
//! configuration, environment variables or setting files.

#![allow(clippy::print_stdout, reason = "the command line is the one place that talks to a person")]

mod arguments;
mod data_folder;
mod distribution;
mod explain;
mod keys;
mod log;
mod maintenance;
mod output;
mod partitions;
mod progress;
mod rekey;
mod remote;
mod repartition;
mod serve;
mod settings;
mod size;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};

/// Queries and writes allocate a lot on several threads at once. The C library's allocator gives memory back to the system
/// and fetches it again within a single request, which took a fifth of the time of a short query.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    without_huge_pages();
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("orrery: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Has memory come in pages of 4 KB. The allocator asks for such of 2 MB, and the system clears one whenever a little of
/// it is needed again: that took 40 % of the time of a copy between partitions, and a seventh of that of requests beside it.
fn without_huge_pages() {
    // A system that refuses is slower, and as right.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        None => serve::run(&arguments.serve),
        Some(Command::Serve(serve)) => serve::run(&serve),
        Some(Command::Reset(reset)) => maintenance::reset(&reset),
        Some(Command::Cert(cert)) => maintenance::cert(&cert),
        Some(Command::Keys(keys)) => maintenance::keys(&keys),
        Some(Command::Partitions(arguments)) => partitions::show(&arguments),
        Some(Command::Split(arguments)) => partitions::split(&arguments),
        Some(Command::Merge(arguments)) => partitions::merge(&arguments),
        Some(Command::Move(arguments)) => partitions::relocate(&arguments),
        Some(Command::Rekey(rekey)) => rekey::run(&rekey),
        Some(Command::Repartition(command)) => repartition::run(&command),
        Some(Command::Explain(arguments)) => explain::run(&arguments),
        Some(Command::Distribution(distribution)) => distribution::run(&distribution),
    }
}
