//! The page under `/_explorer/`: how it is served, how it gets in, who else does not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

mod support;

use std::time::Duration;

use gateway::{Cors, Explorer, Keys, WELL_KNOWN_KEY};
use http::Method;
use model::Value;
use support::{Call, Client, Protocol, Reply, Server, read_only_key, secondary_key};

const SESSION: &str = "/_explorer/session";

fn marked(call: Call) -> Call {
    call.unsigned().header("x-orrery-explorer", "1")
}

fn sign_in(key: &str) -> Call {
    marked(Call::post(SESSION, format!(r#"{{"key":"{key}"}}"#)))
}

/// `name=value` of the cookie that an answer sets.
fn cookie(reply: &Reply) -> String {
    let set = reply.header("set-cookie").unwrap_or_else(|| panic!("{}", reply.text()));
    set.split(';').next().unwrap().to_owned()
}

/// A session of that key.
async fn session(server: &Server, key: &str) -> String {
    let reply = server.send(sign_in(key)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    cookie(&reply)
}

fn is(reply: &Reply, name: &str) -> bool {
    reply.json().get(name) == Some(&Value::Bool(true))
}

#[tokio::test]
async fn files_are_sent_protected_and_cached_by_content() {
    let server = Server::start().await;
    let get = |path: &str| Call::get(path).unsigned();
    for path in ["/_explorer/", "/_explorer/index.html"] {
        let page = server.send(get(path)).await;
        assert_eq!(page.status, 200, "{path}");
        for (name, expected) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-cache"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            (
                "content-security-policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
            ),
        ] {
            assert_eq!(page.header(name), Some(expected), "{path} {name}");
        }
        let etag = page.header("etag").unwrap().to_owned();
        let again = server.send(get(path).header("if-none-match", &etag)).await;
        assert_eq!((again.status, again.body.len()), (304, 0));
        assert_eq!(again.header("etag"), Some(etag.as_str()));
        let packed = server.send(get(path).header("accept-encoding", "gzip, br")).await;
        if packed.header("content-encoding") == Some("gzip") {
            assert!(packed.body.len() < page.body.len());
            assert_ne!(packed.header("etag"), Some(etag.as_str()));
        }
    }
    let moved = server.send(get("/_explorer")).await;
    assert_eq!((moved.status, moved.header("location")), (308, Some("/_explorer/")));
    for path in
        ["/_explorer/x.js", "/_explorer/..%2fx", "/_explorer/../gateway.rs", "/_explorer//x"]
    {
        server.send(get(path)).await.assert_error(404);
    }
    server.send(Call::post("/_explorer/", "").unsigned()).await.assert_error(405);
    server.send(Call::put(SESSION, "{}").unsigned()).await.assert_error(405);
}

#[tokio::test]
async fn switched_off_it_is_gone_but_for_the_certificate() {
    let server = Server::start_with(|options| options.explorer = Explorer::Off).await;
    for path in ["/_explorer", "/_explorer/", "/_explorer/index.html", SESSION] {
        let reply = server.send(Call::get(path).unsigned()).await;
        reply.assert_error(404);
        assert!(reply.text().contains("--explorer off"), "{}", reply.text());
    }
    server.send(sign_in(WELL_KNOWN_KEY)).await.assert_error(404);
    let pem = server.send(Call::get("/_explorer/emulator.pem").unsigned()).await;
    assert!(pem.text().contains("BEGIN CERTIFICATE"));
}

#[tokio::test]
async fn a_session_stands_for_its_key() {
    let server = Server::start().await.with_container().await;
    let cookie = session(&server, WELL_KNOWN_KEY).await;
    let mine = |call: Call| marked(call).header("cookie", &cookie);
    let item = mine(Call::create("a", r#"{"id":"1","pk":"a"}"#));
    assert_eq!(server.send(item).await.status, 201);
    for path in ["/dbs", "/_orrery/ranges", "/dbs/d/colls/c/docs"] {
        assert_eq!(server.send(mine(Call::get(path))).await.status, 200, "{path}");
    }
    let account = server.send(mine(Call::get("/"))).await;
    assert!(account.json().get("writableLocations").is_some(), "{}", account.text());
    let metrics = server.send(mine(Call::get("/metrics"))).await.text();
    assert!(metrics.contains("container=\"c\""));
    let reset = mine(Call::post("/_orrery/reset", "{}"));
    assert_eq!(server.send(reset).await.status, 200);
    // A key that is shown decides alone.
    let wrong = mine(Call::get("/dbs")).header("authorization", "type=master&ver=1.0&sig=AAAA");
    server.send(wrong).await.assert_error(401);
    let shown = server.send(mine(Call::get(SESSION))).await;
    assert!(is(&shown, "signedIn") && !is(&shown, "readOnly") && is(&shown, "wellKnownKey"));
    // Without the header nothing is told.
    let silent = server.send(Call::get(SESSION).unsigned().header("cookie", &cookie)).await;
    assert!(!is(&silent, "signedIn") && is(&silent, "wellKnownKey"));
    let end = server.send(mine(Call::delete(SESSION))).await;
    assert_eq!(end.status, 200);
    assert!(end.header("set-cookie").unwrap().contains("=; Path=/; Max-Age=0"));
}

#[tokio::test]
async fn a_read_only_key_gives_a_read_only_session() {
    let server = Server::start().await.with_container().await;
    server.send(Call::create("a", r#"{"id":"1","pk":"a"}"#)).await;
    let cookie = session(&server, &read_only_key()).await;
    let mine = |call: Call| marked(call).header("cookie", &cookie);
    assert!(is(&server.send(mine(Call::get(SESSION))).await, "readOnly"));
    for path in ["/dbs", "/dbs/d/colls/c/docs", "/_orrery/ranges", "/_orrery/dbs/d/colls/c/heat"] {
        assert_eq!(server.send(mine(Call::get(path))).await.status, 200, "{path}");
    }
    for call in [
        Call::create("b", r#"{"id":"2","pk":"b"}"#),
        Call::delete("/dbs/d/colls/c/docs/1").key_header("a"),
        Call::post("/dbs", r#"{"id":"e"}"#),
        Call::post("/_orrery/reset", "{}"),
        Call::post("/_orrery/faults", r#"{"status":500}"#),
        Call::delete("/_orrery/faults"),
    ] {
        let (method, path) = (call.method.clone(), call.path.clone());
        let reply = server.send(mine(call)).await;
        assert_eq!(reply.status, 403, "{method} {path}: {}", reply.text());
    }
}

#[tokio::test]
async fn a_cookie_alone_or_a_header_alone_is_nothing() {
    let server = Server::start().await.with_container().await;
    let cookie = session(&server, WELL_KNOWN_KEY).await;
    for path in ["/dbs", "/_orrery/ranges", "/dbs/d/colls/c/docs"] {
        let alone = Call::get(path).unsigned().header("cookie", &cookie);
        server.send(alone).await.assert_error(401);
        server.send(marked(Call::get(path))).await.assert_error(401);
    }
    let (name, value) = cookie.split_once('=').unwrap();
    let cut = &value[..value.len() - 2];
    // The first characters are the end of the session, the last ones the proof.
    let longer = format!("AAAC{}", &value[4..]);
    let other = format!("{cut}AA");
    for bad in [
        format!("{name}="),
        format!("{name}={cut}"),
        format!("{name}={longer}"),
        format!("{name}={other}"),
        format!("{name}={value}A"),
        format!("{name}=é"),
        format!("other={value}"),
        format!("__Host-{name}={value}"),
        value.to_owned(),
    ] {
        let call = marked(Call::get("/dbs")).header("cookie", &bad);
        server.send(call).await.assert_error(401);
    }
    let among = format!("a=b; {cookie}; c=d");
    let call = marked(Call::get("/dbs")).header("cookie", &among);
    assert_eq!(server.send(call).await.status, 200);
}

#[tokio::test]
async fn a_session_ends_with_time_and_with_its_key() {
    let server = Server::start_with(|options| options.date_window = None).await;
    let secret = session(&server, &secondary_key()).await;
    let call = || marked(Call::get("/dbs")).header("cookie", &secret);
    server.env.advance(Duration::from_secs(12 * 3600 - 1));
    assert_eq!(server.send(call()).await.status, 200);
    server.env.advance(Duration::from_secs(1));
    server.send(call()).await.assert_error(401);
    // Another server whose secondary key is another one.
    let fresh = session(&server, &secondary_key()).await;
    let (_, value) = fresh.split_once('=').unwrap();
    for (keys, expected) in [(support::keys(), 200), (Keys::new(WELL_KNOWN_KEY), 401)] {
        let other = Server::start_with(|options| options.keys = keys).await;
        other.env.advance(Duration::from_secs(12 * 3600));
        let cookie = format!("orrery-{}={value}", other.address.port());
        let call = marked(Call::get("/dbs")).header("cookie", &cookie);
        assert_eq!(other.send(call).await.status, expected);
    }
}

#[tokio::test]
async fn over_tls_the_cookie_is_bound_to_the_host() {
    let server = Server::start().await;
    let port = server.address.port();
    for protocol in Protocol::ALL {
        let mut client = Client::connect(&server, protocol).await;
        let reply = client.send(sign_in(WELL_KNOWN_KEY)).await;
        let set = reply.header("set-cookie").unwrap().to_owned();
        assert!(set.contains("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"), "{set}");
        let expected = if protocol.is_tls() { "__Host-orrery" } else { "orrery" };
        assert!(set.starts_with(&format!("{expected}-{port}=")), "{set}");
        assert_eq!(set.ends_with("; Secure"), protocol.is_tls(), "{set}");
        assert!(!set.to_ascii_lowercase().contains("domain"), "{set}");
        let call = marked(Call::get("/dbs")).header("cookie", &cookie(&reply));
        assert_eq!(client.send(call).await.status, 200, "{protocol:?}");
    }
}

#[tokio::test]
async fn other_pages_get_no_session_and_cannot_use_one() {
    let server = Server::start_with(|options| options.cors = Cors::Any).await;
    let cookie = session(&server, WELL_KNOWN_KEY).await;
    let own = format!("http://{}", server.address);
    for (name, value, expected) in [
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://localhost:3000", 403),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "same-origin", 200),
        ("origin", own.as_str(), 200),
    ] {
        for call in [
            sign_in(WELL_KNOWN_KEY),
            marked(Call::get("/dbs")).header("cookie", &cookie),
            marked(Call::get("/_orrery/ranges")).header("cookie", &cookie),
            marked(Call::post("/_orrery/reset", "{}")).header("cookie", &cookie),
            marked(Call::delete(SESSION)),
        ] {
            let shown = format!("{} {} {name}: {value}", call.method, call.path);
            assert_eq!(server.send(call.header(name, value)).await.status, expected, "{shown}");
        }
    }
    // A form cannot send the header.
    let form = Call::post(SESSION, format!(r#"{{"key":"{WELL_KNOWN_KEY}"}}"#)).unsigned();
    server.send(form).await.assert_error(403);
    // Where any origin may ask, none is told that credentials are welcome.
    let preflight = Call::new(Method::OPTIONS, "/dbs").unsigned();
    let preflight = preflight.header("origin", "https://evil.example");
    let answer = server.send(preflight).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    // A rebound page is of its own origin, and is not served.
    let rebound = sign_in(WELL_KNOWN_KEY).header("host", "evil.example");
    let rebound = rebound.header("origin", "http://evil.example");
    server.send(rebound).await.assert_error(421);
    server
        .send(Call::get("/_explorer/").unsigned().header("host", "evil.example"))
        .await
        .assert_error(421);
}

#[tokio::test]
async fn the_well_known_key_need_not_be_typed() {
    let server = Server::start().await;
    let own = format!("http://{}", server.address);
    let quick = || marked(Call::post(SESSION, "{}"));
    let reply = server.send(quick().header("origin", &own)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let call = marked(Call::post("/dbs", r#"{"id":"d"}"#)).header("cookie", &cookie(&reply));
    assert_eq!(server.send(call).await.status, 201);
    // No browser says that our page asks.
    server.send(quick()).await.assert_error(401);
    let own_key =
        |options: &mut gateway::GatewayOptions| options.keys = Keys::new(&secondary_key());
    let server = Server::start_with(own_key).await;
    let own = format!("http://{}", server.address);
    server.send(quick().header("origin", &own)).await.assert_error(401);
    assert!(!is(&server.send(marked(Call::get(SESSION))).await, "wellKnownKey"));
    for body in ["x", "[]", r#"{"key":1}"#, r#"{"other":1}"#] {
        server.send(marked(Call::post(SESSION, body))).await.assert_error(400);
    }
    for key in ["", "x", WELL_KNOWN_KEY] {
        let reply = server.send(sign_in(key)).await;
        reply.assert_error(401);
        assert!(reply.header("set-cookie").is_none());
    }
    let long = "x".repeat(5000);
    server.send(sign_in(&long)).await.assert_error(413);
}

#[tokio::test]
async fn behind_a_proxy_its_name_is_our_own() {
    let behind = |options: &mut gateway::GatewayOptions| {
        options.public_endpoint = Some("https://db.example.com/".to_owned());
        options.allowed_hosts = vec!["db.example.com".to_owned()];
        options.trust_forwarded = true;
    };
    let server = Server::start_with(behind).await;
    let call = sign_in(WELL_KNOWN_KEY).header("x-forwarded-proto", "https");
    let reply = server.send(call.header("origin", "https://db.example.com")).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.header("set-cookie").unwrap().starts_with("__Host-orrery"));
    let call = sign_in(WELL_KNOWN_KEY).header("x-forwarded-host", "other.example");
    assert_eq!(server.send(call.header("origin", "https://other.example")).await.status, 200);
    let call = sign_in(WELL_KNOWN_KEY).header("origin", "https://evil.example");
    server.send(call).await.assert_error(403);
}
