//! A failure detector: whose sessions may be ended, as one member sees it on its own clock.
//!
//! It looks at the beats of others, again and again. A session whose beat has not changed for the length of a lease and a
//! margin may be ended, on condition that the beat is still the one that was seen. That is safe whatever else happens. Own
//! beats that do not go through begin every observation anew: after an outage of the engine nobody has beaten, and nobody
//! is dead.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{ClockReading, LEASE, OBSERVE_MARGIN};
use crate::{Member, SessionId};

/// Own beats further apart than this have not gone through all the while.
const OWN_GAP_MAX: Duration = Duration::from_secs(3);

/// What one member has seen of the others.
#[derive(Debug, Clone)]
pub struct Observer {
    me: SessionId,
    seen: BTreeMap<SessionId, Seen>,
    /// When the last own beat was acknowledged.
    own: Option<ClockReading>,
}

/// A beat, and since when it is the same.
#[derive(Debug, Clone, Copy)]
struct Seen {
    beat: u64,
    since: ClockReading,
    /// When the last question was sent whose answer had this beat.
    until: ClockReading,
}

impl Observer {
    /// An observer that has seen nobody.
    pub fn new(me: SessionId) -> Observer {
        Observer { me, seen: BTreeMap::new(), own: None }
    }

    /// An own beat has been acknowledged.
    pub fn own_beat(&mut self, now: ClockReading) {
        if self.has_gap(now) {
            self.seen.clear();
        }
        self.own = Some(now);
    }

    /// The members were asked for and have come.
    pub fn observe(&mut self, asked: ClockReading, answered: ClockReading, members: &[Member]) {
        let living = |it: &&Member| !it.ended && it.member.session != self.me;
        let mut seen = BTreeMap::new();
        for member in members.iter().filter(living) {
            let session = member.member.session;
            let before = self.seen.get(&session).filter(|it| it.beat == member.beat);
            let since = before.map_or(answered, |it| it.since);
            // A question from before the observation proves nothing for it.
            let until = before.map_or(answered, |it| latest(it.until, asked));
            seen.insert(session, Seen { beat: member.beat, since, until });
        }
        self.seen = seen;
    }

    /// The sessions that may be ended now, each with the beat that must still be the last.
    pub fn overdue(&self, now: ClockReading) -> Vec<(SessionId, u64)> {
        if self.own.is_none() || self.has_gap(now) {
            return Vec::new();
        }
        let is_overdue =
            |it: &Seen| it.until.boot.saturating_sub(it.since.boot) >= LEASE + OBSERVE_MARGIN;
        let overdue = self.seen.iter().filter(|(_, seen)| is_overdue(seen));
        overdue.map(|(session, seen)| (*session, seen.beat)).collect()
    }

    fn has_gap(&self, now: ClockReading) -> bool {
        self.own.is_some_and(|own| {
            now.boot.saturating_sub(own.boot) > OWN_GAP_MAX || now.stood_still_since(own)
        })
    }
}

fn latest(one: ClockReading, two: ClockReading) -> ClockReading {
    if one.boot < two.boot { two } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NewMember;

    const ME: SessionId = SessionId::new(1);
    const OTHER: SessionId = SessionId::new(2);

    fn at(ms: u64) -> ClockReading {
        ClockReading { boot: Duration::from_millis(ms), wall: Duration::from_millis(ms) }
    }

    fn member(session: SessionId, beat: u64, ended: bool) -> Member {
        let (name, addresses) = (String::new(), String::new());
        Member { member: NewMember { session, name, addresses, level_max: 1 }, beat, ended }
    }

    /// Beats and looks each second from the first to the last; the other one's beat is as told.
    fn watch(
        observer: &mut Observer,
        seconds: std::ops::RangeInclusive<u64>,
        beat: impl Fn(u64) -> u64,
    ) {
        for second in seconds {
            observer.own_beat(at(second * 1_000));
            let members = [member(ME, 1, false), member(OTHER, beat(second), false)];
            observer.observe(at(second * 1_000), at(second * 1_000 + 10), &members);
        }
    }

    #[test]
    fn a_beat_that_stands_for_the_lease_and_the_margin_is_overdue() {
        let mut observer = Observer::new(ME);
        // First seen at 10.01, so the question that proves it is the one of 18.
        watch(&mut observer, 10..=17, |_| 5);
        assert_eq!(observer.overdue(at(17_100)), []);
        watch(&mut observer, 18..=18, |_| 5);
        assert_eq!(observer.overdue(at(18_100)), [(OTHER, 5)]);
        // It has beaten after all.
        watch(&mut observer, 19..=19, |_| 6);
        assert_eq!(observer.overdue(at(19_100)), []);
        // Back to an older beat, after a failover of the engine: seen anew.
        watch(&mut observer, 20..=26, |_| 5);
        assert_eq!(observer.overdue(at(26_100)), []);
    }

    #[test]
    fn after_an_outage_nobody_is_overdue() {
        let mut observer = Observer::new(ME);
        watch(&mut observer, 10..=14, |_| 5);
        // The engine is away for a minute, and everybody's beats with it.
        assert_eq!(observer.overdue(at(74_000)), []);
        watch(&mut observer, 74..=80, |_| 5);
        assert_eq!(observer.overdue(at(80_100)), []);
        watch(&mut observer, 81..=82, |_| 5);
        assert_eq!(observer.overdue(at(82_100)), [(OTHER, 5)]);
    }

    #[test]
    fn who_cannot_beat_itself_ends_nobody() {
        let mut observer = Observer::new(ME);
        observer.observe(at(0), at(0), &[member(OTHER, 5, false)]);
        observer.observe(at(9_000), at(9_000), &[member(OTHER, 5, false)]);
        assert_eq!(observer.overdue(at(9_000)), [], "it has never beaten");
        watch(&mut observer, 10..=20, |_| 5);
        assert_eq!(observer.overdue(at(23_001)), [], "its last beat is old");
    }

    #[test]
    fn a_suspended_observer_begins_anew() {
        let mut observer = Observer::new(ME);
        watch(&mut observer, 10..=12, |_| 5);
        // Unseen by the first clock.
        let woken = ClockReading { boot: at(12_500).boot, wall: at(60_000).wall };
        assert_eq!(observer.overdue(woken), []);
        observer.own_beat(woken);
        assert!(observer.seen.is_empty());
    }

    #[test]
    fn own_and_ended_sessions_are_not_observed() {
        let mut observer = Observer::new(ME);
        watch(&mut observer, 10..=20, |second| second);
        let members = [member(ME, 1, false), member(OTHER, 1, true)];
        observer.observe(at(20_000), at(20_000), &members);
        assert!(observer.seen.is_empty());
    }
}
