//! The binary in place of the official emulator's image: started with the variables and arguments of each test framework,
//! and asked for what that framework waits for. `docs/emulator.md` says where in their sources each of these was read.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use support::{Server, get, orrery};
use tempfile::TempDir;

const KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// Every variable of the official images that the server looks at.
const VARIABLES: [&str; 13] = [
    "PORT",
    "PROTOCOL",
    "EXPLORER_PROTOCOL",
    "ENABLE_EXPLORER",
    "ENABLE_TELEMETRY",
    "KEY_FILE",
    "CERT_PATH",
    "CERT_SECRET",
    "GATEWAY_PUBLIC_ENDPOINT",
    "AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE",
    "AZURE_COSMOS_EMULATOR_KEY",
    "AZURE_COSMOS_EMULATOR_PARTITION_COUNT",
    "AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE",
];

/// A container of our image, as far as a process can stand for one: the `ENV` of the `Containerfile`, free ports in place of
/// 8081 and 8080, and a folder of its own for the certificate.
struct Container {
    command: Command,
    folder: TempDir,
}

impl Container {
    fn new() -> Container {
        let folder = tempfile::tempdir().unwrap();
        let mut command = orrery();
        for name in VARIABLES {
            command.env_remove(name);
        }
        command
            .env("ORRERY_EMULATOR", "true")
            .env("ORRERY_PORT", "0")
            .env("ORRERY_HEALTH_PORT", "0")
            .env("ORRERY_EXPLORER_PORT", "0")
            .env("ORRERY_CERTIFICATE_COPY", folder.path().join("emulator.pem"));
        Container { command, folder }
    }

    fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Container {
        self.command.env(name, value);
        self
    }

    fn arguments(mut self, words: &[&str]) -> Container {
        self.command.args(words);
        self
    }

    fn start(&mut self) -> Server {
        Server::run(&mut self.command)
    }

    fn pem(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("emulator.pem")).unwrap()
    }
}

/// Says whether a line, with its end, matches as a whole: how Testcontainers for Java looks at logs.
fn a_line_matches(lines: &str, pattern: &str) -> bool {
    let whole = Regex::new(&format!("(?s)\\A(?:{pattern})\\z")).unwrap();
    lines.split_inclusive('\n').any(|line| whole.is_match(line))
}

