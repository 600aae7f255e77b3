//! Blocking and background work off the request threads.
//!
//! Invariant: a bounded number of blocking pieces runs beside the request threads; one more blocks its own request.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

/// Limit: blocking pieces at once. One more blocks a request thread: back-pressure on clients that ask for too much.
const BLOCKING_MAX: usize = 64;

static N_BLOCKING: AtomicUsize = AtomicUsize::new(0);

/// Runs what may take seconds of processor time, and lets another thread serve the requests of this one meanwhile.
pub(crate) fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    if !has_threads() {
        return work();
    }
    let slot = BlockingSlot::take();
    if slot.number >= BLOCKING_MAX {
        return work();
    }
    tokio::task::block_in_place(work)
}

/// Waits for an operation whose own work may take seconds of processor time, as [`run_blocking`] does.
pub(crate) async fn wait_blocking<T>(operation: impl Future<Output = T>) -> T {
    if !has_threads() {
        return operation.await;
    }
    tokio::task::block_in_place(|| Handle::current().block_on(operation))
}

/// A background thread of lower priority, for work in pieces. It ends when this is dropped, after the current piece.
///
/// One for all pieces: a thread for each would get its memory from the system every time, page by page.
#[derive(Debug, Default)]
pub(crate) struct BackgroundWorker {
    pieces: Option<SyncSender<Piece>>,
}

type Piece = Box<dyn FnOnce() + Send>;

impl BackgroundWorker {
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
                store::lower_priority();
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
struct BlockingSlot {
    number: usize,
}

impl BlockingSlot {
    fn take() -> BlockingSlot {
        BlockingSlot { number: N_BLOCKING.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for BlockingSlot {
    fn drop(&mut self) {
        N_BLOCKING.fetch_sub(1, Ordering::Relaxed);
    }
}
