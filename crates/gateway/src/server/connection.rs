//! One accepted connection: what it speaks, its requests, its end.

use std::{
    convert::Infallible,
    io,
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use http::Request;
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use super::{
    connection_table::{Entry, Seat, Verdict},
    direct,
    greeting::{Greeting, TLS_HANDSHAKE, Version, first_byte, sniff, sniff_in_tls},
    lingering::{Lingering, Unread},
    metered::Metered,
    prefixed::Prefixed,
    repoll::RepollOnSelfWake,
    unread::{self, Answered},
    unsent::Running,
};
use crate::{
    account_document::Arrival,
    gateway::State,
    manage::events::Opened,
    options::Limits,
    service::{self, Room},
    traffic::Open,
};

/// Limit: a silent HTTP/2 client is pinged and then dropped.
const PING_INTERVAL: Duration = Duration::from_secs(60);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Limit: unread bytes of one stream and of one connection.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;

/// Limit: how long a client without requests may take to close a connection that it was asked to close.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// One accepted connection and what it holds.
pub(super) struct Connection {
    pub(super) state: Arc<State>,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) seat: Seat,
}

impl Connection {
    pub(super) async fn run(self, stream: TcpStream) {
        if let Err(error) = self.greet(stream).await {
            // Clients come and go; nobody needs to act.
            tracing::debug!(%error, "connection ended before its first request");
        }
    }

    /// Finds out what the client speaks, then serves it.
    async fn greet(self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        // Its own reference: the connection outlives the rest of what is borrowed here.
        let observer = self.state.options.observer.clone();
        let _open = observer.as_deref().map(|observer| Open::new(observer, &stream));
        let local = stream.local_addr().ok();
        let is_tls = match &self.tls {
            Some(_) => self.step(first_byte(&stream)).await? == TLS_HANDSHAKE,
            None => false,
        };
        if let (true, Some(acceptor)) = (is_tls, &self.tls) {
            let accepted = self.step(acceptor.accept(stream)).await;
            let stream = accepted.inspect_err(|_| {
                self.state.metrics.handshakes_failed.fetch_add(1, Ordering::Relaxed);
            })?;
            let version = match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => Some(Version::Http2),
                Some(b"http/1.1") => Some(Version::Http1),
                Some(_) | None => None,
            };
            self.speak(stream, version, Arrival { is_tls, is_direct: false, local }).await
        } else {
            self.speak(stream, None, Arrival { is_tls, is_direct: false, local }).await
        }
    }

    /// A step before the first request: it has a deadline, and ends when the connection is told to end.
    async fn step<T>(&self, step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        tokio::select! {
            done = timeout(self.state.options.limits.greeting_timeout, step) => {
                done.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            }
            _ = self.seat.entry.ended() => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }

    async fn speak<S>(
        self,
        mut stream: S,
        version: Option<Version>,
        arrival: Arrival,
    ) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (version, greeting) = match version {
            Some(version) => (version, Greeting::default()),
            None if arrival.is_tls => self.step(sniff_in_tls(&mut stream)).await?,
            None => self.step(sniff(&mut stream, Greeting::default())).await?,
        };
        let entry = &self.seat.entry;
        entry.greeted(version != Version::Http1);
        let stream = Prefixed::new(greeting.bytes, greeting.length, stream);
        if version == Version::Rntbd {
            let arrival = Arrival { is_direct: true, ..arrival };
            let stream = Metered::new(stream, Arc::clone(entry));
            return direct::serve(&self.state, stream, entry, arrival).await;
        }
        let unread = Unread::default();
        let stream = Lingering::new(Metered::new(stream, Arc::clone(entry)), unread.clone());
        let io = TokioIo::new(stream);
        let requests =
            Requests { state: Arc::clone(&self.state), entry: Arc::clone(entry), arrival };
        let service = service_fn(move |request: Request<Incoming>| {
            let (requests, unread) = (requests.clone(), unread.clone());
            async move {
                Ok::<_, Infallible>(match version {
                    Version::Http1 => requests.over_http1(request, &unread).await,
                    Version::Http2 | Version::Rntbd => requests.over_http2(request).await,
                })
            }
        });
        let limits = &self.state.options.limits;
        let served = match version {
            Version::Http1 => {
                let connection = http1_builder(limits).serve_connection(io, service);
                RepollOnSelfWake::new(drive(connection, entry)).await
            }
            Version::Http2 | Version::Rntbd => {
                let connection = http2_builder(limits).serve_connection(io, service);
                drive(connection, entry).await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "connection ended");
        }
        Ok(())
    }
}

