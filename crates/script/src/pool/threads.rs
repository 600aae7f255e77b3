//! The thread set of the pool: which threads run a job, are about to take one, or sleep.
//!
//! As many threads as cores take quick jobs; threads with slow jobs do not count, so that others take their place.
//!
//! Invariant: a thread is in one of the lists, or starting, or making engines; never in two.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// A job that runs for longer is slow, and one that waits for longer gets a thread of its own if there may be one more.
pub(super) const QUICK_JOB_MAX: Duration = Duration::from_millis(5);

/// One thread of the pool, for those that wake it.
#[derive(Debug, Clone)]
pub(super) struct PoolThread(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    thread: Thread,
    is_called: AtomicBool,
}

impl PoolThread {
    /// The thread that calls this.
    pub(super) fn new() -> PoolThread {
        let thread = std::thread::current();
        PoolThread(Arc::new(Inner { thread, is_called: AtomicBool::new(false) }))
    }

    /// Sleeps until it is called.
    pub(super) fn sleep(&self) {
        while !self.0.is_called.swap(false, Ordering::Acquire) {
            std::thread::park();
        }
    }

    /// Wakes it.
    pub(super) fn call(&self) {
        self.0.is_called.store(true, Ordering::Release);
        self.0.thread.unpark();
    }

    fn is(&self, other: &PoolThread) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Invariant: a thread is in one of the lists, or on its way, or making engines; never in two.
#[derive(Debug)]
pub(super) struct ThreadSet {
    /// With the time since when they run their job.
    running: Vec<(PoolThread, Duration)>,
    /// Their job is done, and they take the next one in a moment.
    tidying: Vec<PoolThread>,
    /// The one that fell asleep last is called first: what it needs is still in the caches.
    asleep: Vec<PoolThread>,
    /// Threads that were called or started and have not got to the queue yet.
    n_coming: usize,
    /// Threads that may run quick jobs at once.
    quick_max: usize,
}

impl ThreadSet {
    pub(super) fn new(threads_max: usize) -> ThreadSet {
        let n_cores = std::thread::available_parallelism().map_or(2, usize::from);
        let quick_max = n_cores.min(threads_max).max(1);
        ThreadSet {
            running: Vec::new(),
            tidying: Vec::new(),
            asleep: Vec::new(),
            n_coming: 0,
            quick_max,
        }
    }

    /// Says whether a thread that is at the queue should take a job, or better leave it to those that run now.
    pub(super) fn has_room(&self, now: Duration) -> bool {
        self.n_quick(now) < self.quick_max
    }

    /// Says whether a thread should be called for one of the jobs that wait.
    pub(super) fn needs_another(&self, n_waiting: usize, now: Duration) -> bool {
        let n_soon = self.n_soon();
        n_waiting > n_soon && self.n_quick(now) + n_soon < self.quick_max
    }

    /// Threads that will be at the queue in a moment.
    pub(super) fn n_soon(&self) -> usize {
        self.n_coming + self.tidying.len()
    }

    fn n_quick(&self, now: Duration) -> usize {
        let is_quick = |since: Duration| now.saturating_sub(since) <= QUICK_JOB_MAX;
        self.running.iter().filter(|(_, since)| is_quick(*since)).count()
    }

    /// Calls a thread that sleeps; false if there is none.
    pub(super) fn call(&mut self) -> bool {
        let Some(thread) = self.asleep.pop() else { return false };
        self.n_coming += 1;
        thread.call();
        true
    }

    pub(super) fn call_all(&mut self) {
        while self.call() {}
    }

    /// Notes that a thread was started.
    pub(super) fn starting(&mut self) {
        self.n_coming += 1;
    }

    /// Notes that a thread that was called or started is here.
    pub(super) fn arrived(&mut self) {
        self.n_coming -= 1;
    }

    pub(super) fn runs(&mut self, thread: &PoolThread, now: Duration) {
        self.running.push((thread.clone(), now));
    }

    pub(super) fn tidies(&mut self, thread: &PoolThread) {
        self.leaves(thread);
        self.tidying.push(thread.clone());
    }

    pub(super) fn sleeps(&mut self, thread: &PoolThread) {
        self.asleep.push(thread.clone());
    }

    /// Notes that a thread neither runs nor tidies any more.
    pub(super) fn leaves(&mut self, thread: &PoolThread) {
        self.running.retain(|(it, _)| !it.is(thread));
        self.tidying.retain(|it| !it.is(thread));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    fn threads(quick_max: usize) -> ThreadSet {
        ThreadSet { quick_max, ..ThreadSet::new(8) }
    }

    #[test]
    fn quick_jobs_share_a_thread_per_core_and_slow_ones_do_not_count() {
        let mut threads = threads(2);
        assert!(threads.needs_another(1, NOW));
        let (a, b) = (PoolThread::new(), PoolThread::new());
        threads.runs(&a, NOW);
        assert!(threads.needs_another(1, NOW) && threads.has_room(NOW));
        threads.runs(&b, NOW);
        assert!(!threads.needs_another(9, NOW) && !threads.has_room(NOW));
        let late = NOW + 2 * QUICK_JOB_MAX;
        assert!(threads.needs_another(1, late) && threads.has_room(late));
        threads.leaves(&a);
        assert!(threads.needs_another(1, NOW));
    }

    #[test]
    fn a_job_that_a_thread_will_take_in_a_moment_wakes_nobody() {
        let mut threads = threads(2);
        let a = PoolThread::new();
        threads.runs(&a, NOW);
        threads.tidies(&a);
        assert!(!threads.needs_another(1, NOW));
        assert!(threads.needs_another(2, NOW));
        threads.starting();
        assert!(!threads.needs_another(3, NOW), "two will be there, and there are two places");
        threads.arrived();
        threads.leaves(&a);
        assert!(threads.needs_another(1, NOW));
    }

    #[test]
    fn the_thread_that_fell_asleep_last_is_called_first() {
        let mut threads = threads(2);
        let (a, b) = (PoolThread::new(), PoolThread::new());
        threads.sleeps(&a);
        threads.sleeps(&b);
        assert!(threads.call());
        b.sleep();
        assert!(threads.call());
        a.sleep();
        assert!(!threads.call());
        assert_eq!(threads.n_coming, 2);
    }
}
