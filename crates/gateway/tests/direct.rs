//! Direct mode over real sockets: addresses, frames, multiplexing, refusals, hostile bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may panic")]

mod support;

use std::{collections::HashMap, time::Duration};

use gateway::WELL_KNOWN_KEY;
use http::Method;
use support::{Call, DATE, Protocol, Server, authorization, read_only_key, tls};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::client::TlsStream;

const LONG: Duration = Duration::from_secs(5);

/// Resource and operation types, as they stand on the wire.
const ITEM: u16 = 3;
const CREATE: u16 = 1;
const READ: u16 = 3;
const READ_FEED: u16 = 4;
const QUERY: u16 = 0x0F;
const HEAD: u16 = 0x11;

const PRIMARY: &str = "/apps/a/services/s/partitions/p/replicas/1p";

/// A request in the making.
struct Frame {
    resource: u16,
    operation: u16,
    tokens: Vec<u8>,
    payload: Vec<u8>,
}

impl Frame {
    fn new(resource: u16, operation: u16) -> Frame {
        Frame { resource, operation, tokens: Vec::new(), payload: Vec::new() }
    }

    fn token(mut self, id: u16, kind: u8, value: &[u8]) -> Frame {
        self.tokens.extend_from_slice(&id.to_le_bytes());
        self.tokens.push(kind);
        self.tokens.extend_from_slice(value);
        self
    }

    fn text(self, id: u16, text: &str) -> Frame {
        let length = u16::try_from(text.len()).unwrap().to_le_bytes();
        self.token(id, 8, &[&length, text.as_bytes()].concat())
    }

    fn number(self, id: u16, value: u32) -> Frame {
        self.token(id, 2, &value.to_le_bytes())
    }

    fn body(self, payload: &str) -> Frame {
        Frame { payload: payload.as_bytes().to_vec(), ..self }
    }

    /// A signed request to the container of the tests; `path` is what is signed.
    fn signed(resource: u16, operation: u16, method: &Method, path: &str, key: &str) -> Frame {
        Frame::new(resource, operation)
            .text(0x01, &authorization(key, method, path, DATE))
            .token(0x03, 7, &[&[u8::try_from(DATE.len()).unwrap()], DATE.as_bytes()].concat())
            .text(0x13, PRIMARY)
            .text(0x15, "d")
            .text(0x16, "c")
    }

    fn create(key: &str, body: &str) -> Frame {
        let path = "/dbs/d/colls/c/docs";
        Frame::signed(ITEM, CREATE, &Method::POST, path, WELL_KNOWN_KEY)
            .text(0x2B, &format!("[\"{key}\"]"))
            .body(body)
    }

    fn create_signed_with(secret: &str, key: &str, body: &str) -> Frame {
        let path = "/dbs/d/colls/c/docs";
        Frame::signed(ITEM, CREATE, &Method::POST, path, secret)
            .text(0x2B, &format!("[\"{key}\"]"))
            .body(body)
    }

    fn read(key: &str, id: &str) -> Frame {
        let path = format!("/dbs/d/colls/c/docs/{id}");
        Frame::signed(ITEM, READ, &Method::GET, &path, WELL_KNOWN_KEY)
            .text(0x2B, &format!("[\"{key}\"]"))
            .text(0x17, id)
    }

    fn bytes(self, transport_id: u32) -> Vec<u8> {
        let has_payload = u8::from(!self.payload.is_empty());
        let this = self.token(0x02, 0, &[has_payload]).number(0x4D, transport_id);
        let length = u32::try_from(24 + this.tokens.len()).unwrap();
        let mut out = length.to_le_bytes().to_vec();
        out.extend_from_slice(&this.resource.to_le_bytes());
        out.extend_from_slice(&this.operation.to_le_bytes());
        out.extend_from_slice(&[9; 16]);
        out.extend_from_slice(&this.tokens);
        if has_payload == 1 {
            out.extend_from_slice(&u32::try_from(this.payload.len()).unwrap().to_le_bytes());
            out.extend_from_slice(&this.payload);
        }
        out
    }
}

/// A response: its tokens as text, whatever their type.
#[derive(Debug)]
struct Answer {
    status: u32,
    tokens: HashMap<u16, String>,
    payload: String,
}

