//! The management API: who may use it, faults, the clock, resets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

mod support;

use gateway::WELL_KNOWN_KEY;
use model::Value;
use support::{Call, Reply, Server, read_only_key, secondary_key};

fn managed(call: Call) -> Call {
    call.unsigned().header("authorization", &format!("Bearer {WELL_KNOWN_KEY}"))
}

async fn post(server: &Server, path: &str, body: &str) -> Reply {
    server.send(managed(Call::post(path, body.to_owned()))).await
}

async fn get(server: &Server, path: &str) -> Reply {
    server.send(managed(Call::get(path))).await
}

#[tokio::test]
async fn only_keys_are_let_in_and_those_that_read_only_to_read() {
    let server = Server::start().await;
    let with = |authorization: &str| {
        Call::get("/_orrery/").unsigned().header("authorization", authorization)
    };
    for key in [WELL_KNOWN_KEY.to_owned(), secondary_key(), read_only_key()] {
        let reply = server.send(with(&format!("Bearer {key}"))).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert!(reply.json().get("routes").and_then(Value::as_array).unwrap().len() > 5);
    }
    for bad in ["Bearer x", "Basic eA==", "Bearer"] {
        server.send(with(bad)).await.assert_error(401);
    }
    let reads = format!("Bearer {}", read_only_key());
    for (path, expected) in [("reset", 401), ("clock", 401), ("faults", 401)] {
        let call = Call::post(&format!("/_orrery/{path}"), "{}").unsigned();
        assert_eq!(server.send(call.header("authorization", &reads)).await.status, expected);
    }
    server.send(Call::get("/_orrery/").unsigned()).await.assert_error(401);
    server.send(Call::get("/_orrery/ranges")).await.assert_error(401);
    get(&server, "/_orrery/nothing").await.assert_error(404);
    post(&server, "/_orrery/ranges", "{}").await.assert_error(405);
    server.send(Call::get("/_orreryx").unsigned()).await.assert_error(400);
    server.assert_alive().await;
}

