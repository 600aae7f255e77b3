//! A real server on a loopback socket, and clients that speak to it in every way it offers.

#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use account::{Account, AccountOptions};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use gateway::{Gateway, GatewayOptions, Keys, WELL_KNOWN_KEY, certificate::Certificate};
use hmac::{Hmac, Mac};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use model::{Env, Value};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use sha2::Sha256;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

/// When the tests take place: Tue, 14 Nov 2023 22:13:20 GMT.
pub(crate) const START_MS: u64 = 1_700_000_000_000;
pub(crate) const DATE: &str = "Tue, 14 Nov 2023 22:13:20 GMT";

pub(crate) fn secondary_key() -> String {
    STANDARD.encode([2; 64])
}

pub(crate) fn read_only_key() -> String {
    STANDARD.encode([3; 64])
}

pub(crate) fn keys() -> Keys {
    Keys {
        secondary: secondary_key(),
        read_only: read_only_key(),
        secondary_read_only: STANDARD.encode([4; 64]),
        ..Keys::new(WELL_KNOWN_KEY)
    }
}

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) certificate: Certificate,
    pub(crate) gateway: Gateway,
    pub(crate) env: Env,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) async fn start() -> Server {
        Server::start_with(|_| {}).await
    }

    /// Starts a server whose options `change` has changed.
    pub(crate) async fn start_with(change: impl FnOnce(&mut GatewayOptions)) -> Server {
        Server::start_over(2, change).await
    }

    /// Starts a server whose containers have `n_ranges` ranges.
    pub(crate) async fn start_over(
        n_ranges: u32,
        change: impl FnOnce(&mut GatewayOptions),
    ) -> Server {
        let env = Env::fixed(7, START_MS);
        let options = AccountOptions { min_partitions: n_ranges, ..AccountOptions::default() };
        let account =
            Account::open(store::open_memory(), options, env.clone()).await.expect("account");
        Server::start_on(account, env, change).await
    }

    pub(crate) async fn start_on(
        account: Arc<Account>,
        env: Env,
        change: impl FnOnce(&mut GatewayOptions),
    ) -> Server {
        let certificate = Certificate::self_signed(&[], &env).expect("certificate");
        let mut options = GatewayOptions {
            tls: Some(certificate.server_config().expect("tls")),
            certificate_pem: Some(certificate.pem().to_owned()),
            ..GatewayOptions::new(keys(), env.clone())
        };
        change(&mut options);
        let gateway = gateway::app(account, options);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("port");
        let address = listener.local_addr().expect("address");
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = gateway.clone();
        let task = tokio::spawn(async move {
            let shutdown = async {
                let _ = stopped.await;
            };
            serving.serve(listener, shutdown).await;
        });
        Server { address, certificate, gateway, env, stop: Some(stop), task: Some(task) }
    }

    /// Begins the orderly shutdown and returns the task that ends with it.
    pub(crate) fn stop(&mut self) -> JoinHandle<()> {
        drop(self.stop.take());
        self.task.take().expect("stopped once")
    }

    /// Sends one signed request over a new HTTP/1.1 connection.
    pub(crate) async fn send(&self, call: Call) -> Reply {
        Client::connect(self, Protocol::Http1).await.send(call).await
    }

    /// A database `d` with a container `c` partitioned by `/pk`.
    pub(crate) async fn with_container(self) -> Server {
        let made = self.send(Call::post("/dbs", r#"{"id":"d"}"#)).await;
        assert_eq!(made.status, 201, "{}", made.text());
        let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
        let made = self.send(Call::post("/dbs/d/colls", body)).await;
        assert_eq!(made.status, 201, "{}", made.text());
        self
    }

    /// Writes raw bytes and reads until the server closes or falls silent.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("connect");
        // The server may close while we are still writing; what it said counts.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let read = async {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                answer.extend_from_slice(&buffer[..n]);
            }
        };
        let _ = tokio::time::timeout(Duration::from_millis(300), read).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Proves that the server still answers and that nothing was left behind by bad requests.
    pub(crate) async fn assert_alive(&self) {
        let reply = self.send(Call::get("/dbs")).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
}

/// A request in the making. It is signed when it is sent, unless it has its own authorization.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) key: Option<String>,
}

