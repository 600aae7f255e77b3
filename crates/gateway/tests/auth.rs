//! Who may come in: keys, dates, resource tokens, identity tokens.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may panic")]

mod support;

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use gateway::{DateWindow, WELL_KNOWN_KEY};
use hmac::{Hmac, Mac};
use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use support::{Call, START_MS, Server};

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[tokio::test]
async fn requests_without_or_with_a_wrong_signature_answer_401() {
    let server = Server::start().await.with_container().await;
    let missing = server.send(Call::get("/dbs").unsigned()).await;
    missing.assert_error(401);
    assert!(missing.text().contains("Required Header authorization is missing."));

    let other = base64::engine::general_purpose::STANDARD.encode([9; 64]);
    let wrong = server.send(Call::get("/dbs").signed_with(&other)).await;
    wrong.assert_error(401);
    let text = wrong.text();
    assert!(text.contains("The input authorization token can't serve the request."), "{text}");
    assert!(text.contains(r"'get\ndbs\n\ntue, 14 nov 2023 22:13:20 gmt\n\n'"), "{text}");

    // A signature for one resource does not serve another one, or another verb.
    let path = "/dbs/d/colls/c/docs/1";
    let signed = support::authorization(WELL_KNOWN_KEY, &Method::GET, path, support::DATE);
    let other_item = Call::get("/dbs/d/colls/c/docs/2").header("authorization", &signed);
    server.send(other_item.key_header("a")).await.assert_error(401);
    let other_verb = Call::delete(path).header("authorization", &signed);
    server.send(other_verb.key_header("a")).await.assert_error(401);

    #[rustfmt::skip]
    let malformed = [
        "x", "type=master", "type=master&ver=1.0&sig=", "type=master&ver=1.0&sig=AAAA", "type=master&ver=2.0&sig=AAAA",
        "type=sas&ver=1.0&sig=AAAA", "Bearer AAAA", "%", "type%3Dmaster%26ver%3D1.0%26sig%3D%FF%FF",
        "type=resource&ver=1.0&sig=AAAA;BBBB;", "type=resource&ver=1.0&sig=;;", "type=aad&ver=1.0&sig=a.b.c",
    ];
    for value in malformed {
        server.send(Call::get("/dbs").header("authorization", value)).await.assert_error(401);
    }
    let long = format!("type=resource&ver=1.0&sig={}", "A".repeat(20 << 10));
    server.send(Call::get("/dbs").header("authorization", &long)).await.assert_error(401);
    server.assert_alive().await;
}