#[tokio::test]
async fn a_query_is_explained_range_by_range() {
    const PATH: &str = "/_orrery/dbs/d/colls/c/explain";
    let server = Server::start().await.with_container().await;
    let create = Call::create("a", r#"{"id":"1","pk":"a","n":1}"#);
    assert_eq!(server.send(create).await.status, 201);
    let explain = async |body: &str| post(&server, PATH, body).await;
    let reply = explain(
        r#"{"query":"SELECT * FROM c WHERE c.n = @n","parameters":[{"name":"@n","value":1}]}"#,
    )
    .await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let answer = reply.json();
    let ranges = answer.get("ranges").and_then(Value::as_array).unwrap();
    let plans: Vec<_> = ranges.iter().map(|range| range.get("plan").unwrap().as_str()).collect();
    assert_eq!(answer.get("rangesInAll").unwrap().to_text(), ranges.len().to_string());
    assert!(plans.iter().all(|plan| *plan == Some("stream\n  seek /n = 1\n")), "{plans:?}");
    let used = answer.get("index").and_then(|index| index.get("utilized")).unwrap();
    assert_eq!(used.to_text(), r#"["/n/?"]"#);

    let of_key = explain(r#"{"query":"SELECT * FROM c ORDER BY c.n","partitionKey":["a"]}"#).await;
    let of_key = of_key.json();
    assert_eq!(of_key.get("ranges").and_then(Value::as_array).unwrap().len(), 1);
    assert_eq!(of_key.get("needsMerge").and_then(Value::as_bool), Some(false));

    let reply = explain(r#"{"query":"SELECT FROM"}"#).await;
    reply.assert_error(400);
    assert!(reply.text().contains("SC1001"), "{}", reply.text());
    for bad in [
        "{}",
        r#"{"query":7}"#,
        r#"{"query":"SELECT 1","parameters":[{"name":"n","value":1}]}"#,
        r#"{"query":"SELECT 1","partitionKey":"a"}"#,
        r#"{"query":"SELECT 1","partitionKey":["a","b"]}"#,
        r#"{"query":"SELECT 1","partitionKey":[]}"#,
        r#"{"query":"SELECT 1","merge":true}"#,
    ] {
        explain(bad).await.assert_error(400);
    }
    post(&server, "/_orrery/dbs/d/colls/x/explain", r#"{"query":"SELECT 1"}"#)
        .await
        .assert_error(404);
    get(&server, PATH).await.assert_error(405);
    server.assert_alive().await;
}

#[tokio::test]
async fn faults_hit_the_next_requests_that_match() {
    let server = Server::start().await.with_container().await;
    let rule = r#"{"match":{"action":"item_create","path":"dbs/d/colls/c"},
        "status":429,"retryAfterMs":7,"times":2}"#;
    assert_eq!(post(&server, "/_orrery/faults", rule).await.status, 201);
    let create = |id: &str| Call::create("a", format!(r#"{{"id":"{id}","pk":"a"}}"#));
    for _ in 0..2 {
        let reply = server.send(create("1")).await;
        reply.assert_error(429);
        assert_eq!(reply.substatus(), 3200);
        assert_eq!(reply.header("x-ms-retry-after-ms"), Some("7"));
    }
    assert_eq!(server.send(create("1")).await.status, 201);

    let rule =
        r#"{"match":{"partitionKey":["a"]},"status":503,"message":"gone fishing","times":9}"#;
    assert_eq!(post(&server, "/_orrery/faults", rule).await.status, 201);
    let read = |key: &str| Call::get("/dbs/d/colls/c/docs/1").key_header(key);
    let reply = server.send(read("a")).await;
    reply.assert_error(503);
    assert!(reply.text().contains("gone fishing"));
    server.send(read("b")).await.assert_error(404);
    let shown = get(&server, "/_orrery/faults").await.json();
    let shown = shown.get("faults").and_then(Value::as_array).unwrap();
    assert_eq!(shown[0].get("timesLeft").and_then(Value::as_i64), Some(8));
    let cleared = server.send(managed(Call::delete("/_orrery/faults"))).await;
    assert_eq!(cleared.json().get("faults").and_then(Value::as_array).unwrap().len(), 0);
    assert_eq!(server.send(read("a")).await.status, 200);
    for bad in ["{}", "[]", "{", r#"{"status":200}"#, r#"{"status":429,"mtach":{}}"#] {
        post(&server, "/_orrery/faults", bad).await.assert_error(400);
    }
}

#[tokio::test]
async fn a_delayed_request_goes_on() {
    let server = Server::start().await.with_container().await;
    post(&server, "/_orrery/faults", r#"{"match":{"action":"item_create"},"delayMs":50}"#).await;
    let call = Call::create("a", r#"{"id":"1","pk":"a"}"#);
    let (clock, begin) = (model::Env::system(), model::Env::system().monotonic());
    assert_eq!(server.send(call).await.status, 201);
    assert!(clock.monotonic().saturating_sub(begin).as_millis() >= 50);
}

#[tokio::test]
async fn the_clock_can_be_advanced_to_see_expiry() {
    // As in the product: signatures are judged by a clock of their own.
    let own = model::Env::fixed(8, support::START_MS);
    let server = Server::start_with(|options| options.env = own).await;
    server.send(Call::post("/dbs", r#"{"id":"d"}"#)).await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":3600}"#;
    server.send(Call::post("/dbs/d/colls", body)).await;
    assert_eq!(server.send(Call::create("a", r#"{"id":"1","pk":"a"}"#)).await.status, 201);
    let before = get(&server, "/_orrery/clock").await.json();
    let after = post(&server, "/_orrery/clock", r#"{"advanceSeconds":3601}"#).await.json();
    let ms = |value: &Value| value.get("nowMs").and_then(Value::as_i64).unwrap();
    assert_eq!(ms(&after) - ms(&before), 3_601_000);
    server.send(Call::get("/dbs/d/colls/c/docs/1").key_header("a")).await.assert_error(404);
    for bad in [
        r#"{"advanceSeconds":-1}"#,
        r#"{"advanceSeconds":1e300}"#,
        r#"{"advanceSeconds":"1"}"#,
        "{}",
    ] {
        post(&server, "/_orrery/clock", bad).await.assert_error(400);
    }
}

#[tokio::test]
async fn ranges_show_sizes_and_heat() {
    let server = Server::start().await.with_container().await;
    for n in 0..20 {
        let body = format!(r#"{{"id":"{n}","pk":"hot"}}"#);
        assert_eq!(server.send(Call::create("hot", body)).await.status, 201);
    }
    let shown = get(&server, "/_orrery/dbs/d/colls/c/ranges").await;
    assert_eq!(shown.status, 200, "{}", shown.text());
    let shown = shown.json();
    let ranges = shown.get("ranges").and_then(Value::as_array).unwrap();
    assert_eq!(ranges.len(), 2);
    let n_items = |range: &Value| range.get("items").and_then(Value::as_i64).unwrap();
    assert_eq!(ranges.iter().map(n_items).sum::<i64>(), 20);
    let hot = ranges.iter().find(|range| n_items(range) == 20).unwrap();
    let hottest = hot.get("hottest").and_then(Value::as_array).unwrap();
    assert_eq!(hottest[0].get("partitionKey").unwrap().to_text(), r#"["hot"]"#);
    assert!(hot.get("charge").and_then(Value::as_f64).unwrap() > 100.0);
    let all = get(&server, "/_orrery/ranges").await.json();
    assert_eq!(all.get("containers").and_then(Value::as_array).unwrap().len(), 1);
    get(&server, "/_orrery/dbs/d/colls/x/ranges").await.assert_error(404);
}

#[tokio::test]
async fn a_reset_leaves_an_empty_container_and_then_an_empty_account() {
    let server = Server::start().await.with_container().await;
    let create = || Call::create("a", r#"{"id":"1","pk":"a"}"#);
    assert_eq!(server.send(create()).await.status, 201);
    let reply = post(&server, "/_orrery/dbs/d/colls/c/reset", "").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    server.send(Call::get("/dbs/d/colls/c/docs/1").key_header("a")).await.assert_error(404);
    assert_eq!(server.send(create()).await.status, 201);
    post(&server, "/_orrery/dbs/d/colls/x/reset", "").await.assert_error(404);
    assert_eq!(post(&server, "/_orrery/reset", "").await.status, 200);
    server.send(Call::get("/dbs/d")).await.assert_error(404);
}

async fn filled() -> Server {
    let server = Server::start().await.with_container().await;
    for n in 0..40 {
        let body = format!(r#"{{"id":"{n}","pk":"k{n}"}}"#);
        assert_eq!(server.send(Call::create(&format!("k{n}"), body)).await.status, 201);
    }
    server
}

fn texts(value: &Value, name: &str) -> Vec<String> {
    let list = value.get(name).and_then(Value::as_array).unwrap_or_default();
    list.iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

async fn range_ids(server: &Server) -> Vec<String> {
    let shown = get(server, "/_orrery/dbs/d/colls/c/ranges").await.json();
    let ranges = shown.get("ranges").and_then(Value::as_array).unwrap().to_vec();
    ranges.iter().map(|range| range.get("id").and_then(Value::as_str).unwrap().to_owned()).collect()
}

async fn assert_all_there(server: &Server) {
    for n in 0..40 {
        let read = Call::get(&format!("/dbs/d/colls/c/docs/{n}")).key_header(&format!("k{n}"));
        assert_eq!(server.send(read).await.status, 200, "item {n}");
    }
}

#[tokio::test]
async fn ranges_split_merge_and_move_on_command() {
    let server = filled().await;
    let path = "/_orrery/dbs/d/colls/c/ranges";
    let split = post(&server, &format!("{path}/0/split"), r#"{"wait":true}"#).await;
    assert_eq!(split.status, 200, "{}", split.text());
    let split = split.json();
    assert_eq!(split.get("end").and_then(Value::as_str), Some("done"), "{}", split.to_text());
    assert_eq!(
        (texts(&split, "sources"), texts(&split, "targets")),
        (vec!["0".into()], vec!["2".into(), "3".into()])
    );
    assert_eq!(range_ids(&server).await, ["2", "3", "1"]);
    assert_all_there(&server).await;
    let gone = Call::get("/dbs/d/colls/c/docs").header("x-ms-documentdb-partitionkeyrangeid", "0");
    let gone = server.send(gone).await;
    gone.assert_error(410);
    assert_eq!(gone.substatus(), 1002);
    let merge =
        post(&server, &format!("{path}/merge"), r#"{"ranges":["2","3"],"wait":true}"#).await;
    assert_eq!(merge.json().get("end").and_then(Value::as_str), Some("done"), "{}", merge.text());
    let moved = post(&server, &format!("{path}/1/move"), r#"{"wait":true}"#).await;
    assert_eq!(moved.json().get("end").and_then(Value::as_str), Some("done"), "{}", moved.text());
    assert_eq!(range_ids(&server).await, ["4", "1"]);
    assert_all_there(&server).await;
    let list = get(&server, "/_orrery/relocations").await.json();
    assert_eq!(list.get("relocations").and_then(Value::as_array).unwrap().len(), 3);
    for (path, body) in [
        (format!("{path}/x/split"), "{}"),
        (format!("{path}/4/split"), r#"{"at":"zz"}"#),
        (format!("{path}/4/split"), r#"{"at":"3F"}"#),
        (format!("{path}/merge"), "{}"),
        (format!("{path}/merge"), r#"{"ranges":["4","4"]}"#),
        (format!("{path}/4/move"), r#"{"store":"elsewhere"}"#),
        (format!("{path}/4/split"), r#"{"att":"1F"}"#),
        (format!("{path}/4/split"), r#"{"wait":"yes"}"#),
        (format!("{path}/4/split?at=1F"), "{}"),
        ("/_orrery/dbs/d/colls/c/throughput".to_owned(), r#"{"range":{"4":400}}"#),
        ("/_orrery/reset".to_owned(), r#"{"container":"c"}"#),
    ] {
        post(&server, &path, body).await.assert_error(400);
    }
    post(&server, &format!("{path}/0/split"), "{}").await.assert_error(410);
    get(&server, "/_orrery/relocations/99").await.assert_error(404);
}

#[tokio::test]
async fn a_relocation_can_be_held_and_released() {
    let server = filled().await;
    let path = "/_orrery/dbs/d/colls/c";
    assert_eq!(post(&server, &format!("{path}/hold"), r#"{"step":"fence"}"#).await.status, 200);
    let started = post(&server, &format!("{path}/ranges/0/split"), "{}").await;
    assert_eq!(started.status, 202, "{}", started.text());
    let id = started.json().get("id").and_then(Value::as_i64).unwrap();
    let status = format!("/_orrery/relocations/{id}");
    let wait = async |property: &str, expected: &Value| {
        for _ in 0..500 {
            let shown = get(&server, &status).await.json();
            if shown.get(property) == Some(expected) {
                return shown;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{property} never became {}", expected.to_text());
    };
    let shown = wait("isWaiting", &true.into()).await;
    assert_eq!(shown.get("step").and_then(Value::as_str), Some("fence"));
    assert_eq!(range_ids(&server).await, ["0", "1"]);
    // The old range serves on.
    assert_eq!(server.send(Call::create("k1", r#"{"id":"later","pk":"k1"}"#)).await.status, 201);
    post(&server, &format!("{path}/release"), r#"{"step":"fence"}"#).await;
    wait("end", &"done".into()).await;
    assert_eq!(range_ids(&server).await, ["2", "3", "1"]);
    let read = Call::get("/dbs/d/colls/c/docs/later").key_header("k1");
    assert_eq!(server.send(read).await.status, 200);
    post(&server, &format!("{path}/hold"), r#"{"step":"nap"}"#).await.assert_error(400);
}

#[tokio::test]
async fn the_routes_of_the_rust_sdks_emulator_host_work() {
    let server = filled().await;
    let send = async |path: &str, body: &str| {
        server.send(Call::post(path, body.to_owned()).unsigned()).await
    };
    let partitions = "/databases/d/containers/c/partitions";
    let started = send(&format!("{partitions}/0/split"), r#"{"progressionMode":"manual"}"#).await;
    assert_eq!(started.status, 202, "{}", started.text());
    let started = started.json();
    assert_eq!(started.get("phase").and_then(Value::as_str), Some("Preparing"));
    let id = started.get("operationId").and_then(Value::as_str).unwrap().to_owned();
    assert!(id.starts_with("op-split-"));
    let swapping = send(&format!("/operations/{id}/advance"), "").await.json();
    assert_eq!(
        swapping.get("phase").and_then(Value::as_str),
        Some("Swapping"),
        "{}",
        swapping.to_text()
    );
    let done = send(&format!("/operations/{id}/advance"), "").await.json();
    assert_eq!(done.get("status").and_then(Value::as_str), Some("Succeeded"), "{}", done.to_text());
    let shown = server.send(Call::get(&format!("/operations/{id}")).unsigned()).await.json();
    assert_eq!(shown.get("children").unwrap().to_text(), "[2,3]");
    assert_eq!(shown.get("mode").and_then(Value::as_str), Some("midpoint"));
    let middle = "0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";
    assert_eq!(shown.get("splitEpk").and_then(Value::as_str), Some(middle), "{}", shown.to_text());
    assert_eq!(send(&format!("/operations/{id}/advance"), "").await.status, 400);
    let started =
        send(&format!("{partitions}/merge"), r#"{"partitionIds":[2,3],"lockDurationMs":20}"#).await;
    let id = started.json().get("operationId").and_then(Value::as_str).unwrap().to_owned();
    for _ in 0..500 {
        let shown = server.send(Call::get(&format!("/operations/{id}")).unsigned()).await.json();
        if shown.get("status").and_then(Value::as_str) == Some("Succeeded") {
            assert_eq!(shown.get("into").and_then(Value::as_i64), Some(4));
            assert_all_there(&server).await;
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the merge does not end");
}

#[tokio::test]
async fn the_emulator_routes_need_a_key_where_the_account_has_one() {
    let server =
        Server::start_with(|options| options.keys = gateway::Keys::new(&secondary_key())).await;
    let path = "/databases/d/containers/c/partitions/0/split";
    let refused = server.send(Call::post(path, "").unsigned()).await;
    assert_eq!(refused.status, 401);
    assert!(refused.json().get("error").is_some());
}
