//! A moment of patience between an answer and the next request.
//!
//! A client that asks one thing after another sends its next request within a tenth of a millisecond. A thread that has
//! gone to sleep by then must be woken, and its core with it: that takes longer than a point read. So the thread that gave
//! the last answer looks at the sockets for a moment before it rests, as systems do before they halt a core.
//!
//! It looks only when no other request is under way, when there is another core for everybody else, and as long as it pays:
//! after a few that are forgiven, each moment in vain halves how often the next ones are. A crowd of clients comes by itself,
//! and is served best when some of them have gathered: what comes at once after several answers counts as in vain.
//!
//! Invariant: whoever looks owns nothing that others wait for, and ends by itself; the runtime finds what has come.

use std::{
    cell::Cell,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use model::Env;

#[cfg(target_os = "linux")]
use linux::Sockets;
#[cfg(not(target_os = "linux"))]
use other::Sockets;

// Limit: how long one moment is, counted from the answer.
const PATIENCE: Duration = Duration::from_micros(200);

/// What comes sooner after several answers comes from a crowd; one client with several connections needs longer to think.
const CROWD_GAP: Duration = Duration::from_micros(30);

// Limit: looks in one moment, should the clock stand still.
const LOOKS_MAX: usize = 2_000;

// Limit: connections that are looked at. A server with more of them rarely rests.
const CONNECTIONS_MAX: usize = 64;

/// Moments in vain, one after another, that change nothing: a client with several connections may pause between them.
const FORGIVEN: u32 = 3;

/// After many moments in vain one answer in 2 to the power of this is followed by another.
const RARITY_MAX: u32 = 6;

thread_local! {
    /// The last request that began on this thread.
    static BEGUN: Cell<Option<u64>> = const { Cell::new(None) };
    /// When the last request ended on this thread that had also begun on it.
    static ANSWERED: Cell<Option<Duration>> = const { Cell::new(None) };
    /// Requests that ended on this thread since it rested.
    static N_ENDED: Cell<u32> = const { Cell::new(0) };
}

/// Looks for the next request before a thread rests.
pub struct Linger {
    sockets: Option<Sockets>,
    env: Env,
    n_open: AtomicUsize,
    /// Connections that cannot be looked at, so that their requests would wait.
    n_unseen: AtomicUsize,
    n_begun: AtomicU64,
    n_ended: AtomicU64,
    is_lingering: AtomicBool,
    /// After one answer, and after several.
    habits: [Habit; 2],
}

/// Whether lingering has paid so far.
#[derive(Debug, Default)]
struct Habit {
    /// Moments in vain since one paid, as far as they count.
    n_in_vain: AtomicU32,
    /// Times that it could have lingered since it did.
    n_passed: AtomicU32,
}

/// A connection while it is open.
pub(crate) struct Open {
    linger: Arc<Linger>,
    is_seen: bool,
}

/// A request while it is under way.
pub(crate) struct UnderWay<'l> {
    linger: &'l Linger,
    number: u64,
}

/// How a moment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Paid,
    InVain,
    /// Somebody else had something to do.
    CutShort,
}

impl Linger {
    /// Makes one for this machine. It never lingers where one core must do everything.
    pub fn new(env: Env) -> Linger {
        let n_cores = thread::available_parallelism().map_or(1, usize::from);
        let sockets = if n_cores > 1 { Sockets::new() } else { None };
        Linger {
            sockets,
            env,
            n_open: AtomicUsize::new(0),
            n_unseen: AtomicUsize::new(0),
            n_begun: AtomicU64::new(0),
            n_ended: AtomicU64::new(0),
            is_lingering: AtomicBool::new(false),
            habits: Default::default(),
        }
    }

    /// To be called by a thread of the runtime that has nothing to do, before it rests.
    pub fn before_rest(&self) {
        self.linger();
    }

