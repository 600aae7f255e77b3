//! Adaptive busy polling: a thread that has just answered polls the sockets for a while (`--busy-poll`) before it parks.
//!
//! A client that sends one request after another sends the next within a tenth of a millisecond, and waking a parked thread
//! and its core takes longer than a point read. It spins only when no request is in flight and another core is free, and
//! backs off exponentially after three misses (down to 1 in 64). Under concurrent load spinning hurts batching, so a request
//! that arrives within 30 µs of several responses counts as a miss.
//!
//! Invariant: a spinning thread holds nothing that others wait for, and stops by itself; the runtime finds what has come.

use std::{
    cell::Cell,
    fmt,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use gateway::TrafficObserver;
use model::Env;
use tokio::net::{TcpListener, TcpStream};

#[cfg(target_os = "linux")]
use linux::Sockets;
#[cfg(not(target_os = "linux"))]
use other::Sockets;

/// A request that comes sooner after several answers is concurrent load; one client with several connections takes longer.
const CROWD_GAP: Duration = Duration::from_micros(30);

// Limit: polls in one spin, should the clock stand still.
const POLLS_MAX: usize = 2_000;

// Limit: connections that are polled. A server with more of them is rarely idle.
const CONNECTIONS_MAX: usize = 64;

/// Misses in a row before it backs off: a client with several connections may pause between them.
const MISSES_ALLOWED: u32 = 3;

/// After many misses one answer in 2 to the power of this is followed by a spin.
const BACKOFF_MAX: u32 = 6;

thread_local! {
    /// The last request that began on this thread.
    static BEGUN: Cell<Option<u64>> = const { Cell::new(None) };
    /// When the last request ended on this thread that had also begun on it.
    static ANSWERED: Cell<Option<Duration>> = const { Cell::new(None) };
    /// Requests that ended on this thread since it parked.
    static N_ENDED: Cell<u32> = const { Cell::new(0) };
}

/// Polls for the next request before a thread parks.
pub(crate) struct BusyPoll {
    /// How long one spin lasts at most.
    spin_max: Duration,
    sockets: Option<Sockets>,
    env: Env,
    n_open: AtomicUsize,
    /// Connections that cannot be polled, so that their requests would wait.
    n_unpolled: AtomicUsize,
    n_begun: AtomicU64,
    n_ended: AtomicU64,
    is_spinning: AtomicBool,
    /// After one answer, and after several.
    backoffs: [Backoff; 2],
}

/// Exponential back-off: how often spinning has hit so far.
#[derive(Debug, Default)]
struct Backoff {
    /// Misses since the last hit, capped.
    n_misses: AtomicU32,
    /// Times that it could have spun since it did.
    n_passed: AtomicU32,
}

/// How a spin ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpinResult {
    Hit,
    Miss,
    /// Another thread had something to do.
    CutShort,
}

impl BusyPoll {
    /// Makes one that spins for up to `spin_max` after an answer. It never spins where there is only one core.
    pub(crate) fn new(spin_max: Duration, env: Env) -> BusyPoll {
        let n_cores = thread::available_parallelism().map_or(1, usize::from);
        let sockets = if n_cores > 1 { Sockets::new() } else { None };
        BusyPoll {
            spin_max,
            sockets,
            env,
            n_open: AtomicUsize::new(0),
            n_unpolled: AtomicUsize::new(0),
            n_begun: AtomicU64::new(0),
            n_ended: AtomicU64::new(0),
            is_spinning: AtomicBool::new(false),
            backoffs: Default::default(),
        }
    }

    /// To be called by an idle thread of the runtime, before it parks.
    pub(crate) fn before_park(&self) {
        self.spin();
    }

    /// Spins, unless there is a reason not to.
    fn spin(&self) -> Option<SpinResult> {
        let (n_ended, answered) = (N_ENDED.take(), ANSWERED.take()?);
        let sockets = self.sockets.as_ref()?;
        let is_one = n_ended <= 1;
        let backoff = if is_one { &self.backoffs[0] } else { &self.backoffs[1] };
        let may_spin = self.n_unpolled.load(Ordering::Relaxed) == 0 && !self.is_busy();
        if !may_spin || !backoff.is_due() || self.is_spinning.swap(true, Ordering::Acquire) {
            return None;
        }
        let mut result = self.poll_until(sockets, answered);
        self.is_spinning.store(false, Ordering::Release);
        if result == SpinResult::Hit && !is_one && self.since(answered) < CROWD_GAP {
            result = SpinResult::Miss;
        }
        backoff.learn(result);
        Some(result)
    }

