//! `conformance`: unmodified SDKs from the registries against the release binary.
//!
//! Each suite gets a server of its own per row of the matrix, in memory, and learns about it by variables:
//! `ORRERY_ENDPOINT`, `ORRERY_KEY`, `ORRERY_READ_ONLY_KEY`, `ORRERY_MIN_PARTITIONS`,
//! `ORRERY_CONNECTION_MODE`, `ORRERY_ACCEPT_IDENTITY_TOKENS`. A missing toolchain is said and counted as skipped; it never fails the run.

mod csharp;
mod suites;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use model::Env;

use crate::check::step;
use crate::process::run_counted;
use crate::server::{Server, WELL_KNOWN_KEY};
use crate::tally::Counts;
use crate::workspace;
use suites::{Prepared, Suite};

// Any 64 bytes: given to the server and to the suites alike.
const READ_ONLY_KEY: &str =
    "cmVhZC1vbmx5IGtleSBvZiB0aGUgY29uZm9ybWFuY2Ugc3VpdGVzLCBhbnkgc2l4dHktZm91ciBieXRlcyB3b3JrIQ==";

#[derive(Debug, Args)]
pub(crate) struct ConformanceArguments {
    /// Languages to run; none means all
    languages: Vec<Suite>,
    /// Only plain HTTP with one range and HTTPS with five, instead of all four combinations; the tests in which ranges
    /// split and merge run with the first only
    #[arg(long)]
    quick: bool,
    /// Run against a binary that is already built
    #[arg(long, value_name = "FILE")]
    binary: Option<std::path::PathBuf>,
}

/// Which combinations of scheme and number of ranges are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matrix {
    /// Every scheme and every number once, in two runs instead of four.
    Diagonal,
    Full,
}

impl Matrix {
    fn rows(self) -> &'static [Row] {
        const HTTP_1: Row = Row { scheme: "http", min_partitions: 1, mode: Mode::Gateway };
        const HTTP_5: Row = Row { min_partitions: 5, ..HTTP_1 };
        const HTTPS_1: Row = Row { scheme: "https", ..HTTP_1 };
        const HTTPS_5: Row = Row { scheme: "https", ..HTTP_5 };
        const DIRECT_1: Row = Row { mode: Mode::Direct, ..HTTPS_1 };
        const DIRECT_5: Row = Row { mode: Mode::Direct, ..HTTPS_5 };
        match self {
            Matrix::Diagonal => &[HTTP_1, HTTPS_5, DIRECT_1, DIRECT_5],
            Matrix::Full => &[HTTP_1, HTTP_5, HTTPS_1, HTTPS_5, DIRECT_1, DIRECT_5],
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Row {
    scheme: &'static str,
    min_partitions: u32,
    mode: Mode,
}

impl Row {
    /// What the row is called in the output.
    fn name(self) -> String {
        let Row { scheme, min_partitions, mode } = self;
        let mode = if mode == Mode::Direct { "direct mode, " } else { "" };
        format!("{mode}{scheme}, {min_partitions} ranges")
    }
}

/// How the client connects: everything over HTTP, or items over the binary protocol, which some SDKs have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Gateway,
    Direct,
}

pub(crate) fn run(arguments: &ConformanceArguments) -> Result<()> {
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => workspace::release_binary()?,
    };
    let all = Suite::value_variants();
    let suites = if arguments.languages.is_empty() { all } else { &arguments.languages };
    let matrix = if arguments.quick { Matrix::Diagonal } else { Matrix::Full };
    let counts = run_suites(&binary, suites, matrix)?;
    println!("{counts}");
    if !counts.is_good() {
        bail!("some SDK tests failed");
    }
    Ok(())
}

pub(crate) fn run_all(binary: &Path, matrix: Matrix) -> Result<Counts> {
    run_suites(binary, Suite::value_variants(), matrix)
}

