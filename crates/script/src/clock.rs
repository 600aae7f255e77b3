//! The time of one run: when calls are no longer accepted, when the engine is stopped.

use std::cell::Cell;
use std::time::Duration;

use model::Env;

#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) env: Env,
    accept_until: Cell<Duration>,
    stop_at: Cell<Duration>,
    /// The run is over for another reason than time: an abort, a broken host.
    is_stopped: Cell<bool>,
    has_expired: Cell<bool>,
}

impl Clock {
    /// A clock without a run: nothing is accepted, nothing runs.
    pub(crate) fn new(env: Env) -> Clock {
        Clock {
            env,
            accept_until: Cell::new(Duration::ZERO),
            stop_at: Cell::new(Duration::MAX),
            is_stopped: Cell::new(false),
            has_expired: Cell::new(false),
        }
    }

    pub(crate) fn start(&self, accept_until: Duration, stop_at: Duration) {
        self.accept_until.set(accept_until);
        self.stop_at.set(stop_at);
        self.is_stopped.set(false);
        self.has_expired.set(false);
    }

    /// Says whether the collection still accepts calls.
    pub(crate) fn accepts(&self) -> bool {
        !self.is_stopped.get() && self.env.monotonic() < self.accept_until.get()
    }

    /// The engine asks this between instructions; true unwinds the script past every handler of its own.
    pub(crate) fn must_stop(&self) -> bool {
        if !self.is_stopped.get() && self.env.monotonic() >= self.stop_at.get() {
            self.has_expired.set(true);
        }
        self.is_over()
    }

    /// Says whether the run was told to stop, without a look at the time.
    pub(crate) fn is_over(&self) -> bool {
        self.is_stopped.get() || self.has_expired.get()
    }

    pub(crate) fn stop(&self) {
        self.is_stopped.set(true);
    }

    pub(crate) fn has_expired(&self) -> bool {
        self.has_expired.get()
    }

    /// When a long call of the host should give up.
    pub(crate) fn deadline(&self) -> Duration {
        self.stop_at.get()
    }
}
