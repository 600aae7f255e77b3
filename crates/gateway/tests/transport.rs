//! Sockets and protocols: every way to reach the server, its limits, its shutdown.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may panic")]

mod support;

use std::{collections::HashSet, sync::Arc, time::Duration};

use account::{Account, AccountOptions};
use gateway::Limits;
use model::Env;
use support::{Call, Client, Protocol, START_MS, Server, status_of, tls};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(5);

#[tokio::test]
async fn every_protocol_works_on_the_same_port() {
    let server = Server::start().await.with_container().await;
    for (index, protocol) in Protocol::ALL.into_iter().enumerate() {
        let mut client = Client::connect(&server, protocol).await;
        let body = format!("{{\"id\":\"i{index}\",\"pk\":\"a\",\"n\":1.50}}");
        let made = client.send(Call::create("a", body)).await;
        assert_eq!(made.status, 201, "{protocol:?}: {}", made.text());
        let path = format!("/dbs/d/colls/c/docs/i{index}");
        let read = client.send(Call::get(&path).key_header("a")).await;
        assert_eq!(read.status, 200, "{protocol:?}");
        assert!(read.text().contains("\"n\":1.50"), "{}", read.text());
        assert_eq!(read.header("content-length"), Some(read.body.len().to_string().as_str()));
        let deleted = client.send(Call::delete(&path).key_header("a")).await;
        assert_eq!((deleted.status, deleted.body.len()), (204, 0), "{protocol:?}");
        client.send(Call::get(&path).key_header("a")).await.assert_error(404);
    }
}

#[tokio::test]
async fn the_account_document_points_back_to_where_the_client_came_from() {
    let named = |options: &mut gateway::GatewayOptions| {
        options.allowed_hosts = vec!["db.example".to_owned()];
    };
    let server = Server::start_with(named).await;
    for protocol in Protocol::ALL {
        let mut client = Client::connect(&server, protocol).await;
        let read = client.send(Call::get("/")).await;
        assert_eq!(read.status, 200);
        // Over HTTP/2 the test client names plain http in the URL; the connection decides.
        let scheme = if protocol.is_tls() { "https" } else { "http" };
        let endpoint = format!("\"{scheme}://{}/\"", server.address);
        assert_eq!(read.text().matches(&endpoint).count(), 2, "{protocol:?} {}", read.text());
    }
    let mapped = server.send(Call::get("/").header("host", "db.example:18081")).await;
    assert!(mapped.text().contains("\"http://db.example:18081/\""), "{}", mapped.text());
}

#[tokio::test]
async fn the_certificate_is_exported_and_covers_local_names() {
    let server = Server::start().await;
    let page = server.send(Call::get("/_explorer/emulator.pem").unsigned()).await;
    assert_eq!(page.status, 200);
    assert_eq!(page.text(), server.certificate.pem());
    for name in ["localhost", "127.0.0.1", "::1"] {
        let stream = TcpStream::connect(server.address).await.unwrap();
        assert!(tls(&server, stream, Protocol::TlsHttp2, name).await.is_ok(), "{name}");
    }
    let stream = TcpStream::connect(server.address).await.unwrap();
    assert!(tls(&server, stream, Protocol::TlsHttp2, "evil.example").await.is_err());
}

/// The future of a request is moved several times, whatever becomes of it: what it may have to wait for is boxed.
#[tokio::test]
async fn a_request_takes_little_room() {
    let server = Server::start().await;
    let mut request = http::Request::new(http_body_util::Full::new(bytes::Bytes::new()));
    *request.uri_mut() = "/dbs".parse().unwrap();
    let answer = server.gateway.answer(request);
    let n_bytes = size_of_val(&answer);
    assert!(n_bytes <= 4096, "{n_bytes} bytes");
    assert_eq!(answer.await.status(), 401);
}

#[tokio::test]
async fn connections_are_kept_alive() {
    let server = Server::start().await;
    let mut client = Client::connect(&server, Protocol::Http1).await;
    for _ in 0..20 {
        assert_eq!(client.send(Call::get("/dbs")).await.status, 200);
    }
    // Errors do not close it either.
    client.send(Call::get("/dbs/none")).await.assert_error(404);
    client.send(Call::get("/dbs").unsigned()).await.assert_error(401);
    assert_eq!(client.send(Call::get("/dbs")).await.status, 200);
}

