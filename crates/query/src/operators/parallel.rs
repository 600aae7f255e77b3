//! Work on the parts of a source, several at once; the results come in the order of the parts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::source::{ItemSource, Parts};

/// Calls `work` for each part.
pub(super) fn each_part<T: Send>(
    parts: &Parts<'_>,
    work: impl Fn(&dyn ItemSource) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let n_parts = parts.sources.len();
    let results: Vec<Mutex<Option<Result<T>>>> = (0..n_parts).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some((source, slot)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            parts.sources.get(index).zip(results.get(index))
        } {
            let result = work(*source);
            let is_failed = result.is_err();
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(result);
            }
            if is_failed {
                // The others end with the part that they are at.
                next.fetch_add(n_parts, Ordering::Relaxed);
            }
        }
    };
    // More threads than cores would only take turns, each with its own caches to warm.
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 1..parts.degree.min(n_parts).min(n_cores) {
            scope.spawn(take);
        }
        take();
    });
    let mut list = Vec::with_capacity(n_parts);
    let mut is_whole = true;
    for slot in results {
        match slot.into_inner().ok().flatten() {
            Some(result) => list.push(result?),
            None => is_whole = false,
        }
    }
    // Invariant: a part without a result stands beside one that failed, and that one was returned.
    if is_whole { Ok(list) } else { Err(Error::Timeout) }
}
