//! Work on the parts of a source, or of a list of its items, several at once; the results come in the order of the parts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::source::ItemSource;

/// Limit: threads of one query on one source.
const CHUNKS_MAX: usize = 4;

/// Items from which on it pays to wake other threads.
const CHUNKED_MIN: usize = 4096;

/// Returns a list of items in pieces to be worked on at once; `None` when that does not pay.
pub(super) fn chunks(numbers: &[u64]) -> Option<Vec<&[u64]>> {
    if numbers.len() < CHUNKED_MIN {
        return None;
    }
    let n_chunks = n_cores().min(CHUNKS_MAX);
    (n_chunks > 1).then(|| numbers.chunks(numbers.len().div_ceil(n_chunks)).collect())
}

/// More threads than cores would only take turns, each with its own caches to warm.
fn n_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Calls `work` for each part of a source and the plan that was made for it.
pub(super) fn each_planned<P: Sync, T: Send>(
    source: &dyn ItemSource,
    plans: &[P],
    work: impl Fn(&P, &dyn ItemSource) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let Some(parts) = source.parts() else { return Ok(Vec::new()) };
    debug_assert_eq!(parts.sources.len(), plans.len(), "every part has its plan");
    let planned: Vec<_> = plans.iter().zip(&parts.sources).collect();
    each_part(&planned, parts.degree, |(plan, part)| work(plan, **part))
}

/// Calls `work` for each part, up to `degree` at once.
pub(super) fn each_part<P: Sync, T: Send>(
    parts: &[P],
    degree: usize,
    work: impl Fn(&P) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let n_parts = parts.len();
    let results: Vec<Mutex<Option<Result<T>>>> = (0..n_parts).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some((part, slot)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            parts.get(index).zip(results.get(index))
        } {
            let result = work(part);
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
    std::thread::scope(|scope| {
        for _ in 1..degree.min(n_parts).min(n_cores()) {
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
