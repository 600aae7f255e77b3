//! Who runs a job, who is about to look for one, and who sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// A job that runs for longer is slow, and one that waits for longer gets a thread of its own if there may be one more.
pub(super) const PATIENCE: Duration = Duration::from_millis(5);

/// One thread of the pool, to those who wake it.
#[derive(Debug, Clone)]
pub(super) struct Member(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    thread: Thread,
    is_called: AtomicBool,
}

impl Member {
    /// The thread that calls this.
    pub(super) fn new() -> Member {
        let thread = std::thread::current();
        Member(Arc::new(Inner { thread, is_called: AtomicBool::new(false) }))
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

    fn is(&self, other: &Member) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Invariant: a thread is in one of the lists, or on its way, or making engines; never in two.
#[derive(Debug)]
pub(super) struct Crew {
    /// With the time since when they run their job.
    running: Vec<(Member, Duration)>,
    /// Their job is done, and they take the next one in a moment.
    tidying: Vec<Member>,
    /// The one that fell asleep last is called first: what it needs is still in the caches.
    asleep: Vec<Member>,
    /// Threads that were called or started and have not got to the queue yet.
    n_coming: usize,
    /// Threads that may run quick jobs at once.
    quick_max: usize,
}

impl Crew {
    pub(super) fn new(threads_max: usize) -> Crew {
        let n_cores = std::thread::available_parallelism().map_or(2, usize::from);
        let quick_max = n_cores.min(threads_max).max(1);
        Crew {
            running: Vec::new(),
            tidying: Vec::new(),
            asleep: Vec::new(),
            n_coming: 0,
            quick_max,
        }
    }

    /// Says whether a thread that is at the queue should take a job, or better leave it to those that run now.
    pub(super) fn has_place(&self, now: Duration) -> bool {
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
        let is_quick = |since: Duration| now.saturating_sub(since) <= PATIENCE;
        self.running.iter().filter(|(_, since)| is_quick(*since)).count()
    }

    /// Calls a thread that sleeps; false if there is none.
    pub(super) fn call(&mut self) -> bool {
        let Some(member) = self.asleep.pop() else { return false };
        self.n_coming += 1;
        member.call();
        true
    }

    pub(super) fn call_all(&mut self) {
        while self.call() {}
    }

    /// Notes that a thread was started.
    pub(super) fn comes(&mut self) {
        self.n_coming += 1;
    }

    /// Notes that a thread that was called or started is here.
    pub(super) fn came(&mut self) {
        self.n_coming -= 1;
    }

    pub(super) fn runs(&mut self, member: &Member, now: Duration) {
        self.running.push((member.clone(), now));
    }

    pub(super) fn tidies(&mut self, member: &Member) {
        self.leaves(member);
        self.tidying.push(member.clone());
    }

    pub(super) fn sleeps(&mut self, member: &Member) {
        self.asleep.push(member.clone());
    }

    /// Notes that a thread neither runs nor tidies any more.
    pub(super) fn leaves(&mut self, member: &Member) {
        self.running.retain(|(it, _)| !it.is(member));
        self.tidying.retain(|it| !it.is(member));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    fn crew(quick_max: usize) -> Crew {
        Crew { quick_max, ..Crew::new(8) }
    }

    #[test]
    fn quick_jobs_share_a_thread_per_core_and_slow_ones_do_not_count() {
        let mut crew = crew(2);
        assert!(crew.needs_another(1, NOW));
        let (a, b) = (Member::new(), Member::new());
        crew.runs(&a, NOW);
        assert!(crew.needs_another(1, NOW) && crew.has_place(NOW));
        crew.runs(&b, NOW);
        assert!(!crew.needs_another(9, NOW) && !crew.has_place(NOW));
        let late = NOW + 2 * PATIENCE;
        assert!(crew.needs_another(1, late) && crew.has_place(late));
        crew.leaves(&a);
        assert!(crew.needs_another(1, NOW));
    }

    #[test]
    fn a_job_that_a_thread_will_take_in_a_moment_wakes_nobody() {
        let mut crew = crew(2);
        let a = Member::new();
        crew.runs(&a, NOW);
        crew.tidies(&a);
        assert!(!crew.needs_another(1, NOW));
        assert!(crew.needs_another(2, NOW));
        crew.comes();
        assert!(!crew.needs_another(3, NOW), "two will be there, and there are two places");
        crew.came();
        crew.leaves(&a);
        assert!(crew.needs_another(1, NOW));
    }

    #[test]
    fn who_fell_asleep_last_is_called_first() {
        let mut crew = crew(2);
        let (a, b) = (Member::new(), Member::new());
        crew.sleeps(&a);
        crew.sleeps(&b);
        assert!(crew.call());
        b.sleep();
        assert!(crew.call());
        a.sleep();
        assert!(!crew.call());
        assert_eq!(crew.n_coming, 2);
    }
}
