//! Runs short procedures inline, on the request's own thread, because changing threads costs more than they do.
//!
//! Invariant: only scripts that pass a static check ([`crate::inline_check`]) and were quick in the pool run here. One that
//! takes too long, needs too much or fails is run again in the pool, and stays there until it has been quick again.

use std::cell::RefCell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Env;
use parking_lot::RwLock;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::denylist::Denylist;
use crate::host::SharedHost;
use crate::invocation::{InlineOutcome, Invocation};
use crate::limits::{
    INLINE_MEMORY_BYTES, INLINE_SCRIPTS_MAX, INLINE_TIME, INLINE_TIME_SPENT, Limits, QUICK_TIME,
};
use crate::pool::Worker;

static N_RUNNERS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The engine of this thread, for one runtime at a time: versions of scripts differ only within one.
    static OWN: RefCell<Option<(u64, Worker)>> = const { RefCell::new(None) };
}

#[derive(Debug, Clone)]
pub(crate) struct InlineRunner(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: u64,
    env: Env,
    limits: Limits,
    denylist: Arc<Denylist>,
    /// Versions of scripts that may run inline.
    eligible: RwLock<HashSet<Arc<str>>>,
}

impl InlineRunner {
    pub(crate) fn new(env: Env, limits: &Limits, denylist: Arc<Denylist>) -> InlineRunner {
        let limits = Limits {
            // The run ends before the collection accepts no more calls, of which a script could make an answer.
            time_max: INLINE_TIME.min(limits.accept_max / 2),
            memory_bytes_max: INLINE_MEMORY_BYTES.min(limits.memory_bytes_max),
            ..limits.clone()
        };
        let id = N_RUNNERS.fetch_add(1, Ordering::Relaxed);
        InlineRunner(Arc::new(Inner { id, env, limits, denylist, eligible: RwLock::default() }))
    }

    pub(crate) fn run(&self, host: SharedHost, invocation: &Invocation) -> InlineOutcome {
        let version = &invocation.script.version;
        if !self.0.eligible.read().contains(version) || !is_thread_of_requests() {
            return InlineOutcome::NotBegun;
        }
        let begin = self.0.env.monotonic();
        let answer = OWN.with_borrow_mut(|own| {
            let worker = self.own(own);
            let ended = catch_unwind(AssertUnwindSafe(|| worker.invoke(invocation, host)));
            if let Ok(ended) = ended {
                worker.tidy();
                return ended.ok();
            }
            // Whatever the panic left in the engine goes with it.
            worker.forget();
            None
        });
        let took = self.0.env.monotonic().saturating_sub(begin);
        if answer.is_none() || took > INLINE_TIME_SPENT {
            self.0.eligible.write().remove(version);
        }
        answer.map_or(InlineOutcome::Failed, InlineOutcome::Ended)
    }

    fn own<'o>(&self, own: &'o mut Option<(u64, Worker)>) -> &'o mut Worker {
        let Inner { id, env, limits, denylist, .. } = &*self.0;
        if own.as_ref().is_some_and(|(of, _)| of != id) {
            *own = None;
        }
        let fresh = || (*id, Worker::new(env.clone(), limits.clone(), Arc::clone(denylist)));
        &mut own.get_or_insert_with(fresh).1
    }

    /// Times a run in the pool, to learn whether the next one may run inline.
    pub(crate) fn observe<T, E>(
        &self,
        worker: &mut Worker,
        invocation: &Invocation,
        run: impl FnOnce(&mut Worker) -> Result<T, E>,
    ) -> Result<T, E> {
        let begin = self.0.env.monotonic();
        let ended = run(worker);
        let took = self.0.env.monotonic().saturating_sub(begin);
        let script = &invocation.script;
        let is_quick =
            ended.is_ok() && took <= QUICK_TIME && worker.analysis_of(script).may_run_inline;
        if is_quick && !self.0.eligible.read().contains(&script.version) {
            let mut eligible = self.0.eligible.write();
            if eligible.len() >= INLINE_SCRIPTS_MAX {
                eligible.clear();
            }
            eligible.insert(Arc::clone(&script.version));
        }
        ended
    }
}

/// False in runtimes of tests, which have one thread and a fixed order of events, and outside of them.
fn is_thread_of_requests() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}
