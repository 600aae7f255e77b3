//! `orrery serve`: opens the store, the account and the gateway, and runs them until told to stop.
//!
//! Order of start: folder lock, store, account, listener, start-up lines, `ready …`. The last line is
//! printed when requests are answered, so a script may wait for it. Order of stop: listener, requests in
//! flight, jobs, account (which closes the store), lock.

use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use account::{Account, AccountOptions};
use anyhow::{Context as _, Result, anyhow};
use gateway::certificate::{self, Certificate};
use gateway::{Gateway, GatewayOptions, Keys, Limits, TrafficObserver};
use model::Env;
use store::{EmbeddedOptions, Store};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::arguments::ServeArguments;
use crate::busy_poll::BusyPoll;
use crate::data_folder::DataFolder;
use crate::descriptors;
use crate::emulator;
use crate::heat_file::HeatFile;
use crate::settings::{OwnCertificate, Settings, SidePort, Storage};

/// Limit: connections that the system keeps waiting until they are accepted.
const BACKLOG: u32 = 1_024;

/// Limit: from the signal to the end of the process, whatever clients, scripts and the engine are doing.
const STOP_MAX: Duration = Duration::from_millis(4_500);

pub(crate) fn run(arguments: &ServeArguments) -> Result<()> {
    crate::log::start(&arguments.log)?;
    let mut settings = Settings::resolve(arguments)?;
    bound_connections(&mut settings);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.enable_all().thread_name("orrery");
    let busy_poll = settings.busy_poll.map(|time| Arc::new(BusyPoll::new(time, Env::system())));
    if let Some(busy_poll) = busy_poll.clone() {
        runtime.on_thread_park(move || busy_poll.before_park());
    }
    let runtime = runtime.build().context("cannot start the runtime")?;
    let observer = busy_poll.map(|busy_poll| busy_poll as Arc<dyn TrafficObserver>);
    let served = runtime.block_on(serve(settings, observer));
    // Everything is kept. Work that cannot be stopped, a script for example, is not waited for.
    runtime.shutdown_background();
    served
}

/// Leaves enough descriptors for the store.
fn bound_connections(settings: &mut Settings) {
    let connections_max = descriptors::connections_max(descriptors::raise_limit());
    if settings.connections_max > connections_max {
        tracing::info!(connections_max, "the limit of open files allows fewer connections");
        settings.connections_max = connections_max;
    }
}

async fn serve(settings: Settings, observer: Option<Arc<dyn TrafficObserver>>) -> Result<()> {
    let env = Env::system();
    // Bound first: the commonest mistake, a second server, is told before the store is opened.
    let listener = bind(&settings, &settings.addresses, "--port")?;
    let address = listener.local_addr().context("cannot read the port")?;
    let mut listeners = vec![listener];
    for port in &settings.direct_ports {
        let with_port = |address: &SocketAddr| SocketAddr::new(address.ip(), *port);
        let addresses: Vec<SocketAddr> = settings.addresses.iter().map(with_port).collect();
        listeners.push(bind(&settings, &addresses, "--direct-port")?);
    }
    let health = side_listener(&settings, settings.health_port, "--health-port")?;
    let explorer = side_listener(&settings, settings.explorer_port, "--explorer-port")?;
    let address_of = |it: &Option<TcpListener>| it.as_ref().and_then(|it| it.local_addr().ok());
    let sides = Sides { health: address_of(&health), explorer: address_of(&explorer) };
    listeners.extend([health, explorer].into_iter().flatten());
    let data = Data::open(&settings, &env)?;
    let options = account_options(&settings);
    let account = Account::open(Arc::clone(&data.store), options, env.clone())
        .await
        .with_context(|| format!("cannot open the account in {}", place(data.folder.as_ref())))?;
    let explorer_port = sides.explorer.map(|it| it.port());
    let gateway =
        gateway(&settings, &data.certificate, Arc::clone(&account), explorer_port, observer)?;

    // Before the ready line: who reads it may stop us at once, and that stop must be orderly too.
    let signals = Signals::listen()?;
    if let Some(copy) = &settings.certificate_copy {
        copy.write(data.certificate.pem())?;
    }
    announce(&settings, &data, address, sides)?;
    let heat = data.folder.as_ref().map(|folder| HeatFile::in_folder(folder.path()));
    let saving = heat.clone().map(|heat| {
        heat.load(&account);
        tokio::spawn(heat.save_at_times(Arc::clone(&account)))
    });
    run_until_stopped(gateway, listeners, &account, signals).await;
    if let (Some(heat), Some(saving)) = (heat, saving) {
        saving.abort();
        heat.save(&account);
    }
    account.close().await.context("cannot close the account")?;
    data.store.close().context("cannot close the store")?;
    // Everything is kept. Dropping the store would wait until its engine has merged the tables that it is merging, which
    // may as well be cut off.
    std::mem::forget(data.store);
    Ok(())
}

