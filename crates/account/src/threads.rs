//! Where long work runs, so that the threads of requests stay free.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{Handle, RuntimeFlavor};

/// Limit: pieces of work that have a thread of their own at once. One more takes a thread of requests, so that clients
/// who ask for too much slow down themselves.
const BESIDE_MAX: usize = 64;

static N_BESIDE: AtomicUsize = AtomicUsize::new(0);

/// Runs what may take seconds of processor time, and lets another thread serve the requests of this one meanwhile.
pub(crate) fn beside_requests<T>(work: impl FnOnce() -> T) -> T {
    if !has_threads() {
        return work();
    }
    let place = Place::take();
    if place.number >= BESIDE_MAX {
        return work();
    }
    tokio::task::block_in_place(work)
}

/// Runs what takes milliseconds of processor time and is not urgent: on a thread of its own that stands back.
pub(crate) fn behind_requests<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if !has_threads() {
        return work();
    }
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                store::stand_back();
                work()
            });
            // A panic is a bug, which goes on here as it would have without the thread.
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

/// False in runtimes of tests, with one thread and a fixed order of events, and on threads of scripts.
fn has_threads() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// Counts one piece of work for as long as it runs, panics included.
struct Place {
    number: usize,
}

impl Place {
    fn take() -> Place {
        Place { number: N_BESIDE.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        N_BESIDE.fetch_sub(1, Ordering::Relaxed);
    }
}
