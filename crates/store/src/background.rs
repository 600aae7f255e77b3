//! Threads that let others go first.

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

/// Lets threads that serve requests go before the one that calls this. There is no way back, so it is for threads
/// that do one job and end. Does nothing where the system can only slow down the whole process.
pub fn stand_back() {
    system::stand_back();
}

/// Lets another thread have the core, if it is time for that. For long work to call between its pieces, as often as it
/// likes, at a moment when nobody waits for what it holds. Does nothing on threads that do not stand back.
///
/// Standing back alone is not enough: the system lets a thread that has begun to run go on for some milliseconds, while
/// a request that takes a tenth of one waits for the core.
pub fn give_way() {
    system::give_way();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::Cell;
    use std::thread;
    use std::time::Duration;

    use rustix::process::{getpriority_process, setpriority_process};
    use rustix::time::{ClockId, clock_gettime};

    /// How far a background thread stands back: it gets a third of what a thread of a request gets when both want the
    /// same core, and all of it when nobody else does.
    const NICE: i32 = 5;
    /// How long a background thread goes on before it lets others have the core.
    const STRETCH: Duration = Duration::from_micros(200);
    /// Of the time that it then waits, the next stretch has at least this part. Without it, giving way again and again to
    /// threads that never rest would leave it next to nothing.
    const SHARE_OF_WAIT: u32 = 2;
    /// Looking at the clock costs as much as a short piece of work.
    const PIECES_PER_LOOK: u32 = 16;

    thread_local! {
        /// Apart from the rest, because it is all that most pieces need.
        static N_PIECES: Cell<u32> = const { Cell::new(0) };
        static STRETCHES: Cell<Option<Stretches>> = const { Cell::new(None) };
    }

    /// The time of a thread between two moments at which it gave way.
    #[derive(Debug, Clone, Copy)]
    struct Stretches {
        begin: Duration,
        length: Duration,
    }

    impl Stretches {
        fn after_wait(now: Duration, waited: Duration) -> Stretches {
            Stretches { begin: now, length: STRETCH.max(waited / SHARE_OF_WAIT) }
        }
    }

    pub(super) fn stand_back() {
        if let Ok(own) = getpriority_process(None) {
            // A system that refuses runs it like any other thread.
            let _ = setpriority_process(None, own.saturating_add(NICE));
        }
        STRETCHES.set(Some(Stretches::after_wait(monotonic(), Duration::ZERO)));
    }

    pub(super) fn give_way() {
        let n_pieces = N_PIECES.get() + 1;
        N_PIECES.set(n_pieces % PIECES_PER_LOOK);
        if n_pieces < PIECES_PER_LOOK {
            return;
        }
        let Some(stretch) = STRETCHES.get() else { return };
        let now = monotonic();
        if now.saturating_sub(stretch.begin) >= stretch.length {
            thread::yield_now();
            let then = monotonic();
            STRETCHES.set(Some(Stretches::after_wait(then, then.saturating_sub(now))));
        }
    }

    /// Not the time of the environment: tests that set that one have no threads that stand back.
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
        fn a_long_wait_earns_a_long_stretch() {
            let short = Stretches::after_wait(Duration::ZERO, Duration::from_micros(1));
            assert_eq!(short.length, STRETCH);
            let long = Stretches::after_wait(Duration::ZERO, Duration::from_millis(6));
            assert_eq!(long.length, Duration::from_millis(3));
        }

        #[test]
        fn only_threads_that_stand_back_give_way() {
            give_way();
            assert!(STRETCHES.get().is_none());
            let thread = thread::spawn(|| {
                stand_back();
                let before = STRETCHES.get().map(|stretch| stretch.begin);
                thread::sleep(STRETCH);
                for _ in 0..PIECES_PER_LOOK {
                    give_way();
                }
                (before, STRETCHES.get().map(|stretch| stretch.begin))
            });
            let (before, after) = thread.join().unwrap();
            assert!(after > before, "{before:?} {after:?}");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    pub(super) fn stand_back() {}

    pub(super) fn give_way() {}
}
