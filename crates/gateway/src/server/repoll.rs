//! Polls a future again at once when it woke itself, instead of going through the scheduler.
//!
//! hyper hands the body of a request to its handler through a channel within one task, so every request with a body
//! wakes the very task that is running. The runtime would put the task into its queue once more and wake another thread
//! to look there, which costs more than many requests do.
//!
//! Invariant: no wake is lost, and a future that keeps waking itself yields after a few polls.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

// Limit: polls at once. What wakes itself more often waits for its turn, as it must when the runtime takes its turn away
// by waking it.
const POLLS_MAX: usize = 3;

/// Not being polled: a wake goes to the task.
const IDLE: u8 = 0;
/// A poll is under way: a wake is only noted.
const POLLED: u8 = 1;
/// It was woken while it was polled.
const WOKEN: u8 = 2;

/// Polls `future` again at once when it was woken meanwhile.
#[derive(Debug)]
pub(super) struct RepollOnSelfWake<F> {
    future: Pin<Box<F>>,
    waker_state: Option<Arc<SelfWaker>>,
}

/// The waker that the future sees.
#[derive(Debug)]
struct SelfWaker {
    state: AtomicU8,
    task: Waker,
}

impl Wake for SelfWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let noted = self.state.compare_exchange(POLLED, WOKEN, Ordering::AcqRel, Ordering::Acquire);
        if noted == Err(IDLE) {
            self.task.wake_by_ref();
        }
    }
}

impl<F> RepollOnSelfWake<F> {
    pub(super) fn new(future: F) -> RepollOnSelfWake<F> {
        RepollOnSelfWake { future: Box::pin(future), waker_state: None }
    }

    /// The waker of the task that polls; another one when the future changed its task.
    fn waker_state(&mut self, task: &Waker) -> Arc<SelfWaker> {
        match &self.waker_state {
            Some(waker_state) if waker_state.task.will_wake(task) => Arc::clone(waker_state),
            Some(_) | None => {
                let waker_state =
                    Arc::new(SelfWaker { state: AtomicU8::new(IDLE), task: task.clone() });
                self.waker_state = Some(Arc::clone(&waker_state));
                waker_state
            }
        }
    }
}

impl<F: Future> Future for RepollOnSelfWake<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let waker_state = self.waker_state(context.waker());
        let waker = Waker::from(Arc::clone(&waker_state));
        for _ in 0..POLLS_MAX {
            waker_state.state.store(POLLED, Ordering::Release);
            if let Poll::Ready(done) = self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Poll::Ready(done);
            }
            if waker_state.state.swap(IDLE, Ordering::AcqRel) == POLLED {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, sync::atomic::AtomicUsize, time::Duration};

    use super::*;

    /// Counts wakes of the task.
    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poll_once<F: Future>(future: &mut RepollOnSelfWake<F>, task: &Arc<Task>) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(task));
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }

    #[test]
    fn a_wake_of_itself_is_another_poll() {
        let (task, mut n_polls) = (Arc::new(Task::default()), 0);
        let mut future = RepollOnSelfWake::new(poll_fn(|context| {
            n_polls += 1;
            context.waker().wake_by_ref();
            if n_polls == 2 { Poll::Ready(()) } else { Poll::Pending }
        }));
        assert!(poll_once(&mut future, &task).is_ready());
        assert_eq!(task.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_always_wakes_itself_waits_for_its_turn() {
        let (task, mut n_polls) = (Arc::new(Task::default()), 0);
        let mut future = RepollOnSelfWake::new(poll_fn(|context| {
            n_polls += 1;
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        assert!(poll_once(&mut future, &task).is_pending());
        drop(future);
        assert_eq!((n_polls, task.0.load(Ordering::Relaxed)), (POLLS_MAX, 1));
    }

    #[test]
    fn a_wake_between_polls_goes_to_the_task_at_hand() {
        let (first, second) = (Arc::new(Task::default()), Arc::new(Task::default()));
        let mut kept = None;
        let mut future = RepollOnSelfWake::new(poll_fn(|context| {
            kept = Some(context.waker().clone());
            Poll::<()>::Pending
        }));
        assert!(poll_once(&mut future, &first).is_pending());
        assert!(poll_once(&mut future, &second).is_pending());
        drop(future);
        kept.unwrap().wake();
        assert_eq!((first.0.load(Ordering::Relaxed), second.0.load(Ordering::Relaxed)), (0, 1));
    }

    /// No wake of another thread is lost, whenever it comes.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn wakes_of_other_threads_arrive() {
        let (numbers, mut arriving) = tokio::sync::mpsc::channel(16);
        let sending = tokio::task::spawn_blocking(move || {
            for n in 0..100_000_u32 {
                numbers.blocking_send(n).unwrap();
            }
        });
        let counted = RepollOnSelfWake::new(async move {
            let mut n_numbers = 0;
            while arriving.recv().await.is_some() {
                n_numbers += 1;
            }
            n_numbers
        });
        let n_numbers = tokio::time::timeout(Duration::from_secs(60), tokio::spawn(counted));
        assert_eq!(n_numbers.await.unwrap().unwrap(), 100_000);
        sending.await.unwrap();
    }
}
