//! The process under clients that take all they can get: descriptors, time at its end.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
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
    let mut date = Command::new("date");
    date.args(["-u", "+%a, %d %b %Y %H:%M:%S GMT"]).env("LC_ALL", "C");
    let date = String::from_utf8(date.output().unwrap().stdout).unwrap().trim().to_owned();
    let signed = format!("post\n{kind}\n{link}\n{}\n\n", date.to_lowercase());
    let secret = STANDARD.decode(gateway::WELL_KNOWN_KEY).unwrap();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&secret).unwrap();
    mac.update(signed.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nx-ms-date: {date}\r\n\
         authorization: type%3Dmaster%26ver%3D1.0%26sig%3D{signature}\r\n\
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
