//! What `serve` was asked to do, resolved: keys decoded, host looked up, combinations checked.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use account::{Consistency, Enforcement, RelocationOptions};
use anyhow::{Context as _, Result, bail, ensure};
use gateway::Explorer;
use store::{DirectReads, Durability};

use crate::arguments::{
    ConsistencyArgument, DirectReadsArgument, DurabilityArgument, EnforcementArgument,
    ExplorerArgument, ServeArguments,
};
use crate::emulator::{self, CertificateCopy};
use crate::keys::AccountKeys;

const MIB: u64 = 1 << 20;

// Limit: the memory that a machine of unknown size gives.
const MEMORY_MIB_UNKNOWN: u64 = 1024;

// Limit: what the cache gets of any memory at least and at most.
const CACHE_MIB_MIN: u64 = 64;
const CACHE_MIB_MAX: u64 = 1024;

// Limit: request bodies at once: four of the longest at least.
const BODIES_MIB_MIN: u64 = 16;

// Limit: media in requests and answers at once: one of the longest at least.
const MEDIA_MIB_MIN: u32 = 32;
const MEDIA_MIB_MAX: u32 = 256;

// Limit: one script that uses all that it may.
const SCRIPTS_MIB_MIN: u64 = 68;

/// How the memory for what can grow is divided, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) cache: u64,
    pub(crate) queries: usize,
    pub(crate) answers: usize,
    pub(crate) bodies: usize,
    pub(crate) media_mib: u32,
    pub(crate) scripts: usize,
}

impl Memory {
    fn divided(memory_mib: u64, cache_mib: Option<u32>) -> Memory {
        let cache_mib = cache_mib.map(u64::from);
        let cache_mib = cache_mib.unwrap_or((memory_mib / 4).clamp(CACHE_MIB_MIN, CACHE_MIB_MAX));
        let bytes = |mib: u64| usize::try_from(mib * MIB).unwrap_or(usize::MAX);
        Memory {
            cache: cache_mib * MIB,
            queries: bytes(memory_mib / 4),
            answers: bytes(memory_mib / 8),
            bodies: bytes((memory_mib / 16).max(BODIES_MIB_MIN)),
            media_mib: u32::try_from(memory_mib / 16)
                .unwrap_or(u32::MAX)
                .clamp(MEDIA_MIB_MIN, MEDIA_MIB_MAX),
            scripts: bytes((memory_mib / 8).max(SCRIPTS_MIB_MIN)),
        }
    }
}

/// Cores from which a thread may poll for the next request without asking: another one is free then.
const BUSY_POLL_CORES_MIN: usize = 4;
/// Longer than a client of this machine needs to send its next request.
const BUSY_POLL_IMPLIED_US: u64 = 200;

// Limit: how much work a power cut may undo with `--durability relaxed`.
const RELAXED_SYNC_INTERVAL: Duration = Duration::from_millis(200);

#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug)]
pub(crate) struct Settings {
    /// As typed: it becomes a name in the self-signed certificate.
    pub(crate) host: String,
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) storage: Storage,
    pub(crate) memory: Memory,
    pub(crate) keys: AccountKeys,
    pub(crate) own_certificate: Option<OwnCertificate>,
    pub(crate) is_emulator: bool,
    pub(crate) is_https_announced: bool,
    pub(crate) health_port: Option<SidePort>,
    /// None without the explorer.
    pub(crate) explorer_port: Option<SidePort>,
    pub(crate) certificate_copy: Option<CertificateCopy>,
    pub(crate) min_partitions: u32,
    pub(crate) enforcement: Enforcement,
    pub(crate) has_burst: bool,
    pub(crate) relocation: RelocationOptions,
    pub(crate) media_bytes_max: u64,
    pub(crate) public_endpoint: Option<String>,
    pub(crate) accepts_identity_tokens: bool,
    pub(crate) gzip: bool,
    pub(crate) explorer: Explorer,
    /// Ports beside the main one.
    pub(crate) direct_ports: Vec<u16>,
    pub(crate) consistency: Consistency,
    pub(crate) connections_max: usize,
    pub(crate) connections_per_address_max: Option<usize>,
    /// Names of this server beside local ones.
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) names_in_metrics: bool,
    /// How long a thread polls for the next request before it parks.
    pub(crate) busy_poll: Option<Duration>,
}

