//! The open connections: what each one is doing, since when, and how it is told to end.
//!
//! A connection is one entry from accept to close. Its task, its stream and its requests note here what they do; the
//! accept loop evicts the longest idle one when all places are taken, and the [watchdog](super::watchdog) ends those that
//! are too slow.
//!
//! Hot path: a request costs some relaxed stores.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use super::unsent::{Total, Unsent};
use crate::{gateway::State, options::Limits};

/// Limit: a connection that was used within this time is not evicted.
const EVICTION_IDLE_MIN: Duration = Duration::from_secs(1);

/// How long the accept loop waits for the place of an evicted connection before it evicts another one.
const EVICTION_PAUSE: Duration = Duration::from_millis(50);

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// It has not said yet what it speaks.
    Greeting,
    /// The head of a request has begun to arrive. Over HTTP/2, which tells no more: the first request is waited for.
    Head,
    /// Requests are under way.
    Busy,
    /// No request is under way.
    Idle,
}

impl Phase {
    fn of(number: u8) -> Phase {
        const ALL: [Phase; 4] = [Phase::Greeting, Phase::Head, Phase::Busy, Phase::Idle];
        ALL.into_iter().find(|phase| *phase as u8 == number).unwrap_or(Phase::Busy)
    }
}

/// How a connection is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Verdict {
    /// After the requests that are under way.
    Gracefully = 1,
    Now = 2,
}

/// One open connection.
#[derive(Debug)]
pub(super) struct Entry {
    clock: Instant,
    phase: AtomicU8,
    since_ms: AtomicU64,
    n_requests: AtomicU32,
    is_http2: AtomicBool,
    is_direct: AtomicBool,
    n_written: AtomicU64,
    verdict: AtomicU8,
    told: Notify,
    pub(super) unsent: Unsent,
    /// For the watchdog alone.
    pub(super) pace: Mutex<super::watchdog::Pace>,
}

impl Entry {
    fn new(clock: Instant, total: &Arc<Total>, limits: &Limits) -> Entry {
        Entry {
            clock,
            phase: AtomicU8::new(Phase::Greeting as u8),
            since_ms: AtomicU64::new(ms_since(clock)),
            n_requests: AtomicU32::new(0),
            is_http2: AtomicBool::new(false),
            is_direct: AtomicBool::new(false),
            n_written: AtomicU64::new(0),
            verdict: AtomicU8::new(0),
            told: Notify::new(),
            unsent: Unsent::new(Arc::clone(total), limits),
            pace: Mutex::default(),
        }
    }