impl Answer {
    #[track_caller]
    fn token(&self, id: u16) -> &str {
        self.tokens.get(&id).unwrap_or_else(|| panic!("no token {id:#06x} in {self:?}"))
    }

    /// What every answer must have for both SDKs.
    #[track_caller]
    fn assert_positions(&self) {
        assert!(self.token(0x13).parse::<i64>().unwrap() >= 1);
        assert_eq!(self.token(0x3A), self.token(0x13));
        assert_eq!(self.token(0x3B), self.token(0x3A), "a primary has the quorum");
        assert_eq!((self.token(0x1E), self.token(0x1F)), ("1", "2"));
    }
}

/// A connection after its negotiation.
struct Direct {
    stream: TlsStream<TcpStream>,
}

impl Direct {
    async fn connect(server: &Server) -> Direct {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let stream = tls(server, stream, Protocol::TlsPlain, "127.0.0.1").await.unwrap();
        let mut direct = Direct { stream };
        let version = b"2020-07-15";
        let first = Frame::new(0, 0)
            .number(0, 1)
            .token(1, 7, &[&[10], &version[..]].concat())
            .token(2, 7, b"\x04test");
        let mut out = u32::try_from(24 + first.tokens.len()).unwrap().to_le_bytes().to_vec();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&[1; 16]);
        out.extend_from_slice(&first.tokens);
        direct.stream.write_all(&out).await.unwrap();
        let answer = direct.receive_context().await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.token(2), "Orrery");
        direct
    }

    async fn send(&mut self, frame: Frame) -> Answer {
        self.stream.write_all(&frame.bytes(77)).await.unwrap();
        let answer = timeout(LONG, self.receive()).await.unwrap();
        assert_eq!(answer.token(0x35), "77");
        answer
    }

    async fn receive_context(&mut self) -> Answer {
        self.read_frame(false).await
    }

    async fn receive(&mut self) -> Answer {
        self.read_frame(true).await
    }

    async fn read_frame(&mut self, has_flag: bool) -> Answer {
        let mut head = [0; 24];
        self.stream.read_exact(&mut head).await.unwrap();
        let length = u32::from_le_bytes(head[..4].try_into().unwrap());
        let status = u32::from_le_bytes(head[4..8].try_into().unwrap());
        let mut bytes = vec![0; usize::try_from(length).unwrap() - 24];
        self.stream.read_exact(&mut bytes).await.unwrap();
        let tokens = tokens(&bytes);
        let mut payload = Vec::new();
        if has_flag && tokens[&0] == "1" {
            let mut length = [0; 4];
            self.stream.read_exact(&mut length).await.unwrap();
            payload.resize(usize::try_from(u32::from_le_bytes(length)).unwrap(), 0);
            self.stream.read_exact(&mut payload).await.unwrap();
        }
        Answer { status, tokens, payload: String::from_utf8(payload).unwrap() }
    }
}

fn tokens(mut bytes: &[u8]) -> HashMap<u16, String> {
    let mut found = HashMap::new();
    while let [a, b, kind, rest @ ..] = bytes {
        let (width, text): (usize, String) = match kind {
            0 => (1, rest[0].to_string()),
            2 => (4, u32::from_le_bytes(rest[..4].try_into().unwrap()).to_string()),
            5 => (8, i64::from_le_bytes(rest[..8].try_into().unwrap()).to_string()),
            14 => (8, f64::from_le_bytes(rest[..8].try_into().unwrap()).to_string()),
            7 => {
                let n = usize::from(rest[0]);
                (1 + n, String::from_utf8(rest[1..=n].to_vec()).unwrap())
            }
            8 => {
                let n = usize::from(u16::from_le_bytes([rest[0], rest[1]]));
                (2 + n, String::from_utf8(rest[2..2 + n].to_vec()).unwrap())
            }
            other => panic!("type {other}"),
        };
        assert!(found.insert(u16::from_le_bytes([*a, *b]), text).is_none(), "a token twice");
        bytes = &rest[width..];
    }
    found
}

