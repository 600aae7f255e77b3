//! What happens now, as server-sent events: use by second, new layouts, steps of relocations, refused requests.
//!
//! One task looks at the account once a second and tells all streams; it runs while there is one. A stream that does not
//! read misses events, and nothing is kept for it beyond [`BACKLOG`].

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, atomic::Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use account::{Account, ContainerUse, RangeUse, RelocationStatus, RelocationStep};
use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body_util::Full;
use model::{Charge, RangeId, Value};
use parking_lot::Mutex;
use tokio::sync::broadcast::{self, Receiver, error::RecvError};

use super::parameters::Parameters;
use super::ranges::units;
use super::requests::Watching;
use super::{invalid, number, object, relocations, route};
use crate::{error::Error, gateway::State};

// Limit: streams at once.
const STREAMS_MAX: usize = 16;
// Limit: seconds that wait for a slow stream.
const BACKLOG: usize = 16;

const INTERVAL: Duration = Duration::from_secs(1);

/// Those who listen.
#[derive(Debug)]
pub(crate) struct Events {
    sender: broadcast::Sender<Bytes>,
    /// Whether the task runs.
    is_running: Mutex<bool>,
}

impl Default for Events {
    fn default() -> Events {
        Events { sender: broadcast::channel(BACKLOG).0, is_running: Mutex::new(false) }
    }
}

pub(super) const PARAMETERS: &[&str] = &["requests"];

/// Opens a stream of events.
pub(super) fn open(
    state: &Arc<State>,
    parameters: &Parameters,
) -> Result<Response<Full<Bytes>>, Error> {
    let wants_requests = match parameters.get("requests") {
        None | Some("0") => false,
        Some("1") => true,
        Some(_) => return Err(invalid("requests must be 0 or 1")),
    };
    let events = &state.events;
    let receiver = {
        let mut is_running = events.is_running.lock();
        if events.sender.receiver_count() >= STREAMS_MAX {
            return Err(Error::EventStreamsTaken);
        }
        let receiver = events.sender.subscribe();
        if !*is_running {
            *is_running = true;
            tokio::spawn(run(Arc::clone(state)));
        }
        receiver
    };
    let mut response = Response::new(Full::new(Bytes::new()));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    let uncached = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, uncached);
    let watching = wants_requests.then(|| state.requests.watch());
    let stream = EventStream { next: next(receiver), _watching: watching };
    response.extensions_mut().insert(Opened(Arc::new(Mutex::new(Some(stream)))));
    Ok(response)
}

/// A stream on its way to the connection that sends it.
#[derive(Clone)]
pub(crate) struct Opened(Arc<Mutex<Option<EventStream>>>);

impl Opened {
    pub(crate) fn take(&self) -> Option<EventStream> {
        self.0.lock().take()
    }
}

type Next = Pin<Box<dyn Future<Output = Option<(Bytes, Receiver<Bytes>)>> + Send>>;

/// Events as they come, until the server stops.
pub(crate) struct EventStream {
    next: Next,
    /// Has requests noted as long as the stream is open.
    _watching: Option<Watching>,
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStream")
    }
}

impl EventStream {
    /// The next event; `None` ends the stream.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Poll::Ready(found) = self.next.as_mut().poll(context) else { return Poll::Pending };
        Poll::Ready(found.map(|(bytes, receiver)| {
            self.next = next(receiver);
            bytes
        }))
    }
}

fn next(mut receiver: Receiver<Bytes>) -> Next {
    Box::pin(async move {
        match receiver.recv().await {
            // The last one is empty.
            Ok(bytes) => (!bytes.is_empty()).then_some((bytes, receiver)),
            Err(RecvError::Lagged(n_missed)) => {
                let missed = object([("missed", number(n_missed))]);
                Some((event("missed", &missed), receiver))
            }
            Err(RecvError::Closed) => None,
        }
    })
}

fn event(name: &str, data: &Value) -> Bytes {
    let mut text = format!("event: {name}\ndata: ").into_bytes();
    data.write_to(&mut text);
    text.extend_from_slice(b"\n\n");
    text.into()
}

/// Looks once a second while somebody listens.
async fn run(state: Arc<State>) {
    let mut before = Seen::of(&state.account);
    loop {
        tokio::time::sleep(INTERVAL).await;
        if state.is_stopping.load(Ordering::Relaxed) {
            // Nobody to tell is no failure.
            let _ = state.events.sender.send(Bytes::new());
        }
        {
            let mut is_running = state.events.is_running.lock();
            if state.events.sender.receiver_count() == 0 {
                *is_running = false;
                return;
            }
        }
        let seen = Seen::of(&state.account);
        let mut told = vec![seen.since(&before, &state.account)];
        told.extend(state.requests.take().map(|requests| event("requests", &requests)));
        let _ = state.events.sender.send(told.concat().into());
        before = seen;
    }
}