    fn enter(&self, phase: Phase) {
        self.since_ms.store(ms_since(self.clock), Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// The protocol is known, and the first request may come.
    pub(super) fn greeted(&self, is_http2: bool) {
        self.is_http2.store(is_http2, Ordering::Relaxed);
        self.enter(Phase::Head);
    }

    /// Direct mode was negotiated. Clients open such connections ahead of need and keep them.
    pub(super) fn negotiated(&self) {
        self.is_direct.store(true, Ordering::Relaxed);
        self.enter(Phase::Idle);
    }

    pub(super) fn is_direct(&self) -> bool {
        self.is_direct.load(Ordering::Relaxed)
    }

    /// Counts a request as long as what this returns is there.
    pub(super) fn begin(self: &Arc<Entry>) -> UnderWay {
        self.n_requests.fetch_add(1, Ordering::Relaxed);
        self.phase.store(Phase::Busy as u8, Ordering::Relaxed);
        UnderWay(Arc::clone(self))
    }

    /// Bytes have come from the client.
    pub(super) fn received(&self) {
        let is_idle = self.phase() == Phase::Idle;
        if is_idle && !self.is_http2.load(Ordering::Relaxed) {
            self.enter(Phase::Head);
        }
    }

    /// Bytes have gone to the client.
    pub(super) fn wrote(&self, n_bytes: usize) {
        self.n_written.fetch_add(n_bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn n_written(&self) -> u64 {
        self.n_written.load(Ordering::Relaxed)
    }

    pub(super) fn phase(&self) -> Phase {
        Phase::of(self.phase.load(Ordering::Acquire))
    }

    pub(super) fn has_requests(&self) -> bool {
        self.n_requests.load(Ordering::Relaxed) > 0
    }

    /// How long it has been doing what it does.
    pub(super) fn lasts(&self) -> Duration {
        let since = self.since_ms.load(Ordering::Relaxed);
        Duration::from_millis(ms_since(self.clock).saturating_sub(since))
    }

    /// Tells the task of the connection to end it.
    pub(super) fn end(&self, verdict: Verdict) {
        if self.verdict.fetch_max(verdict as u8, Ordering::AcqRel) < verdict as u8 {
            self.told.notify_one();
        }
    }

    fn is_ending(&self) -> bool {
        self.verdict.load(Ordering::Relaxed) != 0
    }

    /// Waits until the connection is told to end; only its task may wait.
    pub(super) async fn ended(&self) -> Verdict {
        self.told.notified().await;
        if self.verdict.load(Ordering::Acquire) == Verdict::Now as u8 {
            Verdict::Now
        } else {
            Verdict::Gracefully
        }
    }
}

/// A request while it is under way.
#[derive(Debug)]
pub(super) struct UnderWay(Arc<Entry>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.0.n_requests.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.enter(Phase::Idle);
        }
    }
}

fn ms_since(clock: Instant) -> u64 {
    u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// All open connections.
#[derive(Debug)]
pub(super) struct ConnectionTable {
    state: Arc<State>,
    clock: Instant,
    open: Mutex<Open>,
    freed: Notify,
    total: Arc<Total>,
}

#[derive(Debug, Default)]
struct Open {
    n_accepted: u64,
    entries: HashMap<u64, Arc<Entry>>,
    by_address: HashMap<IpAddr, usize>,
}

/// Why a connection is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    NoPlace,
    /// Its address has all the connections that it may have.
    Address,
}

impl ConnectionTable {
    pub(super) fn new(state: &Arc<State>) -> ConnectionTable {
        ConnectionTable {
            state: Arc::clone(state),
            clock: Instant::now(),
            open: Mutex::default(),
            freed: Notify::new(),
            total: Arc::clone(&state.unsent),
        }
    }

    /// Takes a place for a new connection. If there is none, the longest idle one makes room.
    pub(super) async fn admit(self: &Arc<Self>, address: IpAddr) -> Result<Seat, Refusal> {
        loop {
            match self.try_admit(address) {
                Err(Refusal::NoPlace) => self.evict(),
                done => return done,
            }
            // Whether one was freed or not: look again.
            let _ = tokio::time::timeout(EVICTION_PAUSE, self.freed.notified()).await;
        }
    }

    fn try_admit(self: &Arc<Self>, address: IpAddr) -> Result<Seat, Refusal> {
        let limits = &self.state.options.limits;
        let metrics = &self.state.metrics;
        let address = address.to_canonical();
        let mut open = self.open.lock();
        let of_address = open.by_address.get(&address).copied().unwrap_or(0);
        if of_address >= limits.connections_per_address_max {
            metrics.connections_refused.fetch_add(1, Ordering::Relaxed);
            return Err(Refusal::Address);
        }
        if open.entries.len() >= limits.connections_max {
            return Err(Refusal::NoPlace);
        }
        let number = open.n_accepted;
        open.n_accepted += 1;
        let entry = Arc::new(Entry::new(self.clock, &self.total, limits));
        open.entries.insert(number, Arc::clone(&entry));
        open.by_address.insert(address, of_address + 1);
        metrics.connections_total.fetch_add(1, Ordering::Relaxed);
        metrics.connections_open.fetch_add(1, Ordering::Relaxed);
        Ok(Seat { table: Arc::clone(self), number, address, entry })
    }

    /// Ends the connection that has had no request for the longest time, if there is one.
    pub(super) fn evict(&self) {
        let open = self.open.lock();
        let idle = open.entries.values().filter(|entry| {
            entry.phase() != Phase::Busy && !entry.is_ending() && !entry.has_requests()
        });
        let longest = idle.map(|entry| (entry.lasts(), entry)).max_by_key(|(lasts, _)| *lasts);
        if let Some((lasts, entry)) = longest
            && lasts >= EVICTION_IDLE_MIN
        {
            entry.end(Verdict::Gracefully);
            self.state.metrics.connections_evicted.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Tells all connections to end after the requests that are under way.
    pub(super) fn end_all(&self) {
        for entry in self.entries() {
            entry.end(Verdict::Gracefully);
        }
    }

    pub(super) fn entries(&self) -> Vec<Arc<Entry>> {
        self.open.lock().entries.values().cloned().collect()
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }
}

/// The place of an open connection in the table.
#[derive(Debug)]
pub(super) struct Seat {
    table: Arc<ConnectionTable>,
    number: u64,
    address: IpAddr,
    pub(super) entry: Arc<Entry>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.table.open.lock();
        open.entries.remove(&self.number);
        match open.by_address.get_mut(&self.address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(open.by_address.remove(&self.address)),
        }
        drop(open);
        self.table.state.metrics.connections_open.fetch_sub(1, Ordering::Relaxed);
        self.table.freed.notify_one();
    }
}