    fn since(&self, answered: Duration) -> Duration {
        self.env.monotonic().saturating_sub(answered)
    }

    fn is_busy(&self) -> bool {
        self.n_begun.load(Ordering::Relaxed) != self.n_ended.load(Ordering::Relaxed)
    }

    fn poll_until(&self, sockets: &Sockets, answered: Duration) -> SpinResult {
        for _ in 0..POLLS_MAX {
            if sockets.is_any_ready() {
                return SpinResult::Hit;
            }
            if self.is_busy() {
                return SpinResult::CutShort;
            }
            if self.since(answered) > self.spin_max {
                break;
            }
        }
        SpinResult::Miss
    }
}

impl TrafficObserver for BusyPoll {
    /// Polls for new connections too.
    fn listens(&self, listener: &TcpListener) {
        if let Some(sockets) = &self.sockets {
            // Without it a new client waits until the spin ends.
            sockets.add(listener);
        }
    }

    /// Polls the connection; returns whether that is possible.
    fn opened(&self, stream: &TcpStream) -> bool {
        let has_room = self.n_open.fetch_add(1, Ordering::Relaxed) < CONNECTIONS_MAX;
        let sockets = self.sockets.as_ref().filter(|_| has_room);
        let is_polled = sockets.is_some_and(|sockets| sockets.add(stream));
        if !is_polled {
            self.n_unpolled.fetch_add(1, Ordering::Relaxed);
        }
        is_polled
    }