    /// Lingers, unless there is a reason not to.
    fn linger(&self) -> Option<Moment> {
        let (n_ended, answered) = (N_ENDED.take(), ANSWERED.take()?);
        let sockets = self.sockets.as_ref()?;
        let is_one = n_ended <= 1;
        let habit = if is_one { &self.habits[0] } else { &self.habits[1] };
        let may_linger = self.n_unseen.load(Ordering::Relaxed) == 0 && !self.is_busy();
        if !may_linger || !habit.is_due() || self.is_lingering.swap(true, Ordering::Acquire) {
            return None;
        }
        let mut moment = self.look(sockets, answered);
        self.is_lingering.store(false, Ordering::Release);
        if moment == Moment::Paid && !is_one && self.since(answered) < CROWD_GAP {
            moment = Moment::InVain;
        }
        habit.learn(moment);
        Some(moment)
    }

    fn since(&self, answered: Duration) -> Duration {
        self.env.monotonic().saturating_sub(answered)
    }

    fn is_busy(&self) -> bool {
        self.n_begun.load(Ordering::Relaxed) != self.n_ended.load(Ordering::Relaxed)
    }

    fn look(&self, sockets: &Sockets, answered: Duration) -> Moment {
        for _ in 0..LOOKS_MAX {
            if sockets.is_any_ready() {
                return Moment::Paid;
            }
            if self.is_busy() {
                return Moment::CutShort;
            }
            if self.since(answered) > PATIENCE {
                break;
            }
        }
        Moment::InVain
    }

    /// Looks out for new connections too.
    pub(crate) fn watch_listener(&self, listener: &tokio::net::TcpListener) {
        if let Some(sockets) = &self.sockets {
            // Without it a new client waits for a moment.
            sockets.add(listener);
        }
    }

    /// Looks at a connection as long as what this returns is there.
    pub(crate) fn watch(self: &Arc<Linger>, stream: &tokio::net::TcpStream) -> Open {
        let has_room = self.n_open.fetch_add(1, Ordering::Relaxed) < CONNECTIONS_MAX;
        let sockets = self.sockets.as_ref().filter(|_| has_room);
        let is_seen = sockets.is_some_and(|sockets| sockets.add(stream));
        if !is_seen {
            self.n_unseen.fetch_add(1, Ordering::Relaxed);
        }
        Open { linger: Arc::clone(self), is_seen }
    }

    /// Counts a request as long as what this returns is there.
    pub(crate) fn begin(&self) -> UnderWay<'_> {
        let number = self.n_begun.fetch_add(1, Ordering::Relaxed);
        BEGUN.set(Some(number));
        UnderWay { linger: self, number }
    }
}

impl Habit {
    /// Returns whether it is time again.
    fn is_due(&self) -> bool {
        let n_passed = self.n_passed.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let rarity = self.n_in_vain.load(Ordering::Relaxed).saturating_sub(FORGIVEN);
        n_passed >> rarity > 0
    }

    fn learn(&self, moment: Moment) {
        let n_in_vain = match moment {
            Moment::Paid => 0,
            Moment::InVain => {
                (self.n_in_vain.load(Ordering::Relaxed) + 1).min(FORGIVEN + RARITY_MAX)
            }
            Moment::CutShort => return,
        };
        self.n_in_vain.store(n_in_vain, Ordering::Relaxed);
        self.n_passed.store(0, Ordering::Relaxed);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.linger.n_open.fetch_sub(1, Ordering::Relaxed);
        if !self.is_seen {
            self.linger.n_unseen.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.linger.n_ended.fetch_add(1, Ordering::Relaxed);
        N_ENDED.set(N_ENDED.get().saturating_add(1));
        // One that came from elsewhere says nothing about who will find the next.
        if BEGUN.get() == Some(self.number) && self.linger.sockets.is_some() {
            ANSWERED.set(Some(self.linger.env.monotonic()));
        }
    }
}

impl fmt::Debug for Linger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Linger").field("habits", &self.habits).finish_non_exhaustive()
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