/// Where we listen beside the main port.
#[derive(Debug, Clone, Copy)]
struct Sides {
    health: Option<SocketAddr>,
    explorer: Option<SocketAddr>,
}

/// What lies on disk, or stands in for it.
#[derive(Debug)]
struct Data {
    folder: Option<DataFolder>,
    store: Arc<dyn Store>,
    certificate: Certificate,
}

impl Data {
    fn open(settings: &Settings, env: &Env) -> Result<Data> {
        let (folder, store) = match &settings.storage {
            Storage::Memory => (None, store::open_memory()),
            Storage::Folder { path, durability, cache_bytes, direct_reads } => {
                let folder = DataFolder::open(path)?;
                let options = EmbeddedOptions {
                    durability: *durability,
                    cache_bytes: *cache_bytes,
                    direct_reads: *direct_reads,
                    env: env.clone(),
                };
                let store = store::open_embedded(&folder.store(), &options)
                    .with_context(|| format!("cannot open {}", folder.store().display()))?;
                (Some(folder), store)
            }
        };
        let certificate = match (&settings.own_certificate, &folder) {
            (Some(OwnCertificate::Pem { chain, key }), _) => Certificate::read(chain, key)?,
            (Some(OwnCertificate::Pfx { file, password }), _) => {
                Certificate::read_pfx(file, password)?
            }
            (None, Some(folder)) => {
                certificate::load_or_create(folder.path(), &settings.certificate_names(), env)?
            }
            (None, None) => Certificate::self_signed(&settings.certificate_names(), env)?,
        };
        Ok(Data { folder, store, certificate })
    }
}

fn account_options(settings: &Settings) -> AccountOptions {
    AccountOptions {
        min_partitions: settings.min_partitions,
        default_consistency: settings.consistency,
        version_retention: None,
        enforcement: settings.enforcement,
        has_burst: settings.has_burst,
        relocation: settings.relocation.clone(),
        media_bytes_max: settings.media_bytes_max,
        query_bytes_max: settings.memory.queries,
        script_bytes_max: settings.memory.scripts,
        ..AccountOptions::default()
    }
}

fn gateway(
    settings: &Settings,
    certificate: &Certificate,
    account: Arc<Account>,
    explorer_port: Option<u16>,
    observer: Option<Arc<dyn TrafficObserver>>,
) -> Result<Gateway> {
    let keys = Keys {
        primary: settings.keys.primary.as_str().to_owned(),
        secondary: settings.keys.secondary.as_str().to_owned(),
        read_only: settings.keys.read_only.as_str().to_owned(),
        secondary_read_only: settings.keys.secondary_read_only.as_str().to_owned(),
    };
    // A clock of its own: signatures are judged by the real time even if the account's clock is advanced.
    let options = GatewayOptions::new(keys, Env::system());
    let limits = Limits {
        connections_max: settings.connections_max,
        unread_bytes_in_all_max: settings.memory.answers,
        body_bytes_in_all_max: settings.memory.bodies,
        media_mib_at_once_max: settings.memory.media_mib,
        connections_per_address_max: settings.connections_per_address_max.unwrap_or(usize::MAX),
        ..options.limits
    };
    let options = GatewayOptions {
        limits,
        allowed_hosts: settings.allowed_hosts.clone(),
        names_in_metrics: settings.names_in_metrics,
        tls: Some(certificate.server_config().context("bad certificate")?),
        is_self_signed: certificate.is_self_signed(),
        certificate_pem: Some(certificate.pem().to_owned()),
        public_endpoint: settings.public_endpoint.clone(),
        identity_tokens: settings.accepts_identity_tokens,
        gzip: settings.gzip,
        observer,
        explorer: settings.explorer.clone(),
        explorer_port,
        ..options
    };
    Ok(gateway::app(account, options))
}

