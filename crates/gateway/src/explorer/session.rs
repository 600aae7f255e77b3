//! Sessions of the explorer: a key is exchanged for a cookie that no script can read.
//!
//! Technique: the cookie is its own proof, an end and a random number under an HMAC with the very key that was shown. So
//! the server keeps nothing, a session ends with its key, and it may do what its key may.
//!
//! Invariant: a cookie counts only together with [`MARK`]. Pages of other origins cannot send that header without a
//! preflight, which is refused, so a cookie that a browser adds by itself is worth nothing.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use hmac::Mac;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, Uri, header, uri::Authority};
use http_body_util::Full;
use hyper::body::Body;
use model::{Value, json};

use crate::account_document::Arrival;
use crate::auth::{Access, Key, WELL_KNOWN_KEY};
use crate::error::{self, Error};
use crate::gateway::State;
use crate::manage::{known, number, object};
use crate::{body, origin};

/// The header by which the page says that it is the page.
pub(crate) const MARK: &str = "x-orrery-explorer";

// Limit: how long a session lasts.
const LIFETIME_SECONDS: u64 = 12 * 60 * 60;
// Limit: a key and its name.
const BODY_BYTES_MAX: usize = 4 << 10;
// Limit: cookies that are tried.
const COOKIES_MAX: usize = 4;

/// No signature of a request begins so.
const PURPOSE: &[u8] = b"orrery explorer session 1\0";

const END_BYTES: usize = 8;
const NONCE_BYTES: usize = 16;
const TAG_BYTES: usize = 32;

/// A session that a request has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Session {
    access: Access,
    end_ms: u64,
}

/// Says whether a request means to use a session.
pub(crate) fn is_meant(headers: &HeaderMap) -> bool {
    headers.contains_key(MARK)
}

/// What the session of a request may do. To be asked if one [is meant](is_meant) and no key was shown.
pub(crate) fn authenticate(
    state: &State,
    uri: &Uri,
    headers: &HeaderMap,
    arrival: Arrival,
) -> Result<Access, Error> {
    origin::check_own_page(&state.options, uri, headers)?;
    let session = find(state, uri, headers, arrival);
    session.map(|session| session.access).ok_or(Error::SessionMissing)
}

/// Shows, opens or ends a session.
pub(super) async fn answer<B>(
    state: &Arc<State>,
    parts: &Parts,
    body: B,
    arrival: Arrival,
) -> Result<Response<Full<Bytes>>, Error>
where
    B: Body<Data = Bytes> + Send + Unpin,
{
    let Parts { method, uri, headers, .. } = parts;
    if *method == Method::GET || *method == Method::HEAD {
        let session = is_meant(headers).then(|| find(state, uri, headers, arrival)).flatten();
        return Ok(show(state, session));
    }
    if *method != Method::POST && *method != Method::DELETE {
        return Err(Error::RouteMethod { method: error::excerpt(method.as_str()) });
    }
    origin::check_own_page(&state.options, uri, headers)?;
    if !is_meant(headers) {
        return Err(Error::SessionMark);
    }
    let cookie = Cookie::of(state, uri, headers, arrival);
    let (session, cookie) = if *method == Method::DELETE {
        (None, cookie.set("", 0))
    } else {
        let limits = &state.options.limits;
        let (body, _share) = body::read(body, BODY_BYTES_MAX, limits, Some(&state.bodies)).await?;
        let key = key(state, headers, &body)?;
        let end_ms = state.options.env.now_ms() + LIFETIME_SECONDS * 1000;
        let mut nonce = [0; NONCE_BYTES];
        state.options.env.fill_random(&mut nonce);
        let session = Session { access: key.access(), end_ms };
        (Some(session), cookie.set(&seal(key, end_ms, &nonce), LIFETIME_SECONDS))
    };
    let mut response = show(state, session);
    let cookie = HeaderValue::from_str(&cookie).map_err(|_| Error::HostInvalid)?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

/// The key that the body names. Without one it is the well-known key, if that is in use and a browser says that our own
/// page asks: everybody knows it, so there is no sense in typing it.
fn key<'a>(state: &'a State, headers: &HeaderMap, body: &[u8]) -> Result<&'a Key, Error> {
    let invalid = |reason: &str| Error::BodyInvalid { reason: error::excerpt(reason) };
    let body = if body.is_empty() { b"{}" } else { body };
    let body = json::parse(body).map_err(|error| invalid(&error.to_string()))?;
    let given = known(Some(&body), &["key"])?.unwrap_or_default();
    let text = match given.get("key") {
        None if headers.contains_key(header::ORIGIN) => WELL_KNOWN_KEY,
        None => return Err(Error::SessionKey),
        Some(Value::String(text)) => text.trim(),
        Some(_) => return Err(invalid("key must be a string")),
    };
    state.keys.find_text(text.as_bytes()).ok_or(Error::SessionKey)
}

