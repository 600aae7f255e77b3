//! The options that exist for the sake of emulator containers.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{BoolishValueParser, FalseyValueParser};

#[derive(Debug, Args)]
pub(crate) struct EmulatorArguments {
    /// Take the place of the official emulator's container: obey its environment variables, listen on all addresses with
    /// the well-known key, keep data in memory unless a volume is mounted on /data, print the lines that scripts wait for
    #[arg(
        long = "emulator",
        env = "ORRERY_EMULATOR",
        value_parser = FalseyValueParser::new(),
        help_heading = "Emulator"
    )]
    pub(crate) is_on: bool,

    /// Further port, for probes of /ready, /alive and /status; 8080 with --emulator
    #[arg(long, value_name = "PORT", env = "ORRERY_HEALTH_PORT", help_heading = "Emulator")]
    pub(crate) health_port: Option<u16>,

    /// Further port, whose first page is the explorer; 1234 with --emulator
    #[arg(long, value_name = "PORT", env = "ORRERY_EXPLORER_PORT", help_heading = "Emulator")]
    pub(crate) explorer_port: Option<u16>,

    /// File that the certificate is written to at start, PEM; with --emulator where the classic one has it
    #[arg(long, value_name = "FILE", env = "ORRERY_CERTIFICATE_COPY", help_heading = "Emulator")]
    pub(crate) certificate_copy: Option<PathBuf>,

    /// As scripts for the official emulator say it: `false` is `--explorer off`
    #[arg(
        long,
        hide = true,
        value_name = "BOOL",
        env = "ORRERY_ENABLE_EXPLORER",
        num_args = 0..=1,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
        help_heading = "Emulator"
    )]
    pub(crate) enable_explorer: Option<bool>,

    /// The scheme in the line `Now listening on:`; both are served whatever it says
    #[arg(skip)]
    pub(crate) is_https: bool,
}
