//! Rendezvous hashing with hysteresis: who should serve which journal.
//!
//! Every member has a score for every journal, by the hash of both names; the highest serve it. A member that comes or goes
//! moves only the journals that are its own, and everybody computes the same without asking anybody. Names, not sessions: a
//! server that restarts gets its partitions back, whose data it still has.
//!
//! Invariant: a placement is a wish. Nothing is taken from a living member but by its own hand-over.

use std::time::Duration;

use journal::{JournalId, JournalRow, NewMember, SessionId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// How long the members must be the same before anything moves between living ones.
pub const SETTLE: Duration = Duration::from_secs(30);

/// Returns the members that should have a replica of this journal, the one that should be primary first.
pub fn replicas<'m>(
    journal: JournalId,
    members: impl Iterator<Item = &'m NewMember>,
    n_replicas: usize,
) -> Vec<&'m NewMember> {
    let mut all: Vec<&NewMember> = members.collect();
    all.sort_by_key(|member| std::cmp::Reverse((score(journal, &member.name), member.session)));
    all.truncate(n_replicas);
    all
}

/// Returns the member that should be primary of this journal.
pub fn primary<'m>(
    journal: JournalId,
    members: impl Iterator<Item = &'m NewMember>,
) -> Option<&'m NewMember> {
    members.max_by_key(|member| (score(journal, &member.name), member.session))
}

/// A hand-over that the holder should make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The journal.
    pub journal: JournalId,
    /// Who should hold it.
    pub to: SessionId,
}

/// Returns the next hand-over by this holder: one at a time, to a replica that has caught up, and only when the members
/// have been the same for a while.
pub fn next_move(
    me: SessionId,
    rows: &[JournalRow],
    members: &[&NewMember],
    unchanged_for: Duration,
    has_caught_up: impl Fn(JournalId, SessionId) -> bool,
) -> Option<Move> {
    if unchanged_for < SETTLE {
        return None;
    }
    let mine = rows.iter().filter(|row| row.holder == me && row.sealed == 0);
    mine.filter_map(|row| {
        let to = primary(row.journal, members.iter().copied())?.session;
        Some(Move { journal: row.journal, to })
    })
    .find(|it| it.to != me && has_caught_up(it.journal, it.to))
}

fn score(journal: JournalId, name: &str) -> u64 {
    xxh3_64_with_seed(name.as_bytes(), journal.get())
}

#[cfg(test)]
mod tests {
    use journal::Epoch;

    use super::*;

    fn members(names: &[&str]) -> Vec<NewMember> {
        let member = |(number, name): (u64, &&str)| NewMember {
            session: SessionId::new(number),
            name: (*name).to_owned(),
            addresses: String::new(),
            level_max: 1,
        };
        (1..).zip(names).map(member).collect()
    }

    fn primaries(members: &[NewMember]) -> Vec<String> {
        let of = |number| primary(JournalId::new(number), members.iter()).unwrap().name.clone();
        (0..3_000).map(of).collect()
    }

    #[test]
    fn journals_are_spread_evenly() {
        let primaries = primaries(&members(&["a", "b", "c"]));
        for name in ["a", "b", "c"] {
            let n = primaries.iter().filter(|it| *it == name).count();
            assert!((900..1_100).contains(&n), "{name}: {n}");
        }
    }

    #[test]
    fn a_member_that_comes_takes_only_its_own() {
        let before = primaries(&members(&["a", "b", "c"]));
        let after = primaries(&members(&["a", "b", "c", "d"]));
        let moved: Vec<_> = before.iter().zip(&after).filter(|(one, two)| one != two).collect();
        assert!((600..900).contains(&moved.len()), "{}", moved.len());
        assert!(moved.iter().all(|(_, to)| *to == "d"));
    }

    #[test]
    fn a_restart_changes_nothing_and_the_second_replica_takes_over() {
        let before = members(&["a", "b", "c"]);
        let mut restarted = before.clone();
        restarted[0].session = SessionId::new(99);
        assert_eq!(primaries(&before), primaries(&restarted));
        for number in 0..100 {
            let journal = JournalId::new(number);
            let two = replicas(journal, before.iter(), 2);
            assert_eq!(two.len(), 2);
            let left = before.iter().filter(|it| it.session != two[0].session);
            assert_eq!(primary(journal, left), Some(two[1]));
        }
        assert_eq!(replicas(JournalId::new(1), before.iter(), 9).len(), 3);
        assert_eq!(primary(JournalId::new(1), [].iter()), None);
    }

    #[test]
    fn moves_wait_until_members_have_settled_and_replicas_caught_up() {
        let all = members(&["a", "b"]);
        let both: Vec<&NewMember> = all.iter().collect();
        let me = all[0].session;
        let row = |number| JournalRow {
            journal: JournalId::new(number),
            epoch: Epoch::new(1),
            holder: me,
            sealed: u64::from(number == 0),
        };
        let rows: Vec<_> = (0..50).map(row).collect();
        let next = |after, caught_up: fn(JournalId, SessionId) -> bool| {
            next_move(me, &rows, &both, after, caught_up)
        };
        assert_eq!(next(SETTLE / 2, |_, _| true), None);
        assert_eq!(next(SETTLE, |_, _| false), None);
        let found = next(SETTLE, |_, _| true).unwrap();
        assert_eq!(found.to, all[1].session);
        assert_eq!(primary(found.journal, all.iter()), Some(&all[1]));
        // Alone, nothing moves.
        assert_eq!(next_move(me, &rows, &both[..1], SETTLE, |_, _| true), None);
    }
}