fn run_suites(binary: &Path, suites: &[Suite], matrix: Matrix) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut skipped = Vec::new();
    for &suite in suites {
        println!("── conformance {suite:?}");
        match suite.prepare() {
            Ok(Prepared::Ready) => {}
            Ok(Prepared::Missing(what)) => {
                println!("── conformance {suite:?} skipped: {what}");
                skipped.push(format!("{suite:?}: {what}"));
                counts += Counts { skipped: 1, ..Counts::default() };
                continue;
            }
            Err(error) => {
                println!("── conformance {suite:?} FAILED to install what it needs: {error:#}");
                counts += Counts::step(false);
                continue;
            }
        }
        let speaks = |row: &&Row| match row.mode {
            Mode::Gateway => suite.speaks(row.scheme),
            Mode::Direct => suite.has_direct_mode(),
        };
        for &row in matrix.rows().iter().filter(speaks) {
            println!("── conformance {suite:?} over {}", row.name());
            let with_growth = row.min_partitions == 1 || matrix == Matrix::Full;
            counts += run_row(binary, suite, suite.command(with_growth)?, row, &[])?;
            if let (Some(command), Mode::Gateway) = (suite.planning_command()?, row.mode) {
                println!("── conformance {suite:?} again, with plans of its own");
                counts += run_row(binary, suite, command, row, &[])?;
            }
        }
        if let Some(command) = suite.throttled_command()? {
            println!("── conformance {suite:?} with enforced throughput");
            let mode = suite.default_mode();
            let scheme = if mode == Mode::Direct { "https" } else { "http" };
            let row = Row { scheme, min_partitions: 1, mode };
            counts += run_row(binary, suite, command, row, &["--enforce-throughput", "on"])?;
        }
        if matrix == Matrix::Full && suite.has_direct_mode() {
            counts += run_levels(binary, suite)?;
        }
    }
    for line in skipped {
        println!("skipped {line}");
    }
    Ok(counts)
}

/// Consistency levels of the account beside the default, as the SDK and as the option spell them. Clients of direct mode
/// choose replicas by the level, so each of them is a protocol of its own.
const LEVELS: [(&str, &str); 4] = [
    ("Strong", "strong"),
    ("BoundedStaleness", "bounded-staleness"),
    ("ConsistentPrefix", "consistent-prefix"),
    ("Eventual", "eventual"),
];

fn run_levels(binary: &Path, suite: Suite) -> Result<Counts> {
    let mut counts = Counts::default();
    for (name, option) in LEVELS {
        println!("── conformance {suite:?} with {name}");
        let row = Row { scheme: "https", min_partitions: 5, mode: Mode::Direct };
        let mut command = suite.command(false)?;
        command.env("ORRERY_CONSISTENCY", name);
        counts += run_row(binary, suite, command, row, &["--default-consistency", option])?;
    }
    Ok(counts)
}

fn run_row(
    binary: &Path,
    suite: Suite,
    mut command: Command,
    row: Row,
    more_options: &[&str],
) -> Result<Counts> {
    let Row { scheme, min_partitions, mode } = row;
    let env = Env::system();
    let folder = workspace::scratch("conformance")?;
    let log = folder.path().join("server.log");
    let partitions = min_partitions.to_string();
    let mut options = vec![
        "--in-memory",
        "--accept-identity-tokens",
        "--min-partitions",
        &partitions,
        "--read-only-key",
        READ_ONLY_KEY,
    ];
    options.extend_from_slice(more_options);
    let server = Server::start(binary, &options, &log, &env)?;
    // SDKs treat localhost as an emulator and relax the check of its certificate.
    let port = server.authority.rsplit(':').next().unwrap_or_default();
    let endpoint = format!("{scheme}://localhost:{port}/");
    command
        .env("ORRERY_ENDPOINT", &endpoint)
        .env("ORRERY_KEY", WELL_KNOWN_KEY)
        .env("ORRERY_READ_ONLY_KEY", READ_ONLY_KEY)
        .env("ORRERY_MIN_PARTITIONS", &partitions)
        .env("ORRERY_CONNECTION_MODE", if mode == Mode::Direct { "direct" } else { "gateway" })
        .env("ORRERY_ACCEPT_IDENTITY_TOKENS", "true");
    if mode == Mode::Direct && suite.checks_certificate() {
        let file = folder.path().join("certificate.pem");
        std::fs::write(&file, server.certificate()?)?;
        command.env("SSL_CERT_FILE", file);
    }
    if mode == Mode::Direct && min_partitions == 1 {
        // For tests that end and start servers of their own; once is enough.
        command.env("ORRERY_BINARY", binary);
    }
    let mut counts = run_counted(command, suite.runner())?;
    println!("{suite:?} over {}: {counts}", row.name());
    if counts.passed + counts.failed == 0 {
        println!("── {suite:?} ran no test");
        counts += Counts::step(false);
    }
    counts += step("orderly stop", || server.stop(&env));
    Ok(counts)
}
