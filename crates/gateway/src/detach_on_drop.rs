//! Detaches a future on drop: a write runs to its end though its client has gone or its time is up.
//!
//! A write runs in the task of its connection. Only one that is dropped halfway gets a task of its own: to spawn one for
//! every write would wake another thread twice.
//!
//! Invariant: a future that panicked is not polled again.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// A future that goes on when it is dropped.
pub(crate) struct DetachOnDrop<T: Send + 'static>(Option<Pin<Box<dyn Future<Output = T> + Send>>>);

impl<T: Send + 'static> DetachOnDrop<T> {
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'static) -> DetachOnDrop<T> {
        DetachOnDrop(Some(Box::pin(future)))
    }
}

impl<T: Send + 'static> Future for DetachOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Taken out while it runs: what panicked must not go on.
        let Some(mut future) = self.0.take() else { return Poll::Pending };
        let polled = future.as_mut().poll(context);
        if polled.is_pending() {
            self.0 = Some(future);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        let Some(future) = self.0.take() else { return };
        // Without a runtime the server has ended, and the write with it.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::{Notify, oneshot};

    use super::*;

    #[tokio::test]
    async fn what_is_left_halfway_ends_all_the_same() {
        let go_on = Arc::new(Notify::new());
        let (done, is_done) = oneshot::channel();
        let waits = Arc::clone(&go_on);
        let mut lasting = DetachOnDrop::new(async move {
            waits.notified().await;
            done.send(7).unwrap();
        });
        assert!(futures_poll(&mut lasting).await.is_pending());
        drop(lasting);
        go_on.notify_one();
        assert_eq!(is_done.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn what_is_done_or_has_panicked_is_over() {
        let mut lasting = DetachOnDrop::new(async { 7 });
        assert_eq!(futures_poll(&mut lasting).await, Poll::Ready(7));
        assert_eq!(futures_poll(&mut lasting).await, Poll::Pending);
        let (held, is_dropped) = oneshot::channel::<()>();
        let lasting: DetachOnDrop<()> = DetachOnDrop::new(async move {
            let _held = held;
            panic!("a bug");
        });
        assert!(tokio::spawn(lasting).await.unwrap_err().is_panic());
        is_dropped.await.unwrap_err();
    }

    async fn futures_poll<T: Send + Unpin + 'static>(lasting: &mut DetachOnDrop<T>) -> Poll<T> {
        std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *lasting).poll(context))).await
    }
}
