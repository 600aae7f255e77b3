//! Threads that run scripts: a bounded number of them behind a bounded queue.
//!
//! A thread cannot be stopped from outside. When a run does not end although its time is long over, the thread is
//! given up: the caller gets its answer, another thread takes the place, and the lost one ends when its run does.
//!
//! Invariant: `n_threads` counts threads that take work, `n_lost` those given up and still busy.

mod ticket;
mod worker;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use model::Env;
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::limits::{Limits, QUEUE_WAIT_MAX, THREAD_STACK_BYTES, THREADS_LOST_MAX};

pub(crate) use ticket::Ticket;
pub(crate) use worker::Worker;

pub(crate) type Job = Box<dyn FnOnce(&mut Worker) + Send>;

#[derive(Debug)]
pub(crate) struct Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    env: Env,
    limits: Limits,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Queued>,
    n_threads: usize,
    n_idle: usize,
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
    pub(crate) fn new(env: Env, limits: Limits) -> Pool {
        let (state, wake) = (Mutex::new(State::default()), Condvar::new());
        Pool(Arc::new(Shared { state, wake, env, limits }))
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
        if state.queue.len() <= state.n_idle {
            shared.wake.notify_one();
        } else {
            self.grow(&mut state)?;
        }
        Ok(ticket)
    }

    /// Starts a thread, if there may be one more.
    fn grow(&self, state: &mut MutexGuard<'_, State>) -> Result<()> {
        if state.n_threads >= self.0.limits.threads_max {
            return Ok(());
        }
        state.n_started += 1;
        let shared = Arc::clone(&self.0);
        let started = std::thread::Builder::new()
            .name(format!("script-{}", state.n_started))
            .stack_size(THREAD_STACK_BYTES)
            .spawn(move || work(&shared));
        match started {
            Ok(_) => state.n_threads += 1,
            // The threads that exist will come to the job.
            Err(_) if state.n_threads > 0 => {}
            Err(error) => {
                state.queue.pop_back();
                return Err(Error::Engine(error.to_string()));
            }
        }
        Ok(())
    }

    /// Gives up the thread of a job that does not end. False when it ended just now.
    pub(crate) fn give_up(&self, ticket: &Ticket) -> bool {
        if !ticket.give_up() {
            return false;
        }
        let mut state = self.0.state.lock();
        state.n_threads -= 1;
        state.n_lost += 1;
        if !state.queue.is_empty() && self.grow(&mut state).is_err() {
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
        self.0.wake.notify_all();
    }

    /// Threads given up and still busy.
    pub(crate) fn n_lost(&self) -> usize {
        self.0.state.lock().n_lost
    }
}

/// The life of one thread.
fn work(shared: &Shared) {
    let mut worker = Worker::new(shared.env.clone(), shared.limits.clone());
    while let Some(Queued { job, ticket, since }) = next(shared) {
        let now = shared.env.monotonic();
        if now.saturating_sub(since) > QUEUE_WAIT_MAX {
            ticket.skip();
            continue;
        }
        ticket.start(now);
        if catch_unwind(AssertUnwindSafe(|| job(&mut worker))).is_err() {
            // The job's answer was dropped with it; whatever the panic left in the engines goes too.
            worker.forget();
        }
        worker.tidy();
        if !ticket.finish() {
            shared.state.lock().n_lost -= 1;
            return;
        }
        if shared.state.lock().queue.is_empty() {
            worker.prepare();
        }
    }
}

/// Waits for a job; `None` when the pool is closed.
fn next(shared: &Shared) -> Option<Queued> {
    let mut state = shared.state.lock();
    loop {
        if let Some(queued) = state.queue.pop_front() {
            return Some(queued);
        }
        if state.is_closed {
            state.n_threads -= 1;
            return None;
        }
        state.n_idle += 1;
        shared.wake.wait(&mut state);
        state.n_idle -= 1;
    }
}
