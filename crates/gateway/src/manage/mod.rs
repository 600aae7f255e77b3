//! The management API under `/_orrery/`: what the service's control plane and portal do, and what tests of client
//! retries need. JSON in, JSON out; every call needs a key of the account, as `Authorization: Bearer <key>`, and one that
//! may write unless it only reads.
//!
//! `docs/management.md` lists the routes.

mod analyze;
mod emulator;
pub(crate) mod events;
mod explain;
pub(crate) mod faults;
mod heat;
mod logical;
mod parameters;
mod place;
mod ranges;
mod relocations;
pub(crate) mod requests;
mod route;

use std::sync::Arc;
use std::time::Duration;

use account::Enforcement;
use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode, header, request::Parts};
use http_body_util::Full;
use hyper::body::Body;
use model::{Object, Value, json};

use crate::{
    account_document::Arrival, auth::Access, body, error::Error, explorer::session, gateway::State,
    origin,
};
use emulator::EmulatorRoute;
pub(crate) use emulator::Operations;
use faults::Rule;
use parameters::Parameters;
use route::Route;

const PREFIX: &str = "/_orrery";

// Limit: management calls are a few properties; rules of faults are the longest. Some routes need no key.
const BODY_BYTES_MAX: usize = 256 << 10;

// Limit: the clock moves forward only, and time stamps have 32 bits.
const ADVANCE_SECONDS_MAX: f64 = 10.0 * 366.0 * 86_400.0;

/// A management call that succeeded.
#[derive(Debug)]
pub(crate) enum Done {
    Value {
        status: StatusCode,
        body: Value,
    },
    /// An answer that goes on: see [`events`].
    Streamed(Response<Full<Bytes>>),
}

impl Done {
    fn ok(body: Value) -> Done {
        Done::Value { status: StatusCode::OK, body }
    }

