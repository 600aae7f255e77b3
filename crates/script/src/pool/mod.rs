//! Threads that run scripts: a bounded number of them behind a bounded queue.
//!
//! As many threads as there are cores take quick jobs from the queue, one after the other, so that a job seldom has to
//! wake a thread and mostly meets a warm one. Jobs that are slow count as threads that are away: others take their
//! place ([`threads`]), even if no other job comes ([`watchdog`]).
//!
//! A thread cannot be stopped from outside. When a run does not end although its time is long over, the thread is
//! given up: the caller gets its answer, another thread takes the place, and the lost one ends when its run does.
//!
//! Invariant: `n_threads` counts threads that take work, `n_lost` those given up and still busy.

mod handover;
mod threads;
mod ticket;
mod watchdog;
mod worker;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use model::Env;
use parking_lot::{Mutex, MutexGuard};

use crate::denylist::Denylist;
use crate::error::{Error, Result};
use crate::limits::{Limits, QUEUE_WAIT_MAX, THREAD_STACK_BYTES, THREADS_LOST_MAX};

use threads::{PoolThread, QUICK_JOB_MAX, ThreadSet};
use watchdog::Watchdog;

pub(crate) use handover::{AnswerReceiver, Answering, Unanswered, handover};
pub(crate) use ticket::Ticket;
pub(crate) use worker::Worker;

pub(crate) type Job = Box<dyn FnOnce(&mut Worker, &Ticket) + Send>;

#[derive(Debug)]
pub(crate) struct Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    env: Env,
    limits: Limits,
    denylist: Arc<Denylist>,
}

#[derive(Debug)]
struct State {
    queue: VecDeque<Queued>,
    threads: ThreadSet,
    watchdog: Watchdog,
    n_threads: usize,
    n_lost: usize,
    n_started: u64,
    is_closed: bool,
}

struct Queued {
    job: Job,
    ticket: Arc<Ticket>,
    since: Duration,
}

impl std::fmt::Debug for Queued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queued").field("since", &self.since).finish_non_exhaustive()
    }
}

impl Pool {
    pub(crate) fn new(env: Env, limits: Limits, denylist: Arc<Denylist>) -> Pool {
        let state = State {
            queue: VecDeque::new(),
            threads: ThreadSet::new(limits.threads_max),
            watchdog: Watchdog::None,
            n_threads: 0,
            n_lost: 0,
            n_started: 0,
            is_closed: false,
        };
        Pool(Arc::new(Shared { state: Mutex::new(state), env, limits, denylist }))
    }

    /// Queues a job. It may still be dropped unrun, when it waited too long.
    pub(crate) fn submit(&self, job: Job) -> Result<Arc<Ticket>> {
        let shared = &self.0;
        let mut state = shared.state.lock();
        if state.is_closed {
            return Err(Error::Closed);
        }
        if state.queue.len() >= shared.limits.queue_max || state.n_lost >= THREADS_LOST_MAX {
            return Err(Error::Busy);
        }
        let ticket = Arc::new(Ticket::new());
        let since = shared.env.monotonic();
        state.queue.push_back(Queued { job, ticket: Arc::clone(&ticket), since });
        if state.threads.needs_another(state.queue.len(), since) {
            call_one(shared, &mut state)?;
        }
        Watchdog::wake_if_needed(shared, &mut state);
        Ok(ticket)
    }

    /// Gives up the thread of a job that does not end. False when it ended just now.
    pub(crate) fn abandon(&self, ticket: &Ticket) -> bool {
        if !ticket.abandon() {
            return false;
        }
        ticket.lower_priority();
        let mut state = self.0.state.lock();
        state.n_threads -= 1;
        state.n_lost += 1;
        if !state.queue.is_empty() && grow(&self.0, &mut state).is_err() {
            // Whoever waits is told when it is asked about; dropping a job answers it.
            state.queue.clear();
        }
        true
    }

    /// Lets idle threads end, and busy ones after their job.
    pub(crate) fn close(&self) {
        let mut state = self.0.state.lock();
        state.is_closed = true;
        state.queue.clear();
        state.threads.call_all();
        state.watchdog.dismiss();
    }

    /// Threads given up and still busy.
    pub(crate) fn n_lost(&self) -> usize {
        self.0.state.lock().n_lost
    }
}

/// Gets one more thread to the queue; false if there may not be one more.
fn call_one(shared: &Arc<Shared>, state: &mut MutexGuard<'_, State>) -> Result<bool> {
    if state.threads.call() { Ok(true) } else { grow(shared, state) }
}

/// Starts a thread, if there may be one more.
fn grow(shared: &Arc<Shared>, state: &mut MutexGuard<'_, State>) -> Result<bool> {
    if state.n_threads >= shared.limits.threads_max {
        return Ok(false);
    }
    state.n_started += 1;
    let its_own = Arc::clone(shared);
    let started = std::thread::Builder::new()
        .name(format!("script-{}", state.n_started))
        .stack_size(THREAD_STACK_BYTES)
        .spawn(move || work(&its_own));
    match started {
        Ok(_) => {
            state.n_threads += 1;
            state.threads.starting();
            Ok(true)
        }
        // The threads that exist will come to the job.
        Err(_) if state.n_threads > 0 => Ok(false),
        Err(error) => {
            state.queue.pop_back();
            Err(Error::Engine(error.to_string()))
        }
    }
}

/// The life of one thread.
fn work(shared: &Arc<Shared>) {
    let (env, limits) = (shared.env.clone(), shared.limits.clone());
    let mut worker = Worker::new(env, limits, Arc::clone(&shared.denylist));
    let me = PoolThread::new();
    shared.state.lock().threads.arrived();
    while let Some((Queued { job, ticket, .. }, now)) = next(shared, &me) {
        ticket.start(now);
        if catch_unwind(AssertUnwindSafe(|| job(&mut worker, &ticket))).is_err() {
            // The job's answer was dropped with it; whatever the panic left in the engines goes too.
            worker.forget();
        }
        shared.state.lock().threads.tidies(&me);
        worker.tidy();
        let mut state = shared.state.lock();
        if !ticket.finish() {
            state.threads.leaves(&me);
            state.n_lost -= 1;
            Watchdog::wake_if_needed(shared, &mut state);
            return;
        }
        if !worker.is_prepared() && state.queue.is_empty() {
            state.threads.leaves(&me);
            drop(state);
            worker.prepare();
        }
    }
}

/// Waits for a job, and gives it with the time; `None` when the pool is closed.
fn next(shared: &Arc<Shared>, me: &PoolThread) -> Option<(Queued, Duration)> {
    let mut state = shared.state.lock();
    loop {
        state.threads.leaves(me);
        if state.is_closed {
            state.n_threads -= 1;
            return None;
        }
        let now = shared.env.monotonic();
        let waited = |queued: &Queued| now.saturating_sub(queued.since);
        while state.queue.front().is_some_and(|queued| waited(queued) > QUEUE_WAIT_MAX) {
            state.queue.pop_front().inspect(|queued| queued.ticket.skip());
        }
        let is_late = state.queue.front().is_some_and(|queued| waited(queued) >= QUICK_JOB_MAX);
        if (is_late || state.threads.has_room(now))
            && let Some(queued) = state.queue.pop_front()
        {
            state.threads.runs(me, now);
            Watchdog::wake_if_needed(shared, &mut state);
            return Some((queued, now));
        }
        Watchdog::wake_if_needed(shared, &mut state);
        state.threads.sleeps(me);
        drop(state);
        me.sleep();
        state = shared.state.lock();
        state.threads.arrived();
    }
}
