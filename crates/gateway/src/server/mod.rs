//! Sockets: one port for TLS and plain HTTP, HTTP/1.1 and HTTP/2.
//!
//! A TLS client speaks first with byte 0x16, which no HTTP request starts with. Without TLS, or when
//! TLS did not negotiate a protocol, the HTTP/2 preface tells the version.
//!
//! Invariants: a connection holds one permit from accept to close, so their number is bounded; every
//! step before the first request has a deadline; shutdown waits for requests, not for idle clients.

mod lingering;
mod prefixed;
mod settled;
mod unread;

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
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
    server::graceful::{GracefulShutdown, Watcher},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use self::{
    lingering::{Lingering, Unread},
    prefixed::Prefixed,
    settled::Settled,
};
use crate::{account_document::Arrival, gateway::State, options::Limits, service};

/// Limit: pause after a failed accept, e.g. when file descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Limit: a silent HTTP/2 client is pinged and then dropped.
const PING_INTERVAL: Duration = Duration::from_secs(60);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Limit: unread bytes of one stream and of one connection.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;

/// What the HTTP/2 client sends first.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// Accepts until `shutdown`, then drains.
pub(crate) async fn serve(
    state: &Arc<State>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send,
) {
    if let Some(linger) = &state.options.linger {
        linger.watch_listener(&listener);
    }
    let tls = state.options.tls.clone().map(|config| TlsAcceptor::from(Arc::new(config)));
    let permits = Arc::new(Semaphore::new(state.options.limits.connections_max));
    let graceful = GracefulShutdown::new();
    let (stop, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let greeting_timeout = state.options.limits.greeting_timeout;
    loop {
        let next = async {
            // The semaphore is never closed, so the permit is always there in the end.
            let permit = Arc::clone(&permits).acquire_owned().await.ok();
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            biased;
            () = &mut shutdown => break,
            next = next => next,
        };
        // Tasks that have ended are forgotten as we go, so the set holds the open ones.
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => {
                let greeting = Step { deadline: greeting_timeout, stopped: stopped.clone() };
                let watcher = graceful.watcher();
                let connection = Connection::new(state, tls.clone(), permit, watcher, greeting);
                connections.spawn(connection.run(stream));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    drop(stop);
    state.is_stopping.store(true, Ordering::Relaxed);
    if timeout(state.options.limits.shutdown_grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end in time and are dropped");
    }
    connections.shutdown().await;
}

/// One accepted connection and what it holds.
struct Connection {
    state: Arc<State>,
    tls: Option<TlsAcceptor>,
    watcher: Watcher,
    greeting: Step,
    _permit: Option<OwnedSemaphorePermit>,
    _open: OpenGuard,
}

/// Counts an open connection for as long as it lives.
struct OpenGuard(Arc<State>);

impl OpenGuard {
    fn new(state: &Arc<State>) -> OpenGuard {
        state.metrics.connections_total.fetch_add(1, Ordering::Relaxed);
        state.metrics.connections_open.fetch_add(1, Ordering::Relaxed);
        OpenGuard(Arc::clone(state))
    }
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.0.metrics.connections_open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Http1,
    Http2,
}

impl Connection {
    fn new(
        state: &Arc<State>,
        tls: Option<TlsAcceptor>,
        permit: Option<OwnedSemaphorePermit>,
        watcher: Watcher,
        greeting: Step,
    ) -> Connection {
        let open = OpenGuard::new(state);
        let state = Arc::clone(state);
        Connection { state, tls, watcher, greeting, _permit: permit, _open: open }
    }

    async fn run(self, stream: TcpStream) {
        if let Err(error) = self.greet(stream).await {
            // Clients come and go; nobody needs to act.
            tracing::debug!(%error, "connection ended before its first request");
        }
    }

    /// Finds out what the client speaks, then serves it.
    async fn greet(mut self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let linger = self.state.options.linger.as_ref();
        let _open = linger.map(|linger| linger.watch(&stream));
        let local = stream.local_addr().ok();
        let is_tls = match &self.tls {
            Some(_) => self.greeting.run(first_byte(&stream)).await? == TLS_HANDSHAKE,
            None => false,
        };
        if let (true, Some(acceptor)) = (is_tls, self.tls.clone()) {
            let accepted = self.greeting.run(acceptor.accept(stream)).await;
            let stream = accepted.inspect_err(|_| {
                self.state.metrics.handshakes_failed.fetch_add(1, Ordering::Relaxed);
            })?;
            let version = match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => Some(Version::Http2),
                Some(b"http/1.1") => Some(Version::Http1),
                Some(_) | None => None,
            };
            self.speak(stream, version, true, local).await
        } else {
            self.speak(stream, None, false, local).await
        }
    }

    async fn speak<S>(
        mut self,
        mut stream: S,
        version: Option<Version>,
        is_tls: bool,
        local: Option<SocketAddr>,
    ) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let arrival = Arrival { is_tls, local };
        let (version, greeting) = match version {
            Some(version) => (version, Greeting::default()),
            None => self.greeting.run(sniff(&mut stream)).await?,
        };
        let unread = Unread::default();
        let stream = Prefixed::new(greeting.bytes, greeting.length, stream);
        let io = TokioIo::new(Lingering::new(stream, unread.clone()));
        let state = Arc::clone(&self.state);
        let service = service_fn(move |request: Request<Incoming>| {
            let (state, unread) = (Arc::clone(&state), unread.clone());
            async move {
                let (parts, mut body) = request.into_parts();
                let expects_to_be_asked = unread::expects_to_be_asked(&parts.headers);
                let request = Request::from_parts(parts, &mut body);
                let response = service::answer(&state, request, arrival).await;
                Ok::<_, Infallible>(match version {
                    Version::Http1 => {
                        unread::over_http1(response, body, &unread, expects_to_be_asked).await
                    }
                    Version::Http2 => unread::over_http2(response, body),
                })
            }
        });
        let limits = &self.state.options.limits;
        let served = match version {
            Version::Http1 => {
                let connection = http1_builder(limits).serve_connection(io, service);
                Settled::new(self.watcher.watch(connection)).await
            }
            Version::Http2 => {
                let connection = http2_builder(limits).serve_connection(io, service);
                self.watcher.watch(connection).await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "connection ended");
        }
        Ok(())
    }
}

/// What bounds the steps before the first request: a deadline, and the shutdown of the server.
struct Step {
    deadline: Duration,
    stopped: watch::Receiver<()>,
}

impl Step {
    async fn run<T>(&mut self, step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        tokio::select! {
            done = timeout(self.deadline, step) => {
                done.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            }
            // The sender is dropped when the server stops; it never sends.
            _ = self.stopped.changed() => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

async fn first_byte(stream: &TcpStream) -> io::Result<u8> {
    let mut byte = [0; 1];
    match stream.peek(&mut byte).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(byte[0]),
    }
}

/// The bytes read while looking at the preface.
#[derive(Debug, Default)]
struct Greeting {
    bytes: [u8; PREFACE.len()],
    length: usize,
}

/// Reads no further than it takes to tell the versions apart.
async fn sniff<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<(Version, Greeting)> {
    let mut greeting = Greeting::default();
    loop {
        let (read, free) = greeting.bytes.split_at_mut(greeting.length);
        if !PREFACE.starts_with(read) {
            return Ok((Version::Http1, greeting));
        }
        if free.is_empty() {
            return Ok((Version::Http2, greeting));
        }
        match stream.read(free).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => greeting.length += n,
        }
    }
}

fn http1_builder(limits: &Limits) -> http1::Builder {
    /// The smallest buffer that hyper takes.
    const BUFFER_BYTES_MIN: usize = 8192;
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
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

#[cfg(test)]
mod tests {
    use super::*;

    async fn sniffed(mut bytes: &[u8]) -> Option<(Version, usize)> {
        sniff(&mut bytes).await.ok().map(|(version, greeting)| (version, greeting.length))
    }

    #[tokio::test]
    async fn the_preface_tells_the_version() {
        assert_eq!(sniffed(PREFACE).await, Some((Version::Http2, 24)));
        let frames = [PREFACE, &b"more frames"[..]].concat();
        assert_eq!(sniffed(&frames).await, Some((Version::Http2, 24)));
        for line in ["GET / HTTP/1.1\r\n\r\n", "POST", "PRI / HTTP/1.1\r\n", "\r\n", "PUT / "] {
            assert!(matches!(sniffed(line.as_bytes()).await, Some((Version::Http1, _))), "{line}");
        }
        for cut in [&b""[..], b"P", &PREFACE[..23]] {
            assert_eq!(sniffed(cut).await, None);
        }
    }
}
