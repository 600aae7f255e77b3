//! What scripts may use. Everything that a script can make grow is bounded here.

use std::time::Duration;

// Limit: waiting longer than this for a thread is answered with 429 instead.
pub(crate) const QUEUE_WAIT_MAX: Duration = Duration::from_secs(5);

// Limit: how long after its time limit a run may be silent before its thread is given up. The engine looks at the
// clock between instructions, so only native work without end gets here.
pub(crate) const HANG_GRACE: Duration = Duration::from_millis(1_500);

// Limit: threads given up and still busy. Beyond it no script runs until one of them comes back.
pub(crate) const THREADS_LOST_MAX: usize = 8;

// Limit: versions of scripts whose traits a thread remembers.
pub(crate) const ANALYSES_MAX: usize = 1_000;

// Limit: strikes in a row before a script is refused, and for how long. A run that was stopped is several at once; one
// that ended by itself, after the time in which calls are accepted, is one.
pub(crate) const STRIKES_MAX: u32 = 6;
pub(crate) const STRIKES_OF_OVERRUN: u32 = 2;
pub(crate) const REFUSED_FOR: Duration = Duration::from_secs(30);

// Limit: scripts whose overruns are remembered.
pub(crate) const DENYLIST_MAX: usize = 1_000;

// Limit: text and stack of an error in an answer.
pub(crate) const ERROR_TEXT_MAX: usize = 4 << 10;

// Limit: room on top of the memory limit in which the end of a run is described.
pub(crate) const MEMORY_RESERVE: usize = 4 << 20;

// Limit: a run on the thread of a request. One that needs more begins again on a thread for scripts. The engine looks at
// the clock after some thousand steps, each of which may turn an array of so much memory into text: what a body of so
// many bytes can say should take less than a second at worst.
pub(crate) const INLINE_TIME: Duration = Duration::from_millis(2);
pub(crate) const INLINE_MEMORY_BYTES: usize = 1 << 20;
pub(crate) const INLINE_BODY_BYTES: usize = 2 << 10;
// Limit: a run that was not stopped and took this long all the same is on a thread for scripts the next time.
pub(crate) const INLINE_TIME_SPENT: Duration = Duration::from_millis(20);
// Limit: a run this quick on a thread for scripts lets the next one be on the thread of its request.
pub(crate) const QUICK_TIME: Duration = Duration::from_millis(1);
// Limit: scripts that may.
pub(crate) const INLINE_SCRIPTS_MAX: usize = 1_000;

// Limit: stack of a script thread; the engine's share is `stack_bytes_max`, the rest is for the host below it.
pub(crate) const THREAD_STACK_BYTES: usize = 4 << 20;

/// The limits of scripts, all of them explicit.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Threads that run scripts.
    pub threads_max: usize,
    /// Runs that wait for a thread; one more is answered with 429.
    pub queue_max: usize,
    /// Time of one run, from its start; waiting for a thread does not count.
    pub time_max: Duration,
    /// How much of it may pass before the collection accepts no more calls.
    pub accept_max: Duration,
    pub memory_bytes_max: usize,
    /// Memory of all runs together; beyond it a run gets no more than 8 MiB.
    pub memory_of_all_bytes_max: usize,
    pub stack_bytes_max: usize,
    /// Length of the answer, in characters of JSON.
    pub response_chars_max: usize,
    /// Length of the log as it stands in a header. Node refuses headers over 16 KiB in all.
    pub log_bytes_max: usize,
}

impl Limits {
    /// Returns what the service documents (time, answer), and what a server of ours can bear (the rest).
    pub fn service() -> Limits {
        let n_cores = std::thread::available_parallelism().map_or(2, usize::from);
        Limits {
            // More than the cores, so that a few slow scripts leave threads for the others.
            threads_max: (2 * n_cores).clamp(8, 32),
            queue_max: 256,
            time_max: Duration::from_secs(5),
            accept_max: Duration::from_secs(4),
            memory_bytes_max: 64 << 20,
            memory_of_all_bytes_max: 1 << 30,
            stack_bytes_max: 512 << 10,
            response_chars_max: 4 << 20,
            log_bytes_max: 8 << 10,
        }
    }
}
