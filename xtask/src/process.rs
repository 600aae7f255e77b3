//! Running other programs: shown before they run, counted while they run.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::tally::{Counts, Runner};

/// Runs a command whose failure is ours.
pub(crate) fn run(mut command: Command) -> Result<()> {
    println!("$ {}", shown(&command));
    let status = command.status().with_context(|| format!("cannot run {}", shown(&command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(&command));
    }
    Ok(())
}

/// Runs a test runner, passes its output on, and counts its tests. A runner that fails without naming a
/// failed test counts as one.
pub(crate) fn run_counted(mut command: Command, runner: Runner) -> Result<Counts> {
    println!("$ {}", shown(&command));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", shown(&command)))?;
    let mut counts = Counts::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.context("cannot read the runner's output")?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            counts += runner.count(&line);
        }
    }
    let status = child.wait().context("cannot wait for the runner")?;
    if !status.success() && counts.failed == 0 {
        counts.failed = 1;
    }
    Ok(counts)
}

/// Returns true if the program can be started; the reason for a skip otherwise.
pub(crate) fn exists(program: &str, version_argument: &str) -> bool {
    Command::new(program)
        .arg(version_argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|it| it.success())
}

fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|it| it.to_string_lossy().into_owned()));
    // Cargo's own path is long and says nothing.
    if let Some(program) = words.first_mut()
        && program.ends_with("/cargo")
    {
        "cargo".clone_into(program);
    }
    words.join(" ")
}
