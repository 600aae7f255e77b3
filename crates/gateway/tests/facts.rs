//! What the management API tells tools: logical partitions, heat, events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]
#![allow(clippy::float_cmp, reason = "counts are whole numbers")]

mod support;

use std::time::Duration;

use account::{Account, AccountOptions, Enforcement};
use http_body_util::BodyExt;
use model::{Env, Value};
use support::{Call, Client, Protocol, Reply, START_MS, Server, read_only_key};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(20);

fn reading(path: &str) -> Call {
    Call::get(path).unsigned().header("authorization", &format!("Bearer {}", read_only_key()))
}

async fn get(server: &Server, path: &str) -> Reply {
    server.send(reading(&format!("/_orrery/dbs/d/colls/c/{path}"))).await
}

/// Key `kN` has N items.
async fn filled() -> Server {
    let server = Server::start().await.with_container().await;
    for key in 1..=9 {
        for item in 0..key {
            let body = format!(r#"{{"id":"{item}","pk":"k{key}","text":"{}"}}"#, "x".repeat(key));
            assert_eq!(server.send(Call::create(&format!("k{key}"), body)).await.status, 201);
        }
    }
    server
}

fn keys(page: &Value) -> Vec<String> {
    let rows = page.get("rows").and_then(Value::as_array).unwrap();
    let key = |row: &Value| row.get("partitionKey")?.as_array()?.first()?.as_str().map(Into::into);
    rows.iter().map(|row| key(row).unwrap()).collect()
}

fn number(value: &Value, name: &str) -> f64 {
    value.get(name).and_then(Value::as_f64).unwrap_or_else(|| panic!("{name}"))
}

#[tokio::test]
async fn logical_partitions_are_ranked_and_paged() {
    let server = filled().await;
    let page = get(&server, "logical?by=items&top=4").await.json();
    assert_eq!(keys(&page), ["k9", "k8", "k7", "k6"]);
    let summary = page.get("summary").unwrap();
    assert_eq!(number(summary, "logicalPartitions"), 9.0);
    assert_eq!(number(summary, "total"), 45.0);
    assert_eq!(number(summary, "largestShare"), 0.2);
    assert!((number(summary, "gini") - 0.296).abs() < 0.001);
    let mut seen = keys(&page);
    let mut next = page.get("next").and_then(Value::as_str).map(str::to_owned);
    while let Some(from) = next {
        let from = percent_encoding::utf8_percent_encode(&from, percent_encoding::NON_ALPHANUMERIC);
        let page = get(&server, &format!("logical?by=items&top=4&from={from}")).await.json();
        seen.extend(keys(&page));
        next = page.get("next").and_then(Value::as_str).map(str::to_owned);
    }
    assert_eq!(seen, ["k9", "k8", "k7", "k6", "k5", "k4", "k3", "k2", "k1"]);
    let one = get(&server, "logical?prefix=k3&by=bytes").await.json();
    assert_eq!(keys(&one), ["k3"]);
    let row = &one.get("rows").and_then(Value::as_array).unwrap()[0];
    assert_eq!(number(row, "items"), 3.0);
    assert!(number(row, "bytes") > 30.0 && number(row, "charge") > 0.0);
    assert_eq!(keys(&get(&server, "logical?by=charge&top=1").await.json()), ["k9"]);
    for bad in ["by=x", "top=0", "top=1001", "top=x", "from=x", "from=1:x", "other=1"] {
        get(&server, &format!("logical?{bad}")).await.assert_error(400);
    }
}

#[tokio::test]
async fn the_ranking_is_the_same_in_every_layout() {
    let server = filled().await;
    let before = keys(&get(&server, "logical?by=items").await.json());
    let bearer = format!("Bearer {}", gateway::WELL_KNOWN_KEY);
    let split = Call::post("/_orrery/dbs/d/colls/c/ranges/0/split", r#"{"wait":true}"#).unsigned();
    let reply = server.send(split.header("authorization", &bearer)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let steps = reply.json();
    let steps = steps.get("steps").and_then(Value::as_array).unwrap();
    let name = |step: &Value| step.get("step").and_then(Value::as_str).unwrap().to_owned();
    let names: Vec<String> = steps.iter().map(name).collect();
    assert_eq!(names, ["reserve", "copy", "catch-up", "fence", "cut-over", "reclaim"]);
    assert!(steps.is_sorted_by(|a, b| number(a, "atMs") <= number(b, "atMs")));
    assert_eq!(keys(&get(&server, "logical?by=items").await.json()), before);
    let ranges = get(&server, "ranges").await.json();
    let ranges = ranges.get("ranges").and_then(Value::as_array).unwrap();
    let places: Vec<f64> =
        ranges.iter().flat_map(|it| [number(it, "from"), number(it, "to")]).collect();
    assert_eq!((places.first(), places.last()), (Some(&0.0), Some(&1.0)));
    let inner = &places[1..places.len() - 1];
    assert!(inner.chunks(2).all(|pair| pair[0] == pair[1]) && places.is_sorted(), "{places:?}");
}

#[tokio::test]
async fn heat_lies_where_the_keys_are() {
    let server = filled().await;
    let heat = get(&server, "heat").await.json();
    assert_eq!(number(&heat, "columnSeconds"), 60.0);
    let columns = heat.get("columns").and_then(Value::as_array).unwrap();
    let cells = columns.iter().flat_map(|it| it.get("cells").and_then(Value::as_array).unwrap());
    let mut slices: Vec<(i64, f64)> = Vec::new();
    let mut written = 0.0;
    for cell in cells {
        let cell = cell.as_array().unwrap();
        slices.push((cell[0].as_i64().unwrap(), cell[2].as_f64().unwrap()));
        written += cell[2].as_f64().unwrap();
    }
    let ranges = get(&server, "ranges").await.json();
    let ranges = ranges.get("ranges").and_then(Value::as_array).unwrap();
    let used: f64 = ranges.iter().map(|range| number(range, "charge")).sum();
    // Cells have hundredths, as the charges that clients see; each of the 45 requests is rounded.
    assert!((used - written).abs() <= 45.0 * 0.005, "{used} {written}");
    // The slices of the nine keys, by their effective partition keys.
    let rows = get(&server, "logical").await.json();
    let slice = |row: &Value| {
        let epk = row.get("epk").and_then(Value::as_str).unwrap();
        i64::from_str_radix(&epk[..4], 16).unwrap() >> 6
    };
    let rows = rows.get("rows").and_then(Value::as_array).unwrap();
    let mut expected: Vec<i64> = rows.iter().map(slice).collect();
    expected.sort_unstable();
    expected.dedup();
    let mut found: Vec<i64> = slices.iter().map(|(slice, _)| *slice).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, expected);
    let hour = get(&server, "heat?from=0&to=1").await.json();
    assert_eq!(number(&hour, "columnSeconds"), 3600.0);
    assert!(hour.get("columns").and_then(Value::as_array).unwrap().is_empty());
    get(&server, "heat?from=x").await.assert_error(400);
    let nowhere = reading("/_orrery/dbs/d/colls/nothing/heat");
    server.send(nowhere).await.assert_error(404);
}

/// Reads events until one has both texts in it.
async fn event(body: &mut hyper::body::Incoming, name: &str, text: &str) -> String {
    let wanted = format!("event: {name}\n");
    let look = async {
        loop {
            let frame = body.frame().await.expect("the stream goes on").expect("a frame");
            let frame = String::from_utf8_lossy(frame.data_ref().expect("data")).into_owned();
            let events = frame.split("\n\n").map(str::to_owned);
            let mut found = events.filter(|event| event.starts_with(&wanted));
            if let Some(event) = found.find(|event| event.contains(text)) {
                return event;
            }
        }
    };
    timeout(LONG, look).await.unwrap_or_else(|_| panic!("no event {name} with {text}"))
}

#[tokio::test]
async fn events_tell_what_happens() {
    for protocol in [Protocol::Http1, Protocol::TlsHttp2] {
        let server = Server::start().await.with_container().await;
        let mut client = Client::connect(&server, protocol).await;
        let mut response = client.open(reading("/_orrery/events")).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        server.send(Call::create("a", r#"{"id":"1","pk":"a"}"#)).await;
        let second = event(response.body_mut(), "second", "\"container\":\"c\"").await;
        let data = second.split_once("data: ").unwrap().1;
        let data = model::json::parse(data.as_bytes()).unwrap();
        let containers = data.get("containers").and_then(Value::as_array).unwrap();
        let range = &containers[0].get("ranges").and_then(Value::as_array).unwrap()[0];
        assert!(number(range, "write") > 0.0, "{second}");
        assert_eq!((number(range, "read"), number(range, "items")), (0.0, 1.0));
        let bearer = format!("Bearer {}", gateway::WELL_KNOWN_KEY);
        let path = "/_orrery/dbs/d/colls/c/ranges/0/split";
        let split = Call::post(path, r#"{"wait":true}"#).unsigned();
        assert_eq!(server.send(split.header("authorization", &bearer)).await.status, 200);
        event(response.body_mut(), "relocation", "\"kind\":\"split\"").await;
        server
            .send(Call::post("/dbs/d/colls", r#"{"id":"e","partitionKey":{"paths":["/pk"]}}"#))
            .await;
        event(response.body_mut(), "layout", "\"container\":\"e\"").await;
    }
}

#[tokio::test]
async fn streams_are_few_and_end_with_the_server() {
    let mut server = Server::start().await;
    let mut open = Vec::new();
    for _ in 0..16 {
        let mut client = Client::connect(&server, Protocol::Http1).await;
        let response = client.open(reading("/_orrery/events")).await;
        assert_eq!(response.status(), 200);
        open.push((client, response));
    }
    server.send(reading("/_orrery/events")).await.assert_error(429);
    open.pop();
    let again = async {
        loop {
            let mut client = Client::connect(&server, Protocol::Http1).await;
            if client.open(reading("/_orrery/events")).await.status() == 200 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(LONG, again).await.expect("a place comes free");
    let (_client, mut response) = open.pop().unwrap();
    let stop = async {
        server.stop().await.unwrap();
        while let Some(Ok(_)) = response.body_mut().frame().await {}
    };
    timeout(LONG, stop).await.expect("streams do not keep the server");
}

#[tokio::test]
async fn refused_requests_are_told_with_the_key_that_used_the_range() {
    let options =
        AccountOptions { enforcement: Enforcement::On, min_partitions: 1, ..Default::default() };
    let env = Env::fixed(1, START_MS);
    let account = Account::open(store::open_memory(), options, env.clone()).await.unwrap();
    let server = Server::start_on(account, env, |_| {}).await;
    server.send(Call::post("/dbs", r#"{"id":"d"}"#)).await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#;
    let create = Call::post("/dbs/d/colls", body).header("x-ms-offer-throughput", "400");
    assert_eq!(server.send(create).await.status, 201);
    let mut client = Client::connect(&server, Protocol::Http1).await;
    let mut response = client.open(reading("/_orrery/events")).await;
    let mut n_refused = 0;
    for item in 0..200 {
        let body = format!(r#"{{"id":"{item}","pk":"hot"}}"#);
        n_refused += i64::from(server.send(Call::create("hot", body)).await.status == 429);
    }
    assert!(n_refused > 0);
    event(response.body_mut(), "throttle", "\"hottest\":[\"hot\"]").await;
    let heat = get(&server, "heat").await.json();
    let columns = heat.get("columns").and_then(Value::as_array).unwrap();
    let cells: Vec<&Value> =
        columns.iter().flat_map(|it| it.get("cells").and_then(Value::as_array).unwrap()).collect();
    let refused = |cell: &Value| cell.as_array().unwrap()[3].as_i64().unwrap();
    assert_eq!(cells.iter().map(|cell| refused(cell)).collect::<Vec<_>>(), [n_refused]);
}

#[tokio::test]
async fn requests_are_told_while_somebody_watches() {
    let server = filled().await;
    let mut client = Client::connect(&server, Protocol::Http1).await;
    let mut response = client.open(reading("/_orrery/events?requests=1")).await;
    server.send(Call::get("/dbs/d/colls/c/docs/0").key_header("k3")).await;
    let told = event(response.body_mut(), "requests", "item_read").await;
    let data = model::json::parse(told.split_once("data: ").unwrap().1.as_bytes()).unwrap();
    let rows = data.get("requests").and_then(Value::as_array).unwrap();
    let is_read = |row: &&Value| row.get("operation").and_then(Value::as_str) == Some("item_read");
    let row = rows.iter().find(is_read).unwrap();
    let text =
        |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_else(|| panic!("{told}"));
    assert_eq!((text("database"), text("container")), ("d", "c"));
    assert_eq!((text("partitionKey"), text("method")), ("[\"k3\"]", "GET"));
    assert!(["0", "1"].contains(&text("range")), "{told}");
    assert_eq!((number(row, "status"), number(row, "charge")), (200.0, 1.0));
    assert_eq!(number(&data, "missed"), 0.0);
    server.send(reading("/_orrery/events?requests=2")).await.assert_error(400);
    drop((response, client));
    // Others are not told what nobody asked for.
    let mut client = Client::connect(&server, Protocol::Http1).await;
    let gone = async {
        loop {
            let mut response = client.open(reading("/_orrery/events")).await;
            let frame = response.body_mut().frame().await.unwrap().unwrap();
            let text = String::from_utf8_lossy(frame.data_ref().unwrap()).into_owned();
            if !text.contains("event: requests") {
                return;
            }
            drop(response);
            client = Client::connect(&server, Protocol::Http1).await;
        }
    };
    timeout(LONG, gone).await.expect("the tail ends with who watches");
}

#[tokio::test]
async fn the_index_tells_its_paths() {
    let server = Server::start().await.with_container().await;
    for (id, item) in [
        ("1", r#"{"id":"1","pk":"a","n":1,"tags":["x"],"who":{"name":null}}"#),
        ("2", r#"{"id":"2","pk":"b","n":"one","flag":true,"who":{}}"#),
    ] {
        let key = if id == "1" { "a" } else { "b" };
        assert_eq!(server.send(Call::create(key, item)).await.status, 201);
    }
    let answer = get(&server, "paths").await.json();
    let paths = answer.get("paths").and_then(Value::as_array).unwrap();
    let shown: Vec<String> = paths.iter().map(Value::to_text).collect();
    for expected in [
        r#"{"path":"/n","kinds":["number","string"]}"#,
        r#"{"path":"/flag","kinds":["boolean"]}"#,
        r#"{"path":"/tags","kinds":["array"]}"#,
        r#"{"path":"/tags/[]","kinds":["string"]}"#,
        r#"{"path":"/who","kinds":["object"]}"#,
        r#"{"path":"/who/name","kinds":["null"]}"#,
    ] {
        let is_same = |text: &String| {
            let sorted = |text: &str| {
                let value = model::json::parse(text.as_bytes()).unwrap();
                let mut kinds: Vec<String> = value
                    .get("kinds")
                    .and_then(Value::as_array)
                    .unwrap()
                    .iter()
                    .map(Value::to_text)
                    .collect();
                kinds.sort();
                (value.get("path").unwrap().to_text(), kinds)
            };
            sorted(text) == sorted(expected)
        };
        assert!(shown.iter().any(is_same), "{expected} in {shown:?}");
    }
}

#[tokio::test]
async fn places_are_told_of_keys_that_nobody_has() {
    let server = filled().await;
    let place = |body: &str| {
        let bearer = format!("Bearer {}", read_only_key());
        Call::post("/_orrery/place", body.to_owned()).unsigned().header("authorization", &bearer)
    };
    let body = r#"{"definition":{"paths":["/pk"],"version":2},"keys":[["k1"],[null],[{}],[7]]}"#;
    let answer = server.send(place(body)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    let places = answer.get("places").and_then(Value::as_array).unwrap();
    assert_eq!(places.len(), 4);
    assert!(places.iter().all(|it| (0.0..1.0).contains(&number(it, "place"))));
    // As the container itself says.
    let logical = get(&server, "logical?prefix=k1").await.json();
    let row = &logical.get("rows").and_then(Value::as_array).unwrap()[0];
    assert_eq!(row.get("epk"), places[0].get("epk"));
    assert_eq!(number(row, "place"), number(&places[0], "place"));
    let slices = logical.get("slices").and_then(Value::as_array).unwrap();
    assert_eq!(slices.len(), 256);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 256")]
    let slice = (number(row, "place") * 256.0) as usize;
    assert_eq!(slices[slice].as_f64(), row.get("bytes").unwrap().as_f64());
    for bad in [
        "{}",
        r#"{"definition":{"paths":["/pk"]}}"#,
        r#"{"definition":{"paths":["/pk"]},"keys":["a"]}"#,
        r#"{"definition":{"paths":["/pk"]},"keys":[["a","b"]]}"#,
        r#"{"definition":{},"keys":[]}"#,
    ] {
        server.send(place(bad)).await.assert_error(400);
    }
}

#[tokio::test]
async fn enforcement_can_be_changed_while_the_server_runs() {
    let server = Server::start_over(1, |_| {}).await;
    server.send(Call::post("/dbs", r#"{"id":"d"}"#)).await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#;
    let create = Call::post("/dbs/d/colls", body).header("x-ms-offer-throughput", "400");
    assert_eq!(server.send(create).await.status, 201);
    let bearer = format!("Bearer {}", gateway::WELL_KNOWN_KEY);
    let enforce = |body: &str| {
        let call = Call::post("/_orrery/enforcement", body.to_owned()).unsigned();
        call.header("authorization", &bearer)
    };
    let root = server.send(reading("/_orrery/")).await.json();
    assert_eq!(root.get("enforcement").and_then(Value::as_str), Some("off"));
    assert_eq!(number(&root, "partitionBytes"), f64::from(50_u32 << 10) * f64::from(1_u32 << 20));
    let mut client = Client::connect(&server, Protocol::Http1).await;
    let mut response = client.open(reading("/_orrery/events")).await;
    for (mode, expected) in [("off", 201), ("on", 429), ("warn", 201)] {
        let changed = server.send(enforce(&format!(r#"{{"mode":"{mode}"}}"#))).await;
        assert_eq!(changed.json().get("mode").and_then(Value::as_str), Some(mode));
        let mut last = 0;
        for item in 0..100 {
            let body = format!(r#"{{"id":"{mode}{item}","pk":"a"}}"#);
            last = server.send(Call::create("a", body)).await.status;
        }
        assert_eq!(last, expected, "{mode}");
        if mode == "on" {
            // The budget is in debt.
            event(response.body_mut(), "second", "\"left\":-").await;
        }
    }
    let with_reader = Call::post("/_orrery/enforcement", r#"{"mode":"off"}"#).unsigned();
    let reader = format!("Bearer {}", read_only_key());
    server.send(with_reader.header("authorization", &reader)).await.assert_error(401);
    server.send(enforce(r#"{"mode":"x"}"#)).await.assert_error(400);
}
