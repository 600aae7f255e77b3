//! The process under clients that take all they can get: descriptors, time at its end.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use support::{Server, orrery};

/// Creates something below `link`.
fn send(authority: &str, kind: &str, link: &str, key: &str, body: &str) -> String {
    let path = if link.is_empty() { format!("/{kind}") } else { format!("/{link}/{kind}") };
    request(authority, (kind, link), &path, key, body)
}

/// A signed request with the well-known key; the whole answer as text.
fn request(
    authority: &str,
    (kind, link): (&str, &str),
    path: &str,
    key: &str,
    body: &str,
) -> String {
    let (date, signature) = sign("post", kind, link);
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nx-ms-date: {date}\r\n\
         authorization: {signature}\r\n\
         x-ms-documentdb-partitionkey: {key}\r\ncontent-length: {}\r\n\r\n{body}",
        authority,
        body.len()
    );
    let mut stream = TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The time of now and what a client with the well-known key sends for a request.
fn sign(verb: &str, kind: &str, link: &str) -> (String, String) {
    let mut date = Command::new("date");
    date.args(["-u", "+%a, %d %b %Y %H:%M:%S GMT"]).env("LC_ALL", "C");
    let date = String::from_utf8(date.output().unwrap().stdout).unwrap().trim().to_owned();
    let signed = format!("{verb}\n{kind}\n{link}\n{}\n\n", date.to_lowercase());
    let secret = STANDARD.decode(gateway::WELL_KNOWN_KEY).unwrap();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&secret).unwrap();
    mac.update(signed.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    (date, format!("type%3Dmaster%26ver%3D1.0%26sig%3D{signature}"))
}

/// Runs a procedure.
fn execute(authority: &str, link: &str, key: &str, body: &str) -> String {
    request(authority, ("sprocs", link), &format!("/{link}"), key, body)
}