    fn closed(&self, is_polled: bool) {
        self.n_open.fetch_sub(1, Ordering::Relaxed);
        if !is_polled {
            self.n_unpolled.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn began(&self) -> u64 {
        let number = self.n_begun.fetch_add(1, Ordering::Relaxed);
        BEGUN.set(Some(number));
        number
    }

    fn ended(&self, number: u64) {
        self.n_ended.fetch_add(1, Ordering::Relaxed);
        N_ENDED.set(N_ENDED.get().saturating_add(1));
        // One that began on another thread says nothing about where the next one comes.
        if BEGUN.get() == Some(number) && self.sockets.is_some() {
            ANSWERED.set(Some(self.env.monotonic()));
        }
    }
}

impl Backoff {
    /// Returns whether it is time again.
    fn is_due(&self) -> bool {
        let n_passed = self.n_passed.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let backoff = self.n_misses.load(Ordering::Relaxed).saturating_sub(MISSES_ALLOWED);
        n_passed >> backoff > 0
    }

    fn learn(&self, result: SpinResult) {
        let n_misses = match result {
            SpinResult::Hit => 0,
            SpinResult::Miss => {
                (self.n_misses.load(Ordering::Relaxed) + 1).min(MISSES_ALLOWED + BACKOFF_MAX)
            }
            SpinResult::CutShort => return,
        };
        self.n_misses.store(n_misses, Ordering::Relaxed);
        self.n_passed.store(0, Ordering::Relaxed);
    }
}

impl fmt::Debug for BusyPoll {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BusyPoll").field("backoffs", &self.backoffs).finish_non_exhaustive()
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::event::{
        Timespec,
        epoll::{self, CreateFlags, Event, EventData, EventFlags},
    };

    /// A second epoll set with the sockets of the runtime, whose own set cannot be polled from outside.
    pub(super) struct Sockets(OwnedFd);

    impl Sockets {
        pub(super) fn new() -> Option<Sockets> {
            epoll::create(CreateFlags::CLOEXEC).ok().map(Sockets)
        }

        /// Adds a socket until it is closed. Returns whether that worked.
        pub(super) fn add(&self, socket: impl AsFd) -> bool {
            epoll::add(&self.0, socket, EventData::new_u64(0), EventFlags::IN).is_ok()
        }

        pub(super) fn is_any_ready(&self) -> bool {
            const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
            let mut events = [MaybeUninit::<Event>::uninit()];
            let found = epoll::wait(&self.0, &mut events, Some(&AT_ONCE));
            // A failed poll ends the spin.
            found.map_or(true, |(ready, _)| !ready.is_empty())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    /// No system but Linux is known to gain from it.
    pub(super) enum Sockets {}

    impl Sockets {
        pub(super) fn new() -> Option<Sockets> {
            None
        }

        pub(super) fn add<S>(&self, _socket: S) -> bool {
            match *self {}
        }

        pub(super) fn is_any_ready(&self) -> bool {
            match *self {}
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// One that lingers whatever the machine, until it has looked often enough.
    fn patient() -> BusyPoll {
        let busy_poll = BusyPoll::new(Duration::from_micros(200), Env::fixed(1, 0));
        BusyPoll { sockets: Sockets::new(), ..busy_poll }
    }

    fn answer(busy_poll: &BusyPoll) {
        busy_poll.ended(busy_poll.began());
    }

    async fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0)
    }

    /// Answers once, then has nothing to do.
    fn answer_and_rest(busy_poll: &BusyPoll) -> Option<SpinResult> {
        answer(busy_poll);
        busy_poll.spin()
    }

    #[tokio::test]
    async fn a_hit_is_followed_by_other_spins() {
        let busy_poll = patient();
        let (mut client, server) = connection().await;
        busy_poll.opened(&server);
        client.write_all(b"GET").await.unwrap();
        server.readable().await.unwrap();
        for _ in 0..10 {
            assert_eq!(answer_and_rest(&busy_poll), Some(SpinResult::Hit));
            assert_eq!(busy_poll.spin(), None, "once for each answer");
        }
    }

    #[tokio::test]
    async fn misses_back_off_until_a_hit() {
        let busy_poll = patient();
        let (mut client, server) = connection().await;
        busy_poll.opened(&server);
        let spins = |n_answers| -> Vec<SpinResult> {
            (0..n_answers).filter_map(|_| answer_and_rest(&busy_poll)).collect()
        };
        assert_eq!(spins(3), [SpinResult::Miss; 3]);
        assert_eq!(spins(1 + 2 + 4 + 8 + 16 + 32), [SpinResult::Miss; 6]);
        assert_eq!(spins(640), [SpinResult::Miss; 10]);
        client.write_all(b"GET").await.unwrap();
        server.readable().await.unwrap();
        assert_eq!(spins(64), [SpinResult::Hit]);
        assert_eq!(spins(10), [SpinResult::Hit; 10]);
    }

    #[tokio::test]
    async fn nobody_lingers_while_others_may_wait() {
        let busy_poll = patient();
        let (_client, server) = connection().await;
        let is_polled = busy_poll.opened(&server);
        let other = busy_poll.began();
        assert_eq!(answer_and_rest(&busy_poll), None, "a request is under way");
        busy_poll.ended(other);
        assert_eq!(busy_poll.spin(), None, "it was not the last to begin");
        let crowd: Vec<_> = (0..CONNECTIONS_MAX).map(|_| busy_poll.opened(&server)).collect();
        assert_eq!(answer_and_rest(&busy_poll), None, "some connections are not seen");
        for is_polled in crowd {
            busy_poll.closed(is_polled);
        }
        assert_eq!(answer_and_rest(&busy_poll), Some(SpinResult::Miss));
        busy_poll.closed(is_polled);
        assert_eq!(busy_poll.n_open.load(Ordering::Relaxed), 0);
    }

    /// Many clients and one with many connections differ in how long they take to come again.
    #[tokio::test]
    async fn a_crowd_comes_by_itself() {
        let busy_poll = patient();
        let (mut client, server) = connection().await;
        busy_poll.opened(&server);
        client.write_all(b"GET").await.unwrap();
        server.readable().await.unwrap();
        let rest_after_two = |gap| {
            answer(&busy_poll);
            answer(&busy_poll);
            busy_poll.env.advance(gap);
            busy_poll.spin()
        };
        for _ in 0..10 {
            assert_eq!(rest_after_two(CROWD_GAP), Some(SpinResult::Hit));
        }
        let n_spins = (0..200).filter_map(|_| rest_after_two(Duration::ZERO)).count();
        assert_eq!(n_spins, 3 + 8, "after 1, 2, 4, 8, 16, 32, 64 and 64 more");
        assert_eq!(answer_and_rest(&busy_poll), Some(SpinResult::Hit), "one client is not a crowd");
    }

    #[test]
    fn a_request_that_changed_its_thread_is_not_waited_for() {
        let busy_poll = patient();
        let under_way = busy_poll.began();
        thread::scope(|scope| {
            scope.spawn(|| {
                busy_poll.ended(under_way);
                assert_eq!(ANSWERED.get(), None);
            });
        });
        assert_eq!(ANSWERED.get(), None);
        answer(&busy_poll);
        assert!(ANSWERED.get().is_some());
    }
}
