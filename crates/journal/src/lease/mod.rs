//! Leases: who may answer from memory, and when others may conclude that somebody no longer does.
//!
//! State machines without I/O: the caller reads the clock, sends the beats and asks. A lease is measured from the *sending*
//! of the last acknowledged beat, an observation from the *arrival* of the answer that first showed it, each on its own
//! clock. So no two clocks are ever compared: offsets do not matter, and the second between the two lengths covers drift.
//!
//! Invariant: when a session is ended by an observer, its own lease is over already, as long as clocks drift by less than
//! some percent, and no machine stands still unseen by both of its clocks.

mod clock;
mod observer;

use std::time::Duration;

pub use clock::{ClockReading, LeaseClock, SystemClock};
pub use observer::Observer;

/// How long a lease lasts, from the sending of the beat.
pub const LEASE: Duration = Duration::from_secs(6);
/// How often a session beats.
pub const BEAT_INTERVAL: Duration = Duration::from_secs(1);
/// How much longer others wait: it covers the drift of clocks.
pub const OBSERVE_MARGIN: Duration = Duration::from_secs(1);
/// How far the wall clock may run ahead of the other one: beyond it, the machine stood still and only its wall clock tells.
pub const WALL_AHEAD_MAX: Duration = Duration::from_millis(500);

/// The lease of the own session.
///
/// ```
/// use std::time::Duration;
/// use journal::lease::{ClockReading, Lease};
///
/// let at = |seconds| ClockReading { boot: Duration::from_secs(seconds), wall: Duration::from_secs(seconds) };
/// let mut lease = Lease::new();
/// assert!(!lease.is_held(at(10)), "no beat yet");
/// // Sent at 10, acknowledged at 12.
/// lease.acknowledge(at(10), at(12));
/// assert!(lease.is_held(at(15)));
/// assert!(!lease.is_held(at(16)));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Lease {
    /// When the last acknowledged beat was sent.
    sent: Option<ClockReading>,
    is_ended: bool,
}

impl Lease {
    /// A session that has not beaten yet: it holds nothing.
    pub fn new() -> Lease {
        Lease::default()
    }

    /// A beat that was sent at one time has been acknowledged at another.
    ///
    /// If the machine stood still in between, the acknowledgement is from before, and proves nothing about now.
    pub fn acknowledge(&mut self, sent: ClockReading, now: ClockReading) {
        let is_newer = self.sent.is_none_or(|before| before.boot < sent.boot);
        if is_newer && !now.stood_still_since(sent) {
            self.sent = Some(sent);
        }
    }

    /// The engine says that the session has ended: nothing brings it back.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// True if the session has been told that it is over.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// True if what is in memory may be answered. To be asked after the state was read, and before the answer leaves.
    pub fn is_held(&self, now: ClockReading) -> bool {
        self.left(now) > Duration::ZERO
    }

    /// How long it lasts unless another beat is acknowledged.
    pub fn left(&self, now: ClockReading) -> Duration {
        match self.sent {
            Some(sent) if !self.is_ended && !now.stood_still_since(sent) => {
                (sent.boot + LEASE).saturating_sub(now.boot)
            }
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(boot_ms: u64, wall_ms: u64) -> ClockReading {
        ClockReading { boot: Duration::from_millis(boot_ms), wall: Duration::from_millis(wall_ms) }
    }

    #[test]
    fn a_lease_lasts_from_the_sending_of_its_beat() {
        #[rustfmt::skip]
        let table = [
            // boot,  wall,      held
            (10_000, 1_010_000, true),
            (15_999, 1_015_999, true),
            (16_000, 1_016_000, false), // six seconds
            (11_000, 1_011_499, true),
            (11_000, 1_011_500, false), // the wall clock runs ahead
            (11_000,   500_000, true),  // it was set back: no sign of standing still
            (9_000,  1_009_000, true),  // a reading of another thread, from before
        ];
        for (boot, wall, is_held) in table {
            let mut lease = Lease::new();
            lease.acknowledge(at(10_000, 1_010_000), at(10_000, 1_010_000));
            assert_eq!(lease.is_held(at(boot, wall)), is_held, "{boot} {wall}");
        }
    }

    #[test]
    fn acknowledgements_count_by_when_their_beat_was_sent() {
        let mut lease = Lease::new();
        assert!(!lease.is_held(at(0, 0)));
        lease.acknowledge(at(5_000, 5_000), at(9_000, 9_000));
        // An earlier one comes later.
        lease.acknowledge(at(4_000, 4_000), at(9_500, 9_500));
        assert_eq!(lease.left(at(10_000, 10_000)), Duration::from_secs(1));
        // Sent long ago: over before it is there.
        lease.acknowledge(at(6_000, 6_000), at(13_000, 13_000));
        assert!(!lease.is_held(at(13_000, 13_000)));
    }

    #[test]
    fn standing_still_ends_the_lease_until_a_later_beat_is_acknowledged() {
        let mut lease = Lease::new();
        lease.acknowledge(at(1_000, 1_000), at(1_000, 1_000));
        // The machine stood still for a minute, and the first clock did not see it.
        assert!(!lease.is_held(at(2_000, 62_000)));
        // A beat that was under way is from before.
        lease.acknowledge(at(1_900, 1_900), at(2_000, 62_000));
        assert!(!lease.is_held(at(2_000, 62_000)));
        lease.acknowledge(at(2_100, 62_100), at(2_200, 62_200));
        assert!(lease.is_held(at(2_200, 62_200)));
    }

    #[test]
    fn an_ended_session_holds_nothing_ever_again() {
        let mut lease = Lease::new();
        lease.acknowledge(at(1_000, 1_000), at(1_000, 1_000));
        lease.end();
        assert!(!lease.is_held(at(1_000, 1_000)));
        lease.acknowledge(at(2_000, 2_000), at(2_000, 2_000));
        assert!(!lease.is_held(at(2_000, 2_000)) && lease.is_ended());
    }
}
