//! What was typed: options, their `ORRERY_…` variables, and the help that teaches them.
//!
//! Invariant: nothing is interpreted here. A value that needs a look at the machine (a key file, a host
//! name) stays text until [`crate::settings`] resolves it.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::distribution::DistributionArguments;
use crate::emulator::EmulatorArguments;
use crate::explain::ExplainArguments;
use crate::packaging::CompletionsArguments;
use crate::partitions::{MergeArguments, MoveArguments, PartitionsArguments, SplitArguments};
use crate::rekey::RekeyArguments;
use crate::repartition::RepartitionCommand;
use crate::top::TopArguments;

/// The folder used when `--data` is not given.
pub(crate) const DATA_DEFAULT: &str = "orrery-data";

const EXAMPLES: &str = "\
Examples:
  orrery                                   serve on https://127.0.0.1:8081/ (and http://), data in ./orrery-data
  orrery --in-memory --port 0              scratch server for tests; the last line says `ready http://127.0.0.1:PORT/`
  orrery serve --data /var/lib/orrery --host 0.0.0.0 --key-file /etc/orrery/key
                                           serve a network with a key of your own
  orrery --min-partitions 5                every new container starts with at least five physical partitions
  orrery explain shop/orders \"SELECT * FROM c WHERE c.total > 9\"
                                           which ranges a query asks, and which index it uses
  orrery --emulator                        in place of the official emulator's container (docs/emulator.md)
  orrery cert > orrery.pem                 the certificate that clients have to trust
  orrery keys                              all four account keys
  orrery reset --yes                       drop all data, keep the certificate

A key of your own is 64 random bytes in base64, for example from: openssl rand -base64 64 | tr -d '\\n'
Every option can also be set by the variable shown in [env: …]; the command line wins.";

