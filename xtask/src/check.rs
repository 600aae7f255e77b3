//! `check` and `cases`: what cargo alone can tell.

use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::process;
use crate::tally::{Counts, Runner};
use crate::{tidy, workspace};

/// The test targets that read `cases/`.
const CASE_RUNNERS: [(&str, &str); 3] =
    [("orrery-query", "cases"), ("orrery-account", "cases"), ("orrery-gateway", "cases")];

/// Workspaces with a lock of their own.
const OWN_LOCKS: [&str; 2] = ["conformance/rust", "fuzz"];

#[derive(Debug, Args)]
pub(crate) struct CasesArguments {
    /// Write the rows and plans that queries answer now into these case files; none means all
    #[arg(long, num_args = 0.., value_name = "FILE")]
    bless: Option<Vec<String>>,
}

pub(crate) fn run() -> Result<()> {
    let counts = steps(false)?;
    println!("{counts}");
    if !counts.is_good() {
        bail!("check failed");
    }
    Ok(())
}

/// All steps, each of which runs even if an earlier one failed: one run tells everything.
pub(crate) fn steps(is_slow: bool) -> Result<Counts> {
    let mut counts = Counts::default();
    counts += step("format", || process::run(workspace::cargo(&["fmt", "--all", "--check"])));
    counts += step("tidy", tidy::run);
    counts += step("locks", check_locks);
    counts += check_dependencies();
    counts += step("lints", || {
        process::run(workspace::cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ]))
    });
    let mut tests = workspace::cargo(&["test", "--workspace", "--no-fail-fast"]);
    if is_slow {
        tests.args(["--features", "orrery-store/slow,orrery-script/slow"]);
    }
    counts += process::run_counted(tests, Runner::Cargo)?;
    Ok(counts)
}

/// Licences and sources of what we depend on, and known holes in it. Needs `cargo deny`, and for the holes its database:
/// what cannot be had is skipped, and said.
fn check_dependencies() -> Counts {
    let skipped = |why: &str| {
        println!("dependencies: skipped, {why}");
        Counts { skipped: 1, ..Counts::default() }
    };
    if !process::exists("cargo-deny", "--version") {
        return skipped("there is no cargo-deny");
    }
    let deny =
        |checks: &[&str]| process::run(workspace::cargo(&[&["deny", "check"], checks].concat()));
    let mut counts = step("dependencies", || deny(&["licenses", "bans", "sources"]));
    counts += match process::run(workspace::cargo(&["deny", "fetch", "db"])) {
        Ok(()) => step("advisories", || deny(&["--disable-fetch", "advisories"])),
        Err(_) => skipped("the database of advisories cannot be had"),
    };
    counts
}

/// The workspaces beside ours name our crates, so their locks change with ours.
fn check_locks() -> Result<()> {
    for folder in OWN_LOCKS {
        let manifest = workspace::root().join(folder).join("Cargo.toml");
        let mut command = workspace::cargo(&["metadata", "--locked", "--format-version", "1"]);
        command.arg("--manifest-path").arg(manifest).stdout(Stdio::null());
        process::run(command)
            .with_context(|| format!("{folder}/Cargo.lock is not up to date: run cargo there"))?;
    }
    Ok(())
}

/// Runs one step of our own and says how it went.
pub(crate) fn step(name: &str, run: impl FnOnce() -> Result<()>) -> Counts {
    println!("── {name}");
    match run() {
        Ok(()) => Counts::step(true),
        Err(error) => {
            println!("── {name} FAILED: {error:#}");
            Counts::step(false)
        }
    }
}

pub(crate) fn cases(arguments: &CasesArguments) -> Result<()> {
    if let Some(files) = &arguments.bless {
        let files = if files.is_empty() { "all".to_owned() } else { files.join(",") };
        let mut command =
            workspace::cargo(&["test", "--package", "orrery-query", "--test", "cases"]);
        command.env("ORRERY_BLESS", files);
        process::run(command)?;
        println!("read the difference as if a stranger wrote it");
        return Ok(());
    }
    let mut counts = Counts::default();
    for (package, target) in CASE_RUNNERS {
        let command = workspace::cargo(&["test", "--package", package, "--test", target]);
        counts += process::run_counted(command, Runner::Cargo)?;
    }
    println!("{counts}");
    if !counts.is_good() {
        bail!("some cases failed");
    }
    Ok(())
}