#[derive(Debug)]
pub(crate) enum Storage {
    Memory,
    Folder { path: PathBuf, durability: Durability, cache_bytes: u64, direct_reads: DirectReads },
}

pub(crate) enum OwnCertificate {
    Pem { chain: PathBuf, key: PathBuf },
    Pfx { file: PathBuf, password: String },
}

// A password must never reach a log or a panic message.
impl std::fmt::Debug for OwnCertificate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (OwnCertificate::Pem { chain: file, .. } | OwnCertificate::Pfx { file, .. }) = self;
        write!(formatter, "OwnCertificate({})", file.display())
    }
}

/// A port beside the main one, for probes or for the explorer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SidePort {
    pub(crate) number: u16,
    /// `--emulator` alone may do without it, where another program has the port.
    pub(crate) is_required: bool,
}

impl SidePort {
    fn new(arguments: &ServeArguments, number: u16, implied: u16) -> SidePort {
        SidePort { number, is_required: !arguments.emulator.is_on || number != implied }
    }
}

impl Settings {
    pub(crate) fn resolve(arguments: &ServeArguments) -> Result<Settings> {
        let keys = AccountKeys::resolve(&arguments.keys)?;
        let addresses = look_up(&arguments.host, arguments.port)?;
        if !arguments.allow_well_known_key {
            check_exposure(&arguments.host, &addresses, &keys)?;
        }
        let side_port = |number: Option<u16>, implied| {
            number.map(|number| SidePort::new(arguments, number, implied))
        };
        let explorer = explorer(arguments);
        let memory_mib = arguments.memory.map_or_else(default_memory_mib, u64::from);
        let memory = Memory::divided(memory_mib, arguments.cache);
        Ok(Settings {
            host: arguments.host.clone(),
            addresses,
            storage: storage(arguments, memory.cache),
            memory,
            keys,
            direct_ports: arguments.direct_port.clone(),
            consistency: match arguments.default_consistency {
                ConsistencyArgument::Strong => Consistency::Strong,
                ConsistencyArgument::BoundedStaleness => Consistency::BoundedStaleness,
                ConsistencyArgument::Session => Consistency::Session,
                ConsistencyArgument::ConsistentPrefix => Consistency::ConsistentPrefix,
                ConsistencyArgument::Eventual => Consistency::Eventual,
            },
            own_certificate: own_certificate(arguments),
            is_emulator: arguments.emulator.is_on,
            is_https_announced: arguments.emulator.is_https,
            health_port: side_port(arguments.emulator.health_port, emulator::HEALTH_PORT),
            explorer_port: side_port(arguments.emulator.explorer_port, emulator::EXPLORER_PORT)
                .filter(|_| explorer != Explorer::Off),
            certificate_copy: match &arguments.emulator.certificate_copy {
                Some(file) => Some(CertificateCopy::Asked(file.clone())),
                None => arguments.emulator.is_on.then_some(CertificateCopy::Classic),
            },
            min_partitions: arguments.min_partitions,
            enforcement: match arguments.enforce_throughput {
                EnforcementArgument::Off => Enforcement::Off,
                EnforcementArgument::Warn => Enforcement::Warn,
                EnforcementArgument::On => Enforcement::On,
            },
            has_burst: arguments.burst,
            relocation: relocation(arguments),
            media_bytes_max: arguments.media_bytes,
            public_endpoint: arguments.public_endpoint.as_deref().map(endpoint).transpose()?,
            accepts_identity_tokens: arguments.accept_identity_tokens,
            gzip: arguments.gzip,
            explorer,
            connections_max: count(arguments.connections),
            connections_per_address_max: arguments.connections_per_address.map(count),
            allowed_hosts: allowed_hosts(arguments)?,
            names_in_metrics: arguments.metrics_names,
            busy_poll: busy_poll(arguments.busy_poll, cores()),
        })
    }

