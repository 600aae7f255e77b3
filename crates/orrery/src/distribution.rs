//! `orrery distribution`: how evenly rings and synthetic keys spread, as a table and as a drawing.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use client::distribution::Report;
use indicatif::ProgressBar;

use crate::output;

#[derive(Debug, Args)]
pub(crate) struct DistributionArguments {
    /// Keys that are placed on each ring
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000)
    )]
    keys: u32,

    /// Draw the same into a file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub(crate) fn run(arguments: &DistributionArguments) -> Result<()> {
    let spinner = ProgressBar::new_spinner();
    let n_keys = usize::try_from(arguments.keys)?;
    let report = Report::measure(n_keys, &mut |what| {
        spinner.set_message(what.to_owned());
        spinner.tick();
    })?;
    spinner.finish_and_clear();
    output::print(&report.to_markdown())?;
    if let Some(file) = &arguments.svg {
        std::fs::write(file, report.to_svg())
            .with_context(|| format!("cannot write {}", file.display()))?;
        println!("\nthe drawing is in {}", file.display());
    }
    Ok(())
}