/// One unsigned request over TLS to a server whose certificate is `pem`; the whole answer as text.
fn get_tls(authority: &str, path: &str, pem: &str) -> String {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, stream);
    let request = format!("GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // The end of the connection may come without the end of TLS.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

/// The address for probes that the server printed.
fn health(server: &Server) -> String {
    let found = Regex::new("probes +http://([^/]+)/").unwrap();
    found.captures(&server.lines).unwrap()[1].to_owned()
}

/// The address of the explorer's own port, if there is one.
fn explorer(server: &Server) -> Option<String> {
    let found = Regex::new("explorer +http://([^/]+)/ as well").unwrap();
    found.captures(&server.lines).map(|found| found[1].to_owned())
}

fn assert_ok(answer: &str) {
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// What the client of a framework does next: the account answers to the well-known key.
fn assert_key(server: &Server, key: &str) {
    let mut stream = TcpStream::connect(&server.authority).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let request = format!(
        "GET /_orrery/ranges HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n",
        server.authority
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_ok(&answer);
}

#[test]
fn testcontainers_for_java() {
    let server = Container::new().start();
    assert!(a_line_matches(&server.lines, ".*Started\\r\\n"), "{:?}", server.lines);
    let pem = server.get("/_explorer/emulator.pem");
    assert_ok(&pem);
    let pem = &pem[pem.find("-----BEGIN").unwrap()..];
    // It trusts what it fetched.
    assert_ok(&get_tls(&server.authority, "/", pem));
    assert_key(&server, KEY);
}

#[test]
fn testcontainers_for_dotnet() {
    let mut container =
        Container::new().env("ENABLE_EXPLORER", "false").env("ENABLE_TELEMETRY", "false");
    let server = container.start();
    assert!(Regex::new("Started").unwrap().is_match(&server.lines), "{}", server.lines);
    assert_key(&server, KEY);
}

#[test]
fn testcontainers_for_go() {
    let server = Container::new().arguments(&["--enable-explorer", "false"]).start();
    assert!(server.lines.contains("Started"), "{}", server.lines);
    assert!(TcpStream::connect(&server.authority).is_ok());
    assert_key(&server, KEY);
}

#[test]
fn testcontainers_for_node() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for protocol in ["http", "https"] {
        let mut container = Container::new()
            .env("PROTOCOL", protocol)
            .env("PORT", port.to_string())
            .env("ENABLE_TELEMETRY", "false")
            .env("ENABLE_EXPLORER", "false");
        container.command.env_remove("ORRERY_PORT");
        let server = container.start();
        let is_waited_for = |line: &str| line.contains("Now listening on: ");
        assert!(server.lines.lines().any(is_waited_for), "{}", server.lines);
        assert!(server.lines.contains(&format!("{protocol}://0.0.0.0:{port}")), "{}", server.lines);
        assert_eq!(server.authority, format!("127.0.0.1:{port}"));
        assert_key(&server, KEY);
        assert_eq!(server.terminate(), Some(0));
    }
}

#[test]
fn testcontainers_for_python() {
    let mut container = Container::new()
        .env("AZURE_COSMOS_EMULATOR_PARTITION_COUNT", "None")
        .env("AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE", "172.17.0.3")
        .env("AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE", "False")
        .env("AZURE_COSMOS_EMULATOR_KEY", KEY);
    let server = container.start();
    assert!(Regex::new("(?m)Started\\s*$").unwrap().is_match(&server.lines), "{}", server.lines);
    assert!(server.lines.contains("in memory"), "{}", server.lines);
    // It copies the certificate out of the container.
    let pem = container.pem();
    assert_ok(&get_tls(&server.authority, "/_explorer/index.html", &pem));
    assert_key(&server, KEY);
}

fn dotnet_certificate() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../gateway/tests/data/dotnet.pfx")
}

#[test]
fn aspire_with_its_developer_certificate() {
    let mut container = Container::new()
        .env("ENABLE_EXPLORER", "false")
        .env("PROTOCOL", "https")
        .env("EXPLORER_PROTOCOL", "https")
        .env("CERT_PATH", dotnet_certificate())
        .env("CERT_SECRET", "p@ss w0rd")
        .env("NODE_EXTRA_CA_CERTS", "/usr/lib/ssl/aspire/cert.pem");
    let server = container.start();
    let health = health(&server);
    for path in ["/ready", "/alive", "/status"] {
        assert_ok(&get(&health, path));
    }
    let pem = std::fs::read_to_string(dotnet_certificate().with_extension("pem")).unwrap();
    assert_ok(&get_tls(&server.authority, "/ready", &pem));
    assert_eq!(container.pem().trim(), pem.trim());
    assert_key(&server, KEY);
}

#[test]
fn aspire_without_a_certificate_and_the_classic_one() {
    // The vNext image has a secret without a path.
    let mut container =
        Container::new().env("ENABLE_EXPLORER", "true").env("CERT_SECRET", "secret");
    let server = container.start();
    assert_ok(&get(&health(&server), "/ready"));
    drop(server);
    let data = tempfile::tempdir().unwrap();
    let mut container = Container::new()
        .env("AZURE_COSMOS_EMULATOR_PARTITION_COUNT", "25")
        .env("AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE", "true")
        .env("ORRERY_DATA", data.path());
    let server = container.start();
    assert!(server.lines.contains(data.path().to_str().unwrap()), "{}", server.lines);
    assert_key(&server, KEY);
}

#[test]
fn aspire_with_the_data_explorer() {
    let mut container = Container::new().env("ENABLE_EXPLORER", "true");
    let server = container.start();
    let explorer = explorer(&server).unwrap();
    let first = get(&explorer, "/");
    assert!(
        first.starts_with("HTTP/1.1 308") && first.contains("location: /_explorer/"),
        "{first}"
    );
    assert_ok(&get(&explorer, "/_explorer/"));
    assert_ok(&server.get("/"));
    let without = Container::new().env("ENABLE_EXPLORER", "false").start();
    assert_eq!(self::explorer(&without), None, "{}", without.lines);
}

#[test]
fn scripts_that_wait_for_the_last_line_of_the_vnext_image() {
    let server = Container::new().start();
    let line = "System is now fully ready to accept requests";
    assert!(server.lines.lines().any(|it| it == line), "{}", server.lines);
    assert_ok(&server.get("/"));
    assert_ok(&server.get("/alive"));
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_key_of_ones_own_replaces_the_well_known_one() {
    let own = "b3duIGtleSBvd24ga2V5IG93biBrZXk=";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, own).unwrap();
    let server = Container::new().env("KEY_FILE", &file).start();
    assert!(!server.lines.contains(KEY), "{}", server.lines);
    assert_key(&server, own);
    assert_key(&Container::new().env("AZURE_COSMOS_EMULATOR_KEY", own).start(), own);
}

#[test]
fn without_the_option_a_host_is_left_alone() {
    let mut command = orrery();
    command.env("PORT", "none").env("PROTOCOL", "gopher").env("KEY_FILE", "/nowhere");
    let server = Server::start_with(&mut command, &["--in-memory"]);
    for line in ["Started", "Now listening on", "fully ready", "probes"] {
        assert!(!server.lines.contains(line), "{}", server.lines);
    }
    assert!(server.lines.contains("127.0.0.1"), "{}", server.lines);
}

#[test]
fn bad_values_end_the_start_and_say_what_to_do() {
    let taken = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (name, value, part) in [
        ("PROTOCOL", "gopher", "http or https"),
        ("AZURE_COSMOS_EMULATOR_KEY", "short", "base64"),
        ("CERT_PATH", "/nowhere/aspire.pfx", "/nowhere/aspire.pfx"),
        ("ORRERY_HEALTH_PORT", &port, "--health-port"),
        ("ORRERY_TLS_PFX", dotnet_certificate().to_str().unwrap(), "password"),
        ("ENABLE_EXPLORER", "perhaps", "true or false"),
    ] {
        let output = Container::new().env(name, value).command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {message}");
        assert!(message.contains(part), "{name}: {message}");
    }
}