/// The account at one moment.
struct Seen {
    at_ms: u64,
    uses: Vec<ContainerUse>,
    relocations: Vec<RelocationStatus>,
}

impl Seen {
    fn of(account: &Account) -> Seen {
        Seen { at_ms: account.now_ms(), uses: account.uses(), relocations: account.relocations() }
    }

    /// The events of the time since an earlier look, in one piece.
    fn since(&self, before: &Seen, account: &Account) -> Bytes {
        let name =
            |container: &ContainerUse| (container.database.clone(), container.container.clone());
        let old: HashMap<_, _> =
            before.uses.iter().map(|container| (name(container), container)).collect();
        let mut events = Vec::new();
        let mut used = Vec::new();
        for container in &self.uses {
            let old = old.get(&name(container)).copied();
            if old.is_none_or(|old| old.layout != container.layout) {
                events.push(event("layout", &named(container, [])));
            }
            let ranges = used_ranges(container, old);
            if let Some(refused) = refused(account, container, &ranges) {
                events.push(event("throttle", &refused));
            }
            if !ranges.is_empty() {
                let ranges = ranges.iter().map(show_use).collect();
                used.push(named(container, [("ranges", Value::Array(ranges))]));
            }
        }
        if self.uses.len() < before.uses.len() {
            events.push(event("layout", &object([])));
        }
        events.extend(self.relocated_since(before));
        let second = object([("atMs", number(self.at_ms)), ("containers", Value::Array(used))]);
        events.push(event("second", &second));
        events.concat().into()
    }

    fn relocated_since<'a>(&'a self, before: &'a Seen) -> impl Iterator<Item = Bytes> + 'a {
        let state = |status: &RelocationStatus| -> (RelocationStep, bool, u64, bool) {
            (status.step, status.is_waiting, status.n_copied, status.end.is_some())
        };
        let old: HashMap<u64, _> =
            before.relocations.iter().map(|status| (status.id, state(status))).collect();
        let changed = self.relocations.iter();
        let changed = changed.filter(move |status| old.get(&status.id) != Some(&state(status)));
        changed.map(|status| event("relocation", &relocations::show(status)))
    }
}

/// What ranges have used since an earlier look; those that have done nothing are left out.
fn used_ranges(container: &ContainerUse, old: Option<&ContainerUse>) -> Vec<RangeUse> {
    let old = old.map(|old| old.ranges.as_slice()).unwrap_or_default();
    let of = |id: RangeId| old.iter().find(|range| range.id == id);
    let less = |now: Charge, before: Charge| {
        Charge::from_hundredths(now.hundredths().saturating_sub(before.hundredths()))
    };
    let changes = container.ranges.iter().filter(|range| of(range.id) != Some(*range));
    let change = |range: &RangeUse| match of(range.id) {
        None => range.clone(),
        Some(old) => RangeUse {
            read: less(range.read, old.read),
            write: less(range.write, old.write),
            n_throttled: range.n_throttled.saturating_sub(old.n_throttled),
            ..range.clone()
        },
    };
    changes.map(change).collect()
}

/// The ranges that refused requests, each with the key that used most of it.
fn refused(account: &Account, container: &ContainerUse, ranges: &[RangeUse]) -> Option<Value> {
    let link = route::link(&container.database, &container.container);
    let refused = ranges.iter().filter(|range| range.n_throttled > 0).map(|range| {
        let hottest = account.hottest_key(&link, range.id).ok().flatten();
        object([
            ("id", range.id.to_string().into()),
            ("throttled", number(range.n_throttled)),
            ("hottest", hottest.map_or(Value::Null, |hot| hot.key.to_value())),
        ])
    });
    let refused: Vec<Value> = refused.collect();
    (!refused.is_empty()).then(|| named(container, [("ranges", Value::Array(refused))]))
}

fn show_use(range: &RangeUse) -> Value {
    object([
        ("id", range.id.to_string().into()),
        ("read", units(range.read)),
        ("write", units(range.write)),
        ("throttled", number(range.n_throttled)),
        ("items", number(range.n_items)),
        ("bytes", number(range.bytes)),
        ("left", range.left.map_or(Value::Null, Value::from)),
    ])
}

fn named<const N: usize>(container: &ContainerUse, rest: [(&str, Value); N]) -> Value {
    let names = [
        ("database", container.database.as_str().into()),
        ("container", container.container.as_str().into()),
    ];
    Value::Object(names.into_iter().chain(rest).collect())
}