    pub(crate) fn into_response(self) -> Response<Full<Bytes>> {
        let (status, body) = match self {
            Done::Value { status, body } => (status, body),
            Done::Streamed(response) => return response,
        };
        let mut text = Vec::new();
        body.write_to(&mut text);
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = status;
        let kind = http::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

/// What a management call can fail with.
#[derive(Debug)]
pub(crate) enum Failed {
    Refused(Error),
    Account(account::Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Refused(error)
    }
}

impl From<account::Error> for Failed {
    fn from(error: account::Error) -> Failed {
        Failed::Account(error)
    }
}

/// Says whether a path belongs to the management API.
pub(crate) fn is_managed(path: &str) -> bool {
    path.strip_prefix(PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        || EmulatorRoute::parse(path).is_some()
}

/// Answers a management call.
pub(crate) async fn answer<B>(
    state: &Arc<State>,
    parts: &Parts,
    body: B,
    arrival: Arrival,
) -> Result<Done, Failed>
where
    B: Body<Data = Bytes> + Send + Unpin,
{
    if let Some(route) = EmulatorRoute::parse(parts.uri.path()) {
        let answer = answer_emulator(state, parts, body, arrival, route).await;
        return Ok(answer.unwrap_or_else(|failed| emulator::failure(&failed)));
    }
    // A page that knows the key still is no page of ours.
    if !parts.method.is_safe() {
        origin::check_page(&state.options, &parts.uri, &parts.headers)?;
    }
    let caller = caller(state, parts, arrival)?.ok_or(Error::ManagementKey)?;
    let path = parts.uri.path().strip_prefix(PREFIX).unwrap_or_default();
    let route = Route::parse(path)?;
    if !route.only_reads(&parts.method) {
        caller.check_writes()?;
    }
    let parameters = Parameters::parse(parts.uri.query(), route.parameters())?;
    let limits = &state.options.limits;
    let (body, _share) = body::read(body, BODY_BYTES_MAX, limits, Some(&state.bodies)).await?;
    let body = if body.is_empty() { Value::Object(Object::new()) } else { parse(&body)? };
    known(Some(&body), route.properties())?;
    run(state, &parts.method, route, &parameters, &body).await
}

async fn answer_emulator<B>(
    state: &Arc<State>,
    parts: &Parts,
    body: B,
    arrival: Arrival,
    route: EmulatorRoute,
) -> Result<Done, Failed>
where
    B: Body<Data = Bytes> + Send + Unpin,
{
    let caller = caller(state, parts, arrival).and_then(|it| it.ok_or(Error::ManagementKey));
    let caller = caller.and_then(Caller::check_writes);
    if !state.has_well_known_key {
        caller?;
    } else if caller.is_err() {
        // Every web page knows these routes, too.
        origin::check_page(&state.options, &parts.uri, &parts.headers)?;
    }
    let limits = &state.options.limits;
    let (body, _share) = body::read(body, BODY_BYTES_MAX, limits, Some(&state.bodies)).await?;
    let body = if body.is_empty() { Value::Object(Object::new()) } else { parse(&body)? };
    known(Some(&body), route.properties())?;
    let is_post = parts.method == Method::POST;
    emulator::run(&state.account, &state.operations, is_post, route, &body).await
}

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    access: Access,
    /// By a session of the explorer.
    is_session: bool,
}

impl Caller {
    fn check_writes(self) -> Result<(), Error> {
        match self {
            Caller { access: Access::All, .. } => Ok(()),
            Caller { is_session: true, .. } => Err(Error::SessionReadOnly),
            Caller { is_session: false, .. } => Err(Error::ManagementKey),
        }
    }
}

/// Whose key or session a request shows; none if there is neither. Comparing takes the same time whatever was sent.
pub(crate) fn caller(
    state: &State,
    parts: &Parts,
    arrival: Arrival,
) -> Result<Option<Caller>, Error> {
    let Parts { uri, headers, .. } = parts;
    if !headers.contains_key(header::AUTHORIZATION) && session::is_meant(headers) {
        let access = session::authenticate(state, uri, headers, arrival)?;
        return Ok(Some(Caller { access, is_session: true }));
    }
    let key = bearer(headers).and_then(|key| state.keys.find_text(key.as_bytes()));
    Ok(key.map(|key| Caller { access: key.access(), is_session: false }))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let (scheme, key) = header?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
}

fn parse(body: &[u8]) -> Result<Value, Error> {
    let value = json::parse(body).map_err(|error| invalid(&error.to_string()))?;
    if matches!(value, Value::Object(_)) { Ok(value) } else { Err(invalid("not a JSON object")) }
}

/// The object, if it has no properties but these: a misspelt one would be ignored and something else done.
pub(crate) fn known(value: Option<&Value>, names: &[&str]) -> Result<Option<Object>, Error> {
    let Some(value) = value else { return Ok(None) };
    let Value::Object(found) = value else { return Err(invalid("an object was expected")) };
    match found.iter().find(|(name, _)| !names.contains(name)) {
        Some((name, _)) => Err(invalid(&format!("unknown property '{name}'"))),
        None => Ok(Some(found.clone())),
    }
}

pub(crate) fn invalid(reason: &str) -> Error {
    Error::BodyInvalid { reason: crate::error::excerpt(reason) }
}

async fn run(
    state: &Arc<State>,
    method: &Method,
    route: Route,
    parameters: &Parameters,
    body: &Value,
) -> Result<Done, Failed> {
    let account = &state.account;
    Ok(match (method.as_str(), route) {
        ("GET", Route::Root) => Done::ok(root(state)),
        ("GET", Route::Ranges { container: None }) => Done::ok(ranges::all(account)?),
        ("GET", Route::Ranges { container: Some(container) }) => {
            Done::ok(ranges::of(account, &container)?)
        }
        ("GET", Route::Logical { container }) => {
            Done::ok(logical::list(account, &container, parameters)?)
        }
        ("GET", Route::Heat { container }) => Done::ok(heat::map(account, &container, parameters)?),
        ("GET", Route::Paths { container }) => Done::ok(place::paths(account, &container)?),
        ("POST", Route::Place) => Done::ok(place::of_keys(body)?),
        ("GET", Route::Enforcement) => Done::ok(enforcement(state)),
        ("POST", Route::Enforcement) => {
            account.enforce(mode(body)?);
            Done::ok(enforcement(state))
        }
        ("GET", Route::Events) => Done::Streamed(events::open(state, parameters)?),
        ("POST", Route::Relocate { container, command }) => {
            relocations::start(account, &container, &command, body).await?
        }
        ("POST", Route::Explain { container }) => {
            Done::ok(explain::explain(state, &container, body).await?)
        }
        ("POST", Route::Throughput { container }) => {
            account.redistribute(&container, ranges::shares(body)?).await?;
            Done::ok(ranges::of(account, &container)?)
        }
        ("POST", Route::Hold { container, is_held }) => {
            Done::ok(relocations::hold(account, &container, is_held, body)?)
        }
        ("GET", Route::Relocations) => Done::ok(relocations::list(account)),
        ("GET", Route::Relocation { id }) => Done::ok(relocations::show(&account.relocation(id)?)),
        ("DELETE", Route::Relocation { id }) => {
            account.cancel_relocation(id)?;
            Done::ok(relocations::show(&account.relocation(id)?))
        }
        ("GET", Route::Faults) => Done::ok(state.faults.show()),
        ("POST", Route::Faults) => {
            let id = state.faults.add(Rule::parse(body)?)?;
            Done::Value { status: StatusCode::CREATED, body: object([("id", number(id))]) }
        }
        ("DELETE", Route::Faults) => {
            state.faults.clear();
            Done::ok(state.faults.show())
        }
        ("GET", Route::Clock) => Done::ok(clock(state)),
        ("POST", Route::Clock) => {
            account.advance_clock(seconds(body)?);
            // What fell due meanwhile is gone when this answers.
            account.run_jobs_once().await?;
            Done::ok(clock(state))
        }
        ("POST", Route::Reset { container: None }) => {
            account.reset().await?;
            Done::ok(object([("reset", "account".into())]))
        }
        ("POST", Route::Reset { container: Some(container) }) => {
            account.reset_container(&container).await?;
            Done::ok(object([("reset", "container".into())]))
        }
        (other, _) => {
            return Err(Error::RouteMethod { method: crate::error::excerpt(other) }.into());
        }
    })
}

/// All routes, and how the server is set.
fn root(state: &State) -> Value {
    let public = state.options.public_endpoint.as_deref();
    let mut shown = match route::list() {
        Value::Object(shown) => shown,
        _ => Object::new(),
    };
    shown.insert("version", env!("CARGO_PKG_VERSION"));
    shown.insert("enforcement", state.account.enforcement().name());
    shown.insert("partitionBytes", number(state.account.partition_bytes()));
    shown.insert("publicEndpoint", public.map_or(Value::Null, Value::from));
    Value::Object(shown)
}

fn enforcement(state: &State) -> Value {
    object([("mode", state.account.enforcement().name().into())])
}

fn mode(body: &Value) -> Result<Enforcement, Error> {
    let name = body.get("mode").and_then(Value::as_str).unwrap_or_default();
    let found = Enforcement::ALL.into_iter().find(|it| it.name() == name);
    found.ok_or_else(|| invalid("mode must be off, warn or on"))
}

fn clock(state: &State) -> Value {
    object([("nowMs", number(state.account.now_ms()))])
}

fn seconds(body: &Value) -> Result<Duration, Error> {
    let seconds = body.get("advanceSeconds").and_then(Value::as_f64);
    let seconds = seconds.filter(|seconds| (0.0..=ADVANCE_SECONDS_MAX).contains(seconds));
    let seconds = seconds.ok_or_else(|| invalid("advanceSeconds must be a number from 0 up"))?;
    Ok(Duration::from_secs_f64(seconds))
}

pub(crate) fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let mut object = Object::new();
    for (name, value) in entries {
        object.insert(name, value);
    }
    Value::Object(object)
}

pub(crate) fn number(number: u64) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}
