//! What the engine and the run share: the clock, the host, the log, and why a run must end.

use std::cell::{Cell, RefCell};

use model::{Env, Status};
use rquickjs::{Ctx, Persistent, Value};

use crate::clock::Clock;
use crate::host::{Host, HostError, HostResult, SharedHost};
use crate::log::Log;
use crate::property_names::Names;

/// Something thrown, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thrown {
    pub(crate) status: Status,
    pub(crate) text: String,
    pub(crate) stack: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

pub(crate) struct Bridge {
    pub(crate) clock: Clock,
    pub(crate) log: RefCell<Log>,
    pub(crate) response_chars_max: usize,
    host: RefCell<Option<SharedHost>>,
    /// The host broke: the run ends with this, whatever the script does.
    fatal: RefCell<Option<HostError>>,
    aborted: RefCell<Option<Thrown>>,
    rejections: Rejections,
    pub(crate) names: Names,
}

/// Promises that were rejected and that nobody has looked after yet.
#[derive(Default)]
struct Rejections {
    n_open: Cell<i64>,
    last: RefCell<Option<Persistent<Value<'static>>>>,
}

impl Bridge {
    pub(crate) fn new(env: Env, response_chars_max: usize) -> Bridge {
        Bridge {
            clock: Clock::new(env),
            log: RefCell::new(Log::off()),
            response_chars_max,
            host: RefCell::new(None),
            fatal: RefCell::new(None),
            aborted: RefCell::new(None),
            rejections: Rejections::default(),
            names: Names::default(),
        }
    }

    pub(crate) fn attach(&self, host: SharedHost, log: Log) {
        self.rejections.n_open.set(0);
        *self.host.borrow_mut() = Some(host);
        *self.log.borrow_mut() = log;
    }

    /// Lets go of the host and of every value of the engine.
    pub(crate) fn detach(&self) {
        self.host.borrow_mut().take();
        self.rejections.last.borrow_mut().take();
    }

    /// Passes a call to the host. `None` means that it was not accepted.
    pub(crate) fn operate<T>(
        &self,
        access: Access,
        call: impl FnOnce(&mut dyn Host) -> HostResult<T>,
    ) -> Option<HostResult<T>> {
        if !self.clock.accepts() {
            return None;
        }
        let Some(host) = self.host.borrow().clone() else {
            return Some(Err(HostError::new(Status::BAD_REQUEST, "there is no collection here")));
        };
        let mut host = host.lock();
        if access == Access::Write && !host.has_room() {
            return None;
        }
        let outcome = call(&mut *host);
        if let Err(error) = &outcome
            && error.is_fatal
        {
            *self.fatal.borrow_mut() = Some(error.clone());
            self.clock.stop();
        }
        Some(outcome)
    }

    /// Looks at the host without spending anything; `None` when there is none.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&dyn Host) -> T) -> Option<T> {
        let host = self.host.borrow().clone()?;
        let host = host.lock();
        Some(look(&*host))
    }

    pub(crate) fn abort(&self, thrown: Thrown) {
        // The first abort counts: the script may run on a little before it is stopped.
        self.aborted.borrow_mut().get_or_insert(thrown);
        self.clock.stop();
    }

    pub(crate) fn take_fatal(&self) -> Option<HostError> {
        self.fatal.borrow_mut().take()
    }

    pub(crate) fn take_aborted(&self) -> Option<Thrown> {
        self.aborted.borrow_mut().take()
    }

    pub(crate) fn note_rejection<'js>(&self, ctx: &Ctx<'js>, reason: Value<'js>, is_handled: bool) {
        let step = if is_handled { -1 } else { 1 };
        self.rejections.n_open.set(self.rejections.n_open.get() + step);
        if !is_handled {
            *self.rejections.last.borrow_mut() = Some(Persistent::save(ctx, reason));
        }
    }

    /// The reason of a rejection that nobody handled.
    pub(crate) fn take_rejection(&self) -> Option<Persistent<Value<'static>>> {
        let last = self.rejections.last.borrow_mut().take();
        last.filter(|_| self.rejections.n_open.get() > 0)
    }
}

impl std::fmt::Debug for Bridge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bridge").field("clock", &self.clock).finish_non_exhaustive()
    }
}
