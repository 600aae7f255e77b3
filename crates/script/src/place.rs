//! Runs on the threads of requests.
//!
//! Only scripts that the engine can stop at any moment ([`crate::brief`]) and that were quick on a thread for scripts
//! come here. One that takes too long, needs too much or fails begins again on such a thread, and stays there until it
//! has been quick again.

use std::cell::RefCell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Env;
use parking_lot::RwLock;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::host::SharedHost;
use crate::invocation::{Here, Invocation};
use crate::limits::{
    BRIEF_MEMORY_BYTES, BRIEF_SCRIPTS_MAX, BRIEF_TIME, BRIEF_TIME_SPENT, Limits, QUICK_TIME,
};
use crate::offenders::Offenders;
use crate::pool::Worker;

static N_PLACES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The engine of this thread, for one runtime at a time: versions of scripts differ only within one.
    static OWN: RefCell<Option<(u64, Worker)>> = const { RefCell::new(None) };
}

#[derive(Debug, Clone)]
pub(crate) struct Place(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: u64,
    env: Env,
    limits: Limits,
    offenders: Arc<Offenders>,
    /// Versions of scripts that may run here.
    brief: RwLock<HashSet<Arc<str>>>,
}

impl Place {
    pub(crate) fn new(env: Env, limits: &Limits, offenders: Arc<Offenders>) -> Place {
        let limits = Limits {
            // The run ends before the collection accepts no more calls, of which a script could make an answer.
            time_max: BRIEF_TIME.min(limits.accept_max / 2),
            memory_bytes_max: BRIEF_MEMORY_BYTES.min(limits.memory_bytes_max),
            ..limits.clone()
        };
        let id = N_PLACES.fetch_add(1, Ordering::Relaxed);
        Place(Arc::new(Inner { id, env, limits, offenders, brief: RwLock::default() }))
    }

    pub(crate) fn run(&self, host: SharedHost, invocation: &Invocation) -> Here {
        let version = &invocation.script.version;
        if !self.0.brief.read().contains(version) || !is_thread_of_requests() {
            return Here::NotBegun;
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
        if answer.is_none() || took > BRIEF_TIME_SPENT {
            self.0.brief.write().remove(version);
        }
        answer.map_or(Here::Failed, Here::Ended)
    }

    fn own<'o>(&self, own: &'o mut Option<(u64, Worker)>) -> &'o mut Worker {
        let Inner { id, env, limits, offenders, .. } = &*self.0;
        if own.as_ref().is_some_and(|(of, _)| of != id) {
            *own = None;
        }
        let fresh = || (*id, Worker::new(env.clone(), limits.clone(), Arc::clone(offenders)));
        &mut own.get_or_insert_with(fresh).1
    }

    /// Watches a run on a thread for scripts: whether the next one may be here.
    pub(crate) fn watch<T, E>(
        &self,
        worker: &mut Worker,
        invocation: &Invocation,
        run: impl FnOnce(&mut Worker) -> Result<T, E>,
    ) -> Result<T, E> {
        let begin = self.0.env.monotonic();
        let ended = run(worker);
        let took = self.0.env.monotonic().saturating_sub(begin);
        let script = &invocation.script;
        let is_quick = ended.is_ok() && took <= QUICK_TIME && worker.traits_of(script).is_brief;
        if is_quick && !self.0.brief.read().contains(&script.version) {
            let mut brief = self.0.brief.write();
            if brief.len() >= BRIEF_SCRIPTS_MAX {
                brief.clear();
            }
            brief.insert(Arc::clone(&script.version));
        }
        ended
    }
}

/// False in runtimes of tests, which have one thread and a fixed order of events, and outside of them.
fn is_thread_of_requests() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}
