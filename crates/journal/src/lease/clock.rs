//! The clocks that leases are measured with.
//!
//! `CLOCK_BOOTTIME` goes on while the machine is suspended; the standard library's `Instant` does not, so a laptop that wakes
//! up would go on with a lease of yesterday. A virtual machine that its host stops may see neither; then the wall clock,
//! once it has been set right, has run ahead.

use std::time::Duration;

use model::Env;

use super::WALL_AHEAD_MAX;

/// What both clocks say at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// The clock that counts suspension; only differences mean something.
    pub boot: Duration,
    /// The wall clock, since 1970.
    pub wall: Duration,
}

impl ClockReading {
    /// True if the wall clock has run ahead since then: the machine stood still, or was set. Both end what was known.
    pub fn stood_still_since(self, then: ClockReading) -> bool {
        let boot = self.boot.saturating_sub(then.boot);
        let wall = self.wall.saturating_sub(then.wall);
        wall.saturating_sub(boot) >= WALL_AHEAD_MAX
    }
}

/// Where readings come from: the system, or a test.
pub trait LeaseClock: std::fmt::Debug + Send + Sync + 'static {
    /// Reads both clocks.
    fn read(&self) -> ClockReading;
}

/// The clocks of this machine; the wall clock is the one of `Env`.
#[derive(Debug, Clone)]
pub struct SystemClock(Env);

impl SystemClock {
    /// Makes a clock of this machine.
    pub fn new(env: &Env) -> SystemClock {
        SystemClock(env.clone())
    }
}

impl LeaseClock for SystemClock {
    fn read(&self) -> ClockReading {
        // The wall clock first: a pause between the two makes the other one run ahead, which only shortens leases.
        let wall = Duration::from_millis(self.0.now_ms());
        ClockReading { boot: boot_time(&self.0), wall }
    }
}

#[cfg(target_os = "linux")]
fn boot_time(_: &Env) -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Other systems have their own ways; the wall clock tells of suspension there.
#[cfg(not(target_os = "linux"))]
fn boot_time(env: &Env) -> Duration {
    env.monotonic()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_of_the_machine_go_forward_together() {
        let clock = SystemClock::new(&Env::system());
        let before = clock.read();
        std::thread::sleep(Duration::from_millis(20));
        let after = clock.read();
        assert!(after.boot >= before.boot + Duration::from_millis(20));
        assert!(!after.stood_still_since(before));
    }
}