/// A partitioned JSON document database that speaks the Azure Cosmos DB for NoSQL protocol.
///
/// Point an existing Cosmos DB application at it by replacing the endpoint. Without a command, `orrery`
/// means `orrery serve`.
#[derive(Debug, Parser)]
#[command(name = "orrery", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) serve: ServeArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the account (the default)
    #[command(after_help = EXAMPLES)]
    Serve(Box<ServeArguments>),
    /// Drop every database in a data folder whose server is stopped; the certificate stays
    Reset(ResetArguments),
    /// Print the server's certificate as PEM, making it first if there is none
    Cert(CertArguments),
    /// Print the account's keys: primary, secondary and the two read-only ones
    Keys(KeyArguments),
    /// Show the physical partitions of a running server: ranges, sizes, heat
    Partitions(PartitionsArguments),
    /// Watch the busiest physical partitions of a running server
    Top(TopArguments),
    /// Split a physical partition of a running server
    Split(SplitArguments),
    /// Merge two neighbouring physical partitions of a running server
    Merge(MergeArguments),
    /// Move a physical partition of a running server to another store, or to a new place with a new index
    Move(MoveArguments),
    /// Copy a container into one with another partition key, while it is written to
    Rekey(RekeyArguments),
    /// Add or remove containers of a partitioned database, while it is used
    #[command(subcommand)]
    Repartition(RepartitionCommand),
    /// Show how a query would run: the ranges that it asks, and how each finds its items
    Explain(ExplainArguments),
    /// Show how evenly hash rings and synthetic keys spread
    Distribution(DistributionArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Print the manual page
    #[command(hide = true)]
    Manual,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own on the command line"
)]
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Address or host name to listen on
    #[arg(long, env = "ORRERY_HOST", default_value = "127.0.0.1", help_heading = "Network")]
    pub(crate) host: String,

    /// Port to listen on, for HTTPS and HTTP alike; 0 picks a free one
    #[arg(long, env = "ORRERY_PORT", default_value_t = 8081, help_heading = "Network")]
    pub(crate) port: u16,

    /// Further ports that serve the same, for clients of direct mode whose port mappings are fixed (10250 to 10255)
    #[arg(
        long,
        value_name = "PORT",
        env = "ORRERY_DIRECT_PORT",
        value_delimiter = ',',
        help_heading = "Network"
    )]
    pub(crate) direct_port: Vec<u16>,

    /// Address that clients should use, if it is not the one they sent, e.g. <https://db.example.com/>
    #[arg(long, value_name = "URL", env = "ORRERY_PUBLIC_ENDPOINT", help_heading = "Network")]
    pub(crate) public_endpoint: Option<String>,

    /// Host name under which clients may reach a server with the well-known key, beside local ones; may be given several
    /// times, or with commas
    #[arg(
        long,
        value_name = "NAME",
        env = "ORRERY_ALLOW_HOST",
        value_delimiter = ',',
        help_heading = "Network"
    )]
    pub(crate) allow_host: Vec<String>,

    /// Connections that may be open; for one more, the longest idle one is closed. At most what the limit of open files
    /// leaves beside the store
    #[arg(
        long,
        value_name = "N",
        env = "ORRERY_CONNECTIONS",
        default_value_t = 10_000,
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Network"
    )]
    pub(crate) connections: u32,

    /// Connections that may be open from one address; no limit without it
    #[arg(
        long,
        value_name = "N",
        env = "ORRERY_CONNECTIONS_PER_ADDRESS",
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Network"
    )]
    pub(crate) connections_per_address: Option<u32>,

    /// Name databases and containers in /metrics for everybody; without it only for those who send a key
    #[arg(
        long,
        env = "ORRERY_METRICS_NAMES",
        value_parser = FalseyValueParser::new(),
        help_heading = "Network"
    )]
    pub(crate) metrics_names: bool,

    /// The page under /_explorer/: off removes it
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        env = "ORRERY_EXPLORER",
        default_value_t = ExplorerArgument::On,
        help_heading = "Network"
    )]
    pub(crate) explorer: ExplorerArgument,

    /// Folder that the files of that page are read from, for those who write it
    #[arg(
        long,
        hide = true,
        value_name = "DIR",
        env = "ORRERY_EXPLORER_DIR",
        help_heading = "Network"
    )]
    pub(crate) explorer_dir: Option<PathBuf>,

    /// Compress large answers for clients that accept gzip
    #[arg(long, env = "ORRERY_GZIP", value_parser = FalseyValueParser::new(), help_heading = "Network")]
    pub(crate) gzip: bool,

    /// Consistency level of the account; every read is as strong as any level asks, so it changes what clients do
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        env = "ORRERY_DEFAULT_CONSISTENCY",
        default_value_t = ConsistencyArgument::Session,
        help_heading = "Account"
    )]
    pub(crate) default_consistency: ConsistencyArgument,

    #[command(flatten)]
    pub(crate) data: DataArguments,

    /// How long a thread that has answered polls for the next request before it parks. A client that sends one request after
    /// another then waits half as long, and a core is busy meanwhile; 0 never polls. Without it 200 where the process may use
    /// four cores or more, else 0
    #[arg(
        long,
        value_name = "MICROSECONDS",
        env = "ORRERY_BUSY_POLL",
        value_parser = clap::value_parser!(u64).range(0..=10_000),
        help_heading = "Network"
    )]
    pub(crate) busy_poll: Option<u64>,

    /// Keep everything in memory: nothing is written to disk and all is gone at exit
    #[arg(long, env = "ORRERY_IN_MEMORY", value_parser = FalseyValueParser::new(), help_heading = "Data")]
    pub(crate) in_memory: bool,

    /// When a write is acknowledged
    #[arg(
        long,
        value_enum,
        env = "ORRERY_DURABILITY",
        default_value_t = DurabilityArgument::Fsync,
        help_heading = "Data"
    )]
    pub(crate) durability: DurabilityArgument,

    /// Whether queries and relocations read the tables of the storage engine past its own iterators
    #[arg(
        long,
        value_enum,
        env = "ORRERY_DIRECT_READS",
        default_value_t = DirectReadsArgument::On,
        help_heading = "Data"
    )]
    pub(crate) direct_reads: DirectReadsArgument,

    /// Memory for what can grow, in MiB: a quarter each for cached data (at most 1024) and for queries, an eighth for answers that wait for
    /// their readers; the rest is room for writes, scripts and connections. Without it, half of the machine's
    #[arg(
        long,
        value_name = "MIB",
        env = "ORRERY_MEMORY",
        value_parser = clap::value_parser!(u32).range(256..=4_194_304),
        help_heading = "Data"
    )]
    pub(crate) memory: Option<u32>,

    /// Memory for blocks of data that were read, in MiB, instead of a quarter of --memory; it fills as data is read
    #[arg(
        long,
        value_name = "MIB",
        env = "ORRERY_CACHE",
        value_parser = clap::value_parser!(u32).range(1..=1_048_576),
        help_heading = "Data"
    )]
    pub(crate) cache: Option<u32>,

    /// Physical partitions that a new container has at least, whatever its throughput
    #[arg(
        long,
        value_name = "N",
        env = "ORRERY_MIN_PARTITIONS",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100),
        help_heading = "Partitions"
    )]
    pub(crate) min_partitions: u32,

    /// What happens to requests over the provisioned throughput
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        env = "ORRERY_ENFORCE_THROUGHPUT",
        default_value_t = EnforcementArgument::Off,
        help_heading = "Throughput"
    )]
    pub(crate) enforce_throughput: EnforcementArgument,

    /// Let physical partitions below 3000 RU/s save idle throughput (five minutes of it) and spend it later
    #[arg(long, env = "ORRERY_BURST", value_parser = FalseyValueParser::new(), help_heading = "Throughput")]
    pub(crate) burst: bool,

    /// Item bytes above which a physical partition is split: a number, or one with KB, MB or GB; at least 100KB
    #[arg(
        long,
        value_name = "SIZE",
        env = "ORRERY_PARTITION_BYTES",
        default_value = "50GB",
        value_parser = crate::size::parse,
        help_heading = "Partitions"
    )]
    pub(crate) partition_bytes: u64,

    /// Item bytes above which a logical partition takes no more
    #[arg(
        long,
        value_name = "SIZE",
        env = "ORRERY_LOGICAL_PARTITION_BYTES",
        default_value = "20GB",
        value_parser = crate::size::parse,
        help_heading = "Partitions"
    )]
    pub(crate) logical_partition_bytes: u64,

    /// Bytes of media that the account keeps for attachments; uploads beyond are refused
    #[arg(
        long,
        value_name = "SIZE",
        env = "ORRERY_MEDIA_BYTES",
        default_value = "2GB",
        value_parser = crate::size::parse,
        help_heading = "Partitions"
    )]
    pub(crate) media_bytes: u64,

    /// Split physical partitions that stay at their throughput for a minute
    #[arg(
        long,
        env = "ORRERY_SPLIT_ON_HEAT",
        value_parser = FalseyValueParser::new(),
        help_heading = "Partitions"
    )]
    pub(crate) split_on_heat: bool,

    /// What all splits, merges and moves together may copy per second; as fast as they can without it
    #[arg(
        long,
        value_name = "SIZE",
        env = "ORRERY_COPY_BYTES_PER_SECOND",
        value_parser = crate::size::parse,
        help_heading = "Partitions"
    )]
    pub(crate) copy_bytes_per_second: Option<u64>,

    #[command(flatten)]
    pub(crate) keys: KeyArguments,

    /// Serve other addresses than loopback with the well-known emulator key (containers in CI)
    #[arg(
        long,
        env = "ORRERY_ALLOW_WELL_KNOWN_KEY",
        value_parser = FalseyValueParser::new(),
        help_heading = "Security"
    )]
    pub(crate) allow_well_known_key: bool,

    /// Accept emulator-style identity tokens, which carry the primary key instead of a signature
    #[arg(
        long,
        env = "ORRERY_ACCEPT_IDENTITY_TOKENS",
        value_parser = FalseyValueParser::new(),
        help_heading = "Security"
    )]
    pub(crate) accept_identity_tokens: bool,

    /// Certificate chain to serve, PEM; without it a self-signed one is made and kept in the data folder
    #[arg(
        long,
        value_name = "FILE",
        env = "ORRERY_TLS_CERT",
        requires = "tls_key",
        help_heading = "Security"
    )]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key of that certificate, PEM
    #[arg(
        long,
        value_name = "FILE",
        env = "ORRERY_TLS_KEY",
        requires = "tls_cert",
        help_heading = "Security"
    )]
    pub(crate) tls_key: Option<PathBuf>,

    /// Certificate chain and private key to serve, in one PKCS #12 file as .NET exports it
    #[arg(
        long,
        value_name = "FILE",
        env = "ORRERY_TLS_PFX",
        conflicts_with = "tls_cert",
        help_heading = "Security"
    )]
    pub(crate) tls_pfx: Option<PathBuf>,

    /// Password of that file
    #[arg(
        long,
        value_name = "TEXT",
        env = "ORRERY_TLS_PFX_PASSWORD",
        hide_env_values = true,
        requires = "tls_pfx",
        help_heading = "Security"
    )]
    pub(crate) tls_pfx_password: Option<String>,

    #[command(flatten)]
    pub(crate) emulator: EmulatorArguments,

    /// What to log to standard error: a level (error, warn, info, debug, trace, off), or a level per
    /// part such as `warn,gateway=debug`
    #[arg(long, value_name = "FILTER", env = "ORRERY_LOG", default_value = "warn")]
    pub(crate) log: String,
}