#[tokio::test]
async fn large_headers_are_accepted_and_huge_ones_refused() {
    let server = Server::start().await;
    let reply = server.send(Call::get("/dbs").header("x-large", &"a".repeat(40 << 10))).await;
    assert_eq!(reply.status, 200);
    let huge = format!("GET /dbs HTTP/1.1\r\nhost: x\r\nx-huge: {}\r\n\r\n", "a".repeat(300 << 10));
    let answer = server.raw(huge.as_bytes()).await;
    assert_eq!(status_of(&answer).map(|code| code.as_u16()), Some(431), "{answer}");
    server.assert_alive().await;
}

#[tokio::test]
async fn bodies_beyond_the_limit_answer_413_even_to_clients_that_send_first() {
    let server = Server::start().await.with_container().await;
    for protocol in [Protocol::Http1, Protocol::Http2PriorKnowledge] {
        let mut client = Client::connect(&server, protocol).await;
        let body = format!("{{\"id\":\"1\",\"pk\":\"a\",\"x\":\"{}\"}}", "x".repeat(5 << 20));
        let reply = timeout(LONG, client.send(Call::create("a", body))).await.unwrap();
        reply.assert_error(413);
        assert!(reply.text().contains("RequestEntityTooLarge"));
        assert!(reply.text().contains("Request size is too large"));
        assert_eq!(client.send(Call::get("/dbs")).await.status, 200, "{protocol:?}");
    }
    let over_item = format!("{{\"id\":\"1\",\"pk\":\"a\",\"x\":\"{}\"}}", "x".repeat(2 << 20));
    server.send(Call::create("a", over_item)).await.assert_error(413);
}

