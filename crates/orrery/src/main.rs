//! The Orrery server binary: parse, dispatch, exit code.
//!
//! Arguments pass through two typed stages: [`arguments`] records what was typed or set in the environment,
//! [`settings`] resolves it (keys decoded, host looked up, folders named). Nothing below this crate reads
//! configuration, environment variables or setting files.

#![allow(clippy::print_stdout, reason = "the command line is the one place that talks to a person")]

mod arguments;
mod busy_poll;
mod data_folder;
mod descriptors;
mod distribution;
mod emulator;
mod explain;
mod heat_file;
mod keys;
mod log;
mod maintenance;
mod output;
mod packaging;
mod partitions;
mod progress;
mod rekey;
mod remote;
mod repartition;
mod serve;
mod settings;
mod size;
mod top;
mod watch;

use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

use arguments::{Arguments, Command, ServeArguments};

/// Queries and writes allocate a lot on several threads at once. The C library's allocator gives memory back to the system
/// and fetches it again within a single request, which took a fifth of the time of a short query.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    without_huge_pages();
    let matches = Arguments::command().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match run(arguments, &matches) {
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

fn run(arguments: Arguments, matches: &ArgMatches) -> anyhow::Result<()> {
    match arguments.command {
        None => serve(arguments.serve, matches),
        Some(Command::Serve(serve_arguments)) => {
            serve(*serve_arguments, matches.subcommand_matches("serve").unwrap_or(matches))
        }
        Some(Command::Reset(reset)) => maintenance::reset(&reset),
        Some(Command::Cert(cert)) => maintenance::cert(&cert),
        Some(Command::Keys(keys)) => maintenance::keys(&keys),
        Some(Command::Partitions(arguments)) => partitions::show(&arguments),
        Some(Command::Top(arguments)) => top::run(&arguments),
        Some(Command::Split(arguments)) => partitions::split(&arguments),
        Some(Command::Merge(arguments)) => partitions::merge(&arguments),
        Some(Command::Move(arguments)) => partitions::relocate(&arguments),
        Some(Command::Rekey(rekey)) => rekey::run(&rekey),
        Some(Command::Repartition(command)) => repartition::run(&command),
        Some(Command::Explain(arguments)) => explain::run(&arguments),
        Some(Command::Distribution(distribution)) => distribution::run(&distribution),
        Some(Command::Completions(completions)) => packaging::completions(&completions),
        Some(Command::Manual) => packaging::manual(),
    }
}

fn serve(mut arguments: ServeArguments, matches: &ArgMatches) -> anyhow::Result<()> {
    if arguments.emulator.is_on {
        let is_given = |id: &str| {
            matches.value_source(id).is_some_and(|source| source != ValueSource::DefaultValue)
        };
        emulator::adopt(&mut arguments, &is_given)?;
    }
    serve::run(&arguments)
}