#[derive(Debug, Args)]
pub(crate) struct DataArguments {
    /// Folder that holds the data; made if missing
    #[arg(
        long = "data",
        value_name = "DIR",
        env = "ORRERY_DATA",
        default_value = DATA_DEFAULT,
        help_heading = "Data"
    )]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KeyArguments {
    /// Primary key, base64; default: the well-known emulator key
    #[arg(
        long,
        value_name = "KEY",
        env = "ORRERY_KEY",
        hide_env_values = true,
        conflicts_with = "key_file",
        help_heading = "Security"
    )]
    pub(crate) key: Option<String>,

    /// File whose first line is the primary key
    #[arg(long, value_name = "FILE", env = "ORRERY_KEY_FILE", help_heading = "Security")]
    pub(crate) key_file: Option<PathBuf>,

    /// Secondary key; default: derived from the primary one (see `orrery keys`)
    #[arg(
        long,
        value_name = "KEY",
        env = "ORRERY_SECONDARY_KEY",
        hide_env_values = true,
        help_heading = "Security"
    )]
    pub(crate) secondary_key: Option<String>,

    /// Read-only key; default: derived from the primary one
    #[arg(
        long,
        value_name = "KEY",
        env = "ORRERY_READ_ONLY_KEY",
        hide_env_values = true,
        help_heading = "Security"
    )]
    pub(crate) read_only_key: Option<String>,

    /// Secondary read-only key; default: derived from the primary one
    #[arg(
        long,
        value_name = "KEY",
        env = "ORRERY_SECONDARY_READ_ONLY_KEY",
        hide_env_values = true,
        help_heading = "Security"
    )]
    pub(crate) secondary_read_only_key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ResetArguments {
    #[command(flatten)]
    pub(crate) data: DataArguments,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CertArguments {
    #[command(flatten)]
    pub(crate) data: DataArguments,

    /// Write it to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConsistencyArgument {
    Strong,
    BoundedStaleness,
    Session,
    ConsistentPrefix,
    Eventual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplorerArgument {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EnforcementArgument {
    /// They are served; charges are only reported
    Off,
    /// They are served, counted and logged
    Warn,
    /// They get 429 and the time to wait, as on the service
    On,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityArgument {
    /// After it is on disk (writers that wait together share one sync)
    Fsync,
    /// At once; synced a few times a second, so a power cut can lose the last moments
    Relaxed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectReadsArgument {
    /// They do: short queries take half the time
    On,
    /// Every scan is the engine's own, should the faster ones ever be suspected of a wrong answer
    Off,
    /// Both, compared entry by entry: a request that sees a difference fails with 500 (slow; for tests)
    Compare,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_argument_definitions_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_option_of_serve_has_a_variable() {
        let command = Arguments::command();
        for option in command.get_arguments().filter(|it| !it.is_global_set()) {
            let name = option.get_id().as_str();
            if matches!(name, "help" | "version") {
                continue;
            }
            let variable = option.get_env().and_then(|it| it.to_str()).unwrap_or_default();
            let long = option.get_long().unwrap_or_default();
            let expected = format!("ORRERY_{}", long.to_uppercase().replace('-', "_"));
            assert_eq!(variable, expected, "option --{long}");
        }
    }

    #[test]
    fn no_command_means_serve() {
        let arguments = Arguments::try_parse_from(["orrery", "--port", "0"]).unwrap();
        assert!(arguments.command.is_none());
        assert_eq!(arguments.serve.port, 0);
    }

    #[test]
    fn a_certificate_needs_its_key() {
        assert!(Arguments::try_parse_from(["orrery", "--tls-cert", "a.pem"]).is_err());
    }
}
