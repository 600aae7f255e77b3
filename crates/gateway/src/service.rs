//! One request, one answer.
//!
//! Hot path: a point read passes here without a lock, a spawn or a log line.
//!
//! Invariant: [`answer`] cannot fail; panics below it become a 500 and the server goes on.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    task::Poll,
    time::Duration,
};

use account::{Call, Outcome};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header, request::Parts};
use http_body_util::Full;
use hyper::body::Body;
use model::{Env, Failure as _};
use tokio::time::timeout;
use tracing::Instrument;

use crate::{
    account_document::{self, Arrival},
    addresses::{self, AddressQuery},
    answers::{self, Answer},
    auth, body,
    body_budget::BodyShare,
    cors,
    detach_on_drop::DetachOnDrop,
    error::{self, Error},
    explorer::{self, session},
    gateway::State,
    gzip,
    headers::{Name, RequestHeaders, response, writer::HeaderWriter},
    manage::{self, requests::Ended},
    metrics::Waiting,
    origin,
    parse::{self, Action, Parsed, Reply},
    paths::{Path, Target},
    respond,
    rntbd::DirectFacts,
    server::unsent::Unsent,
    traffic::InFlight,
};

/// What those hear who only ask whether there is a server.
const READY: &[u8] = b"{\"ready\":true}";
const ALIVE: &[u8] = b"{\"alive\":true}";

/// Whether there is room for an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Room<'a> {
    Any,
    /// What its connection has not read decides.
    Within(&'a Unsent),
    None,
}

impl Room<'_> {
    /// Refuses an answer that would have to wait in memory with too many others. What was written is written: its answer
    /// is as long as what the client sent, and passes.
    fn check(self, response: &Response<Full<Bytes>>, action: Action) -> Result<(), Error> {
        let n_bytes = usize::try_from(response.body().size_hint().lower()).unwrap_or(usize::MAX);
        match self {
            Room::Within(unsent) if !action.is_write() && !unsent.has_room(n_bytes) => {
                Err(Error::AnswersUnread)
            }
            Room::Any | Room::Within(_) | Room::None => Ok(()),
        }
    }
}

/// Answers one request, whatever it is.
pub(crate) async fn answer<B>(
    state: &Arc<State>,
    request: Request<B>,
    arrival: Arrival,
    room: Room<'_>,
) -> Response<Full<Bytes>>
where
    B: Body<Data = Bytes> + Send + Unpin,
{
    let _in_flight = state.options.observer.as_deref().map(InFlight::new);
    let env = &state.options.env;
    let start = env.monotonic();
    let (parts, body) = request.into_parts();
    let activity = activity_id(state, &parts);
    let span = tracing::debug_span!("request", method = %parts.method, activity = text(&activity));
    let mut reply = Reply { is_direct: arrival.is_direct, ..Reply::new(Action::Refused) };
    let (mut response, kind) = {
        let caught = if matches!(room, Room::None) {
            Err(Error::AnswersUnread.into())
        } else {
            let handled = pin!(handle(state, &parts, body, arrival, &mut reply));
            caught(handled).instrument(span.clone()).await
        };
        let caught = caught.and_then(|(response, kind)| {
            room.check(&response, reply.action)?;
            Ok((response, kind))
        });
        let asked = |reply: Reply| {
            let end_ms = env.now_ms();
            let took_ms = u64::try_from((env.monotonic().saturating_sub(start)).as_millis());
            let start_ms = end_ms.saturating_sub(took_ms.unwrap_or_default());
            let Reply { action, answer, is_direct, .. } = reply;
            error::Asked { activity: text(&activity), action, answer, is_direct, start_ms, end_ms }
        };
        match caught {
            Ok(answered) => answered,
            Err(Failure::Refused(error)) => error::refuse(&error, asked(reply)),
            Err(Failure::Failed(failed)) => error::fail(&failed, asked(reply)),
        }
    };
    let took = env.monotonic().saturating_sub(start);
    let status = response.status().as_u16();
    let action = reply.action;
    span.in_scope(|| tracing::debug!(action = action.name(), status, ?took, "answered"));
    state.metrics.count(action, status, took);
    let groups = reply.groups(kind);
    let has_location = groups.has(answers::L) && parts.method != Method::POST;
    let around = respond::Around {
        activity,
        started: &state.started,
        request_number: state.n_requests.fetch_add(1, Ordering::Relaxed),
        duration: took,
        location: has_location
            .then(|| {
                account_document::location(&state.options, &parts.uri, &parts.headers, arrival)
            })
            .flatten(),
        is_strict: arrival.is_tls && account_document::is_strict(&parts.uri, &parts.headers),
    };
    respond::around(response.headers_mut(), groups, around);
    if state.requests.are_watched() {
        let ended = Ended { action, at_ms: env.now_ms(), took };
        state.requests.note(&parts, &response, ended);
    }
    cors::expose(&state.options.cors, parts.headers.get(header::ORIGIN), response.headers_mut());
    if parts.method == Method::HEAD && !arrival.is_direct {
        leave_body_out(&mut response);
    }
    response
}

