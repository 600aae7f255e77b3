//! The gateway itself: an account, options, counters.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use account::Account;
use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::body::Body;
use tokio::net::TcpListener;

use crate::{
    account_document::Arrival,
    auth::{KeyRing, WELL_KNOWN_KEY, date},
    body_budget::BodyBudget,
    manage::{Operations, events::Events, faults::Faults, requests::Requests},
    media_budget::MediaBudget,
    metrics::Metrics,
    options::GatewayOptions,
    server::{self, unsent},
    service::{self, Room},
};

/// Makes a gateway in front of `account`.
///
/// Keys that can not sign (see [`crate::Keys::check`]) leave a gateway that lets nobody in.
pub fn app(account: Arc<Account>, options: GatewayOptions) -> Gateway {
    let keys = options.keys.ring().unwrap_or_else(|error| {
        tracing::error!(%error, "the keys of the account are unusable: every request is refused");
        KeyRing::empty()
    });
    let bodies = Arc::new(BodyBudget::new(options.limits.body_bytes_in_all_max));
    let media_mib = options.limits.media_mib_at_once_max;
    let started = HeaderValue::from_str(&date::format_ms(options.env.now_ms()));
    let started = started.unwrap_or_else(|_| HeaderValue::from_static(""));
    Gateway {
        state: Arc::new(State {
            account,
            options,
            has_well_known_key: keys.find_text(WELL_KNOWN_KEY.as_bytes()).is_some(),
            keys,
            metrics: Metrics::new(),
            faults: Faults::default(),
            operations: Operations::default(),
            events: Events::default(),
            requests: Arc::default(),
            media: MediaBudget::new(media_mib),
            bodies,
            unsent: Arc::default(),
            started,
            n_requests: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
        }),
    }
}

/// Answers requests. Clones share everything.
#[derive(Debug, Clone)]
pub struct Gateway {
    state: Arc<State>,
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) account: Arc<Account>,
    pub(crate) options: GatewayOptions,
    pub(crate) keys: KeyRing,
    /// A key that everybody knows is among them.
    pub(crate) has_well_known_key: bool,
    pub(crate) metrics: Metrics,
    pub(crate) faults: Faults,
    pub(crate) operations: Operations,
    pub(crate) events: Events,
    pub(crate) requests: Arc<Requests>,
    pub(crate) media: MediaBudget,
    /// Bodies that have arrived and are not answered yet.
    pub(crate) bodies: Arc<BodyBudget>,
    /// What clients have not read yet.
    pub(crate) unsent: Arc<unsent::Total>,
    /// Wire: `x-ms-last-state-change-utc`.
    pub(crate) started: HeaderValue,
    pub(crate) n_requests: AtomicU64,
    pub(crate) is_stopping: AtomicBool,
}

impl Gateway {
    /// Accepts connections until `shutdown`, then lets requests in flight finish.
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future<Output = ()> + Send) {
        server::serve(&self.state, listener, shutdown).await;
    }

    /// Answers one request without a socket. TLS, if any, is not seen.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes> + Send + Unpin,
    {
        let arrival = Arrival { is_tls: false, is_direct: false, local: None };
        service::answer(&self.state, request, arrival, Room::Any).await
    }

    /// Makes `/ready` answer 503, so that balancers look elsewhere before a shutdown.
    pub fn announce_stop(&self) {
        self.state.is_stopping.store(true, Ordering::Relaxed);
    }
}