impl Call {
    pub(crate) fn new(method: Method, path: &str) -> Call {
        Call {
            method,
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            key: Some(WELL_KNOWN_KEY.to_owned()),
        }
    }

    pub(crate) fn get(path: &str) -> Call {
        Call::new(Method::GET, path)
    }

    pub(crate) fn delete(path: &str) -> Call {
        Call::new(Method::DELETE, path)
    }

    pub(crate) fn post(path: &str, body: impl Into<Bytes>) -> Call {
        Call { body: body.into(), ..Call::new(Method::POST, path) }
    }

    pub(crate) fn put(path: &str, body: impl Into<Bytes>) -> Call {
        Call { body: body.into(), ..Call::new(Method::PUT, path) }
    }

    /// Creates an item in the container of [`Server::with_container`].
    pub(crate) fn create(key: &str, body: impl Into<Bytes>) -> Call {
        Call::post("/dbs/d/colls/c/docs", body).key_header(key)
    }

    pub(crate) fn key_header(self, key: &str) -> Call {
        self.header("x-ms-documentdb-partitionkey", &format!("[\"{key}\"]"))
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Call {
        self.headers.append(name, HeaderValue::from_bytes(value.as_bytes()).expect("value"));
        self
    }

    /// Signs with another key.
    pub(crate) fn signed_with(self, key: &str) -> Call {
        Call { key: Some(key.to_owned()), ..self }
    }

    pub(crate) fn unsigned(self) -> Call {
        Call { key: None, ..self }
    }

    fn into_request(self, host: &str, is_http2: bool) -> Request<Full<Bytes>> {
        let uri = if is_http2 { format!("http://{host}{}", self.path) } else { self.path.clone() };
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri.parse().expect("uri");
        let mut headers = self.headers;
        if !is_http2 && !headers.contains_key("host") {
            headers.insert("host", host.parse().expect("host"));
        }
        if !headers.contains_key("x-ms-date") {
            headers.insert("x-ms-date", HeaderValue::from_static(DATE));
        }
        if let Some(key) = self.key
            && !headers.contains_key("authorization")
        {
            let date = headers["x-ms-date"].to_str().unwrap_or_default().to_owned();
            let signed = authorization(&key, &self.method, &self.path, &date);
            headers.insert("authorization", signed.parse().expect("authorization"));
        }
        *request.headers_mut() = headers;
        request
    }
}

/// The header value that an SDK would send.
pub(crate) fn authorization(key: &str, method: &Method, path: &str, date: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<String> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| {
            percent_encoding::percent_decode_str(segment).decode_utf8_lossy().into_owned()
        })
        .collect();
    let n = segments.len();
    let (kind, link) = if n == 0 {
        (String::new(), String::new())
    } else if segments[n - 1] == "partitionkeydelete" {
        ("colls".to_owned(), segments[..n - 2].join("/"))
    } else if n.is_multiple_of(2) {
        (segments[n - 2].clone(), segments.join("/"))
    } else {
        (segments[n - 1].clone(), segments[..n - 1].join("/"))
    };
    let verb = method.as_str().to_lowercase();
    let payload = format!("{verb}\n{kind}\n{link}\n{}\n\n", date.to_lowercase());
    let mut mac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(key).expect("key")).expect("mac");
    mac.update(payload.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let text = format!("type=master&ver=1.0&sig={signature}");
    utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string()
}

/// An answer, complete.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        model::json::parse(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII header"))
    }

    pub(crate) fn substatus(&self) -> u32 {
        self.header("x-ms-substatus").map_or(0, |text| text.parse().expect("number"))
    }

    /// Checks what every error must have.
    #[track_caller]
    pub(crate) fn assert_error(&self, status: u16) {
        assert_eq!(self.status, status, "{}", self.text());
        let body = self.json();
        assert!(body.get("code").and_then(Value::as_str).is_some_and(|code| !code.is_empty()));
        // Wire: only a preflight that is refused has none.
        assert!(body.get("message").is_none_or(|it| it.as_str().is_some_and(|it| !it.is_empty())));
        assert_eq!(self.header("content-type"), Some("application/json"));
        let length = self.header("content-length").expect("errors have a length");
        assert_eq!(length, self.body.len().to_string());
        assert!(self.header("x-ms-activity-id").is_some());
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2PriorKnowledge,
    TlsHttp1,
    TlsHttp2,
    /// TLS without ALPN.
    TlsPlain,
}