/// Listens for clients; `option` is the one that names the port.
fn bind(settings: &Settings, addresses: &[SocketAddr], option: &str) -> Result<TcpListener> {
    let port = addresses.first().map_or(0, SocketAddr::port);
    listen(addresses).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => anyhow!(
            "port {port} on {} is in use, perhaps by another orrery or emulator; stop it, or choose another \
             port with {option}",
            settings.host
        ),
        ErrorKind::PermissionDenied => {
            anyhow!("port {port} needs special rights; choose one from 1024 up with {option}")
        }
        _ => anyhow!(error).context(format!("cannot listen on {} port {port}", settings.host)),
    })
}

/// The listener of a port beside the main one; none if nobody insists on it and the port is taken.
fn side_listener(
    settings: &Settings,
    port: Option<SidePort>,
    option: &str,
) -> Result<Option<TcpListener>> {
    let Some(SidePort { number, is_required }) = port else { return Ok(None) };
    let with_port = |address: &SocketAddr| SocketAddr::new(address.ip(), number);
    let addresses: Vec<SocketAddr> = settings.addresses.iter().map(with_port).collect();
    match listen(&addresses) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if is_required => Err(anyhow!(error)
            .context(format!("cannot listen on port {number}; choose another one with {option}"))),
        Err(error) => {
            tracing::warn!(%error, "nothing on port {number} ({option}); the main port does the same");
            Ok(None)
        }
    }
}

