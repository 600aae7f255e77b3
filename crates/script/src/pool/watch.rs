//! The watchman: a thread that sees to jobs which wait although they should have been taken by now, because those that
//! were to take them are busy with slow ones. It sleeps while no job waits.
//!
//! One for all jobs: a timer for each would wake the threads of requests several times per job.

use std::sync::Arc;

use parking_lot::MutexGuard;

use super::crew::{Member, PATIENCE};
use super::{Shared, State, call_one};

// Limit: stack of the watchman, who calls nothing deep.
const STACK_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) enum Watchman {
    #[default]
    None,
    /// Started, or at work.
    Up,
    Asleep(Member),
}

impl Watchman {
    /// Wakes the watchman, if nobody else is about to take the jobs that wait.
    pub(super) fn see_to(shared: &Arc<Shared>, state: &mut MutexGuard<'_, State>) {
        if state.queue.len() <= state.crew.n_soon() {
            return;
        }
        match std::mem::replace(&mut state.watchman, Watchman::Up) {
            Watchman::Up => {}
            Watchman::Asleep(member) => member.call(),
            Watchman::None => {
                let shared = Arc::clone(shared);
                let started = std::thread::Builder::new()
                    .name("script-watch".to_owned())
                    .stack_size(STACK_BYTES)
                    .spawn(move || watch(&shared));
                // Without one the jobs wait for the threads that there are.
                if started.is_err() {
                    state.watchman = Watchman::None;
                }
            }
        }
    }

    /// Lets the watchman end.
    pub(super) fn dismiss(&mut self) {
        if let Watchman::Asleep(member) = std::mem::take(self) {
            member.call();
        }
    }
}

fn watch(shared: &Arc<Shared>) {
    let me = Member::new();
    loop {
        std::thread::sleep(PATIENCE);
        let mut state = shared.state.lock();
        if state.is_closed {
            return;
        }
        if state.queue.is_empty() {
            state.watchman = Watchman::Asleep(me.clone());
            drop(state);
            me.sleep();
            continue;
        }
        let now = shared.env.monotonic();
        let is_late = |since| now.saturating_sub(since) >= PATIENCE;
        let n_late = state.queue.iter().take_while(|queued| is_late(queued.since)).count();
        for _ in state.crew.n_soon()..n_late {
            // What waits is no worse off than before if there is no thread.
            if !matches!(call_one(shared, &mut state), Ok(true)) {
                break;
            }
        }
    }
}
