//! Runs a few futures at once, in one task.

use std::future::poll_fn;
use std::task::Poll;

use crate::BoxFuture;

/// Waits for all; results are in the order of the futures.
pub(crate) async fn join_all<T>(futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut running: Vec<_> = futures.into_iter().map(|it| (Some(it), None)).collect();
    poll_fn(|ctx| {
        for (future, result) in &mut running {
            if let Some(Poll::Ready(it)) = future.as_mut().map(|it| it.as_mut().poll(ctx)) {
                *result = Some(it);
                *future = None;
            }
        }
        if running.iter().all(|(future, _)| future.is_none()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    running.into_iter().filter_map(|(_, result)| result).collect()
}
