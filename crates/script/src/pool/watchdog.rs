//! The watchdog: a thread that adds threads for jobs that have waited too long, because the others are busy with slow
//! ones. It sleeps while no job waits.
//!
//! One for all jobs: a timer for each would wake the threads of requests several times per job.

use std::sync::Arc;

use parking_lot::MutexGuard;

use super::threads::{PoolThread, QUICK_JOB_MAX};
use super::{Shared, State, call_one};

// Limit: stack of the watchdog, which calls nothing deep.
const STACK_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) enum Watchdog {
    #[default]
    None,
    /// Started, or at work.
    Up,
    Asleep(PoolThread),
}

impl Watchdog {
    /// Wakes the watchdog, if nobody else is about to take the jobs that wait.
    pub(super) fn wake_if_needed(shared: &Arc<Shared>, state: &mut MutexGuard<'_, State>) {
        if state.queue.len() <= state.threads.n_soon() {
            return;
        }
        match std::mem::replace(&mut state.watchdog, Watchdog::Up) {
            Watchdog::Up => {}
            Watchdog::Asleep(thread) => thread.call(),
            Watchdog::None => {
                let shared = Arc::clone(shared);
                let started = std::thread::Builder::new()
                    .name("script-watch".to_owned())
                    .stack_size(STACK_BYTES)
                    .spawn(move || watch(&shared));
                // Without one the jobs wait for the threads that there are.
                if started.is_err() {
                    state.watchdog = Watchdog::None;
                }
            }
        }
    }

    /// Lets the watchdog end.
    pub(super) fn dismiss(&mut self) {
        if let Watchdog::Asleep(thread) = std::mem::take(self) {
            thread.call();
        }
    }
}

fn watch(shared: &Arc<Shared>) {
    let me = PoolThread::new();
    loop {
        std::thread::sleep(QUICK_JOB_MAX);
        let mut state = shared.state.lock();
        if state.is_closed {
            return;
        }
        if state.queue.is_empty() {
            state.watchdog = Watchdog::Asleep(me.clone());
            drop(state);
            me.sleep();
            continue;
        }
        let now = shared.env.monotonic();
        let is_late = |since| now.saturating_sub(since) >= QUICK_JOB_MAX;
        let n_late = state.queue.iter().take_while(|queued| is_late(queued.since)).count();
        for _ in state.threads.n_soon()..n_late {
            // What waits is no worse off than before if there is no thread.
            if !matches!(call_one(shared, &mut state), Ok(true)) {
                break;
            }
        }
    }
}