/// Clients that send all before they look for an answer find it, however much that is.
#[tokio::test]
async fn huge_bodies_are_answered_on_every_protocol() {
    let server = Server::start().await.with_container().await;
    for protocol in Protocol::ALL {
        let mut client = Client::connect(&server, protocol).await;
        let body = vec![b'x'; 30 << 20];
        let reply = timeout(4 * LONG, client.send(Call::create("a", body))).await;
        reply.unwrap_or_else(|_| panic!("{protocol:?}: no answer")).assert_error(413);
    }
    let path = "/dbs/d/colls/c/docs";
    let key = gateway::WELL_KNOWN_KEY;
    let authorization = support::authorization(key, &http::Method::POST, path, support::DATE);
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nx-ms-date: {}\r\nauthorization: {authorization}\r\ncontent-length: {}\r\n\r\n",
        support::DATE,
        50 << 20
    );
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let body = vec![b'x'; 50 << 20];
    timeout(4 * LONG, stream.write_all(&body)).await.unwrap().unwrap();
    let mut answer = String::new();
    timeout(LONG, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert_eq!(status_of(&answer).map(|code| code.as_u16()), Some(413), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    server.assert_alive().await;
}

/// Who is refused before the body was read is told so every time.
#[tokio::test]
async fn early_refusals_are_not_lost() {
    let server = Server::start().await;
    for protocol in Protocol::ALL {
        for n_bytes in [10, 60 << 10, 300 << 10, 3 << 20] {
            for _ in 0..5 {
                let mut client = Client::connect(&server, protocol).await;
                let call = Call::post("/dbs", vec![b'x'; n_bytes]).unsigned();
                let reply = timeout(LONG, client.send(call)).await;
                let reply = reply.unwrap_or_else(|_| panic!("{protocol:?} {n_bytes}: no answer"));
                reply.assert_error(401);
                if n_bytes <= 300 << 10 {
                    assert_eq!(reply.header("connection"), None, "{protocol:?} {n_bytes}");
                    let again = timeout(LONG, client.send(Call::get("/dbs"))).await.unwrap();
                    assert_eq!(again.status, 200, "{protocol:?} {n_bytes}");
                }
            }
        }
    }
}

/// A client that waits to be asked for its body is refused without being asked.
#[tokio::test]
async fn who_is_refused_is_not_asked_for_more() {
    let server = Server::start().await;
    let head =
        "POST /dbs HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n";
    let answer = server.raw(head.as_bytes()).await;
    assert_eq!(status_of(&answer).map(|code| code.as_u16()), Some(401), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
}

fn impatient() -> Limits {
    Limits {
        greeting_timeout: SHORT,
        header_timeout: SHORT,
        body_timeout: SHORT,
        shutdown_grace: SHORT,
        ..Limits::default()
    }
}

#[tokio::test]
async fn slow_clients_are_cut_off() {
    let server = Server::start_with(|options| options.limits = impatient()).await;
    #[rustfmt::skip]
    let starts: [&[u8]; 6] = [
        b"",                                // says nothing
        b"P",                               // could still become HTTP/2
        b"PRI * HTTP/2.0\r\n",              // half a preface
        b"\x16\x03\x01",                    // half a handshake
        b"GET / HTTP/1.1\r\nhost: x\r\n",   // half a header
        b"GET / HTTP/1.1\r\nhost: x\r\nx-a",
    ];
    for start in starts {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(start).await.unwrap();
        let mut rest = Vec::new();
        let closed = timeout(LONG, stream.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "{start:?} keeps its connection");
    }
    server.assert_alive().await;
}

#[tokio::test]
async fn a_body_that_does_not_arrive_answers_408() {
    let server = Server::start_with(|options| options.limits = impatient()).await;
    let authorization =
        support::authorization(gateway::WELL_KNOWN_KEY, &http::Method::POST, "/dbs", support::DATE);
    let head = format!(
        "POST /dbs HTTP/1.1\r\nhost: x\r\nx-ms-date: {}\r\nauthorization: {authorization}\r\ncontent-length: 10\r\n\r\n{{",
        support::DATE
    );
    let answer = server.raw(head.as_bytes()).await;
    assert_eq!(status_of(&answer).map(|code| code.as_u16()), Some(408), "{answer}");
    server.assert_alive().await;
}

#[tokio::test]
async fn no_body_is_read_for_a_stranger() {
    let server = Server::start().await;
    let head = "POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n{";
    let answer = server.raw(head.as_bytes()).await;
    assert_eq!(status_of(&answer).map(|code| code.as_u16()), Some(401), "{answer}");
    server.assert_alive().await;
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_their_turn() {
    let limits = Limits { connections_max: 2, ..Limits::default() };
    let server = Server::start_with(|options| options.limits = limits).await;
    let mut first = Client::connect(&server, Protocol::Http1).await;
    let mut second = Client::connect(&server, Protocol::Http1).await;
    assert_eq!(first.send(Call::get("/dbs")).await.status, 200);
    assert_eq!(second.send(Call::get("/dbs")).await.status, 200);
    let mut third = Client::connect(&server, Protocol::Http1).await;
    let waiting = tokio::spawn(async move { third.send(Call::get("/dbs")).await });
    tokio::time::sleep(SHORT).await;
    assert!(!waiting.is_finished(), "the third connection must wait");
    drop(first);
    let reply = timeout(LONG, waiting).await.expect("a place is free").unwrap();
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn shutdown_lets_a_request_finish_and_drops_idle_connections() {
    let mut server = Server::start().await.with_container().await;
    let mut idle = Client::connect(&server, Protocol::Http1).await;
    assert_eq!(idle.send(Call::get("/dbs")).await.status, 200);
    // A request whose body is under way when the server is told to stop.
    let path = "/dbs/d/colls/c/docs";
    let authorization =
        support::authorization(gateway::WELL_KNOWN_KEY, &http::Method::POST, path, support::DATE);
    let body = r#"{"id":"late","pk":"a"}"#;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nx-ms-date: {}\r\nauthorization: {authorization}\r\nx-ms-documentdb-partitionkey: [\"a\"]\r\ncontent-length: {}\r\n\r\n",
        support::DATE,
        body.len()
    );
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(SHORT).await;
    let task = server.stop();
    tokio::time::sleep(SHORT).await;
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(LONG, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert_eq!(status_of(&answer).map(|code| code.as_u16()), Some(201), "{answer}");
    timeout(LONG, task).await.expect("the server stops").unwrap();
    assert!(idle.try_send(Call::get("/dbs")).await.is_err());
    assert!(TcpStream::connect(server.address).await.is_err());
}

/// A full disk or a failed write: balancers look elsewhere, and whoever looks at the metrics sees why.
#[tokio::test]
async fn a_store_that_takes_no_writes_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let env = Env::fixed(7, START_MS);
    let settings = store::EmbeddedOptions {
        durability: store::Durability::Fsync,
        cache_bytes: store::CACHE_BYTES_DEFAULT,
        direct_reads: store::DirectReads::On,
        env: env.clone(),
    };
    let store = store::open_embedded(folder.path(), &settings).unwrap();
    let options = AccountOptions::default();
    let account = Account::open(Arc::clone(&store), options, env.clone()).await.unwrap();
    let server = Server::start_on(account, env, |_| {}).await;
    for (status, is_writable) in [(200, 1), (503, 0)] {
        let ready = server.send(Call::get("/ready").unsigned()).await;
        assert_eq!(ready.status, status, "{}", ready.text());
        let metrics = server.send(Call::get("/metrics").unsigned()).await.text();
        assert!(metrics.contains(&format!("\norrery_store_writable {is_writable}\n")), "{metrics}");
        store.close().unwrap();
    }
}

#[tokio::test]
async fn pages_beside_the_protocol_need_no_key() {
    let server = Server::start().await.with_container().await;
    let ready = server.send(Call::get("/ready").unsigned()).await;
    assert_eq!((ready.status, ready.text().as_str()), (200, "{\"ready\":true}"));
    let alive = server.send(Call::get("/alive").unsigned()).await;
    assert_eq!((alive.status, alive.text().as_str()), (200, "{\"alive\":true}"));
    let status = server.send(Call::get("/status").unsigned()).await.text();
    assert!(status.starts_with("{\"alive\":true,\"ready\":true"), "{status}");
    for path in ["/_explorer/index.html", "/_explorer/"] {
        let page = server.send(Call::get(path).unsigned()).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(page.text().starts_with("<!doctype html>"), "{}", page.text());
    }
    server.send(Call::post("/alive", "").unsigned()).await.assert_error(405);
    server.send(Call::create("a", r#"{"id":"1","pk":"a"}"#)).await;
    let metrics = server.send(Call::get("/metrics").unsigned()).await;
    assert_eq!(metrics.status, 200);
    let text = metrics.text();
    for line in [
        "orrery_requests_total{action=\"item_create\",status=\"2xx\"} 1",
        "orrery_operations_total{operation=\"item_create\",status=\"201\"} 1",
        "orrery_containers 1",
        "# TYPE orrery_request_duration_seconds histogram",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let mut names = HashSet::new();
    for line in text.lines().filter(|line| line.starts_with("# TYPE")) {
        assert!(names.insert(line.to_owned()), "{line} stands twice");
    }
    server.gateway.announce_stop();
    server.send(Call::get("/ready").unsigned()).await.assert_error(503);
    // It still lives, and says so: a supervisor must not kill it while it stops in order.
    assert_eq!(server.send(Call::get("/alive").unsigned()).await.status, 200);
    let status = server.send(Call::get("/status").unsigned()).await.text();
    assert!(status.starts_with("{\"alive\":true,\"ready\":false"), "{status}");
    server.send(Call::post("/metrics", "").unsigned()).await.assert_error(405);
}

#[tokio::test]
async fn gzip_is_used_when_both_sides_want_it() {
    for is_on in [false, true] {
        let server =
            Server::start_with(|options| options.gzip = is_on).await.with_container().await;
        let item = format!("{{\"id\":\"1\",\"pk\":\"a\",\"x\":\"{}\"}}", "x".repeat(5000));
        assert_eq!(server.send(Call::create("a", item)).await.status, 201);
        let read = Call::get("/dbs/d/colls/c/docs/1").key_header("a");
        let plain = server.send(read.clone()).await;
        assert_eq!(plain.header("content-encoding"), None);
        let packed = server.send(read.clone().header("accept-encoding", "gzip, deflate")).await;
        assert_eq!(packed.header("content-encoding"), is_on.then_some("gzip"));
        assert_eq!(packed.body.len() < 1000, is_on);
        let missing = Call::get("/dbs/d/colls/c/docs/2").key_header("a");
        server.send(missing.header("accept-encoding", "gzip")).await.assert_error(404);
    }
}

#[tokio::test]
async fn gzip_request_bodies_are_read_within_the_limit() {
    use std::io::Write;
    let pack = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let server = Server::start().await.with_container().await;
    let create =
        |body: Vec<u8>, encoding| Call::create("a", body).header("content-encoding", encoding);
    let made = server.send(create(pack(r#"{"id":"1","pk":"a"}"#), "gzip")).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let bomb = pack(&" ".repeat(100 << 20));
    server.send(create(bomb, "gzip")).await.assert_error(413);
    server.send(create(b"{}".to_vec(), "gzip")).await.assert_error(400);
    server.send(create(b"{}".to_vec(), "br")).await.assert_error(400);
}

#[tokio::test]
async fn many_requests_share_one_http2_connection() {
    let server = Server::start().await.with_container().await;
    assert_eq!(server.send(Call::create("a", r#"{"id":"1","pk":"a"}"#)).await.status, 201);
    let mut tasks = tokio::task::JoinSet::new();
    for protocol in [Protocol::TlsHttp2, Protocol::Http2PriorKnowledge, Protocol::Http1] {
        for _ in 0..8 {
            let mut client = Client::connect(&server, protocol).await;
            tasks.spawn(async move {
                for _ in 0..50 {
                    let read =
                        client.send(Call::get("/dbs/d/colls/c/docs/1").key_header("a")).await;
                    assert_eq!(read.status, 200);
                }
            });
        }
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

#[tokio::test]
async fn binary_json_is_read_and_text_is_returned() {
    let server = Server::start().await.with_container().await;
    let binary = &b"\x80\xEA\x0A\x82id\x81x\x82pk\x81a"[..];
    let made = server.send(Call::create("a", binary)).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert!(made.text().starts_with(r#"{"id":"x","pk":"a","#), "{}", made.text());
}

#[tokio::test]
async fn binary_json_is_answered_to_those_who_ask() {
    let server = Server::start().await.with_container().await;
    let path = "/dbs/d/colls/c/docs";
    let format = "x-ms-documentdb-content-serialization-format";
    let supported = "x-ms-cosmos-supported-serialization-formats";
    let text_of = |body: &[u8]| {
        String::from_utf8(model::json::binary::to_text(body).expect("binary JSON")).unwrap()
    };
    let create =
        Call::create("a", r#"{"id":"1","pk":"a","n":1.5}"#).header(supported, "CosmosBinary");
    let made = server.send(create).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert!(text_of(&made.body).starts_with(r#"{"id":"1","pk":"a","n":1.5,"_rid":"#));
    let item = Call::get(&format!("{path}/1")).key_header("a");
    let plain = server.send(item.clone()).await;
    let binary = server.send(item.clone().header(format, "CosmosBinary")).await;
    assert_eq!(text_of(&binary.body), plain.text());
    let query = Call::post(path, r#"{"query":"SELECT * FROM c"}"#)
        .key_header("a")
        .header("x-ms-documentdb-isquery", "true")
        .header("content-type", "application/query+json");
    let plain = server.send(query.clone()).await;
    let binary = server.send(query.header(supported, "JsonText,CosmosBinary")).await;
    assert_eq!(text_of(&binary.body), plain.text());
    let feed = Call::get(path).key_header("a");
    let plain = server.send(feed.clone()).await;
    let binary = server.send(feed.clone().header(format, "CosmosBinary")).await;
    assert_eq!(text_of(&binary.body), plain.text());
    let text = server.send(feed.clone().header(supported, "CosmosBinary")).await;
    assert_eq!(text.text(), plain.text());
    server.send(feed.header(format, "Not a valid value")).await.assert_error(400);
    server
        .send(Call::get(&format!("{path}/2")).key_header("a").header(format, "CosmosBinary"))
        .await
        .assert_error(404);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_clients_that_say_nothing() {
    let mut server = Server::start().await;
    let _silent = TcpStream::connect(server.address).await.unwrap();
    let mut half = TcpStream::connect(server.address).await.unwrap();
    half.write_all(b"\x16\x03").await.unwrap();
    tokio::time::sleep(SHORT).await;
    timeout(Duration::from_secs(2), server.stop()).await.expect("the server stops").unwrap();
}