/// Wire: what answers HEAD has the length of its body, and no body. Over HTTP/2 one would break the stream.
fn leave_body_out(response: &mut Response<Full<Bytes>>) {
    let n_bytes = std::mem::take(response.body_mut()).size_hint().lower();
    let headers = response.headers_mut();
    if n_bytes > 0 && !headers.contains_key(header::CONTENT_LENGTH) {
        headers.insert(header::CONTENT_LENGTH, n_bytes.into());
    }
}

/// Why there is no success to answer with.
#[derive(Debug)]
enum Failure {
    Refused(Error),
    Failed(account::Failed),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Refused(error)
    }
}

/// The client's id for this request if it is usable, else one of ours.
fn activity_id(state: &State, parts: &Parts) -> HeaderValue {
    // Limit: an id is a GUID; anything longer is not repeated.
    const BYTES_MAX: usize = 64;
    let is_usable = |value: &&HeaderValue| {
        !value.is_empty()
            && value.len() <= BYTES_MAX
            && value.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    match parts.headers.get(&response::ACTIVITY_ID).filter(is_usable) {
        Some(given) => given.clone(),
        None => new_activity_id(&state.options.env),
    }
}

/// A random UUID (version 4), written without `fmt`: many clients send none.
fn new_activity_id(env: &Env) -> HeaderValue {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut bytes = [0; 16];
    env.fill_random(&mut bytes);
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let mut text = [b'-'; 36];
    let mut place = 0;
    for (index, byte) in bytes.iter().enumerate() {
        // The hyphens in 8-4-4-4-12.
        place += usize::from(matches!(index, 4 | 6 | 8 | 10));
        text[place] = HEX[usize::from(byte >> 4)];
        text[place + 1] = HEX[usize::from(byte & 0x0F)];
        place += 2;
    }
    HeaderValue::from_bytes(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

fn text(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or_default()
}

/// Polls `future`, turning a panic into an error.
async fn caught<T>(
    mut future: Pin<&mut impl Future<Output = Result<T, Failure>>>,
) -> Result<T, Failure> {
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll,
        Err(panic) => Poll::Ready(Err(Error::Panicked(panic_text(&*panic)).into())),
    })
    .await
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Refuses what names no server or another one. Frames of direct mode name none.
fn check_host(state: &State, parts: &Parts, arrival: Arrival) -> Result<(), Error> {
    // Wire: HTTP/1.1 has one Host, no more and no less. Requests that came over no socket need none.
    if parts.version == Version::HTTP_11
        && arrival.local.is_some()
        && parts.headers.get_all(header::HOST).iter().count() != 1
    {
        return Err(Error::HostInvalid);
    }
    if state.has_well_known_key {
        origin::check_host(&state.options, &parts.uri, &parts.headers)?;
    }
    Ok(())
}

async fn handle<B>(
    state: &Arc<State>,
    parts: &Parts,
    body: B,
    arrival: Arrival,
    asked: &mut Reply,
) -> Result<(Response<Full<Bytes>>, Answer), Failure>
where
    B: Body<Data = Bytes> + Send + Unpin,
{
    if !arrival.is_direct {
        check_host(state, parts, arrival)?;
    }
    if let Some(page) = page(state, parts, arrival)? {
        *asked = Reply::new(Action::Page);
        return Ok((page, Answer::Page));
    }
    if let Some(page) = explorer::first_page(&state.options, parts, arrival) {
        *asked = Reply::new(Action::Page);
        return Ok((page, Answer::Page));
    }
    if let Some(rest) = explorer::below(parts.uri.path()) {
        *asked = Reply::new(Action::Page);
        // Boxed, as below.
        let answered = Box::pin(explorer::answer(state, parts, body, arrival, rest)).await;
        return Ok((answered?, Answer::Page));
    }
    if manage::is_managed(parts.uri.path()) {
        *asked = Reply::new(Action::Manage);
        // Boxed: the future of every request has room for this one in it otherwise.
        return match Box::pin(manage::answer(state, parts, body, arrival)).await {
            Ok(done) => Ok((done.into_response(), Answer::Page)),
            Err(manage::Failed::Refused(error)) => Err(error.into()),
            Err(manage::Failed::Account(error)) => Err(Failure::Failed(error.into())),
        };
    }
    if addresses::is_route(parts.uri.path()) {
        *asked = Reply::new(Action::Addresses);
        // Boxed, as above.
        let body = Box::pin(addresses(state, parts, arrival)).await?;
        return Ok((content(StatusCode::OK, "application/json", body), Answer::Account));
    }
    let path = Path::of(&parts.uri)?;
    let target = path.target()?;
    if parts.uri.query().is_some() && !path.text().contains('?') {
        return Err(Error::QueryStringUnexpected.into());
    }
    let headers = RequestHeaders::collect(&parts.headers)?;
    let is_session =
        headers.raw(Name::Authorization).is_none() && session::is_meant(&parts.headers);
    // Wire: who waits for the server to start asks without a key, and wants any answer. A client that names its API
    // version and has no key is refused as everywhere.
    if target == Target::Account
        && parts.method == Method::GET
        && headers.raw(Name::Authorization).is_none()
        && headers.raw(Name::Version).is_none()
        && !is_session
    {
        *asked = Reply::new(Action::Page);
        return Ok((
            content(StatusCode::OK, "application/json", Bytes::from_static(READY)),
            Answer::Page,
        ));
    }
    let principal = if is_session {
        session::authenticate(state, &parts.uri, &parts.headers, arrival)?.principal()
    } else {
        let State { options, keys, account, .. } = &**state;
        auth::authenticate(options, keys, account, &parts.method, &path, &headers)?
    };
    if target == Target::Account && parts.method == Method::GET {
        *asked = Reply::new(Action::AccountRead);
        return Ok((account_read(state, parts, arrival)?, Answer::Account));
    }
    let limits = &state.options.limits;
    let brings_media = parse::brings_media(&target, &parts.method, &headers)?;
    let bytes_max = if brings_media { limits.media_bytes_max } else { limits.body_bytes_max };
    let shows_media = matches!(target, Target::Media { .. }) && parts.method == Method::GET;
    let turn = if brings_media || shows_media {
        // What arrives has a length or could be as long as is allowed; what is read is not known yet.
        let declared = if brings_media { body.size_hint().upper() } else { None };
        Some(Box::pin(state.media.turn(declared, limits)).await?)
    } else {
        None
    };
    let budget = (!brings_media && !arrival.is_direct).then_some(&state.bodies);
    let (body, share) = body::read(body, bytes_max, limits, budget).await?;
    let encoding = headers.get(Name::ContentEncoding)?;
    let body = gzip::decode(body, encoding, bytes_max)?;
    let is_direct = arrival.is_direct;
    let request = parse::Request { method: &parts.method, headers: &headers, body, is_direct };
    let Parsed { operation, mut options, reply } = parse::parse(target, &request)?;
    let reply = Reply { is_direct, ..reply };
    *asked = reply;
    if let Some(facts) = parts.extensions.get::<DirectFacts>() {
        options.cached_container_rid.clone_from(&facts.container_rid);
    }
    if let Some(fault) = state.faults.take(reply.action, path.text(), &headers) {
        tokio::time::sleep(fault.delay).await;
        if let Some(failure) = fault.failure {
            return Err(Error::Injected(failure).into());
        }
    }
    let call = Call { principal, operation, options };
    let mut outcome = execute(state, call, reply, share).await?;
    if let (Some(turn), account::Body::Media { bytes, .. }) = (turn, &mut outcome.body) {
        *bytes = turn.hold(std::mem::take(bytes));
    }
    Ok(finish(state, &headers, outcome, reply)?)
}

/// Where the replicas of a partition listen.
async fn addresses(state: &Arc<State>, parts: &Parts, arrival: Arrival) -> Result<Bytes, Failure> {
    if parts.method != Method::GET {
        return Err(Error::RouteMethod { method: error::excerpt(parts.method.as_str()) }.into());
    }
    // Wire: direct mode is always inside of TLS.
    if state.options.tls.is_none() {
        return Err(Error::DirectModeUnsupported.into());
    }
    let query = AddressQuery::parse(&parts.uri)?;
    let headers = RequestHeaders::collect(&parts.headers)?;
    let State { options, keys, account, .. } = &**state;
    let principal =
        auth::authenticate(options, keys, account, &parts.method, &query.path, &headers)?;
    let answered = addresses::answer(account, options, principal, &query, parts, arrival).await;
    answered.map_err(|failed| match failed {
        addresses::Failed::Refused(error) => Failure::Refused(error),
        addresses::Failed::Account(failed) => Failure::Failed(failed),
    })
}

/// Says whether the sender of a frame is somebody, before its payload is taken in.
pub(crate) fn check_sender(state: &State, request: &Request<Full<Bytes>>) -> Result<(), Error> {
    let path = Path::of(request.uri())?;
    path.target()?;
    let headers = RequestHeaders::collect(request.headers())?;
    let State { options, keys, account, .. } = state;
    auth::authenticate(options, keys, account, request.method(), &path, &headers).map(drop)
}

/// Answers a frame that is no request.
pub(crate) fn refuse(state: &State, refused: &Error, activity: &str) -> Response<Full<Bytes>> {
    let now_ms = state.options.env.now_ms();
    let Reply { action, answer, .. } = Reply::new(Action::Refused);
    let (start_ms, end_ms) = (now_ms, now_ms);
    let asked = error::Asked { activity, action, answer, is_direct: true, start_ms, end_ms };
    state.metrics.count(action, refused.status().code, Duration::ZERO);
    error::refuse(refused, asked).0
}

/// Runs a call within the time limit.
///
/// If the client leaves or the time is up, a write still ends in an orderly way instead of being dropped halfway.
async fn execute(
    state: &Arc<State>,
    call: Call,
    reply: Reply,
    share: Option<BodyShare>,
) -> Result<Outcome, Failure> {
    let limit = state.options.limits.request_timeout;
    let result = if reply.action.is_write() {
        let account = Arc::clone(&state.account);
        let write = DetachOnDrop::new(async move {
            let _body = share;
            account.execute(call).await
        });
        within(limit, pin!(write)).await.ok_or(Error::Timeout)?
    } else {
        // Boxed, because the future of a request is moved several times before anybody asks the account.
        within(limit, Box::pin(state.account.execute(call)).as_mut()).await.ok_or(Error::Timeout)?
    };
    result.map_err(Failure::Failed)
}

/// Waits for `future`, but not longer than `limit`. What is done at once needs no timer.
pub(crate) async fn within<T>(
    limit: Duration,
    mut future: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    let first = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
    match first {
        Poll::Ready(done) => Some(done),
        Poll::Pending => timeout(limit, future).await.ok(),
    }
}

fn finish(
    state: &State,
    headers: &RequestHeaders<'_>,
    outcome: Outcome,
    reply: Reply,
) -> Result<(Response<Full<Bytes>>, Answer), Error> {
    let (response, body, answer) = respond::outcome(outcome, reply);
    // Media is the client's: most of it is compressed already.
    if state.options.gzip
        && reply.action != Action::MediaRead
        && gzip::is_accepted(headers.get(Name::AcceptEncoding)?.unwrap_or_default())
    {
        return Ok((gzip::encode(response, &body), answer));
    }
    Ok((response, answer))
}

fn account_read(
    state: &State,
    parts: &Parts,
    arrival: Arrival,
) -> Result<Response<Full<Bytes>>, Error> {
    let endpoint = account_document::endpoint(&state.options, &parts.uri, &parts.headers, arrival)?;
    let consistency = state.account.default_consistency();
    let body = account_document::document(&endpoint, &state.options.region, consistency);
    let mut response = content(StatusCode::OK, "application/json", body.into());
    let mut out = HeaderWriter::new(response.headers_mut());
    respond::media_usage(&mut out, state.account.media_usage());
    Ok(response)
}

/// Pages beside the protocol, open to everybody: probes, metrics, certificate, preflights.
fn page(
    state: &State,
    parts: &Parts,
    arrival: Arrival,
) -> Result<Option<Response<Full<Bytes>>>, Error> {
    if parts.method == Method::OPTIONS {
        return cors::preflight(&state.options.cors, &parts.headers).map(Some);
    }
    // Every resource path starts with one of these, so most requests leave here at once.
    let path = parts.uri.path();
    if path.starts_with("/dbs") || path.starts_with("/offers") {
        return Ok(None);
    }
    let page = match path {
        "/ready" if state.is_stopping.load(Ordering::Relaxed) => return Err(Error::Stopping),
        "/ready" if let Err(error) = state.account.check_writable() => {
            return Err(Error::NotWritable(error.to_string()));
        }
        "/ready" => content(StatusCode::OK, "application/json", Bytes::from_static(READY)),
        "/alive" => content(StatusCode::OK, "application/json", Bytes::from_static(ALIVE)),
        "/status" => content(StatusCode::OK, "application/json", status(state).into()),
        "/metrics" => {
            let has_names = state.options.names_in_metrics
                || manage::caller(state, parts, arrival).is_ok_and(|it| it.is_some());
            let account = state.account.metrics();
            let waiting = Waiting {
                answers: state.unsent.bytes(),
                bodies: state.bodies.bytes(),
                media: state.media.bytes(),
            };
            let text = state.metrics.text(&account, waiting, &state.options.limits, has_names);
            content(StatusCode::OK, "text/plain; version=0.0.4", text.into())
        }
        _ => return Ok(None),
    };
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return Err(Error::RouteMethod { method: error::excerpt(parts.method.as_str()) });
    }
    Ok(Some(page))
}

/// What the probes say, in one answer.
fn status(state: &State) -> String {
    let is_ready = !state.is_stopping.load(Ordering::Relaxed);
    let version = env!("CARGO_PKG_VERSION");
    format!("{{\"alive\":true,\"ready\":{is_ready},\"version\":\"{version}\"}}")
}

fn content(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_ids_are_uuids_of_version_four() {
        let env = Env::fixed(3, 0);
        let (first, second) = (new_activity_id(&env), new_activity_id(&env));
        assert_ne!(first, second);
        for id in [first, second] {
            let id = id.to_str().unwrap();
            let lengths: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
            assert_eq!(id.as_bytes()[14], b'4');
            assert!(b"89ab".contains(&id.as_bytes()[19]));
        }
    }

    #[tokio::test]
    async fn a_call_that_takes_too_long_is_given_up() {
        let limit = Duration::from_millis(10);
        assert_eq!(within(limit, pin!(async { 1 })).await.unwrap(), 1);
        let soon = pin!(async {
            tokio::task::yield_now().await;
            2
        });
        assert_eq!(within(limit, soon).await.unwrap(), 2);
        let never = pin!(std::future::pending::<()>());
        assert!(within(limit, never).await.is_none());
    }

    #[tokio::test]
    async fn a_panic_becomes_an_error() {
        let panics = pin!(async { panic!("boom") });
        let result: Result<(), Failure> = caught(panics).await;
        assert!(matches!(result, Err(Failure::Refused(Error::Panicked(text))) if text == "boom"));
    }
}
