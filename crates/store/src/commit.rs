//! The answer to a commit, as a future and as a blocking wait.
//!
//! Invariant: every [`Commit`] is answered. An [`Acknowledge`] that is dropped unanswered, because
//! its thread ended, answers `Poisoned`: what became of the batch is unknown.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex};

use crate::{Error, Result};

/// A batch on its way. Resolves when the batch is durable or has failed; see
/// [`Store::commit`](crate::Store::commit).
#[derive(Debug)]
#[must_use = "a commit may fail; wait for its answer"]
pub struct Commit(CommitState);

/// The other end of a [`Commit`]: whoever carries the batch answers through it, once.
#[derive(Debug)]
#[must_use = "dropping it tells the writer that the outcome is unknown"]
pub struct Acknowledge(Arc<CommitSlot>);

#[derive(Debug)]
enum CommitState {
    Answered(Result<()>),
    Waiting(Arc<CommitSlot>),
}

#[derive(Debug, Default)]
struct CommitSlot {
    inside: Mutex<CommitInner>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct CommitInner {
    answer: Option<Result<()>>,
    waker: Option<Waker>,
}

impl Commit {
    /// Makes a commit that is answered already.
    pub fn ready(answer: Result<()>) -> Commit {
        Commit(CommitState::Answered(answer))
    }

    /// Makes a commit and the means to answer it.
    pub fn pending() -> (Commit, Acknowledge) {
        let slot = Arc::new(CommitSlot::default());
        (Commit(CommitState::Waiting(Arc::clone(&slot))), Acknowledge(slot))
    }

    /// Blocks the thread until the answer is there. Not for async threads: await there.
    pub fn wait(self) -> Result<()> {
        match self.0 {
            CommitState::Answered(answer) => answer,
            CommitState::Waiting(slot) => {
                let mut inside = slot.inside.lock();
                loop {
                    if let Some(answer) = &inside.answer {
                        return answer.clone();
                    }
                    slot.answered.wait(&mut inside);
                }
            }
        }
    }
}

impl Future for Commit {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        match &self.0 {
            CommitState::Answered(answer) => Poll::Ready(answer.clone()),
            CommitState::Waiting(slot) => {
                let mut inside = slot.inside.lock();
                if let Some(answer) = &inside.answer {
                    return Poll::Ready(answer.clone());
                }
                inside.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Acknowledge {
    /// Answers the commit and wakes whoever waits for it.
    pub fn answer(self, answer: Result<()>) {
        self.settle(answer);
    }

    fn settle(&self, answer: Result<()>) {
        let mut inside = self.0.inside.lock();
        if inside.answer.is_some() {
            return;
        }
        inside.answer = Some(answer);
        let waker = inside.waker.take();
        drop(inside);
        self.0.answered.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for Acknowledge {
    fn drop(&mut self) {
        self.settle(Err(Error::Poisoned(
            "the committer ended before it answered; restart the server to recover".into(),
        )));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct CountWakes(AtomicUsize);

    impl Wake for CountWakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn an_answer_wakes_the_task_and_can_be_polled_again() {
        let counter = Arc::new(CountWakes::default());
        let waker = Waker::from(Arc::clone(&counter));
        let mut context = Context::from_waker(&waker);
        let (mut commit, acknowledge) = Commit::pending();
        assert!(Pin::new(&mut commit).poll(&mut context).is_pending());
        acknowledge.answer(Ok(()));
        assert_eq!(counter.0.load(Ordering::SeqCst), 1);
        assert_eq!(Pin::new(&mut commit).poll(&mut context), Poll::Ready(Ok(())));
        assert_eq!(Pin::new(&mut commit).poll(&mut context), Poll::Ready(Ok(())));
    }

    #[test]
    fn a_blocked_thread_is_released_by_the_answer() {
        let (commit, acknowledge) = Commit::pending();
        let waiter = std::thread::spawn(|| commit.wait());
        acknowledge.answer(Err(Error::Conflict));
        assert_eq!(waiter.join().unwrap(), Err(Error::Conflict));
    }

    #[test]
    fn a_lost_acknowledge_answers_poisoned() {
        let (commit, acknowledge) = Commit::pending();
        drop(acknowledge);
        assert!(matches!(commit.wait(), Err(Error::Poisoned(_))));
    }
}