fn show(state: &State, session: Option<Session>) -> Response<Full<Bytes>> {
    let is_read_only = session.is_some_and(|session| session.access == Access::ReadOnly);
    let end_ms = session.map_or(Value::Null, |session| number(session.end_ms));
    let body = object([
        ("signedIn", session.is_some().into()),
        ("readOnly", is_read_only.into()),
        ("expiresAtMs", end_ms),
        ("wellKnownKey", state.has_well_known_key.into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
    ]);
    let mut text = Vec::new();
    body.write_to(&mut text);
    let mut response = Response::new(Full::new(Bytes::from(text)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The session that the cookies of a request prove.
fn find(state: &State, uri: &Uri, headers: &HeaderMap, arrival: Arrival) -> Option<Session> {
    let name = Cookie::of(state, uri, headers, arrival).name;
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let values = pairs.filter(|(found, _)| found.trim() == name).map(|(_, value)| value.trim());
    values.take(COOKIES_MAX).find_map(|value| open(state, value))
}

/// Writes a session down.
fn seal(key: &Key, end_ms: u64, nonce: &[u8; NONCE_BYTES]) -> String {
    let mut bytes = end_ms.to_be_bytes().to_vec();
    bytes.extend_from_slice(nonce);
    let mut mac = key.mac();
    mac.update(PURPOSE);
    mac.update(&bytes);
    bytes.extend_from_slice(&mac.finalize().into_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads what [`seal`] has written, if one of our keys did and its end is still to come.
fn open(state: &State, text: &str) -> Option<Session> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (said, tag) = bytes.split_at_checked(END_BYTES + NONCE_BYTES)?;
    if tag.len() != TAG_BYTES {
        return None;
    }
    let end_ms = u64::from_be_bytes(said.get(..END_BYTES)?.try_into().ok()?);
    let is_made_by = |key: &&Key| {
        let mut mac = key.mac();
        mac.update(PURPOSE);
        mac.update(said);
        // Compares in constant time.
        mac.verify_slice(tag).is_ok()
    };
    let key = state.keys.iter().find(is_made_by)?;
    let is_over = state.options.env.now_ms() >= end_ms;
    (!is_over).then(|| Session { access: key.access(), end_ms })
}

/// How the cookie is called here. Browsers do not tell ports apart, so the port is part of its name.
#[derive(Debug)]
struct Cookie {
    name: String,
    is_secure: bool,
}

impl Cookie {
    fn of(state: &State, uri: &Uri, headers: &HeaderMap, arrival: Arrival) -> Cookie {
        let is_forwarded = state.options.trust_forwarded
            && headers
                .get("x-forwarded-proto")
                .is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"https"));
        let is_secure = arrival.is_tls || is_forwarded;
        let in_header = || headers.get(header::HOST)?.to_str().ok()?.parse::<Authority>().ok();
        let host = uri.authority().cloned().or_else(in_header);
        let port = host.and_then(|host| host.port_u16()).map(|port| format!("-{port}"));
        // No other host, no plain connection can set or see a cookie of this prefix.
        let prefix = if is_secure { "__Host-" } else { "" };
        Cookie { name: format!("{prefix}orrery{}", port.unwrap_or_default()), is_secure }
    }

    fn set(&self, value: &str, seconds: u64) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let Cookie { name, .. } = self;
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    }
}