    /// Sockets that somebody may send to. The runtime has its own list, which nobody else can look into.
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
            // Who cannot look does not go on looking.
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
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// One that lingers whatever the machine, until it has looked often enough.
    fn patient() -> Arc<Linger> {
        let linger = Linger::new(Env::fixed(1, 0));
        Arc::new(Linger { sockets: Sockets::new(), ..linger })
    }

    async fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0)
    }

    /// Answers once, then has nothing to do.
    fn answer_and_rest(linger: &Linger) -> Option<Moment> {
        drop(linger.begin());
        linger.linger()
    }

    #[tokio::test]
    async fn a_moment_that_pays_is_followed_by_others() {
        let linger = patient();
        let (mut client, server) = connection().await;
        let _open = linger.watch(&server);
        client.write_all(b"GET").await.unwrap();
        server.readable().await.unwrap();
        for _ in 0..10 {
            assert_eq!(answer_and_rest(&linger), Some(Moment::Paid));
            assert_eq!(linger.linger(), None, "once for each answer");
        }
    }

    #[tokio::test]
    async fn moments_in_vain_become_rare_until_one_pays() {
        let linger = patient();
        let (mut client, server) = connection().await;
        let _open = linger.watch(&server);
        let moments = |n_answers| -> Vec<Moment> {
            (0..n_answers).filter_map(|_| answer_and_rest(&linger)).collect()
        };
        assert_eq!(moments(3), [Moment::InVain; 3]);
        assert_eq!(moments(1 + 2 + 4 + 8 + 16 + 32), [Moment::InVain; 6]);
        assert_eq!(moments(640), [Moment::InVain; 10]);
        client.write_all(b"GET").await.unwrap();
        server.readable().await.unwrap();
        assert_eq!(moments(64), [Moment::Paid]);
        assert_eq!(moments(10), [Moment::Paid; 10]);
    }

    #[tokio::test]
    async fn nobody_lingers_while_others_may_wait() {
        let linger = patient();
        let (_client, server) = connection().await;
        let open = linger.watch(&server);
        let other = linger.begin();
        assert_eq!(answer_and_rest(&linger), None, "a request is under way");
        drop(other);
        assert_eq!(linger.linger(), None, "it was not the last to begin");
        let crowd: Vec<_> = (0..CONNECTIONS_MAX).map(|_| linger.watch(&server)).collect();
        assert_eq!(answer_and_rest(&linger), None, "some connections are not seen");
        drop(crowd);
        assert_eq!(answer_and_rest(&linger), Some(Moment::InVain));
        drop(open);
        assert_eq!(linger.n_open.load(Ordering::Relaxed), 0);
    }

    /// Many clients and one with many connections differ in how long they take to come again.
    #[tokio::test]
    async fn a_crowd_comes_by_itself() {
        let linger = patient();
        let (mut client, server) = connection().await;
        let _open = linger.watch(&server);
        client.write_all(b"GET").await.unwrap();
        server.readable().await.unwrap();
        let rest_after_two = |gap| {
            drop(linger.begin());
            drop(linger.begin());
            linger.env.advance(gap);
            linger.linger()
        };
        for _ in 0..10 {
            assert_eq!(rest_after_two(CROWD_GAP), Some(Moment::Paid));
        }
        let n_moments = (0..200).filter_map(|_| rest_after_two(Duration::ZERO)).count();
        assert_eq!(n_moments, 3 + 8, "after 1, 2, 4, 8, 16, 32, 64 and 64 more");
        assert_eq!(answer_and_rest(&linger), Some(Moment::Paid), "one client is not a crowd");
    }

    #[test]
    fn a_request_that_changed_its_thread_is_not_waited_for() {
        let linger = patient();
        thread::scope(|scope| {
            let under_way = linger.begin();
            scope.spawn(|| {
                drop(under_way);
                assert_eq!(ANSWERED.get(), None);
            });
        });
        assert_eq!(ANSWERED.get(), None);
        drop(linger.begin());
        assert!(ANSWERED.get().is_some());
    }
}
