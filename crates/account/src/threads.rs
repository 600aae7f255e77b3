//! Where long work runs, so that the threads of requests stay free.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

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

/// A thread for work that is not urgent and comes in pieces. It goes when this is dropped, after the piece that it is at.
///
/// One for all pieces: a thread for each would get its memory from the system every time, page by page.
#[derive(Debug, Default)]
pub(crate) struct BehindRequests {
    pieces: Option<SyncSender<Piece>>,
}

type Piece = Box<dyn FnOnce() + Send>;

impl BehindRequests {
    /// Runs a piece; where there is no thread for it, here and now.
    pub(crate) async fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let Some(pieces) = self.pieces() else { return Some(work()) };
        let (sender, receiver) = oneshot::channel();
        let piece: Piece = Box::new(move || drop(sender.send(work())));
        // The thread has room for one piece, and the one before it was answered.
        pieces.try_send(piece).ok()?;
        receiver.await.ok()
    }

    fn pieces(&mut self) -> Option<&SyncSender<Piece>> {
        if self.pieces.is_none() && has_threads() {
            let (sender, receiver) = mpsc::sync_channel::<Piece>(1);
            let thread = std::thread::Builder::new().name("orrery-copy".into());
            let started = thread.spawn(move || {
                store::stand_back();
                for piece in receiver {
                    piece();
                }
            });
            self.pieces = started.is_ok().then_some(sender);
        }
        self.pieces.as_ref()
    }
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
