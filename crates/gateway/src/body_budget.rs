//! A budget for request bodies: bytes that have arrived and are not answered yet, on all connections.
//!
//! A body is whole in memory. Without a bound in all, some hundred connections that send four megabytes each, and never
//! the last byte, take gigabytes. What counts is what has arrived, not what was announced: who announces and does not send
//! takes nothing from others. A body for which there is no room is refused with 429, and while little room is left, so is
//! one of which nothing has come for a while.
//!
//! Invariant: only a client that has shown a key or token is given room; frames of direct mode are asked for it before
//! their payload is taken in.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::error::Error;

/// Limit: bodies up to this length that come in one piece are not counted; the number of requests bounds them.
pub(crate) const COUNTED_BYTES_MIN: usize = 4 << 10;

/// Limit: how long nothing of a body may come while there is little room.
pub(crate) const STALL_MAX_UNDER_PRESSURE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct BodyBudget {
    held: AtomicUsize,
    bytes_max: usize,
}

impl BodyBudget {
    pub(crate) fn new(bytes_max: usize) -> BodyBudget {
        BodyBudget { held: AtomicUsize::new(0), bytes_max }
    }

    /// Bytes of bodies that are there now.
    pub(crate) fn bytes(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Says whether three quarters are used.
    pub(crate) fn is_pressed(&self) -> bool {
        self.bytes() >= self.bytes_max / 4 * 3
    }

    fn take(&self, n_bytes: usize) -> Result<(), Error> {
        let before = self.held.fetch_add(n_bytes, Ordering::Relaxed);
        if before.saturating_add(n_bytes) <= self.bytes_max {
            return Ok(());
        }
        self.held.fetch_sub(n_bytes, Ordering::Relaxed);
        Err(Error::BodiesHeld)
    }
}

/// What one body has of the budget, as long as this is there.
#[derive(Debug)]
pub(crate) struct BodyShare {
    budget: Arc<BodyBudget>,
    n_bytes: usize,
}

impl BodyShare {
    pub(crate) fn none(budget: &Arc<BodyBudget>) -> BodyShare {
        BodyShare { budget: Arc::clone(budget), n_bytes: 0 }
    }

    /// Counts up to `n_bytes` in all.
    pub(crate) fn grow_to(&mut self, n_bytes: usize) -> Result<(), Error> {
        if let Some(more) = n_bytes.checked_sub(self.n_bytes) {
            self.budget.take(more)?;
            self.n_bytes = n_bytes;
        }
        Ok(())
    }

    pub(crate) fn budget(&self) -> &BodyBudget {
        &self.budget
    }

    /// Hands over what is counted; nothing is left here.
    pub(crate) fn split(&mut self) -> BodyShare {
        let n_bytes = std::mem::take(&mut self.n_bytes);
        BodyShare { budget: Arc::clone(&self.budget), n_bytes }
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        if self.n_bytes > 0 {
            self.budget.held.fetch_sub(self.n_bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_and_what_is_dropped_is_free() {
        let budget = Arc::new(BodyBudget::new(100));
        let (mut first, mut second) = (BodyShare::none(&budget), BodyShare::none(&budget));
        assert!(first.grow_to(60).is_ok() && first.grow_to(60).is_ok());
        assert!(!budget.is_pressed());
        assert!(matches!(second.grow_to(41), Err(Error::BodiesHeld)));
        assert!(second.grow_to(40).is_ok() && budget.is_pressed());
        let moved = first.split();
        drop(first);
        assert_eq!(budget.bytes(), 100);
        drop(moved);
        assert!(second.grow_to(100).is_ok());
        drop(second);
        assert_eq!(budget.bytes(), 0);
    }
}
