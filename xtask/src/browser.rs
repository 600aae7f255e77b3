//! `browser`: the explorer of the release binary, driven in Chromium by playwright-core.
//!
//! The suite is in `conformance/explorer`. Node, npm and the browser are needed; what is missing is said and counted as skipped.
//! Pictures of every room are left under the target folder, for people to look at.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;
use model::Env;

use crate::check::step;
use crate::process::{self, run_counted};
use crate::server::{Server, WELL_KNOWN_KEY};
use crate::tally::{Counts, Runner};
use crate::workspace;

/// Where Debian has it; `ORRERY_CHROMIUM` names another.
const CHROMIUM: &str = "/usr/bin/chromium";
// Any 64 bytes: given to the server and to the suite alike.
const READ_ONLY_KEY: &str = "cmVhZC1vbmx5IGtleSBvZiB0aGUgYnJvd3NlciBzdWl0ZSwgYW55IHNpeHR5LWZvdXIgYnl0ZXMgd2lsbCBkbyBpdCEhISE=";

#[derive(Debug, Args)]
pub(crate) struct BrowserArguments {
    /// Run against a binary that is already built
    #[arg(long, value_name = "FILE", env = "ORRERY_BINARY")]
    binary: Option<PathBuf>,
    /// Write the pictures of the README anew
    #[arg(long)]
    pictures: bool,
}

pub(crate) fn run(arguments: &BrowserArguments) -> Result<()> {
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => workspace::release_binary()?,
    };
    let counts = drive(&binary, arguments.pictures)?;
    println!("{counts}");
    if !counts.is_good() {
        bail!("the explorer failed in the browser");
    }
    Ok(())
}

/// Runs the suite against a server of its own.
pub(crate) fn drive(binary: &Path, with_pictures: bool) -> Result<Counts> {
    println!("── browser");
    if let Some(missing) = missing() {
        println!("── browser SKIPPED: there is no {missing}; the explorer was not looked at");
        return Ok(Counts { skipped: 1, ..Counts::default() });
    }
    let folder = workspace::root().join("conformance/explorer");
    let mut install = Command::new("npm");
    install.current_dir(&folder).args(["ci", "--no-audit", "--no-fund", "--silent"]);
    if let Err(error) = process::run(install) {
        println!("── browser FAILED to install what it needs: {error:#}");
        return Ok(Counts::step(false));
    }
    let env = Env::system();
    let scratch = workspace::scratch("browser")?;
    let log = scratch.path().join("server.log");
    let options = ["--in-memory", "--enforce-throughput", "on", "--read-only-key", READ_ONLY_KEY];
    let server = Server::start(binary, &options, &log, &env)?;
    let port = server.authority.rsplit(':').next().unwrap_or_default();
    let mut command = Command::new("npm");
    command
        .current_dir(&folder)
        .args(["test", "--silent"])
        .env("ORRERY_ENDPOINT", format!("http://localhost:{port}/"))
        .env("ORRERY_KEY", WELL_KNOWN_KEY)
        .env("ORRERY_READ_ONLY_KEY", READ_ONLY_KEY)
        .env("ORRERY_SCREENSHOTS", workspace::target().join("explorer"));
    if with_pictures {
        command.env("ORRERY_PICTURES", workspace::root().join("docs"));
    }
    let mut counts = run_counted(command, Runner::Node)?;
    if counts.passed + counts.failed == 0 {
        println!("── the browser ran no test");
        counts += Counts::step(false);
    }
    counts += step("orderly stop", || server.stop(&env));
    Ok(counts)
}

/// The first program that is needed and not there.
fn missing() -> Option<&'static str> {
    let chromium = std::env::var("ORRERY_CHROMIUM").unwrap_or_else(|_| CHROMIUM.to_owned());
    [("node", "node"), ("npm", "npm"), (chromium.as_str(), "chromium")]
        .into_iter()
        .find(|(program, _)| !process::exists(program, "--version"))
        .map(|(_, name)| name)
}
