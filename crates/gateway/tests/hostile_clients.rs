//! Clients that connect and say nothing, ask and do not read, or speak for a web page of somebody else.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may panic")]

mod support;

use std::time::Duration;

use gateway::{GatewayOptions, Keys, Limits, WELL_KNOWN_KEY};
use http::Method;
use support::{
    Call, Client, DATE, Protocol, Server, authorization, read_only_key, secondary_key, status_of,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

const LONG: Duration = Duration::from_secs(20);
const MIB: usize = 1 << 20;

fn limited(limits: Limits) -> impl FnOnce(&mut GatewayOptions) {
    move |options| options.limits = limits
}

/// The value of a metric without labels.
async fn metric(server: &Server, name: &str) -> usize {
    let text = server.send(Call::get("/metrics").unsigned()).await.text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name}\n{text}"))
}

#[tokio::test]
async fn idle_connections_make_room_for_new_ones() {
    let server =
        Server::start_with(limited(Limits { connections_max: 20, ..Limits::default() })).await;
    let mut idle = Vec::new();
    for _ in 0..60 {
        idle.push(TcpStream::connect(server.address).await.unwrap());
    }
    let answer = timeout(LONG, server.send(Call::get("/dbs"))).await.expect("a place");
    assert_eq!(answer.status, 200);
    assert!(metric(&server, "orrery_connections_evicted_total").await >= 40);
    assert!(metric(&server, "orrery_connections_open").await <= 20);
}

