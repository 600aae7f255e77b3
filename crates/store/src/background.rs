//! Threads that let others go first.

use std::sync::LazyLock;
use std::thread;

use parking_lot::{Condvar, Mutex};

/// How far a background thread stands back: it gets a third of what a thread of a request gets when both want the
/// same core, and all of it when nobody else does.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Lets threads that serve requests go before the one that calls this. There is no way back, so it is for threads
/// that do one job and end. Does nothing where the system can only slow down the whole process.
pub fn stand_back() {
    #[cfg(target_os = "linux")]
    if let Ok(own) = rustix::process::getpriority_process(None) {
        // A system that refuses runs it like any other thread.
        let _ = rustix::process::setpriority_process(None, own.saturating_add(NICE));
    }
}

/// Runs a piece of background work when it is its turn: half of the cores stay free of it. A thread that stands back
/// still keeps its core for a time slice when a request comes, which is longer than the request takes.
///
/// The piece must not wait for another one.
pub fn in_turn<T>(piece: impl FnOnce() -> T) -> T {
    let _turn = Turn::take();
    piece()
}

// Limit: pieces of background work that run at once; at least one.
static TURNS: LazyLock<usize> = LazyLock::new(|| {
    let n_cores = thread::available_parallelism().map_or(1, usize::from);
    (n_cores / 2).max(1)
});

static TAKEN: Mutex<usize> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

/// Given back when dropped, panics included.
struct Turn;

impl Turn {
    fn take() -> Turn {
        let mut taken = TAKEN.lock();
        GIVEN_BACK.wait_while(&mut taken, |taken| *taken >= *TURNS);
        *taken += 1;
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock() -= 1;
        GIVEN_BACK.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn no_more_pieces_run_at_once_than_there_are_turns() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..*TURNS + 3 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        in_turn(|| {
                            most.fetch_max(
                                now.fetch_add(1, Ordering::SeqCst) + 1,
                                Ordering::SeqCst,
                            );
                            thread::yield_now();
                            now.fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                });
            }
        });
        assert!((1..=*TURNS).contains(&most.into_inner()));
    }
}