    /// Names that a self-signed certificate covers beside those of this machine.
    pub(crate) fn certificate_names(&self) -> Vec<String> {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_any = self.addresses.iter().any(|it| it.ip().is_unspecified());
        let public = self.public_endpoint.as_deref().and_then(host_of).map(str::to_owned);
        // "Any address" is nobody's name; containers are reached by these instead.
        let others: &[&str] = if is_any { &["orrery", "host.docker.internal"] } else { &[] };
        let own = if is_any { None } else { Some(bare) };
        let others = others.iter().map(|&it| it.to_owned());
        let mut names: Vec<String> = own.into_iter().chain(public).chain(others).collect();
        for name in &self.allowed_hosts {
            if *name != self.host && !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }
}

fn own_certificate(arguments: &ServeArguments) -> Option<OwnCertificate> {
    if let Some(file) = &arguments.tls_pfx {
        let password = arguments.tls_pfx_password.clone().unwrap_or_default();
        return Some(OwnCertificate::Pfx { file: file.clone(), password });
    }
    let (chain, key) = (arguments.tls_cert.clone()?, arguments.tls_key.clone()?);
    Some(OwnCertificate::Pem { chain, key })
}

/// Scripts for the official emulators switch their explorer off by a variable or option of its own.
fn explorer(arguments: &ServeArguments) -> Explorer {
    let is_off = arguments.explorer == ExplorerArgument::Off
        || arguments.emulator.enable_explorer == Some(false);
    match &arguments.explorer_dir {
        _ if is_off => Explorer::Off,
        Some(folder) => Explorer::Folder(folder.clone()),
        None => Explorer::On,
    }
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The names given by `--allow-host`, that of the public endpoint, and the one listened on.
fn allowed_hosts(arguments: &ServeArguments) -> Result<Vec<String>> {
    let is_name = |name: &String| !name.is_empty() && !name.contains(['/', ':', ' ', '@']);
    let bad = arguments.allow_host.iter().find(|name| !is_name(name));
    if let Some(bad) = bad {
        bail!("bad --allow-host {bad:?}: give a host name without scheme and port");
    }
    let public = arguments.public_endpoint.as_deref().and_then(host_of).map(str::to_owned);
    Ok(arguments.allow_host.iter().cloned().chain(public).chain([arguments.host.clone()]).collect())
}

fn relocation(arguments: &ServeArguments) -> RelocationOptions {
    RelocationOptions {
        partition_bytes: arguments.partition_bytes,
        logical_partition_bytes: arguments.logical_partition_bytes,
        splits_on_heat: arguments.split_on_heat,
        copy_bytes_per_second: arguments.copy_bytes_per_second.and_then(NonZeroU64::new),
        ..RelocationOptions::default()
    }
}

fn storage(arguments: &ServeArguments, cache_bytes: u64) -> Storage {
    if arguments.in_memory {
        return Storage::Memory;
    }
    let durability = match arguments.durability {
        DurabilityArgument::Fsync => Durability::Fsync,
        DurabilityArgument::Relaxed => Durability::Relaxed { interval: RELAXED_SYNC_INTERVAL },
    };
    let direct_reads = match arguments.direct_reads {
        DirectReadsArgument::On => DirectReads::On,
        DirectReadsArgument::Off => DirectReads::Off,
        DirectReadsArgument::Compare => DirectReads::Compared,
    };
    Storage::Folder { path: arguments.data.folder.clone(), durability, cache_bytes, direct_reads }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How long to poll for the next request: what was asked for, else a while where a core is to spare.
fn busy_poll(asked_us: Option<u64>, n_cores: usize) -> Option<Duration> {
    let implied = if n_cores >= BUSY_POLL_CORES_MIN { BUSY_POLL_IMPLIED_US } else { 0 };
    let time = asked_us.unwrap_or(implied);
    (time > 0).then(|| Duration::from_micros(time))
}

/// Half of the machine's memory, or of what a container may use of it.
fn default_memory_mib() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").as_deref().and_then(memory_mib);
    let container = read("/sys/fs/cgroup/memory.max").as_deref().and_then(container_mib);
    match machine.into_iter().chain(container).min() {
        Some(mib) => mib / 2,
        None => MEMORY_MIB_UNKNOWN,
    }
}

/// The file has a number of bytes, or `max`.
fn container_mib(text: &str) -> Option<u64> {
    Some(text.trim().parse::<u64>().ok()? / MIB)
}

/// The first line of `/proc/meminfo` is `MemTotal:  24576000 kB`.
fn memory_mib(text: &str) -> Option<u64> {
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}

fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    // `[::1]` is how people write it in URLs.
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    let addresses: Vec<SocketAddr> = (bare, port)
        .to_socket_addrs()
        .with_context(|| format!("cannot find the host {host:?} given by --host"))?
        .collect();
    ensure!(!addresses.is_empty(), "the host {host:?} given by --host has no address");
    Ok(addresses)
}

/// The well-known key protects nothing, so only this machine may be served with it.
fn check_exposure(host: &str, addresses: &[SocketAddr], keys: &AccountKeys) -> Result<()> {
    if keys.primary.is_well_known() && !addresses.iter().all(|it| it.ip().is_loopback()) {
        bail!(
            "--host {host} can be reached from other machines, and the well-known emulator key is public.\n  \
             Give a key of your own with --key or --key-file (`openssl rand -base64 64` makes one),\n  \
             or, where everybody who can connect is trusted, say --allow-well-known-key"
        );
    }
    Ok(())
}

fn endpoint(url: &str) -> Result<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let authority = rest.map(|it| it.trim_end_matches('/')).unwrap_or_default();
    ensure!(
        !authority.is_empty() && !authority.contains(['/', '?', '#', ' ']),
        "bad --public-endpoint {url:?}: use a form like https://db.example.com:8081/"
    );
    Ok(format!("{}/", url.trim_end_matches('/')))
}

