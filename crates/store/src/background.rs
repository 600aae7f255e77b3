//! Lower priority and cooperative yields for background threads.
//!
//! Compactions and relocations share the cores with requests. A lower priority alone is not enough: the scheduler lets a
//! thread that runs go on for milliseconds, while a request that takes a tenth of one waits for the core.

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

/// Lowers the priority of the calling thread, for good: for threads that do one job and end. Does nothing where the
/// system can only slow down the whole process.
pub fn lower_priority() {
    system::lower_priority();
}

/// Yields the core if the time slice of this thread is over. Long work calls it between its pieces, as often as it likes,
/// while it holds no lock. Does nothing on threads of normal priority.
pub fn yield_if_due() {
    system::yield_if_due();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::Cell;
    use std::thread;
    use std::time::Duration;

    use rustix::process::{getpriority_process, setpriority_process};
    use rustix::time::{ClockId, clock_gettime};

    /// The niceness of a background thread: it gets a third of what a thread of a request gets when both want the
    /// same core, and all of it when nobody else does.
    const NICE: i32 = 5;
    /// How long a background thread runs before it yields.
    const TIME_SLICE: Duration = Duration::from_micros(200);
    /// The next time slice is at least this part of the time that the thread waited. Without it, threads that never sleep
    /// would starve it.
    const SHARE_OF_WAIT: u32 = 2;
    /// Reading the clock costs as much as a short piece of work.
    const PIECES_PER_CHECK: u32 = 16;

    thread_local! {
        /// Apart from the rest, because it is all that most pieces need.
        static N_PIECES: Cell<u32> = const { Cell::new(0) };
        static TIME_SLICE_NOW: Cell<Option<TimeSlice>> = const { Cell::new(None) };
    }

    /// The time of a thread between two yields.
    #[derive(Debug, Clone, Copy)]
    struct TimeSlice {
        begin: Duration,
        length: Duration,
    }

    impl TimeSlice {
        fn after_wait(now: Duration, waited: Duration) -> TimeSlice {
            TimeSlice { begin: now, length: TIME_SLICE.max(waited / SHARE_OF_WAIT) }
        }
    }

    pub(super) fn lower_priority() {
        if let Ok(own) = getpriority_process(None) {
            // A system that refuses runs it like any other thread.
            let _ = setpriority_process(None, own.saturating_add(NICE));
        }
        TIME_SLICE_NOW.set(Some(TimeSlice::after_wait(monotonic(), Duration::ZERO)));
    }

    pub(super) fn yield_if_due() {
        let n_pieces = N_PIECES.get() + 1;
        N_PIECES.set(n_pieces % PIECES_PER_CHECK);
        if n_pieces < PIECES_PER_CHECK {
            return;
        }
        let Some(slice) = TIME_SLICE_NOW.get() else { return };
        let now = monotonic();
        if now.saturating_sub(slice.begin) >= slice.length {
            thread::yield_now();
            let then = monotonic();
            TIME_SLICE_NOW.set(Some(TimeSlice::after_wait(then, then.saturating_sub(now))));
        }
    }

    /// Not the time of the environment: tests that set that one have no background threads.
    fn monotonic() -> Duration {
        let time = clock_gettime(ClockId::Monotonic);
        Duration::new(
            u64::try_from(time.tv_sec).unwrap_or(0),
            u32::try_from(time.tv_nsec).unwrap_or(0),
        )
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_long_wait_earns_a_long_time_slice() {
            let short = TimeSlice::after_wait(Duration::ZERO, Duration::from_micros(1));
            assert_eq!(short.length, TIME_SLICE);
            let long = TimeSlice::after_wait(Duration::ZERO, Duration::from_millis(6));
            assert_eq!(long.length, Duration::from_millis(3));
        }

        #[test]
        fn only_background_threads_yield() {
            yield_if_due();
            assert!(TIME_SLICE_NOW.get().is_none());
            let thread = thread::spawn(|| {
                lower_priority();
                let before = TIME_SLICE_NOW.get().map(|slice| slice.begin);
                thread::sleep(TIME_SLICE);
                for _ in 0..PIECES_PER_CHECK {
                    yield_if_due();
                }
                (before, TIME_SLICE_NOW.get().map(|slice| slice.begin))
            });
            let (before, after) = thread.join().unwrap();
            assert!(after > before, "{before:?} {after:?}");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    pub(super) fn lower_priority() {}

    pub(super) fn yield_if_due() {}
}