fn with_container(server: &Server) {
    assert!(send(&server.authority, "dbs", "", "[]", r#"{"id":"d"}"#).starts_with("HTTP/1.1 201"));
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    let made = send(&server.authority, "colls", "dbs/d", "[]", body);
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
}

fn create(server: &Server, id: usize) -> String {
    let body = format!(r#"{{"id":"{id}","pk":"a"}}"#);
    send(&server.authority, "docs", "dbs/d/colls/c", r#"["a"]"#, &body)
}

/// The test holds more descriptors than the server may.
fn raise_own_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

#[test]
fn idle_connections_without_end_leave_the_store_its_descriptors() {
    raise_own_limit();
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    let binary = env!("CARGO_BIN_EXE_orrery");
    command.arg("-c").arg(format!("ulimit -n 1024 && exec {binary} \"$@\"")).arg("orrery");
    let data = folder.path().display().to_string();
    let server = Server::start_with(&mut command, &["--data", &data, "--min-partitions", "4"]);
    with_container(&server);
    let idle: Vec<TcpStream> =
        (0..1_100).map(|_| TcpStream::connect(&server.authority).unwrap()).collect();
    for id in 0..20 {
        let made = create(&server, id);
        assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    }
    assert!(server.get("/ready").starts_with("HTTP/1.1 200"));
    drop(idle);
    let made = create(&server, 100);
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn the_soft_limit_is_no_limit() {
    let mut command = Command::new("sh");
    let binary = env!("CARGO_BIN_EXE_orrery");
    command.arg("-c").arg(format!("ulimit -Sn 200 && exec {binary} \"$@\"")).arg("orrery");
    raise_own_limit();
    let server = Server::start_with(&mut command, &["--in-memory"]);
    let mut open = Vec::new();
    for _ in 0..400 {
        let mut stream = TcpStream::connect(&server.authority).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(b"GET /ready HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        open.push(stream);
    }
}

/// `terminate` waits for five seconds.
#[test]
fn a_stop_takes_five_seconds_at_most_whatever_clients_do() {
    let server = Server::start_with(&mut orrery(), &["--in-memory"]);
    with_container(&server);
    let procedure = r#"{"id":"p","body":"function () { for (;;); }"}"#;
    let made = send(&server.authority, "sprocs", "dbs/d/colls/c", r#"["a"]"#, procedure);
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let mut open = Vec::new();
    for start in [
        &b"POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"[..],
        b"GET /ready HTTP/1.1\r\nhost: x\r\n",
        b"\x16\x03\x01",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        b"",
    ] {
        let mut stream = TcpStream::connect(&server.authority).unwrap();
        stream.write_all(start).unwrap();
        open.push(stream);
    }
    let authority = server.authority.clone();
    let endless = std::thread::spawn(move || {
        let link = "dbs/d/colls/c/sprocs/p";
        // It is cut off in the end.
        let _ = std::panic::catch_unwind(|| execute(&authority, link, r#"["a"]"#, "[]"));
    });
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(server.terminate(), Some(0));
    endless.join().unwrap();
}

type Direct = rustls::StreamOwned<rustls::ClientConnection, TcpStream>;

/// A frame of direct mode without a payload.
fn frame(resource: u16, operation: u16, tokens: &[&[u8]]) -> Vec<u8> {
    let tokens = tokens.concat();
    let length = u32::try_from(24 + tokens.len()).unwrap().to_le_bytes();
    let kinds = [resource.to_le_bytes(), operation.to_le_bytes()].concat();
    [&length[..], &kinds, &[1; 16], &tokens].concat()
}

fn small_text(id: u8, text: &str) -> Vec<u8> {
    [&[id, 0, 7, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

fn text(id: u8, text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap().to_le_bytes();
    [&[id, 0, 8], &length[..], text.as_bytes()].concat()
}

/// A connection of direct mode after its negotiation.
fn connect(server: &Server, config: &Arc<rustls::ClientConfig>) -> Direct {
    let name = ServerName::try_from("localhost").unwrap();
    let tls = rustls::ClientConnection::new(Arc::clone(config), name).unwrap();
    let mut direct = rustls::StreamOwned::new(tls, TcpStream::connect(&server.authority).unwrap());
    let version = [0, 0, 2, 1, 0, 0, 0];
    let first = frame(0, 0, &[&version, &small_text(1, "2020-07-15"), &small_text(2, "test")]);
    direct.write_all(&first).unwrap();
    assert_eq!(receive(&mut direct, false), (200, 0));
    direct
}

/// The status of a response and the length of its payload.
fn receive(direct: &mut Direct, has_payload: bool) -> (u32, usize) {
    let mut word = || {
        let mut word = [0; 4];
        direct.read_exact(&mut word).unwrap();
        u32::from_le_bytes(word)
    };
    let (length, status) = (word(), word());
    let mut rest = vec![0; usize::try_from(length).unwrap() - 8];
    direct.read_exact(&mut rest).unwrap();
    if !has_payload {
        return (status, 0);
    }
    let mut length = [0; 4];
    direct.read_exact(&mut length).unwrap();
    let mut payload = vec![0; usize::try_from(u32::from_le_bytes(length)).unwrap()];
    direct.read_exact(&mut payload).unwrap();
    (status, payload.len())
}

/// Memory of a process in KiB.
fn resident(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// SDKs keep the connections of direct mode for ever. What one of them once sent or got must not stay in memory with it.
#[test]
fn idle_connections_of_direct_mode_keep_next_to_nothing() {
    const CONNECTIONS: usize = 100;
    const BYTES: usize = 1_500_000;
    let server = Server::start_with(&mut orrery(), &["--in-memory"]);
    with_container(&server);
    let body = format!(r#"{{"id":"1","pk":"a","x":"{}"}}"#, "y".repeat(BYTES));
    let made = send(&server.authority, "docs", "dbs/d/colls/c", r#"["a"]"#, &body);
    assert!(made.starts_with("HTTP/1.1 201"), "{made:.100}");
    let pem = server.get("/_explorer/emulator.pem");
    let pem = &pem[pem.find("-----BEGIN").unwrap()..];
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    let (date, signature) = sign("get", "docs", "dbs/d/colls/c/docs/1");
    let read = frame(
        3,
        3,
        &[
            &text(1, &signature),
            &[2, 0, 0, 0],
            &small_text(3, &date),
            &text(0x13, "/apps/a/services/s/partitions/p/replicas/1p"),
            &text(0x15, "d"),
            &text(0x16, "c"),
            &text(0x17, "1"),
            &text(0x2B, r#"["a"]"#),
            &[0x4D, 0, 2, 7, 0, 0, 0],
        ],
    );
    let mut idle = Vec::new();
    let mut before = 0;
    for n in 0..CONNECTIONS {
        let mut direct = connect(&server, &config);
        direct.write_all(&read).unwrap();
        let (status, n_bytes) = receive(&mut direct, true);
        assert!(status == 200 && n_bytes > BYTES, "{status} {n_bytes}");
        idle.push(direct);
        if n == 0 {
            before = resident(&server);
        }
    }
    let each = resident(&server).saturating_sub(before) / CONNECTIONS;
    assert!(each < 100, "{each} KiB for each idle connection");
    let again = idle.last_mut().unwrap();
    again.write_all(&read).unwrap();
    assert_eq!(receive(again, true).0, 200);
}
