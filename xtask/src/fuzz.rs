//! `fuzz`: runs fuzz targets for a bounded time.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::{process, workspace};

#[derive(Debug, Args)]
pub(crate) struct FuzzArguments {
    /// Targets to run; none means all
    targets: Vec<String>,
    /// Seconds per target
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

pub(crate) fn run(arguments: &FuzzArguments) -> Result<()> {
    let folder = workspace::root().join("fuzz");
    let known = targets(&folder)?;
    if !process::exists("cargo-fuzz", "--version") {
        bail!("cargo-fuzz is missing; install it with `cargo install cargo-fuzz`");
    }
    for name in &arguments.targets {
        if !known.contains(name) {
            bail!("no fuzz target {name}; there are: {}", known.join(", "));
        }
    }
    let chosen = if arguments.targets.is_empty() { &known } else { &arguments.targets };
    for name in chosen {
        let limit = format!("-max_total_time={}", arguments.seconds);
        let mut command = workspace::cargo(&["fuzz", "run", name, "--", &limit]);
        // The sanitizer flags are nightly ones; this lets the toolchain at hand take them.
        command.env("RUSTC_BOOTSTRAP", "1");
        process::run(command)?;
    }
    Ok(())
}

fn targets(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder.join("fuzz_targets"))
        .with_context(|| format!("no fuzz targets in {}", folder.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter_map(|it| it.path().file_stem().map(|it| it.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}