/// What the requests of one connection share.
#[derive(Clone)]
struct Requests {
    state: Arc<State>,
    entry: Arc<Entry>,
    arrival: Arrival,
}

impl Requests {
    async fn over_http1(
        &self,
        request: Request<Incoming>,
        unread: &Unread,
    ) -> http::Response<Answered> {
        let _under_way = self.entry.begin();
        let expects_to_be_asked = unread::expects_to_be_asked(request.headers());
        let (response, rest) = self.answer(request).await;
        unread::over_http1(response, rest, unread, expects_to_be_asked).await
    }

    async fn over_http2(&self, request: Request<Incoming>) -> http::Response<Answered> {
        let _under_way = self.entry.begin();
        let (response, rest) = self.answer(request).await;
        unread::over_http2(response, rest)
    }

    /// Answers when there is room for it. Returns the rest of the request, too.
    async fn answer(&self, request: Request<Incoming>) -> (http::Response<Answered>, Incoming) {
        let (parts, mut body) = request.into_parts();
        let request = Request::from_parts(parts, &mut body);
        let unsent = &self.entry.unsent;
        let limit = self.state.options.limits.request_timeout;
        let response = if unsent.wait_for_room(limit).await {
            let running = Running::new(&self.entry);
            let room = Room::Within(unsent);
            let response = service::answer(&self.state, request, self.arrival, room).await;
            response.map(|body| Answered::new(body, |n_bytes| running.answered(n_bytes)))
        } else {
            let response = service::answer(&self.state, request, self.arrival, Room::None).await;
            response.map(|body| Answered::new(body, |_| None))
        };
        (self.with_events(response), body)
    }

    /// Lets an answer go on that is a stream.
    fn with_events(&self, mut response: http::Response<Answered>) -> http::Response<Answered> {
        match response.extensions_mut().remove::<Opened>().and_then(|opened| opened.take()) {
            Some(events) => response.map(|body| body.then(events, self.entry.begin())),
            None => response,
        }
    }
}

/// Serves a connection until it ends, or is told to.
async fn drive<C: GracefulConnection>(connection: C, entry: &Entry) -> Result<(), C::Error> {
    let mut connection = pin!(connection);
    let verdict = tokio::select! {
        biased;
        done = connection.as_mut() => return done,
        verdict = entry.ended() => verdict,
    };
    if verdict == Verdict::Now {
        return Ok(());
    }
    connection.as_mut().graceful_shutdown();
    loop {
        tokio::select! {
            biased;
            done = connection.as_mut() => return done,
            _ = entry.ended() => return Ok(()),
            () = tokio::time::sleep(CLOSE_GRACE) => {
                if !entry.has_requests() && entry.unsent.bytes() == 0 {
                    return Ok(());
                }
            }
        }
    }
}

fn http1_builder(limits: &Limits) -> http1::Builder {
    /// The smallest buffer that hyper takes.
    const BUFFER_BYTES_MIN: usize = 8192;
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // It counts from the end of the request before. How long a head takes that has begun is the watchdog's.
        .header_read_timeout(limits.idle_timeout)
        .max_buf_size(limits.header_bytes_max.max(BUFFER_BYTES_MIN));
    builder
}

fn http2_builder(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_max)
        .max_header_list_size(u32::try_from(limits.header_bytes_max).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}