#[tokio::test]
async fn a_connection_with_a_request_under_way_is_not_evicted() {
    let server =
        Server::start_with(limited(Limits { connections_max: 2, ..Limits::default() })).await;
    let mut busy = TcpStream::connect(server.address).await.unwrap();
    let signed = authorization(WELL_KNOWN_KEY, &Method::POST, "/dbs", DATE);
    let head = format!(
        "POST /dbs HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-ms-date: {DATE}\r\nauthorization: {signed}\r\ncontent-length: 10\r\n\r\n"
    );
    busy.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..3 {
        let mut idle = Client::connect(&server, Protocol::Http1).await;
        assert_eq!(timeout(LONG, idle.send(Call::get("/dbs"))).await.unwrap().status, 200);
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        let mut next = Client::connect(&server, Protocol::Http2PriorKnowledge).await;
        assert_eq!(timeout(LONG, next.send(Call::get("/dbs"))).await.unwrap().status, 200);
        tokio::time::sleep(Duration::from_millis(1_100)).await;
    }
    busy.write_all(br#"{"id":"d"}"#).await.unwrap();
    let mut answer = String::new();
    timeout(LONG, busy.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert_eq!(status_of(&answer).map(|code| code.as_u16()), Some(201), "{answer}");
}

#[tokio::test]
async fn one_address_has_so_many_connections_and_no_more() {
    let limits = Limits { connections_per_address_max: 3, ..Limits::default() };
    let server = Server::start_with(limited(limits)).await;
    let mut kept = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(&server, Protocol::Http1).await;
        assert_eq!(client.send(Call::get("/dbs")).await.status, 200);
        kept.push(client);
    }
    let mut refused = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(timeout(LONG, refused.read(&mut [0; 1])).await.unwrap().unwrap_or(0), 0);
    kept.pop();
    let again = async {
        loop {
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            let asked = stream.write_all(b"GET /ready HTTP/1.0\r\n\r\n").await;
            let mut answer = String::new();
            let read = stream.read_to_string(&mut answer).await;
            if asked.is_ok() && read.is_ok() && answer.contains("200 OK") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, again).await.expect("a place is free again");
}

#[tokio::test]
async fn http_1_1_names_its_host_once() {
    let server = Server::start().await;
    for (head, expected) in [
        ("GET /ready HTTP/1.1\r\nhost: x\r\n\r\n", 200),
        ("GET /ready HTTP/1.1\r\n\r\n", 400),
        ("GET /ready HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n", 400),
        ("GET /ready HTTP/1.0\r\n\r\n", 200),
    ] {
        let answer = server.raw(head.as_bytes()).await;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert_eq!(status, expected.to_string(), "{head} {answer}");
    }
}

#[tokio::test]
async fn a_head_that_has_begun_must_end_soon_and_an_idle_connection_may_wait() {
    let limits = Limits { header_timeout: Duration::from_millis(200), ..Limits::default() };
    let server = Server::start_with(limited(limits)).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /ready HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut room = [0; 4096];
    assert!(stream.read(&mut room).await.unwrap() > 0);
    tokio::time::sleep(Duration::from_millis(800)).await;
    stream.write_all(b"GET /ready HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(stream.read(&mut room).await.unwrap() > 0, "it was idle");
    stream.write_all(b"GET /ready HTTP/1.1\r\nho").await.unwrap();
    let drip = async {
        while stream.write_all(b"s").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(LONG, drip).await.expect("it is cut off");
}

/// A database with a page of about eight megabytes in it.
async fn with_a_large_page(limits: Limits) -> Server {
    let server = Server::start_with(limited(limits)).await.with_container().await;
    for n in 0..4 {
        let body = format!(r#"{{"id":"{n}","pk":"a","x":"{}"}}"#, "y".repeat(MIB));
        assert_eq!(server.send(Call::create("a", body)).await.status, 201);
    }
    server
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [length[1], length[2], length[3], kind, flags];
    [&head[..], &stream.to_be_bytes(), payload].concat()
}

/// A header without Huffman coding or table.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| {
        let mut out = Vec::new();
        let mut rest = text.len();
        if rest < 127 {
            out.push(u8::try_from(rest).unwrap());
        } else {
            out.push(127);
            rest -= 127;
            while rest >= 128 {
                out.push(u8::try_from(rest % 128 + 128).unwrap());
                rest /= 128;
            }
            out.push(u8::try_from(rest).unwrap());
        }
        out.extend_from_slice(text.as_bytes());
        out
    };
    [vec![0], text(name), text(value)].concat()
}

/// Asks for the page on many streams at once over HTTP/2 and never opens its window.
async fn ask_and_do_not_read(server: &Server, n_streams: u32) -> TcpStream {
    let path = "/dbs/d/colls/c/docs";
    let signed = authorization(WELL_KNOWN_KEY, &Method::GET, path, DATE);
    let head: Vec<u8> = [
        (":method", "GET"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "localhost"),
        ("x-ms-date", DATE),
        ("authorization", &signed),
        ("x-ms-documentdb-partitionkey", r#"["a"]"#),
        ("x-ms-max-item-count", "-1"),
    ]
    .iter()
    .flat_map(|(name, value)| literal(name, value))
    .collect();
    let mut out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // The initial window of streams is none.
    out.extend(frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]));
    for n in 0..n_streams {
        out.extend(frame(1, 5, 2 * n + 1, &head));
    }
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(&out).await.unwrap();
    stream
}

async fn is_cut_off(mut stream: TcpStream) {
    let read = async {
        let mut room = vec![0; 64 << 10];
        while stream.read(&mut room).await.is_ok_and(|n| n > 0) {}
    };
    timeout(LONG, read).await.expect("it is cut off");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_reads_are_bounded_and_their_client_is_cut_off() {
    let limits = Limits {
        unread_bytes_max: 8 * MIB,
        write_timeout: Duration::from_secs(2),
        ..Limits::default()
    };
    let server = with_a_large_page(limits).await;
    let hostile = ask_and_do_not_read(&server, 100).await;
    let mut most = 0;
    for _ in 0..10 {
        most = most.max(metric(&server, "orrery_unread_answer_bytes").await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(most >= 3 * MIB, "{most} bytes");
    assert!(most <= 32 * MIB, "{most} bytes");
    is_cut_off(hostile).await;
    let freed = async {
        while metric(&server, "orrery_unread_answer_bytes").await > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, freed).await.expect("the memory is free again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_that_do_not_read_share_one_budget_and_others_are_served() {
    let limits = Limits {
        unread_bytes_max: 8 * MIB,
        unread_bytes_in_all_max: 24 * MIB,
        ..Limits::default()
    };
    let server = with_a_large_page(limits).await;
    let mut hostile = Vec::new();
    for _ in 0..8 {
        hostile.push(ask_and_do_not_read(&server, 20).await);
    }
    let mut client = Client::connect(&server, Protocol::Http1).await;
    for _ in 0..10 {
        let unread = metric(&server, "orrery_unread_answer_bytes").await;
        assert!(unread <= 24 * MIB, "{unread} bytes");
        let page = Call::get("/dbs/d/colls/c/docs/1").key_header("a");
        let answer = timeout(LONG, client.send(page)).await.expect("an answer");
        assert!(answer.status == 200 || answer.status == 429, "{}", answer.status);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let page = Call::get("/dbs/d/colls/c/docs/1").key_header("a");
    assert_eq!(client.send(page).await.status, 200, "those who did not read are gone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_over_http_1_is_cut_off_and_a_steady_one_is_not() {
    let limits = Limits { write_timeout: Duration::from_secs(1), ..Limits::default() };
    let server = with_a_large_page(limits).await;
    let path = "/dbs/d/colls/c/docs";
    let signed = authorization(WELL_KNOWN_KEY, &Method::GET, path, DATE);
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-ms-date: {DATE}\r\nauthorization: {signed}\r\nx-ms-documentdb-partitionkey: [\"a\"]\r\nx-ms-max-item-count: -1\r\n\r\n"
    );
    let ask = async || {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(16 << 10).unwrap();
        let mut stream = socket.connect(server.address).await.unwrap();
        // Many in a row, so that no buffer of the system takes them all.
        stream
            .write_all(head.replace("connection: close\r\n", "").repeat(8).as_bytes())
            .await
            .unwrap();
        stream
    };
    let (silent, mut steady) = (ask().await, ask().await);
    let mut room = vec![0; 256 << 10];
    for _ in 0..30 {
        assert!(steady.read(&mut room).await.unwrap() > 0);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(steady.read(&mut room).await.unwrap() > 0);
    is_cut_off(silent).await;
}

/// Bodies of which the last byte never comes took gigabytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_are_received_share_one_budget() {
    let limits = Limits { body_bytes_in_all_max: MIB, ..Limits::default() };
    let server = Server::start_with(limited(limits)).await.with_container().await;
    let path = "/dbs/d/colls/c/docs";
    let signed = authorization(WELL_KNOWN_KEY, &Method::POST, path, DATE);
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nx-ms-date: {DATE}\r\nauthorization: {signed}\r\nx-ms-documentdb-partitionkey: [\"a\"]\r\ncontent-length: {MIB}\r\n\r\n"
    );
    let mut hanging = TcpStream::connect(server.address).await.unwrap();
    hanging.write_all(&[head.as_bytes(), &vec![b' '; 800 << 10]].concat()).await.unwrap();
    let bodies = "orrery_memory_used_bytes{part=\"bodies\"}";
    let arrived = async {
        while metric(&server, bodies).await < 800 << 10 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, arrived).await.expect("it is counted");
    let large = || format!(r#"{{"id":"1","pk":"a","x":"{}"}}"#, "y".repeat(400 << 10));
    for protocol in [Protocol::Http1, Protocol::Http2PriorKnowledge] {
        let mut client = Client::connect(&server, protocol).await;
        let refused = client.send(Call::create("a", large())).await;
        assert_eq!(refused.status, 429);
        assert!(refused.header("x-ms-retry-after-ms").is_some());
        let mut client = Client::connect(&server, protocol).await;
        let short = client.send(Call::create("a", r#"{"id":"2","pk":"a"}"#)).await.status;
        assert!(short == 201 || short == 409, "{short}");
    }
    // While there is little room, who sends nothing is given up after two seconds.
    is_cut_off_or_answered(hanging).await;
    assert_eq!(metric(&server, bodies).await, 0);
    assert_eq!(server.send(Call::create("a", large())).await.status, 201);
}

async fn is_cut_off_or_answered(mut stream: TcpStream) {
    let mut answer = [0; 12];
    let read = timeout(LONG, stream.read_exact(&mut answer)).await.expect("it waits");
    assert!(read.is_err() || &answer == b"HTTP/1.1 408");
}

#[tokio::test]
async fn with_the_well_known_key_no_other_host_is_served() {
    let named =
        |options: &mut GatewayOptions| options.allowed_hosts = vec!["db.example".to_owned()];
    let server = Server::start_with(named).await;
    for (host, expected) in [
        ("localhost:8081", 200),
        ("orrery", 200),
        ("127.0.0.1", 200),
        ("a.localhost", 200),
        ("host.docker.internal", 200),
        ("db.example:18081", 200),
        ("[::1]:8081", 200),
        ("10.1.2.3:8081", 200),
        ("LOCALHOST.:8081", 200),
        ("a.b.localhost:8081", 200),
        ("cosmos_db:8081", 200),
        ("DB.example", 200),
        ("evil.example", 421),
        ("evil.example:8081", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("evillocalhost.example", 421),
        ("evil.db.example", 421),
        ("db.example.evil.example", 421),
        ("x.host.docker.internal", 421),
    ] {
        for call in [Call::get("/dbs"), Call::get("/metrics").unsigned()] {
            let answer = server.send(call.header("host", host)).await;
            assert_eq!(answer.status, expected, "{host}");
        }
    }
    let own = Server::start_with(|options| options.keys = Keys::new(&secondary_key())).await;
    let call = Call::get("/dbs").signed_with(&secondary_key());
    assert_eq!(own.send(call.header("host", "any.example")).await.status, 200);
}

#[tokio::test]
async fn web_pages_do_not_reach_routes_without_a_key() {
    let server = Server::start().await.with_container().await;
    let path = "/databases/d/containers/c/partitions/0/split";
    let call = || Call::post(path, r#"{"progressionMode":"manual"}"#).unsigned();
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost:3000"),
        ("sec-fetch-site", "cross-site"),
    ] {
        let answer = server.send(call().header(name, value)).await;
        assert_eq!(answer.status, 403, "{name}: {value}");
        let read = Call::get("/operations/op-split-1").unsigned().header(name, value);
        assert_eq!(server.send(read).await.status, 403);
    }
    assert_eq!(server.send(call()).await.status, 202);
}

#[tokio::test]
async fn web_pages_change_nothing_by_management_calls() {
    let server = Server::start().await.with_container().await;
    let bearer = format!("Bearer {WELL_KNOWN_KEY}");
    let with_key = |call: Call| call.unsigned().header("authorization", &bearer);
    let own = format!("http://{}", server.address);
    for (name, value, expected) in [
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-origin", 200),
        ("origin", own.as_str(), 200),
    ] {
        let call = with_key(Call::post("/_orrery/reset", "{}")).header(name, value);
        assert_eq!(server.send(call).await.status, expected, "{name}: {value}");
        let read = with_key(Call::get("/_orrery/ranges")).header(name, value);
        assert_eq!(server.send(read).await.status, 200, "{name}: {value}");
    }
}

#[tokio::test]
async fn an_http2_authority_is_a_host_too() {
    let server = Server::start().await;
    for (host, expected) in [("evil.example", 421), ("localhost:8081", 200), ("orrery", 200)] {
        let mut client = Client::connect(&server, Protocol::Http2PriorKnowledge).await.named(host);
        let answer = client.send(Call::get("/dbs")).await;
        assert_eq!(answer.status, expected, "{host}");
    }
}

#[tokio::test]
async fn metrics_name_nobody_to_strangers() {
    let server = Server::start().await.with_container().await;
    server.send(Call::create("a", r#"{"id":"1","pk":"a"}"#)).await;
    let text = server.send(Call::get("/metrics").unsigned()).await.text();
    assert!(!text.contains("database=") && !text.contains("container="), "{text}");
    assert!(text.lines().any(|line| line == "orrery_items 1"), "{text}");
    let label = "database=\"d\",container=\"c\"";
    let bearer = format!("Bearer {}", read_only_key());
    let with_key = Call::get("/metrics").unsigned().header("authorization", &bearer);
    assert!(server.send(with_key).await.text().contains(label));
    let wrong = Call::get("/metrics").unsigned().header("authorization", "Bearer x");
    assert!(!server.send(wrong).await.text().contains(label));
    let open = Server::start_with(|options| options.names_in_metrics = true).await;
    let open = open.with_container().await;
    assert!(open.send(Call::get("/metrics").unsigned()).await.text().contains(label));
}