/// Listens on the first address that can be listened on.
fn listen(addresses: &[SocketAddr]) -> std::io::Result<TcpListener> {
    let mut failed = std::io::Error::from(ErrorKind::AddrNotAvailable);
    for &address in addresses {
        let listening = || {
            let socket =
                if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            // So that a server can start again at once. Elsewhere it would let others take the port.
            #[cfg(unix)]
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            socket.listen(BACKLOG)
        };
        match listening() {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Serves until SIGTERM or Ctrl-C; a second signal stops at once.
async fn run_until_stopped(
    gateway: Gateway,
    listeners: Vec<TcpListener>,
    account: &Arc<Account>,
    mut signals: Signals,
) {
    let (stop, stopped) = watch::channel(false);
    let wait = |mut stopped: watch::Receiver<bool>| async move {
        // An error means that the sender is gone: stop as well.
        let _ = stopped.wait_for(|&it| it).await;
    };
    let jobs = tokio::spawn(Arc::clone(account).run_jobs(wait(stopped.clone())));
    tokio::spawn(async move {
        signals.next().await;
        tracing::info!("stopping");
        end_in_time();
        let _ = stop.send(true);
        signals.next().await;
        tracing::warn!("second signal: stopping without waiting for requests");
        std::process::exit(130);
    });
    let mut serving = JoinSet::new();
    for listener in listeners {
        let (gateway, stopped) = (gateway.clone(), wait(stopped.clone()));
        serving.spawn(async move { gateway.serve(listener, stopped).await });
    }
    while serving.join_next().await.is_some() {}
    if let Err(error) = jobs.await {
        tracing::error!(%error, "background jobs ended badly");
    }
}

/// Ends the process when its orderly stop takes too long. What was acknowledged is in the journal and is read from there at
/// the next start.
fn end_in_time() {
    let end = || {
        std::thread::sleep(STOP_MAX);
        tracing::warn!("the stop took too long: ending without it");
        std::process::exit(0);
    };
    let started = std::thread::Builder::new().name("orrery-stop".to_owned()).spawn(end);
    if let Err(error) = started {
        tracing::warn!(%error, "the stop has no deadline");
    }
}

/// The signals that ask for a stop.
#[derive(Debug)]
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    /// From here on a signal waits for [`Signals::next`] instead of ending the process.
    fn listen() -> Result<Signals> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Signals {
                terminate: signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?,
                interrupt: signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?,
            })
        }
        #[cfg(not(unix))]
        Ok(Signals {})
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// The start-up lines for a person, then the one for a script.
fn announce(settings: &Settings, data: &Data, address: SocketAddr, sides: Sides) -> Result<()> {
    let shown = shown_address(address);
    let mut out = std::io::stdout().lock();
    writeln!(out, "Orrery {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "  endpoint     https://{shown}/  or  http://{shown}/")?;
    if settings.explorer != gateway::Explorer::Off {
        writeln!(out, "  explorer     https://{shown}/_explorer/")?;
    }
    if let Some(endpoint) = &settings.public_endpoint {
        writeln!(out, "               shown to clients as {endpoint}")?;
    }
    let keys = &settings.keys;
    if keys.primary.is_well_known() {
        writeln!(out, "  key          {}", keys.primary.as_str())?;
        writeln!(out, "               the well-known emulator key: it protects nothing")?;
    } else {
        writeln!(
            out,
            "  key          your own (`orrery keys` shows it and those derived from it)"
        )?;
    }
    match (&data.folder, &settings.storage) {
        (Some(folder), Storage::Folder { durability, .. }) => {
            writeln!(
                out,
                "  data         {} ({})",
                folder.path().display(),
                durability_words(*durability)
            )?;
        }
        _ => writeln!(out, "  data         in memory: gone at exit")?,
    }
    match data.certificate.file() {
        Some(file) => writeln!(out, "  certificate  {}", file.display())?,
        None => writeln!(
            out,
            "  certificate  self-signed, in memory; get it from http://{shown}/_explorer/emulator.pem"
        )?,
    }
    if let Some(health) = sides.health.map(shown_address) {
        writeln!(out, "  probes       http://{health}/ready, /alive and /status")?;
    }
    if let Some(explorer) = sides.explorer.map(shown_address) {
        writeln!(out, "  explorer     http://{explorer}/ as well")?;
    }
    if settings.is_emulator {
        emulator::write_log_lines(&mut out, settings.is_https_announced, address)?;
    }
    writeln!(out, "ready http://{shown}/")?;
    out.flush().context("cannot write to standard output")
}

fn durability_words(durability: store::Durability) -> &'static str {
    match durability {
        store::Durability::Fsync => "every acknowledged write is on disk",
        store::Durability::Relaxed { .. } => "relaxed: a power cut can lose the last moments",
    }
}

/// An address that a client on this machine can use: "any" addresses are shown as loopback.
fn shown_address(address: SocketAddr) -> SocketAddr {
    let mut shown = address;
    if address.ip().is_unspecified() {
        shown.set_ip(if address.is_ipv4() {
            std::net::Ipv4Addr::LOCALHOST.into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        });
    }
    shown
}

fn place(folder: Option<&DataFolder>) -> String {
    folder.map_or_else(|| "memory".to_owned(), |it| it.path().display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_addresses_are_shown_as_loopback() {
        for (bound, shown) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:2", "[::1]:2"),
            ("127.0.0.1:3", "127.0.0.1:3"),
            ("10.1.2.3:4", "10.1.2.3:4"),
        ] {
            assert_eq!(shown_address(bound.parse().unwrap()).to_string(), shown);
        }
    }
}
