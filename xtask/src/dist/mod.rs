//! `dist`: what a release consists of, in `target/dist`.
//!
//! ```text
//! orrery-VERSION-TARGET/          binary, licences, completions, manual
//! orrery-VERSION-TARGET.tar.gz    the same in one file
//! SHA256SUMS                      of the archive
//! image/                          what the `Containerfile` copies from
//! ```

mod binary;
#[cfg(test)]
mod containerfile;
mod package;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DistArguments {
    /// Package this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Where the package goes; without it target/dist
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &DistArguments) -> Result<()> {
    let source = match &arguments.binary {
        Some(file) => file.clone(),
        None => binary::build()?,
    };
    let output = arguments.output.clone();
    let output = output.unwrap_or_else(|| crate::workspace::target().join("dist"));
    package::make(&source, &output)
}
