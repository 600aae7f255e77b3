//! Threads that run scripts: a bounded number of them behind a bounded queue.
//!
//! As many threads as there are cores take quick jobs from the queue, one after the other, so that a job seldom has to
//! wake a thread and mostly meets a warm one. Jobs that are slow count as threads that are away: others take their
//! place ([`crew`]), also when nobody asks ([`watch`]).
//!
//! A thread cannot be stopped from outside. When a run does not end although its time is long over, the thread is
//! given up: the caller gets its answer, another thread takes the place, and the lost one ends when its run does.
//!
//! Invariant: `n_threads` counts threads that take work, `n_lost` those given up and still busy.

mod crew;
mod handover;
mod ticket;
mod watch;
mod worker;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use model::Env;
use parking_lot::{Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::limits::{Limits, QUEUE_WAIT_MAX, THREAD_STACK_BYTES, THREADS_LOST_MAX};
use crate::offenders::Offenders;

use crew::{Crew, Member, PATIENCE};
use watch::Watchman;

pub(crate) use handover::{Answering, Taker, Unanswered, handover};
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
    offenders: Arc<Offenders>,
}

#[derive(Debug)]
struct State {
    queue: VecDeque<Queued>,
    crew: Crew,
    watchman: Watchman,
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
    pub(crate) fn new(env: Env, limits: Limits, offenders: Arc<Offenders>) -> Pool {
        let state = State {
            queue: VecDeque::new(),
            crew: Crew::new(limits.threads_max),
            watchman: Watchman::None,
            n_threads: 0,
            n_lost: 0,
            n_started: 0,
            is_closed: false,
        };
        Pool(Arc::new(Shared { state: Mutex::new(state), env, limits, offenders }))
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
        if state.crew.needs_another(state.queue.len(), since) {
            call_one(shared, &mut state)?;
        }
        Watchman::see_to(shared, &mut state);
        Ok(ticket)
    }

    /// Gives up the thread of a job that does not end. False when it ended just now.
    pub(crate) fn give_up(&self, ticket: &Ticket) -> bool {
        if !ticket.give_up() {
            return false;
        }
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
        state.crew.call_all();
        state.watchman.dismiss();
    }

    /// Threads given up and still busy.
    pub(crate) fn n_lost(&self) -> usize {
        self.0.state.lock().n_lost
    }
}

/// Gets one more thread to the queue; false if there may not be one more.
fn call_one(shared: &Arc<Shared>, state: &mut MutexGuard<'_, State>) -> Result<bool> {
    if state.crew.call() { Ok(true) } else { grow(shared, state) }
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
            state.crew.comes();
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
    let mut worker = Worker::new(env, limits, Arc::clone(&shared.offenders));
    let me = Member::new();
    shared.state.lock().crew.came();
    while let Some((Queued { job, ticket, .. }, now)) = next(shared, &me) {
        ticket.start(now);
        if catch_unwind(AssertUnwindSafe(|| job(&mut worker, &ticket))).is_err() {
            // The job's answer was dropped with it; whatever the panic left in the engines goes too.
            worker.forget();
        }
        shared.state.lock().crew.tidies(&me);
        worker.tidy();
        let mut state = shared.state.lock();
        if !ticket.finish() {
            state.crew.leaves(&me);
            state.n_lost -= 1;
            Watchman::see_to(shared, &mut state);
            return;
        }
        if !worker.is_prepared() && state.queue.is_empty() {
            state.crew.leaves(&me);
            drop(state);
            worker.prepare();
        }
    }
}

/// Waits for a job, and gives it with the time; `None` when the pool is closed.
fn next(shared: &Arc<Shared>, me: &Member) -> Option<(Queued, Duration)> {
    let mut state = shared.state.lock();
    loop {
        state.crew.leaves(me);
        if state.is_closed {
            state.n_threads -= 1;
            return None;
        }
        let now = shared.env.monotonic();
        let waited = |queued: &Queued| now.saturating_sub(queued.since);
        while state.queue.front().is_some_and(|queued| waited(queued) > QUEUE_WAIT_MAX) {
            state.queue.pop_front().inspect(|queued| queued.ticket.skip());
        }
        let is_late = state.queue.front().is_some_and(|queued| waited(queued) >= PATIENCE);
        if (is_late || state.crew.has_place(now))
            && let Some(queued) = state.queue.pop_front()
        {
            state.crew.runs(me, now);
            Watchman::see_to(shared, &mut state);
            return Some((queued, now));
        }
        Watchman::see_to(shared, &mut state);
        state.crew.sleeps(me);
        drop(state);
        me.sleep();
        state = shared.state.lock();
        state.crew.came();
    }
}
