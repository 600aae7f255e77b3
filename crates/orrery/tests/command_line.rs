//! The binary as a person or a script meets it: help, start-up lines, refusals, orderly stop.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use support::{Server, orrery, output};

#[test]
fn help_teaches_with_examples() {
    for arguments in [&["--help"][..], &["serve", "--help"]] {
        let (status, stdout, _) = output(arguments);
        assert_eq!(status, 0);
        for part in ["--min-partitions", "ORRERY_DATA", "Examples:", "orrery cert > orrery.pem"] {
            assert!(stdout.contains(part), "{part} is missing in\n{stdout}");
        }
    }
}

#[test]
fn a_server_says_where_it_is_and_when_it_is_ready() {
    let server = Server::start(&["--in-memory"]);
    for part in ["endpoint", "key", "C2y6yDjf5", "in memory", "certificate"] {
        assert!(server.lines.contains(part), "{part} is missing in\n{}", server.lines);
    }
    assert!(server.get("/ready").starts_with("HTTP/1.1 200"), "{}", server.get("/ready"));
    assert!(server.get("/_explorer/emulator.pem").contains("BEGIN CERTIFICATE"));
    // Without a signature nothing else is told.
    assert!(server.get("/dbs").starts_with("HTTP/1.1 401"));
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_key_of_ones_own_is_not_shown() {
    let key = "b3duIGtleSBvd24ga2V5IG93biBrZXk=";
    let server = Server::start(&["--in-memory", "--key", key]);
    assert!(!server.lines.contains(key), "{}", server.lines);
    assert!(!server.lines.contains("C2y6yDjf5"), "{}", server.lines);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn variables_stand_for_options_and_the_command_line_wins() {
    let mut command = orrery();
    command.env("ORRERY_MIN_PARTITIONS", "0").args(["serve", "--in-memory", "--port", "0"]);
    let result = command.output().unwrap();
    let message = String::from_utf8_lossy(&result.stderr);
    assert!(message.contains("--min-partitions"), "{message}");
    let server = Server::start_with(orrery().env("ORRERY_IN_MEMORY", "1"), &["--log", "off"]);
    assert!(server.lines.contains("in memory"), "{}", server.lines);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_port_in_use_is_explained() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (status, _, message) = output(&["--in-memory", "--port", &port]);
    assert_eq!(status, 1);
    assert!(message.contains(&port) && message.contains("--port"), "{message}");
}

#[test]
fn a_direct_port_in_use_is_explained_by_its_own_option() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (status, _, message) = output(&["--in-memory", "--port", "0", "--direct-port", &port]);
    assert_eq!(status, 1);
    assert!(message.contains(&port) && message.contains("--direct-port"), "{message}");
    assert!(!message.contains(" --port"), "{message}");
}

#[test]
fn mistakes_are_told_before_anything_starts() {
    #[rustfmt::skip]
    let table: [(&[&str], &str); 7] = [
        (&["--host", "0.0.0.0"], "--allow-well-known-key"),
        (&["--key", "not base64!"], "--key"),
        (&["--key-file", "/nowhere/key"], "/nowhere/key"),
        (&["--tls-cert", "/nowhere/a.pem", "--tls-key", "/nowhere/b.pem"], "/nowhere/a.pem"),
        (&["--log", "loud"], "--log"),
        (&["--public-endpoint", "db.example.com"], "--public-endpoint"),
        (&["--host", "no.such.host.invalid"], "--host"),
    ];
    for (options, part) in table {
        let all: Vec<&str> =
            ["--in-memory", "--port", "0"].iter().chain(options).copied().collect();
        let (status, _, message) = output(&all);
        assert_ne!(status, 0, "{options:?}");
        assert!(message.contains(part), "{options:?}: {message}");
    }
}

#[test]
fn a_data_folder_serves_one_server_and_survives_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data").to_string_lossy().into_owned();
    let server = Server::start(&["--data", &data]);
    assert!(server.lines.contains(&data), "{}", server.lines);
    let (status, _, message) = output(&["--data", &data, "--port", "0"]);
    assert_eq!(status, 1);
    assert!(message.contains("in use") && message.contains("--data"), "{message}");
    let (status, _, message) = output(&["reset", "--yes", "--data", &data]);
    assert_eq!(status, 1, "{message}");
    let pem_served = server.get("/_explorer/emulator.pem");
    assert_eq!(server.terminate(), Some(0));

    let (status, pem, _) = output(&["cert", "--data", &data]);
    assert_eq!(status, 0);
    assert!(pem.starts_with("-----BEGIN CERTIFICATE-----"), "{pem}");
    assert!(pem_served.replace('\r', "").contains(pem.trim()), "the served certificate is another");

    let (status, _, message) = output(&["reset", "--data", &data]);
    assert_eq!(status, 1, "a script must say --yes");
    assert!(message.contains("--yes"), "{message}");
    let (status, stdout, _) = output(&["reset", "--yes", "--data", &data]);
    assert_eq!(status, 0);
    assert!(stdout.contains("gone"), "{stdout}");
    let server = Server::start(&["--data", &data]);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn keys_are_printed_on_request() {
    let (status, stdout, _) = output(&["keys"]);
    assert_eq!(status, 0);
    assert_eq!(stdout.lines().count(), 4);
    assert!(stdout.starts_with("primary              C2y6yDjf5"), "{stdout}");
}

#[test]
fn an_orderly_stop_does_not_wait_for_idle_connections() {
    let server = Server::start(&["--in-memory"]);
    let mut idle = TcpStream::connect(&server.authority).unwrap();
    idle.write_all(b"GET /ready HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = [0; 12];
    idle.read_exact(&mut answer).unwrap();
    assert_eq!(server.terminate(), Some(0));
}
