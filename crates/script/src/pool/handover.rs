//! A one-shot channel for an answer that may itself be a future, from the thread of a job to the task that waits for it.
//!
//! An answer may itself have to wait, for a commit say. Then the thread of the job asks it to wake the task when it is
//! ready, and the task sleeps on: it is woken once, by whatever the answer waits for, and not once more to be told so.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

/// What a job answers with.
pub(crate) type Answering<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The end of the job. Dropped without an answer, it says so.
pub(crate) struct AnswerSender<T>(Arc<Mutex<State<T>>>);

/// The end of the task.
pub(crate) struct AnswerReceiver<T>(Arc<Mutex<State<T>>>);

/// The job ended without an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unanswered;

enum State<T> {
    Waiting(Option<Waker>),
    Waits(Answering<T>),
    Ready(T),
    /// One of the ends is gone.
    Gone,
}

pub(crate) fn handover<T>() -> (AnswerSender<T>, AnswerReceiver<T>) {
    let state = Arc::new(Mutex::new(State::Waiting(None)));
    (AnswerSender(Arc::clone(&state)), AnswerReceiver(state))
}

impl<T> AnswerSender<T> {
    /// Says whether nobody waits any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        matches!(*self.0.lock(), State::Gone)
    }

    pub(crate) fn give(self, mut answer: Answering<T>) {
        let mut state = self.0.lock();
        let State::Waiting(waker) = &mut *state else { return };
        let Some(waker) = waker.take() else {
            // The task has not looked yet, and will see to the answer itself.
            *state = State::Waits(answer);
            return;
        };
        match answer.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => *state = State::Waits(answer),
            Poll::Ready(answer) => {
                *state = State::Ready(answer);
                drop(state);
                waker.wake();
            }
        }
    }
}

impl<T> Drop for AnswerSender<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if let State::Waiting(waker) = &mut *state {
            let waker = waker.take();
            *state = State::Gone;
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl<T> Future for AnswerReceiver<T> {
    type Output = Result<T, Unanswered>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, State::Gone) {
            State::Waiting(_) => {
                *state = State::Waiting(Some(context.waker().clone()));
                Poll::Pending
            }
            State::Waits(mut answer) => match answer.as_mut().poll(context) {
                Poll::Ready(answer) => Poll::Ready(Ok(answer)),
                Poll::Pending => {
                    *state = State::Waits(answer);
                    Poll::Pending
                }
            },
            State::Ready(answer) => Poll::Ready(Ok(answer)),
            State::Gone => Poll::Ready(Err(Unanswered)),
        }
    }
}

impl<T> Drop for AnswerReceiver<T> {
    fn drop(&mut self) {
        *self.0.lock() = State::Gone;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use tokio::sync::oneshot;

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn look<T>(
        answer_receiver: &mut AnswerReceiver<T>,
        count: &Arc<Wakes>,
    ) -> Poll<Result<T, Unanswered>> {
        let waker = Waker::from(Arc::clone(count));
        Pin::new(answer_receiver).poll(&mut Context::from_waker(&waker))
    }

    fn waiting_for(receiver: oneshot::Receiver<u8>) -> Answering<u8> {
        Box::pin(async { receiver.await.unwrap_or(0) })
    }

    #[test]
    fn an_answer_that_waits_wakes_the_task_once() {
        let (wakes, (answer_sender, mut answer_receiver)) =
            (Arc::new(Wakes::default()), handover());
        assert!(look(&mut answer_receiver, &wakes).is_pending());
        let (sender, receiver) = oneshot::channel();
        answer_sender.give(waiting_for(receiver));
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
        sender.send(7).unwrap();
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert_eq!(look(&mut answer_receiver, &wakes), Poll::Ready(Ok(7)));
    }

    #[test]
    fn a_task_that_comes_late_or_changes_sees_to_the_answer_itself() {
        let (early, late) = (Arc::new(Wakes::default()), Arc::new(Wakes::default()));
        let (answer_sender, mut answer_receiver) = handover();
        let (sender, receiver) = oneshot::channel();
        answer_sender.give(waiting_for(receiver));
        assert!(look(&mut answer_receiver, &early).is_pending());
        assert!(look(&mut answer_receiver, &late).is_pending());
        sender.send(7).unwrap();
        assert_eq!(early.0.load(Ordering::Relaxed), 0);
        assert_eq!(late.0.load(Ordering::Relaxed), 1);
        assert_eq!(look(&mut answer_receiver, &late), Poll::Ready(Ok(7)));
    }

    #[test]
    fn an_answer_that_is_there_wakes_the_task() {
        let (wakes, (answer_sender, mut answer_receiver)) =
            (Arc::new(Wakes::default()), handover());
        assert!(look(&mut answer_receiver, &wakes).is_pending());
        answer_sender.give(Box::pin(std::future::ready(7)));
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert_eq!(look(&mut answer_receiver, &wakes), Poll::Ready(Ok(7)));
    }

    #[test]
    fn whoever_is_left_is_told() {
        let (wakes, (answer_sender, mut answer_receiver)) =
            (Arc::new(Wakes::default()), handover::<u8>());
        assert!(look(&mut answer_receiver, &wakes).is_pending());
        assert!(!answer_sender.is_abandoned());
        drop(answer_sender);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert_eq!(look(&mut answer_receiver, &wakes), Poll::Ready(Err(Unanswered)));
        let (answer_sender, answer_receiver) = handover::<u8>();
        drop(answer_receiver);
        assert!(answer_sender.is_abandoned());
    }
}
