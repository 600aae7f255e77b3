//! What the operator can set. Plain data: the binary fills it in, nothing here reads the environment.

use std::{sync::Arc, time::Duration};

use model::Env;

use crate::{auth::Keys, explorer::Explorer, traffic::TrafficObserver};

/// How the gateway behaves. Start from [`GatewayOptions::new`] and change fields.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Clone)]
pub struct GatewayOptions {
    pub keys: Keys,
    /// How far the date of a signature may be from our clock; `None` accepts any date.
    pub date_window: Option<DateWindow>,
    /// Accepts emulator-style identity tokens (`type=aad`).
    pub identity_tokens: bool,
    /// The endpoint in the account document, e.g. `https://db.example:8081/`. `None` takes scheme
    /// and host of each request, so that mapped ports and other host names work.
    pub public_endpoint: Option<String>,
    /// Names of this server beside local ones: while the well-known key is in use, no other dotted name is served.
    pub allowed_hosts: Vec<String>,
    /// Shows the names of databases and containers in `/metrics` to those who send no key.
    pub names_in_metrics: bool,
    /// Honours `X-Forwarded-Proto` and `X-Forwarded-Host`: only behind a proxy that sets them.
    pub trust_forwarded: bool,
    /// The name of the only region, as clients see it.
    pub region: String,
    /// TLS on the same port as plain HTTP; `None` speaks plain HTTP only.
    pub tls: Option<rustls::ServerConfig>,
    /// The certificate is one that we made, so it covers the addresses of loopback.
    pub is_self_signed: bool,
    /// What `/_explorer/emulator.pem` hands out.
    pub certificate_pem: Option<String>,
    pub explorer: Explorer,
    /// A port of ours whose first page is the explorer.
    pub explorer_port: Option<u16>,
    pub cors: Cors,
    /// Compresses large answers for clients that accept gzip.
    pub gzip: bool,
    pub limits: Limits,
    /// Told about sockets and requests.
    pub observer: Option<Arc<dyn TrafficObserver>>,
    /// The gateway's clock: signatures are checked against it. Give it one that nobody advances,
    /// or clients with a true clock are locked out.
    pub env: Env,
}

/// How old or early a signature may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateWindow {
    /// How long a signature lives.
    pub lifetime: Duration,
    /// How far the clocks of client and server may differ, on either side.
    pub skew: Duration,
}

impl Default for DateWindow {
    fn default() -> Self {
        let quarter = Duration::from_secs(15 * 60);
        DateWindow { lifetime: quarter, skew: quarter }
    }
}

/// Which web pages may call this server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Cors {
    /// None: preflights answer 403, as the hosted service does.
    #[default]
    Off,
    Any,
    Origins(Vec<String>),
}

/// Bounds on what clients can make us hold. Every field is a limit with a reason.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Limit: an item has at most 2 MiB, a batch slightly more; the rest is room for escapes.
    pub body_bytes_max: usize,
    /// Limit: bytes of bodies that have arrived and are not answered, on all connections; 429 beyond. Media has its own.
    pub body_bytes_in_all_max: usize,
    /// Limit: media of one attachment, as the account has it.
    pub media_bytes_max: usize,
    /// Limit: MiB of media that requests hold in memory together; others wait for their turn.
    pub media_mib_at_once_max: u32,
    /// Limit: request line and headers of one request. SDKs need at least 32 KiB.
    pub header_bytes_max: usize,
    /// Limit: open connections. For one more, the longest idle one is closed; if none is idle, it waits in the listen queue.
    pub connections_max: usize,
    /// Limit: open connections from one address; further ones are closed at once.
    pub connections_per_address_max: usize,
    /// Limit: parallel requests on one HTTP/2 connection.
    pub streams_max: u32,
    /// Limit: time until a new connection says which protocol it speaks, TLS handshake included.
    pub greeting_timeout: Duration,
    /// Limit: time to send the headers of a request, counted from their first byte, or from the greeting for the first.
    pub header_timeout: Duration,
    /// Limit: how long a connection without requests is kept. Longer than the pools of the SDKs keep
    /// theirs (90 s), so that a client never writes into a connection that we are closing.
    pub idle_timeout: Duration,
    /// Limit: time to send a body.
    pub body_timeout: Duration,
    /// Limit: time to answer; 408 afterwards.
    pub request_timeout: Duration,
    /// Limit: a client that has answers to read must read so many bytes per second, on average over the write timeout.
    pub write_timeout: Duration,
    pub read_bytes_per_second_min: u64,
    /// Limit: bytes of answers that a connection leaves unread before its next requests wait.
    pub unread_bytes_max: usize,
    /// Limit: the same for all connections. Requests wait, then get 429; clients that do not read are disconnected.
    pub unread_bytes_in_all_max: usize,
    /// Limit: how long an orderly shutdown waits for requests in flight.
    pub shutdown_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body_bytes_max: 4 << 20,
            body_bytes_in_all_max: 512 << 20,
            media_bytes_max: account::MEDIA_BYTES_MAX,
            media_mib_at_once_max: 256,
            header_bytes_max: 128 << 10,
            connections_max: 10_000,
            connections_per_address_max: usize::MAX,
            streams_max: 256,
            greeting_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(120),
            body_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            read_bytes_per_second_min: 4 << 10,
            unread_bytes_max: 16 << 20,
            unread_bytes_in_all_max: 512 << 20,
            shutdown_grace: Duration::from_secs(3),
        }
    }
}

impl GatewayOptions {
    /// Options that suit a local server: signatures checked, no extras.
    pub fn new(keys: Keys, env: Env) -> GatewayOptions {
        GatewayOptions {
            keys,
            date_window: Some(DateWindow::default()),
            identity_tokens: false,
            public_endpoint: None,
            allowed_hosts: Vec::new(),
            names_in_metrics: false,
            trust_forwarded: false,
            region: "South Central US".to_owned(),
            tls: None,
            is_self_signed: false,
            certificate_pem: None,
            explorer: Explorer::On,
            explorer_port: None,
            cors: Cors::Off,
            gzip: false,
            limits: Limits::default(),
            observer: None,
            env,
        }
    }
}

impl std::fmt::Debug for GatewayOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys and certificates stay out of logs.
        f.debug_struct("GatewayOptions")
            .field("date_window", &self.date_window)
            .field("identity_tokens", &self.identity_tokens)
            .field("public_endpoint", &self.public_endpoint)
            .field("has_tls", &self.tls.is_some())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