#[tokio::test]
async fn items_are_written_and_read_in_frames() {
    let server = Server::start().await.with_container().await;
    let mut direct = Direct::connect(&server).await;
    let made = direct.send(Frame::create("a", r#"{"id":"1","pk":"a","n":1.50}"#)).await;
    assert_eq!(made.status, 201, "{made:?}");
    made.assert_positions();
    assert!(made.token(0x3E).starts_with("-1#"), "no range before the session token");
    assert_eq!(made.token(0x17), "dbs/d/colls/c");
    assert!(made.token(0x15).parse::<f64>().unwrap() > 5.0);
    let read = direct.send(Frame::read("a", "1")).await;
    assert_eq!(read.status, 200, "{read:?}");
    assert!(read.payload.contains("\"n\":1.50"), "{}", read.payload);
    assert_eq!(read.token(0x21), made.token(0x21));
    let same = direct.send(Frame::read("a", "1").text(0x08, read.token(0x04))).await;
    assert_eq!((same.status, same.payload.as_str()), (304, ""));
    let query = Frame::signed(ITEM, QUERY, &Method::POST, "/dbs/d/colls/c/docs", WELL_KNOWN_KEY)
        .text(0x2C, made.token(0x21))
        .body(r#"{"query":"SELECT VALUE c.n FROM c"}"#);
    let rows = direct.send(query).await;
    assert!(rows.payload.contains("[1.5]"), "{rows:?}");
    let feed = Frame::signed(ITEM, READ_FEED, &Method::GET, "/dbs/d/colls/c/docs", WELL_KNOWN_KEY)
        .text(0x2C, made.token(0x21))
        .text(0x3F, "Incremental Feed");
    let changes = direct.send(feed).await;
    assert_eq!((changes.status, changes.token(0x14)), (200, "1"), "{changes:?}");
    assert!(changes.token(0x04).starts_with('"'));
}

#[tokio::test]
async fn every_refusal_tells_a_position_and_keeps_the_connection() {
    let server = Server::start().await.with_container().await;
    let mut direct = Direct::connect(&server).await;
    direct.send(Frame::create("a", r#"{"id":"1","pk":"a"}"#)).await;
    let foreign =
        Frame::signed(ITEM, READ, &Method::GET, "/dbs/d/colls/c/docs/other", WELL_KNOWN_KEY)
            .text(0x2B, "[\"a\"]")
            .text(0x17, "1");
    let read_only =
        Frame::signed(ITEM, CREATE, &Method::POST, "/dbs/d/colls/c/docs", &read_only_key())
            .text(0x2B, "[\"a\"]")
            .body(r#"{"id":"2","pk":"a"}"#);
    let table = [
        ("missing item", Frame::read("a", "none"), 404, "0"),
        ("id that exists", Frame::create("a", r#"{"id":"1","pk":"a"}"#), 409, "0"),
        ("another signature", foreign, 401, "0"),
        ("a key that only reads", read_only, 403, "0"),
        ("no name", Frame::new(ITEM, READ), 400, "0"),
        ("unknown resource", Frame::new(0x30, READ), 400, "0"),
        ("broken body", Frame::create("a", "{"), 400, "0"),
        ("another container", Frame::read("a", "1").text(0x35, "AAAAAAAAAAA="), 410, "1000"),
        ("a range that is gone", Frame::read("a", "1").text(0x2C, "99"), 410, "1002"),
        ("a session of the future", Frame::read("a", "1").text(0x05, "1:-1#9999"), 404, "1002"),
    ];
    for (name, frame, status, substatus) in table {
        let answer = direct.send(frame).await;
        assert_eq!(answer.status, status, "{name}: {answer:?}");
        let told = answer.tokens.get(&0x1C).map_or("0", String::as_str);
        assert_eq!(told, substatus, "{name}: {answer:?}");
        assert!(answer.token(0x13).parse::<i64>().unwrap() >= 1, "{name}");
        assert!(answer.token(0x21).parse::<u32>().is_ok(), "{name}");
        assert!(answer.payload.starts_with("{\"code\":"), "{name}: {answer:?}");
        let is_final = answer.tokens.contains_key(&0x1B);
        assert!(!(is_final && status == 410), "{name}: a 410 sends the client elsewhere");
    }
    let echoed = direct.send(Frame::new(ITEM, READ).text(0x05, "0:-1#7")).await;
    assert_eq!((echoed.status, echoed.token(0x3E), echoed.token(0x1B)), (400, "-1#7", "1"));
    assert_eq!(echoed.token(0x21), "0");
}

#[tokio::test]
async fn requests_share_a_connection_and_answers_find_theirs() {
    let server = Server::start().await.with_container().await;
    let mut direct = Direct::connect(&server).await;
    let mut bytes = Vec::new();
    for id in 0..100u32 {
        let item = format!("{{\"id\":\"{id}\",\"pk\":\"a\"}}");
        bytes.extend(Frame::create("a", &item).bytes(1000 + id));
    }
    direct.stream.write_all(&bytes).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..100 {
        let answer = timeout(LONG, direct.receive()).await.unwrap();
        assert_eq!(answer.status, 201);
        let id = answer.token(0x35).parse::<u32>().unwrap() - 1000;
        assert!(answer.payload.contains(&format!("\"id\":\"{id}\"")), "{answer:?}");
        seen.push(id);
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..100).collect::<Vec<_>>());
}

#[tokio::test]
async fn barriers_are_answered_with_the_position_of_the_range() {
    let server = Server::start().await.with_container().await;
    let mut direct = Direct::connect(&server).await;
    let made = direct.send(Frame::create("a", r#"{"id":"1","pk":"a"}"#)).await;
    let head = || Frame::signed(2, HEAD, &Method::HEAD, "/dbs/d/colls/c", WELL_KNOWN_KEY);
    let by_key = direct.send(head().text(0x2B, "[\"a\"]")).await;
    let by_range = direct.send(head().text(0x2C, made.token(0x21))).await;
    for answer in [by_key, by_range] {
        assert_eq!((answer.status, answer.payload.as_str()), (200, ""), "{answer:?}");
        assert_eq!(answer.token(0x13), made.token(0x13));
        answer.assert_positions();
    }
    let metrics = server.send(Call::get("/metrics").unsigned()).await.text();
    let counted = "orrery_requests_total{action=\"barrier\",status=\"2xx\"} 2\n";
    assert!(metrics.contains(counted), "{metrics}");
    let head = Call::new(Method::HEAD, "/dbs/d/colls/c");
    assert_eq!(server.send(head).await.status, 405, "over HTTP there is none");
}

/// The status, the sub-status if there is one, and the number of rows, of a query for one key that also names a range: over
/// RNTBD, and the same over HTTP.
async fn ask(server: &Server, direct: &mut Direct, range: &str, key: &str) -> [String; 2] {
    let path = "/dbs/d/colls/c/docs";
    let body = r#"{"query":"SELECT VALUE c.id FROM c ORDER BY c.id"}"#;
    let key = format!("[\"{key}\"]");
    let frame = Frame::signed(ITEM, QUERY, &Method::POST, path, WELL_KNOWN_KEY)
        .text(0x2B, &key)
        .text(0x2C, range)
        .body(body);
    let answer = direct.send(frame).await;
    let rows = |text: &str| text.matches("item-").count();
    let sub = answer.tokens.get(&0x1C).filter(|sub| *sub != "0").cloned().unwrap_or_default();
    let framed = format!("{} {sub} {}", answer.status, rows(&answer.payload));
    let call = Call::post(path, body.to_owned())
        .header("content-type", "application/query+json")
        .header("x-ms-documentdb-isquery", "True")
        .header("x-ms-documentdb-partitionkey", &key)
        .header("x-ms-documentdb-partitionkeyrangeid", range);
    let reply = server.send(call).await;
    let sub = reply.header("x-ms-substatus").filter(|sub| *sub != "0").unwrap_or_default();
    [framed, format!("{} {sub} {}", reply.status, rows(&reply.text()))]
}

/// The range that answers for a key, when all of `ranges` are asked: one has its rows, the others have none.
async fn owner(server: &Server, direct: &mut Direct, ranges: &[u32], key: &str) -> u32 {
    let mut owner = None;
    for range in ranges {
        let answers = ask(server, direct, &range.to_string(), key).await;
        if answers == ["200  2"; 2] {
            assert_eq!(owner.replace(*range), None, "{key} has two owners");
        } else {
            assert_eq!(answers, ["200  0"; 2], "{key} in {range}");
        }
    }
    owner.unwrap_or_else(|| panic!("nobody has {key}"))
}

/// Clients whose map is old ask every range that took the place of a key's range for the key.
#[tokio::test]
async fn a_range_answers_for_its_own_keys_only() {
    let server = Server::start().await.with_container().await;
    let mut direct = Direct::connect(&server).await;
    for n in 0..40 {
        let (key, body) = (n / 2, format!(r#"{{"id":"item-{n}","pk":"k{}"}}"#, n / 2));
        assert_eq!(direct.send(Frame::create(&format!("k{key}"), &body)).await.status, 201);
    }
    let relocate = async |path: String, body: &str| {
        let bearer = format!("Bearer {WELL_KNOWN_KEY}");
        let path = format!("/_orrery/dbs/d/colls/c/ranges/{path}");
        let call = Call::post(&path, body.to_owned()).unsigned().header("authorization", &bearer);
        let text = server.send(call).await.text();
        assert!(text.contains(r#""end":"done""#), "{text}");
    };
    let pkranges = server.send(Call::get("/dbs/d/colls/c/pkranges")).await.text();
    let n_ranges = u32::try_from(pkranges.matches("minInclusive").count()).unwrap();
    let before: Vec<u32> = (0..n_ranges).collect();
    let parent = owner(&server, &mut direct, &before, "k0").await;
    relocate(format!("{parent}/split"), r#"{"wait":true}"#).await;
    assert_eq!(ask(&server, &mut direct, &parent.to_string(), "k0").await, ["410 1002 0"; 2]);
    let children = [n_ranges, n_ranges + 1];
    let after: Vec<_> = before.into_iter().filter(|it| *it != parent).chain(children).collect();
    for key in 0..20 {
        owner(&server, &mut direct, &after, &format!("k{key}")).await;
    }
    let both = format!(r#"{{"ranges":["{}","{}"],"wait":true}}"#, children[0], children[1]);
    relocate("merge".to_owned(), &both).await;
    for child in children {
        assert_eq!(ask(&server, &mut direct, &child.to_string(), "k0").await, ["410 1002 0"; 2]);
    }
    assert_eq!(owner(&server, &mut direct, &[n_ranges + 2], "k0").await, n_ranges + 2);
}

#[tokio::test]
async fn addresses_are_those_of_the_ranges_that_were_asked_for() {
    let server = Server::start().await.with_container().await;
    let container = server.send(Call::get("/dbs/d/colls/c")).await.json();
    let rid = container.get("_rid").unwrap().as_str().unwrap().to_owned();
    let own = container.get("_self").unwrap().as_str().unwrap().trim_end_matches('/').to_owned();
    let ask = |path: String, signed: &str| {
        let key = authorization(WELL_KNOWN_KEY, &Method::GET, signed, DATE);
        Call::get(&path).header("authorization", &key)
    };
    let encoded = own.replace('/', "%2f").replace('=', "%3d");
    let by_rid = format!("/{own}/docs");
    let path = |ranges: &str| {
        format!(
            "//addresses/?$resolveFor={encoded}%2fdocs&$filter=protocol%20eq%20rntbd&$partitionKeyRangeIds={ranges}"
        )
    };
    let one = server.send(ask(path("1"), &by_rid)).await;
    assert_eq!(one.status, 200, "{}", one.text());
    let document = one.json();
    assert_eq!(document.get("_rid").unwrap().as_str(), Some(rid.as_str()));
    let addresses = document.get("Addresss").unwrap().as_array().unwrap();
    assert_eq!(addresses.len(), 2, "one primary, one secondary");
    for address in addresses {
        assert_eq!(address.get("partitionKeyRangeId").unwrap().as_str(), Some("1"));
        let uri = address.get("physcialUri").unwrap().as_str().unwrap();
        let start = format!("rntbd://{}/apps/", server.address);
        assert!(uri.starts_with(&start) && uri.matches('/').count() == 11, "{uri}");
    }
    let both = server.send(ask(path("0,1"), &by_rid)).await.json();
    assert_eq!(both.get("Addresss").unwrap().as_array().unwrap().len(), 4);
    let gone = server.send(ask(path("0,7"), &by_rid)).await;
    assert_eq!((gone.status, gone.substatus()), (410, 1002));
    let master = server.send(ask("/addresses/?$resolveFor=dbs".to_owned(), "/dbs")).await;
    assert_eq!(master.status, 200, "{}", master.text());
    assert_eq!(master.text().matches("\"partitionKeyRangeId\":\"M\"").count(), 2);
    let metrics = server.send(Call::get("/metrics").unsigned()).await.text();
    for counted in
        ["{action=\"addresses\",status=\"2xx\"} 3", "{action=\"addresses\",status=\"4xx\"} 1"]
    {
        assert!(metrics.contains(counted), "{metrics}");
    }
    server.send(Call::get(&path("0")).unsigned()).await.assert_error(401);
    let unknown = "/addresses/?$resolveFor=dbs%2fAAAAAA==%2fcolls%2fAAAAAAAAAAA=%2fdocs&$partitionKeyRangeIds=0";
    let signed = "/dbs/AAAAAA==/colls/AAAAAAAAAAA=/docs";
    server.send(ask(unknown.to_owned(), signed)).await.assert_error(404);
}

#[tokio::test]
async fn hosts_that_clients_cannot_use_are_replaced_or_refused() {
    let server = Server::start_with(|options| options.is_self_signed = true).await;
    let port = server.address.port();
    let ask = |host: &str| {
        let key = authorization(WELL_KNOWN_KEY, &Method::GET, "/dbs", DATE);
        Call::get("/addresses/?$resolveFor=dbs").header("authorization", &key).header("host", host)
    };
    let table = [
        (format!("localhost:{port}"), format!("rntbd://127.0.0.1:{port}/")),
        ("database:18081".to_owned(), "rntbd://database:18081/".to_owned()),
        (format!("[::1]:{port}"), format!("rntbd://localhost:{port}/")),
    ];
    for (host, expected) in table {
        let answer = server.send(ask(&host)).await;
        assert!(answer.text().contains(&expected), "{host}: {}", answer.text());
    }
    server.send(ask("[fe80::1]:8081")).await.assert_error(400);
}

#[tokio::test]
async fn a_payload_that_is_too_large_is_413_and_the_next_request_is_answered() {
    let server = Server::start_with(|options| options.limits.body_bytes_max = 10_000).await;
    let server = server.with_container().await;
    let mut direct = Direct::connect(&server).await;
    let long = format!("{{\"id\":\"1\",\"pk\":\"a\",\"x\":\"{}\"}}", "y".repeat(20_000));
    let refused = direct.send(Frame::create("a", &long)).await;
    assert_eq!(refused.status, 413, "{refused:?}");
    assert_eq!(direct.send(Frame::create("a", r#"{"id":"1","pk":"a"}"#)).await.status, 201);
}

#[tokio::test]
async fn bytes_that_are_no_frames_end_their_connection_only() {
    let server = Server::start().await.with_container().await;
    let whole = Frame::read("a", "1").bytes(1);
    let mut wrong_type = whole.clone();
    wrong_type[26] = 0x77;
    let table: [(&str, Vec<u8>); 4] = [
        ("length zero", vec![0; 64]),
        ("length above all limits", [&[0xFF; 4][..], &whole[4..]].concat()),
        ("an unknown type", wrong_type),
        ("a string beyond the frame", {
            let mut bytes = whole.clone();
            bytes[27] = 0xFF;
            bytes[28] = 0xFF;
            bytes
        }),
    ];
    for (name, bytes) in table {
        let mut direct = Direct::connect(&server).await;
        direct.stream.write_all(&bytes).await.unwrap();
        let mut rest = Vec::new();
        let ended = timeout(LONG, direct.stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok() && rest.is_empty(), "{name}");
    }
    // A frame before the negotiation is refused.
    let stream = TcpStream::connect(server.address).await.unwrap();
    let mut stream = tls(&server, stream, Protocol::TlsPlain, "127.0.0.1").await.unwrap();
    stream.write_all(&whole).await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut answer)).await.unwrap();
    assert_eq!(answer[4..8], 400u32.to_le_bytes());
    server.assert_alive().await;
}

#[tokio::test]
async fn silent_clients_are_cut_off() {
    let short = Duration::from_millis(100);
    let server = Server::start_with(|options| {
        options.limits.greeting_timeout = short;
        options.limits.body_timeout = short;
    })
    .await
    .with_container()
    .await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let mut stream = tls(&server, stream, Protocol::TlsPlain, "127.0.0.1").await.unwrap();
    stream.write_all(&[40, 0, 0, 0]).await.unwrap();
    let mut rest = Vec::new();
    assert!(timeout(LONG, stream.read_to_end(&mut rest)).await.is_ok(), "no negotiation");
    let mut direct = Direct::connect(&server).await;
    direct.stream.write_all(&Frame::read("a", "1").bytes(1)[..30]).await.unwrap();
    assert!(timeout(LONG, direct.stream.read_to_end(&mut rest)).await.is_ok(), "half a frame");
    let mut idle = Direct::connect(&server).await;
    tokio::time::sleep(short * 3).await;
    assert_eq!(idle.send(Frame::read("a", "1")).await.status, 404, "between frames there is time");
}

/// The value of a metric without labels.
async fn metric(server: &Server, name: &str) -> usize {
    let text = server.send(Call::get("/metrics").unsigned()).await.text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name}\n{text}"))
}

/// The limits of HTTP hold for frames, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_read_responses_is_cut_off() {
    const MIB: usize = 1 << 20;
    let server = Server::start_with(|options| {
        options.limits.unread_bytes_max = 8 * MIB;
        options.limits.write_timeout = Duration::from_secs(2);
    })
    .await
    .with_container()
    .await;
    let large = format!(r#"{{"id":"1","pk":"a","x":"{}"}}"#, "y".repeat(MIB));
    assert_eq!(server.send(Call::create("a", large)).await.status, 201);
    let mut hostile = Direct::connect(&server).await;
    let bytes: Vec<u8> = (0..200).flat_map(|id| Frame::read("a", "1").bytes(id)).collect();
    hostile.stream.write_all(&bytes).await.unwrap();
    let mut most = 0;
    for _ in 0..10 {
        most = most.max(metric(&server, "orrery_unread_answer_bytes").await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(most < 32 * MIB, "{most} bytes wait for one client");
    let gone = async {
        // The one that asks is open as well.
        while metric(&server, "orrery_connections_open").await > 1 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    assert!(timeout(4 * LONG, gone).await.is_ok(), "it is cut off");
    assert_eq!(metric(&server, "orrery_unread_answer_bytes").await, 0);
}

/// A clock that is wrong is told at once: the client would try for 15 seconds if the refusal had no position.
#[tokio::test]
async fn a_date_too_far_from_now_is_refused_with_a_position() {
    const OLD: &str = "Tue, 01 Jan 2019 00:00:00 GMT";
    let server = Server::start().await.with_container().await;
    let mut direct = Direct::connect(&server).await;
    let signed = authorization(WELL_KNOWN_KEY, &Method::GET, "/dbs/d/colls/c/docs/1", OLD);
    let skewed = Frame::new(ITEM, READ)
        .text(0x01, &signed)
        .token(0x03, 7, &[&[u8::try_from(OLD.len()).unwrap()], OLD.as_bytes()].concat())
        .text(0x05, "0:-1#7")
        .text(0x13, PRIMARY)
        .text(0x15, "d")
        .text(0x16, "c")
        .text(0x17, "1")
        .text(0x2B, "[\"a\"]");
    let refused = direct.send(skewed).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    refused.assert_positions();
    assert_eq!((refused.token(0x1B), refused.token(0x3E)), ("1", "-1#7"));
    assert!(refused.payload.contains("current server time"), "{refused:?}");
    assert_eq!(direct.send(Frame::read("a", "1")).await.status, 404, "the connection goes on");
}

#[tokio::test]
async fn a_stop_answers_what_is_under_way() {
    let mut server = Server::start().await.with_container().await;
    let mut direct = Direct::connect(&server).await;
    let mut bytes = Vec::new();
    for id in 0..20u32 {
        let item = format!("{{\"id\":\"{id}\",\"pk\":\"a\"}}");
        bytes.extend(Frame::create("a", &item).bytes(id));
    }
    direct.stream.write_all(&bytes).await.unwrap();
    assert_eq!(direct.receive().await.status, 201);
    let stopped = server.stop();
    let mut n_answered = 1;
    let mut head = [0; 1];
    while let Ok(1) = direct.stream.read(&mut head).await {
        n_answered += 1;
    }
    assert!(n_answered > 1, "answers were written before the end");
    assert!(timeout(LONG, stopped).await.is_ok());
}

/// Bytes of bodies that the server holds.
async fn held_bytes(server: &Server) -> usize {
    let text = server.send(Call::get("/metrics").unsigned()).await.text();
    let part = "orrery_memory_used_bytes{part=\"bodies\"} ";
    let line = text.lines().find_map(|line| line.strip_prefix(part));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

async fn holds(server: &Server, expected: impl Fn(usize) -> bool) {
    let reached = async {
        while !expected(held_bytes(server).await) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, reached).await.expect("the server holds other bytes");
}

fn item(id: &str, n_bytes: usize) -> String {
    format!(r#"{{"id":"{id}","pk":"a","x":"{}"}}"#, "y".repeat(n_bytes))
}

#[tokio::test]
async fn the_payload_of_a_stranger_is_not_kept() {
    let server = Server::start().await.with_container().await;
    let mut direct = Direct::connect(&server).await;
    let wrong = "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXk=";
    let bytes = Frame::create_signed_with(wrong, "a", &item("1", 1 << 20)).bytes(5);
    let (most, rest) = bytes.split_at(1 << 20);
    direct.stream.write_all(most).await.unwrap();
    direct.stream.flush().await.unwrap();
    for _ in 0..10 {
        assert_eq!(held_bytes(&server).await, 0);
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    direct.stream.write_all(rest).await.unwrap();
    let answer = timeout(LONG, direct.receive()).await.unwrap();
    assert_eq!((answer.status, answer.token(0x35)), (401, "5"));
    assert_eq!(direct.send(Frame::create("a", r#"{"id":"2","pk":"a"}"#)).await.status, 201);
}

#[tokio::test]
async fn payloads_on_their_way_share_a_budget() {
    let little = |options: &mut gateway::GatewayOptions| {
        options.limits.body_bytes_in_all_max = 1 << 20;
    };
    let server = Server::start_with(little).await.with_container().await;
    let mut first = Direct::connect(&server).await;
    let mut second = Direct::connect(&server).await;
    let bytes = Frame::create("a", &item("1", 700 << 10)).bytes(1);
    let (most, rest) = bytes.split_at(600 << 10);
    first.stream.write_all(most).await.unwrap();
    first.stream.flush().await.unwrap();
    holds(&server, |bytes| bytes > 500 << 10).await;
    let refused = second.send(Frame::create("a", &item("2", 700 << 10))).await;
    assert_eq!(refused.status, 429);
    let small = Frame::create("a", r#"{"id":"3","pk":"a"}"#);
    assert_eq!(second.send(small).await.status, 201, "others go on");
    first.stream.write_all(rest).await.unwrap();
    assert_eq!(timeout(LONG, first.receive()).await.unwrap().status, 201);
    holds(&server, |bytes| bytes == 0).await;
    assert_eq!(second.send(Frame::create("a", &item("2", 700 << 10))).await.status, 201);
}

#[tokio::test]
async fn a_frame_has_so_much_time_however_it_drips() {
    let short = |options: &mut gateway::GatewayOptions| {
        options.limits.body_timeout = Duration::from_millis(600);
    };
    let server = Server::start_with(short).await.with_container().await;
    for n_head in [3, 200] {
        let mut direct = Direct::connect(&server).await;
        let bytes = Frame::create("a", &item("1", 1000)).bytes(1);
        direct.stream.write_all(&bytes[..n_head]).await.unwrap();
        let drip = async {
            for byte in &bytes[n_head..n_head + 100] {
                let sent = direct.stream.write_all(&[*byte]).await.is_ok();
                if !sent || direct.stream.flush().await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            panic!("it is not cut off");
        };
        timeout(LONG, drip).await.expect("it hangs");
    }
}