impl Protocol {
    pub(crate) const ALL: [Protocol; 5] = [
        Protocol::Http1,
        Protocol::Http2PriorKnowledge,
        Protocol::TlsHttp1,
        Protocol::TlsHttp2,
        Protocol::TlsPlain,
    ];

    pub(crate) fn is_tls(self) -> bool {
        !matches!(self, Protocol::Http1 | Protocol::Http2PriorKnowledge)
    }

    fn is_http2(self) -> bool {
        matches!(self, Protocol::Http2PriorKnowledge | Protocol::TlsHttp2)
    }
}

/// One connection.
pub(crate) struct Client {
    sender: Sender,
    host: String,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    pub(crate) async fn connect(server: &Server, protocol: Protocol) -> Client {
        let stream = TcpStream::connect(server.address).await.expect("connect");
        let host = server.address.to_string();
        if protocol.is_tls() {
            let stream = tls(server, stream, protocol, "127.0.0.1").await.expect("handshake");
            Client::over(stream, protocol, host).await
        } else {
            Client::over(stream, protocol, host).await
        }
    }

    async fn over<S>(stream: S, protocol: Protocol, host: String) -> Client
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = TokioIo::new(stream);
        let sender = if protocol.is_http2() {
            let (sender, connection) =
                http2::handshake(TokioExecutor::new(), io).await.expect("HTTP/2");
            tokio::spawn(connection);
            Sender::Http2(sender)
        } else {
            let (sender, connection) = http1::handshake(io).await.expect("HTTP/1");
            tokio::spawn(connection);
            Sender::Http1(sender)
        };
        Client { sender, host }
    }

    /// Calls the server by another name.
    pub(crate) fn named(self, host: &str) -> Client {
        Client { host: host.to_owned(), ..self }
    }

    pub(crate) async fn send(&mut self, call: Call) -> Reply {
        self.try_send(call).await.expect("an answer")
    }

    pub(crate) async fn try_send(&mut self, call: Call) -> Result<Reply, hyper::Error> {
        let (parts, body) = self.try_open(call).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Reply { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// Sends a request whose answer may go on for ever.
    pub(crate) async fn open(&mut self, call: Call) -> Response<Incoming> {
        self.try_open(call).await.expect("an answer")
    }

    async fn try_open(&mut self, call: Call) -> Result<Response<Incoming>, hyper::Error> {
        match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(call.into_request(&self.host, false)).await
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(call.into_request(&self.host, true)).await
            }
        }
    }
}

/// A handshake that trusts the server's certificate and nothing else.
pub(crate) async fn tls(
    server: &Server,
    stream: TcpStream,
    protocol: Protocol,
    name: &str,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    let pem = server.certificate.pem().as_bytes();
    roots.add(CertificateDer::from_pem_slice(pem).expect("PEM")).expect("root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_details(
        provider,
        Arc::new(FixedTime(server.env.clone())),
    )
    .with_safe_default_protocol_versions()
    .expect("versions")
    .with_root_certificates(roots)
    .with_no_client_auth();
    config.alpn_protocols = match protocol {
        Protocol::TlsHttp2 => vec![b"h2".to_vec()],
        Protocol::TlsHttp1 => vec![b"http/1.1".to_vec()],
        _ => Vec::new(),
    };
    let name = ServerName::try_from(name.to_owned()).expect("name");
    tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// Certificates are judged by the clock of the test.
#[derive(Debug)]
struct FixedTime(Env);

impl rustls::time_provider::TimeProvider for FixedTime {
    fn current_time(&self) -> Option<rustls_pki_types::UnixTime> {
        let now = Duration::from_secs(self.0.now_seconds());
        Some(rustls_pki_types::UnixTime::since_unix_epoch(now))
    }
}

/// The status code of a raw answer.
pub(crate) fn status_of(answer: &str) -> Option<StatusCode> {
    let code = answer.strip_prefix("HTTP/1.1 ")?.get(..3)?;
    StatusCode::from_bytes(code.as_bytes()).ok()
}