/// The host in an endpoint that [`endpoint`] has accepted.
fn host_of(url: &str) -> Option<&str> {
    let authority = url.split_once("://")?.1.trim_end_matches('/');
    let end = authority.rfind(':').filter(|&at| !authority[at..].contains(']'));
    Some(authority[..end.unwrap_or(authority.len())].trim_matches(['[', ']']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::Parser as _;

    fn resolve(options: &[&str]) -> Result<Settings> {
        let words = ["orrery"].iter().chain(options);
        Settings::resolve(&Arguments::try_parse_from(words).unwrap().serve)
    }

    const OWN_KEY: &str = "b3duIGtleSBvd24ga2V5IG93biBrZXk=";

    #[test]
    fn memory_is_read_from_its_line() {
        assert_eq!(memory_mib("MemTotal:       24576000 kB\nMemFree: 1 kB\n"), Some(24_000));
        assert_eq!(memory_mib("MemFree: 1 kB\n"), None);
        assert!(default_memory_mib() > 0);
        assert_eq!(container_mib("536870912\n"), Some(512));
        assert_eq!(container_mib("max\n"), None);
        let divided = Memory::divided(8192, None);
        assert_eq!(divided.cache, 1024 * MIB);
        assert_eq!((divided.queries, divided.answers), (2 << 30, 1 << 30));
        assert_eq!((divided.bodies, divided.media_mib, divided.scripts), (512 << 20, 256, 1 << 30));
        let little = Memory::divided(100, None);
        assert_eq!((little.bodies, little.media_mib, little.scripts), (16 << 20, 32, 68 << 20));
        assert_eq!(Memory::divided(8192, Some(64)).cache, 64 * MIB);
        assert_eq!(Memory::divided(100, None).cache, CACHE_MIB_MIN * MIB);
    }

    #[test]
    fn the_well_known_key_stays_on_this_machine() {
        #[rustfmt::skip]
        let table: [(&[&str], bool); 7] = [
            (&[], true),
            (&["--host", "localhost"], true),
            (&["--host", "[::1]"], true),
            (&["--host", "0.0.0.0"], false),
            (&["--host", "::"], false),
            (&["--host", "0.0.0.0", "--allow-well-known-key"], true),
            (&["--host", "0.0.0.0", "--key", OWN_KEY], true),
        ];
        for (options, is_allowed) in table {
            assert_eq!(resolve(options).is_ok(), is_allowed, "{options:?}");
        }
    }

    #[test]
    fn giving_the_well_known_key_by_hand_changes_nothing() {
        assert!(resolve(&["--host", "0.0.0.0", "--key", gateway::WELL_KNOWN_KEY]).is_err());
    }

    #[test]
    fn a_public_endpoint_is_an_origin() {
        for (url, expected) in [
            ("https://db.example.com", Some("https://db.example.com/")),
            ("http://10.0.0.1:80/", Some("http://10.0.0.1:80/")),
            ("db.example.com", None),
            ("https://", None),
            ("https://a/b", None),
        ] {
            assert_eq!(endpoint(url).ok().as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn certificates_cover_the_names_that_clients_use() {
        let names = |options: &[&str]| resolve(options).unwrap().certificate_names();
        assert_eq!(names(&[]), ["127.0.0.1"]);
        let any = ["--host", "0.0.0.0", "--allow-well-known-key"];
        assert_eq!(names(&any), ["orrery", "host.docker.internal"]);
        let public = names(&["--public-endpoint", "https://db.example.com:443"]);
        assert_eq!(public, ["127.0.0.1", "db.example.com"]);
        assert_eq!(names(&["--allow-host", "a.example"]), ["127.0.0.1", "a.example"]);
        assert_eq!(host_of("https://[::1]:8081/"), Some("::1"));
        assert_eq!(host_of("https://[::1]/"), Some("::1"));
    }

    #[test]
    fn allowed_hosts_are_names() {
        let hosts = |options: &[&str]| resolve(options).map(|it| it.allowed_hosts).ok();
        let named = hosts(&[
            "--allow-host",
            "a.example,b.example",
            "--public-endpoint",
            "https://db.example.com:443",
        ]);
        let named = named.unwrap();
        assert_eq!(named, ["a.example", "b.example", "db.example.com", "127.0.0.1"]);
        for bad in ["http://a.example", "a.example:80", ""] {
            assert_eq!(hosts(&["--allow-host", bad]), None, "{bad}");
        }
    }

    #[test]
    fn threads_poll_where_a_core_is_to_spare_or_when_asked() {
        let us = |asked, n_cores| busy_poll(asked, n_cores).map_or(0, |time| time.as_micros());
        assert_eq!([us(None, 2), us(None, 3), us(None, 4), us(None, 64)], [0, 0, 200, 200]);
        assert_eq!([us(Some(50), 2), us(Some(0), 64)], [50, 0]);
    }

    #[test]
    fn the_explorer_can_be_switched_off() {
        #[rustfmt::skip]
        let table: [(&[&str], Explorer); 5] = [
            (&[], Explorer::On),
            (&["--explorer", "off"], Explorer::Off),
            (&["--enable-explorer", "false"], Explorer::Off),
            (&["--explorer-dir", "page"], Explorer::Folder("page".into())),
            (&["--explorer-dir", "page", "--explorer", "off"], Explorer::Off),
        ];
        for (options, expected) in table {
            assert_eq!(resolve(options).unwrap().explorer, expected, "{options:?}");
        }
    }

    #[test]
    fn memory_wins_over_a_folder() {
        let settings = resolve(&["--in-memory", "--data", "somewhere"]).unwrap();
        assert!(matches!(settings.storage, Storage::Memory));
    }
}
