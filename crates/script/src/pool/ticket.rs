//! Where a job is: waiting, running, settling, done, skipped, or given up by the one who waits for it.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const DONE: u8 = 2;
const SKIPPED: u8 = 3;
const ABANDONED: u8 = 4;
const SETTLING: u8 = 5;

/// The system's number for it.
#[cfg(target_os = "linux")]
const LOWEST_PRIORITY: i32 = 19;

#[derive(Debug)]
pub(crate) struct Ticket {
    state: AtomicU8,
    started_ms: AtomicU64,
    /// The number that the system gives the thread of the job; 0 where it is not known.
    thread: AtomicI32,
}

impl Ticket {
    pub(super) fn new() -> Ticket {
        Ticket {
            state: AtomicU8::new(WAITING),
            started_ms: AtomicU64::new(0),
            thread: AtomicI32::new(0),
        }
    }

    pub(super) fn start(&self, now: Duration) {
        self.started_ms.store(millis(now), Ordering::Relaxed);
        #[cfg(target_os = "linux")]
        self.thread.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Relaxed);
        self.state.store(RUNNING, Ordering::Release);
    }

    pub(super) fn skip(&self) {
        self.state.store(SKIPPED, Ordering::Release);
    }

    /// Notes that what the job did is about to take effect: it cannot be given up any more. False when it was.
    pub(crate) fn settle(&self) -> bool {
        self.turn(RUNNING, SETTLING)
    }

    /// False when the job was given up meanwhile.
    pub(super) fn finish(&self) -> bool {
        self.turn(RUNNING, DONE) || self.turn(SETTLING, DONE)
    }

    /// False when the job is not running.
    pub(super) fn abandon(&self) -> bool {
        self.turn(RUNNING, ABANDONED)
    }

    /// Lets the thread of a job that was given up run only when no other thread wants to.
    pub(super) fn lower_priority(&self) {
        #[cfg(target_os = "linux")]
        if let Some(thread) = rustix::process::Pid::from_raw(self.thread.load(Ordering::Relaxed)) {
            // It may have ended just now; and if it cannot be done, the thread only takes more than it should.
            let _ = rustix::process::setpriority_process(Some(thread), LOWEST_PRIORITY);
        }
    }

    fn turn(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    pub(crate) fn was_skipped(&self) -> bool {
        self.state.load(Ordering::Acquire) == SKIPPED
    }

    /// Says whether the job has been running for longer than `limit`.
    pub(crate) fn runs_longer_than(&self, limit: Duration, now: Duration) -> bool {
        self.state.load(Ordering::Acquire) == RUNNING
            && millis(now).saturating_sub(self.started_ms.load(Ordering::Relaxed)) > millis(limit)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_ends_once_whoever_is_first() {
        let ticket = Ticket::new();
        assert!(!ticket.abandon(), "it has not started");
        ticket.start(Duration::from_secs(10));
        assert!(!ticket.runs_longer_than(Duration::from_secs(1), Duration::from_secs(11)));
        assert!(ticket.runs_longer_than(Duration::from_secs(1), Duration::from_millis(11_001)));
        assert!(ticket.abandon());
        assert!(!ticket.finish());
        assert!(!ticket.runs_longer_than(Duration::ZERO, Duration::from_secs(99)));
        assert!(!ticket.settle());
    }

    #[test]
    fn what_takes_effect_is_not_given_up() {
        let ticket = Ticket::new();
        ticket.start(Duration::from_secs(10));
        assert!(ticket.settle());
        assert!(!ticket.abandon());
        assert!(!ticket.runs_longer_than(Duration::ZERO, Duration::from_secs(99)));
        assert!(ticket.finish());
    }
}
