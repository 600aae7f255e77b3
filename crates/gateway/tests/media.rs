//! Media of attachments over HTTP: as it was sent, signed as SDKs sign, and nothing that hurts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may panic")]

mod support;

use std::{sync::Arc, time::Duration};

use account::{Account, AccountOptions};
use bytes::Bytes;
use http::Method;
use model::{Env, Value};
use support::{Call, Client, Protocol, Reply, START_MS, Server};
use tokio::{io::AsyncWriteExt, net::TcpStream};

const ATTACHMENTS: &str = "/dbs/d/colls/c/docs/1/attachments";

async fn with_item(server: Server) -> Server {
    let server = server.with_container().await;
    let made = server.send(Call::create("a", r#"{"id":"1","pk":"a"}"#)).await;
    assert_eq!(made.status, 201);
    server
}

async fn server() -> Server {
    with_item(Server::start().await).await
}

fn upload(slug: &str, body: impl Into<Bytes>) -> Call {
    Call::post(ATTACHMENTS, body)
        .key_header("a")
        .header("content-type", "image/png")
        .header("slug", slug)
}

fn link(reply: &Reply) -> String {
    assert!(matches!(reply.status, 200 | 201), "{}", reply.text());
    reply.json().get("media").and_then(Value::as_str).unwrap().to_owned()
}

async fn count(server: &Server) -> Option<i64> {
    let list = server.send(Call::get(ATTACHMENTS).key_header("a")).await;
    list.json().get("_count").and_then(Value::as_i64)
}

#[tokio::test]
async fn media_comes_back_byte_by_byte_on_every_protocol() {
    let server = server().await;
    for (n, protocol) in Protocol::ALL.into_iter().enumerate() {
        let mut client = Client::connect(&server, protocol).await;
        for n_bytes in [0, 1, 65_536, 3_000_000] {
            let media: Bytes = (0..=250).cycle().skip(n).take(n_bytes).collect::<Vec<u8>>().into();
            let made = client
                .send(upload("m", media.clone()).header("x-ms-documentdb-is-upsert", "true"))
                .await;
            let link = link(&made);
            let read = client.send(Call::get(&link).header("accept", "*/*")).await;
            assert_eq!((read.status, read.body == media), (200, true), "{protocol:?} {n_bytes}");
            assert_eq!(read.header("content-type"), Some("image/png"));
            let length = read.header("content-length").unwrap_or("0");
            assert_eq!(length, n_bytes.to_string());
            let shorter = media.slice(..n_bytes / 2);
            let replace = Call::put(&link, shorter.clone()).header("content-type", "text/plain");
            let replaced = client.send(replace).await;
            assert_eq!((replaced.status, replaced.body.len()), (200, 0), "{}", replaced.text());
            // Old SDKs put another slash in front of the link.
            let read = client.send(Call::get(&format!("/{link}"))).await;
            assert_eq!(
                (read.header("content-type"), read.body == shorter),
                (Some("text/plain"), true)
            );
        }
    }
}

/// Wire: .NET's `ReadMediaMetadataAsync`, and the members of its media that come from headers.
#[tokio::test]
async fn media_is_described_without_its_bytes() {
    let server = server().await;
    for protocol in Protocol::ALL {
        let mut client = Client::connect(&server, protocol).await;
        for (sent, told) in [("a%20name", "a name"), ("gr%C3%BCn", "gr%C3%BCn"), ("50%25", "50%25")]
        {
            let upload = upload(sent, vec![7; 100_000]);
            let made = client.send(upload.header("x-ms-documentdb-is-upsert", "true")).await;
            let link = link(&made);
            let head = client.send(Call::new(Method::HEAD, &link)).await;
            assert_eq!((head.status, head.body.len()), (200, 0), "{protocol:?}: {}", head.text());
            assert_eq!(head.header("content-length"), Some("100000"));
            assert_eq!(head.header("content-type"), Some("image/png"));
            assert_eq!(head.header("x-ms-request-charge"), Some("1"));
            assert_eq!(head.header("x-ms-max-media-storage-usage-mb"), Some("2048"));
            let read = client.send(Call::get(&link)).await;
            assert_eq!(read.body.len(), 100_000);
            for name in ["slug", "etag", "content-location"] {
                assert_eq!(head.header(name), read.header(name), "{name}");
            }
            assert_eq!(head.header("slug"), Some(told), "{sent}");
            let etag = read.header("etag").unwrap();
            for method in [Method::GET, Method::HEAD] {
                let call = |etag| Call::new(method.clone(), &link).header("if-none-match", etag);
                let unchanged = client.send(call(etag)).await;
                assert_eq!((unchanged.status, unchanged.body.len()), (304, 0), "{method}");
                assert_eq!(unchanged.header("etag"), Some(etag));
                assert_eq!(client.send(call("\"other\"")).await.status, 200);
            }
        }
        let missing = client.send(Call::new(Method::HEAD, "/media/x")).await;
        assert_eq!((missing.status, missing.body.len()), (404, 0));
    }
}

#[tokio::test]
async fn media_that_is_too_long_is_refused_however_it_is_sent() {
    let change = |options: &mut gateway::GatewayOptions| options.limits.media_bytes_max = 1 << 20;
    let server = with_item(Server::start_with(change).await).await;
    assert_eq!(server.send(upload("m", vec![1; 1 << 20])).await.status, 201);
    let long = server.send(upload("n", vec![1; (1 << 20) + 1])).await;
    long.assert_error(413);
    assert!(long.text().contains("Request size is too large"));
    // JSON about media is as long as JSON may be.
    let json = format!(r#"{{"id":"j","contentType":"a/b","media":"{}"}}"#, "x".repeat(2 << 20));
    server.send(Call::post(ATTACHMENTS, json).key_header("a")).await.assert_error(413);
    // Chunks without end.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = head(&server, "POST", ATTACHMENTS, "transfer-encoding: chunked\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = [b"10000\r\n".as_slice(), &vec![b'x'; 0x10000], b"\r\n"].concat();
    let endless = async { while stream.write_all(&chunk).await.is_ok() {} };
    let ended = tokio::time::timeout(Duration::from_secs(30), endless).await;
    assert!(ended.is_ok(), "the server goes on listening to a body without end");
    server.assert_alive().await;
    assert_eq!(count(&server).await, Some(1));
}

/// The head of a signed upload, with one more header.
fn head(server: &Server, method: &str, path: &str, more: &str) -> String {
    let verb = method.parse().unwrap();
    let signed = support::authorization(gateway::WELL_KNOWN_KEY, &verb, path, support::DATE);
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nx-ms-date: {}\r\nauthorization: {signed}\r\nslug: x\r\n\
         content-type: image/png\r\nx-ms-documentdb-partitionkey: [\"a\"]\r\n{more}\r\n",
        server.address,
        support::DATE
    )
}

#[tokio::test]
async fn bodies_that_are_not_as_long_as_they_say_leave_nothing() {
    let change = |options: &mut gateway::GatewayOptions| {
        options.limits.body_timeout = Duration::from_millis(200);
    };
    let server = with_item(Server::start_with(change).await).await;
    // Ends early; goes on later than it may; says nothing of its length and stops.
    for (more, body) in [
        ("content-length: 100\r\n", "short"),
        ("transfer-encoding: chunked\r\n", "5\r\nshort\r\n"),
        ("transfer-encoding: chunked\r\n", "5\r\nsho"),
        ("transfer-encoding: chunked\r\n", "zz\r\n"),
    ] {
        for is_closed in [false, true] {
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            let request = head(&server, "POST", ATTACHMENTS, more) + body;
            stream.write_all(request.as_bytes()).await.unwrap();
            if is_closed {
                stream.shutdown().await.unwrap();
            }
            let mut answer = Vec::new();
            let read = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut answer);
            let _ = tokio::time::timeout(Duration::from_secs(2), read).await;
            let answer = String::from_utf8_lossy(&answer);
            assert!(!answer.starts_with("HTTP/1.1 2"), "{more} {body:?}: {answer}");
        }
    }
    server.assert_alive().await;
    assert_eq!(count(&server).await, Some(0));
    // More than was announced is the next request, and no part of this one.
    let request = head(&server, "POST", ATTACHMENTS, "content-length: 2\r\n") + "okGARBAGE\r\n\r\n";
    assert!(server.raw(request.as_bytes()).await.starts_with("HTTP/1.1 201"));
    assert_eq!(count(&server).await, Some(1));
}

#[tokio::test]
async fn slow_uploads_wait_for_their_turn_and_others_do_not_wait_for_them() {
    let change = |options: &mut gateway::GatewayOptions| {
        options.limits.media_mib_at_once_max = 32;
        options.limits.request_timeout = Duration::from_millis(300);
        options.limits.body_timeout = Duration::from_secs(20);
    };
    let server = with_item(Server::start_with(change).await).await;
    let mut slow = TcpStream::connect(server.address).await.unwrap();
    let request =
        head(&server, "POST", ATTACHMENTS, "transfer-encoding: chunked\r\n") + "1\r\nx\r\n";
    slow.write_all(request.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.send(upload("y", "y")).await.assert_error(408);
    server.assert_alive().await;
    slow.write_all(b"0\r\n\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(server.send(upload("y", "y")).await.status, 201);
    assert_eq!(count(&server).await, Some(2));
}

#[tokio::test]
async fn the_media_of_an_account_is_bounded_and_told() {
    let env = Env::fixed(7, START_MS);
    let options = AccountOptions { media_bytes_max: 2 << 20, ..AccountOptions::default() };
    let account = Account::open(store::open_memory(), options, env.clone()).await.unwrap();
    let server = with_item(Server::start_on(Arc::clone(&account), env, |_| {}).await).await;
    assert_eq!(server.send(upload("m", vec![1; 2 << 20])).await.status, 201);
    server.send(upload("n", "x")).await.assert_error(413);
    let told = server.send(Call::get("/")).await;
    assert_eq!(told.header("x-ms-media-storage-usage-mb"), Some("2"));
    assert_eq!(told.header("x-ms-max-media-storage-usage-mb"), Some("2"));
    let gone = server.send(Call::delete(&format!("{ATTACHMENTS}/m")).key_header("a")).await;
    assert_eq!(gone.status, 204);
    assert_eq!(server.send(upload("n", "x")).await.status, 201);
    account.check_partitions().unwrap();
}

#[tokio::test]
async fn names_and_kinds_that_could_do_harm_do_none() {
    let server = server().await;
    for (slug, status) in
        [("a%2Fb", 400), ("%20", 400), ("a?b", 400), ("x\ty", 400), ("\u{e9}", 201), ("%zz", 201)]
    {
        let reply = server.send(upload(slug, "x")).await;
        assert_eq!(reply.status, status, "{slug:?}: {}", reply.text());
    }
    let long = "n".repeat(5_000);
    server.send(upload(&long, "x")).await.assert_error(400);
    // A kind that is no header value is replaced, not sent.
    let made = server.send(upload("m", "x")).await;
    let link = link(&made);
    let odd = format!(r#"{{"id":"m","contentType":"a\\r\\nb: c\n","media":"{link}"}}"#)
        .replace("\n\"", "\\n\"");
    let call = Call::put(&format!("{ATTACHMENTS}/m"), odd).key_header("a");
    let replaced = server.send(call).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    let read = server.send(Call::get(&link)).await;
    assert_eq!((read.status, read.text().as_str()), (200, "x"));
    assert_eq!(read.header("content-type"), Some("application/octet-stream"));
    let unsigned = server.send(Call::get(&link).unsigned()).await;
    unsigned.assert_error(401);
}