#[tokio::test]
async fn all_four_keys_sign_and_read_only_ones_do_not_write() {
    let server = Server::start().await.with_container().await;
    let keys = support::keys();
    for key in [&keys.primary, &keys.secondary, &keys.read_only, &keys.secondary_read_only] {
        let read = server.send(Call::get("/dbs/d").signed_with(key)).await;
        assert_eq!(read.status, 200, "{}", read.text());
        let account = server.send(Call::get("/").signed_with(key)).await;
        assert_eq!(account.status, 200);
    }
    for key in [&keys.primary, &keys.secondary] {
        let write =
            Call::create("a", r#"{"id":"1","pk":"a"}"#).header("x-ms-documentdb-is-upsert", "True");
        assert!(server.send(write.signed_with(key)).await.status < 300);
    }
    for key in [&keys.read_only, &keys.secondary_read_only] {
        for call in [
            Call::create("a", r#"{"id":"2","pk":"a"}"#),
            Call::delete("/dbs/d/colls/c/docs/1").key_header("a"),
            Call::post("/dbs", r#"{"id":"e"}"#),
            Call::delete("/dbs/d"),
            Call::create("a", r#"[{"operationType":"Delete","id":"1"}]"#)
                .header("x-ms-cosmos-is-batch-request", "True")
                .header("x-ms-cosmos-batch-atomic", "True"),
        ] {
            server.send(call.signed_with(key)).await.assert_error(403);
        }
    }
    let kept = server.send(Call::get("/dbs/d/colls/c/docs/1").key_header("a")).await;
    assert_eq!(kept.status, 200);
}

#[tokio::test]
async fn dates_outside_the_window_answer_403_unless_it_is_off() {
    let window = DateWindow { lifetime: Duration::from_secs(900), skew: Duration::from_secs(900) };
    let server = Server::start_with(|options| options.date_window = Some(window)).await;
    #[rustfmt::skip]
    let table = [
        ("Tue, 14 Nov 2023 22:13:20 GMT", 200), ("Tue, 14 Nov 2023 22:28:20 GMT", 200), ("Tue, 14 Nov 2023 22:28:21 GMT", 403),
        ("Tue, 14 Nov 2023 21:43:20 GMT", 200), ("Tue, 14 Nov 2023 21:43:19 GMT", 403),
        ("yesterday", 401), ("2023-11-14T22:13:20Z", 401),
    ];
    for (date, status) in table {
        let reply = server.send(Call::get("/dbs").header("x-ms-date", date)).await;
        assert_eq!(reply.status, status, "{date}: {}", reply.text());
        if status == 403 {
            let words = "The authorization token is not valid at the current time.";
            assert!(reply.text().contains(words), "{}", reply.text());
        }
    }
    let open = Server::start_with(|options| options.date_window = None).await;
    let old = Call::get("/dbs").header("x-ms-date", "Tue, 01 Nov 1994 08:12:31 GMT");
    assert_eq!(open.send(old).await.status, 200);
}

#[tokio::test]
async fn the_http_date_serves_clients_without_x_ms_date() {
    let server = Server::start().await;
    // Raw, because the test client always adds x-ms-date: the date is signed in the fifth line.
    let key = base64::engine::general_purpose::STANDARD.decode(WELL_KNOWN_KEY).unwrap();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("get\ndbs\n\n\n{}\n", support::DATE.to_lowercase()).as_bytes());
    let signature = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
    let authorization = encoded(&format!("type=master&ver=1.0&sig={signature}"));
    let request = |date: &str| {
        format!(
            "GET /dbs HTTP/1.1\r\nhost: x\r\n{date}authorization: {authorization}\r\nconnection: close\r\n\r\n"
        )
    };
    let answer = server.raw(request(&format!("date: {}\r\n", support::DATE)).as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let answer = server.raw(request("").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

async fn token(server: &Server, id: &str, mode: &str, resource: &str, key: Option<&str>) -> String {
    let key = key.map_or(String::new(), |key| format!(",\"resourcePartitionKey\":[\"{key}\"]"));
    let body = format!(
        "{{\"id\":\"{id}\",\"permissionMode\":\"{mode}\",\"resource\":\"{resource}\"{key}}}"
    );
    let reply = server.send(Call::post("/dbs/d/users/u/permissions", body)).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    encoded(reply.json().get("_token").unwrap().as_str().unwrap())
}

#[tokio::test]
async fn resource_tokens_open_their_resource_and_nothing_else() {
    let server = Server::start().await.with_container().await;
    for item in [r#"{"id":"1","pk":"a"}"#, r#"{"id":"2","pk":"a"}"#] {
        assert_eq!(server.send(Call::create("a", item)).await.status, 201);
    }
    assert_eq!(server.send(Call::create("b", r#"{"id":"1","pk":"b"}"#)).await.status, 201);
    assert_eq!(server.send(Call::post("/dbs/d/users", r#"{"id":"u"}"#)).await.status, 201);
    let read = token(&server, "p1", "Read", "dbs/d/colls/c", None).await;
    let narrow = token(&server, "p2", "All", "dbs/d/colls/c", Some("a")).await;
    let item = token(&server, "p3", "All", "dbs/d/colls/c/docs/2", None).await;

    let by = |token: &str, call: Call| call.header("authorization", token);
    let get = |id: &str, key: &str| Call::get(&format!("/dbs/d/colls/c/docs/{id}")).key_header(key);
    let delete =
        |id: &str, key: &str| Call::delete(&format!("/dbs/d/colls/c/docs/{id}")).key_header(key);
    #[rustfmt::skip]
    let table = [
        ("read token reads an item",        by(&read, get("1", "a")), 200),
        ("read token reads the container",  by(&read, Call::get("/dbs/d/colls/c")), 200),
        ("read token reads the account",    by(&read, Call::get("/")), 200),
        ("read token does not write",       by(&read, Call::create("a", r#"{"id":"3","pk":"a"}"#)), 403),
        ("read token does not delete",      by(&read, delete("1", "a")), 403),
        ("read token keeps the container",  by(&read, Call::delete("/dbs/d/colls/c")), 403),
        ("a key narrows a token",           by(&narrow, get("1", "a")), 200),
        ("a key excludes others",           by(&narrow, get("1", "b")), 403),
        ("a narrow token writes its key",   by(&narrow, Call::create("a", r#"{"id":"4","pk":"a"}"#)), 201),
        ("and no other",                    by(&narrow, Call::create("b", r#"{"id":"4","pk":"b"}"#)), 403),
        ("an item token reads its item",    by(&item, get("2", "a")), 200),
        ("and no other",                    by(&item, get("1", "a")), 403),
        ("an item token deletes its item",  by(&item, delete("2", "a")), 204),
    ];
    for (claim, call, status) in table {
        let reply = server.send(call).await;
        assert_eq!(reply.status, status, "{claim}: {}", reply.text());
    }
    server.env.advance(Duration::from_secs(3601));
    let expired = server.send(by(&read, get("1", "a"))).await;
    expired.assert_error(403);
}

fn identity_token(expires: u64, key: &str) -> String {
    let header = r#"{"typ":"JWT","alg":"RS256","kid":"CosmosEmulatorPrimaryMaster"}"#;
    let claims = format!(r#"{{"aud":"https://localhost.localhost","nbf":0,"exp":{expires}}}"#);
    let parts = [header, &claims, key].map(|part| URL_SAFE_NO_PAD.encode(part));
    format!("type=aad&ver=1.0&sig={}", parts.join("."))
}

#[tokio::test]
async fn identity_tokens_are_an_opt_in() {
    let now = START_MS / 1000;
    let good = identity_token(now + 60, WELL_KNOWN_KEY);
    let server = Server::start().await;
    server.send(Call::get("/dbs").header("authorization", &good)).await.assert_error(401);

    let server = Server::start_with(|options| options.identity_tokens = true).await;
    for value in [good.clone(), encoded(&good)] {
        let reply = server.send(Call::get("/dbs").header("authorization", &value)).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    let expired = identity_token(now, WELL_KNOWN_KEY);
    let reply = server.send(Call::get("/dbs").header("authorization", &expired)).await;
    reply.assert_error(401);
    assert_eq!(reply.substatus(), 5006);
    let forged = identity_token(now + 60, &support::read_only_key());
    server.send(Call::get("/dbs").header("authorization", &forged)).await.assert_error(401);
}
