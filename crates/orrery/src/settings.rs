//! What `serve` was asked to do, resolved: keys decoded, host looked up, combinations checked.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use account::{Enforcement, RelocationOptions};
use anyhow::{Context as _, Result, bail, ensure};
use store::Durability;

use crate::arguments::{DurabilityArgument, EnforcementArgument, ServeArguments};
use crate::keys::AccountKeys;

const MIB: u64 = 1 << 20;

// Limit: the cache that a machine of unknown size gets, and what one of any size gets at least and at most.
const CACHE_MIB_UNKNOWN: u64 = 256;
const CACHE_MIB_MIN: u64 = 64;
const CACHE_MIB_MAX: u64 = 1024;

// Limit: how much work a power cut may undo with `--durability relaxed`.
const RELAXED_SYNC_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Settings {
    /// As typed: it becomes a name in the self-signed certificate.
    pub(crate) host: String,
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) storage: Storage,
    pub(crate) keys: AccountKeys,
    pub(crate) own_certificate: Option<OwnCertificate>,
    pub(crate) min_partitions: u32,
    pub(crate) enforcement: Enforcement,
    pub(crate) has_burst: bool,
    pub(crate) relocation: RelocationOptions,
    pub(crate) media_bytes_max: u64,
    pub(crate) public_endpoint: Option<String>,
    pub(crate) accepts_identity_tokens: bool,
    pub(crate) gzip: bool,
}

#[derive(Debug)]
pub(crate) enum Storage {
    Memory,
    Folder { path: PathBuf, durability: Durability, cache_bytes: u64 },
}

#[derive(Debug)]
pub(crate) struct OwnCertificate {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
}

impl Settings {
    pub(crate) fn resolve(arguments: &ServeArguments) -> Result<Settings> {
        let keys = AccountKeys::resolve(&arguments.keys)?;
        let addresses = look_up(&arguments.host, arguments.port)?;
        if !arguments.allow_well_known_key {
            check_exposure(&arguments.host, &addresses, &keys)?;
        }
        Ok(Settings {
            host: arguments.host.clone(),
            addresses,
            storage: storage(arguments),
            keys,
            own_certificate: match (&arguments.tls_cert, &arguments.tls_key) {
                (Some(chain), Some(key)) => {
                    Some(OwnCertificate { chain: chain.clone(), key: key.clone() })
                }
                _ => None,
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
        own.into_iter().chain(public).chain(others.iter().map(|&it| it.to_owned())).collect()
    }
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

fn storage(arguments: &ServeArguments) -> Storage {
    if arguments.in_memory {
        return Storage::Memory;
    }
    let durability = match arguments.durability {
        DurabilityArgument::Fsync => Durability::Fsync,
        DurabilityArgument::Relaxed => Durability::Relaxed { interval: RELAXED_SYNC_INTERVAL },
    };
    let cache_mib = arguments.cache.map_or_else(default_cache_mib, u64::from);
    Storage::Folder {
        path: arguments.data.folder.clone(),
        durability,
        cache_bytes: cache_mib * MIB,
    }
}

/// An eighth of the machine's memory, within bounds.
fn default_cache_mib() -> u64 {
    let memory = std::fs::read_to_string("/proc/meminfo").ok();
    match memory.as_deref().and_then(memory_mib) {
        Some(mib) => (mib / 8).clamp(CACHE_MIB_MIN, CACHE_MIB_MAX),
        None => CACHE_MIB_UNKNOWN,
    }
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
        assert!((CACHE_MIB_MIN..=CACHE_MIB_MAX).contains(&default_cache_mib()));
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
        assert_eq!(host_of("https://[::1]:8081/"), Some("::1"));
        assert_eq!(host_of("https://[::1]/"), Some("::1"));
    }

    #[test]
    fn memory_wins_over_a_folder() {
        let settings = resolve(&["--in-memory", "--data", "somewhere"]).unwrap();
        assert!(matches!(settings.storage, Storage::Memory));
    }
}
