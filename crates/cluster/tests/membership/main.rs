//! Members over an engine in memory, in time that the test moves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cluster::{JoinError, Membership, orphans, placement};
use journal::lease::{ClockReading, LEASE, LeaseClock, OBSERVE_MARGIN};
use journal::memory::{CallKind, Fault, MemoryEngine, ScriptedFault};
use journal::{Engine, Journal as _, JournalId, NewMember, Open, SessionId, Sessions as _};
use model::Env;
use tokio::time::{Instant, sleep};

/// The longest time until a dead member is ended: what a lease takes, and two rounds of beats.
const DETECTION: Duration = Duration::from_secs(2 + 1 + 6 + 1);

/// A clock that goes with the runtime's.
#[derive(Debug)]
struct PausedClock(Instant);

impl LeaseClock for PausedClock {
    fn read(&self) -> ClockReading {
        let boot = self.0.elapsed();
        ClockReading { boot, wall: boot }
    }
}

fn new_member(session: u64, name: &str) -> NewMember {
    let session = SessionId::new(session);
    NewMember { session, name: name.into(), addresses: "here".into(), level_max: 1 }
}

async fn join_with(
    engine: &MemoryEngine,
    member: NewMember,
    before: Option<u64>,
    health: cluster::Health,
) -> Result<Membership, JoinError> {
    let engine: Arc<dyn Engine> = Arc::new(engine.clone());
    let clock = Arc::new(PausedClock(Instant::now()));
    Membership::join(engine, clock, member, before.map(SessionId::new), health).await
}

async fn join(engine: &MemoryEngine, session: u64, name: &str) -> Membership {
    join_with(engine, new_member(session, name), None, Arc::new(|| true)).await.unwrap()
}

fn engine() -> MemoryEngine {
    MemoryEngine::new(&Env::fixed(1, 0))
}

/// Waits until a member sees that a session has ended; how long it took.
async fn until_ended(member: &Membership, session: u64) -> Duration {
    let begin = Instant::now();
    let mut view = member.view();
    view.wait_for(|view| view.has_ended(SessionId::new(session))).await.unwrap();
    begin.elapsed()
}

#[tokio::test(start_paused = true)]
async fn members_see_each_other_and_hold_their_leases() {
    let engine = engine();
    let one = join(&engine, 1, "one").await;
    let two = join(&engine, 2, "two").await;
    sleep(Duration::from_secs(60)).await;
    for member in [&one, &two] {
        assert!(member.lease().is_held());
        let view = member.view().borrow().clone();
        assert_eq!(view.living().count(), 2);
        assert!(!view.is_over && view.members.iter().all(|it| it.beat > 50));
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_member_is_ended_and_its_journals_are_orphans() {
    let engine = engine();
    let one = join(&engine, 1, "one").await;
    let two = join(&engine, 2, "two").await;
    for number in 1..=20 {
        let journal = JournalId::new(number);
        engine.create(journal).await.unwrap();
        let seen = engine.row(journal).await.unwrap().unwrap().epoch;
        let holder = SessionId::new(1 + number % 2);
        engine.open(Open { journal, seen, holder }).await.unwrap().unwrap();
    }
    sleep(Duration::from_secs(5)).await;
    assert_eq!(orphans(&engine, &one.view().borrow().clone()).await.unwrap(), []);
    let lease = two.lease();
    drop(two);
    let took = until_ended(&one, 2).await;
    assert!(took >= LEASE && took <= DETECTION, "{took:?}");
    assert!(!lease.is_held());
    let view = one.view().borrow().clone();
    let found = orphans(&engine, &view).await.unwrap();
    assert_eq!(found.len(), 10);
    assert!(found.iter().all(|row| row.holder == SessionId::new(2)));
    // Everybody agrees who takes them.
    for row in found {
        let next = placement::primary(row.journal, view.living()).unwrap();
        assert_eq!(next.session, one.session());
    }
}

/// Invariant 7 (`engine_away`), the part of sessions: nobody is ended because the engine was away.
#[tokio::test(start_paused = true)]
async fn engine_away_ends_leases_and_no_sessions() {
    let engine = engine();
    let one = join(&engine, 1, "one").await;
    let two = join(&engine, 2, "two").await;
    sleep(Duration::from_secs(10)).await;
    engine.set_away(true);
    sleep(LEASE.saturating_sub(Duration::from_millis(1_500))).await;
    assert!(one.lease().is_held(), "leased reads go on for a while");
    sleep(Duration::from_secs(60)).await;
    assert!(!one.lease().is_held() && !two.lease().is_held());
    engine.set_away(false);
    sleep(Duration::from_secs(30)).await;
    for member in [&one, &two] {
        assert!(member.lease().is_held());
        assert_eq!(member.view().borrow().living().count(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_beats_are_cut_is_ended_and_learns_it() {
    let engine = engine();
    let one = join(&engine, 1, "one").await;
    let is_fit = Arc::new(AtomicBool::new(true));
    let fit = Arc::clone(&is_fit);
    let health: cluster::Health = Arc::new(move || fit.load(Ordering::SeqCst));
    let two = join_with(&engine, new_member(2, "two"), None, health).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    // Its listener no longer answers, say.
    is_fit.store(false, Ordering::SeqCst);
    let lost = Instant::now();
    while two.lease().is_held() {
        sleep(Duration::from_millis(100)).await;
        assert!(!one.view().borrow().has_ended(two.session()), "ended while it held its lease");
    }
    assert!(lost.elapsed() <= LEASE);
    until_ended(&one, 2).await;
    // Its last beat was up to a second before.
    assert!(lost.elapsed() + Duration::from_secs(1) >= LEASE + OBSERVE_MARGIN);
    is_fit.store(true, Ordering::SeqCst);
    let mut view = two.view();
    view.wait_for(|view| view.is_over).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    assert!(!two.lease().is_held(), "never again");
}

#[tokio::test(start_paused = true)]
async fn a_name_is_taken_until_its_session_has_ended() {
    let engine = engine();
    let one = join(&engine, 1, "same").await;
    let other = new_member(2, "same");
    let refused = join_with(&engine, other.clone(), None, Arc::new(|| true)).await.unwrap_err();
    assert!(matches!(&refused, JoinError::NameInUse(it) if it.member.session == one.session()));
    assert!(refused.to_string().contains("same"), "{refused}");
    // A restart with the own, locked folder: at once.
    let two = join_with(&engine, other, Some(1), Arc::new(|| true)).await.unwrap();
    assert!(two.view().borrow().has_ended(one.session()));
    // Another that leaves in order makes room at once, too.
    two.leave().await.unwrap();
    join(&engine, 3, "same").await;
}

#[tokio::test(start_paused = true)]
async fn a_halt_is_seen_with_the_next_beat() {
    let engine = engine();
    let one = join(&engine, 1, "one").await;
    engine.halt("the engine went back".into()).await.unwrap();
    let begin = Instant::now();
    let mut view = one.view();
    view.wait_for(|view| view.cluster.halted.is_some()).await.unwrap();
    assert!(begin.elapsed() <= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_level_that_is_too_new_is_refused() {
    let engine = engine();
    engine.raise_level(1, 2).await.unwrap();
    let joined = join_with(&engine, new_member(1, "old"), None, Arc::new(|| true)).await;
    assert_eq!(joined.unwrap_err(), JoinError::LevelTooNew { level: 2, level_max: 1 });
    assert!(engine.members().await.unwrap().iter().all(|it| it.ended));
}

#[tokio::test(start_paused = true)]
async fn a_beat_in_doubt_renews_nothing() {
    let engine = engine();
    let one = join(&engine, 1, "one").await;
    sleep(Duration::from_millis(100)).await;
    // Every beat reaches the engine, and no answer comes back.
    let lost = |fault| ScriptedFault { call: CallKind::Beat, after: 0, fault };
    engine.script([lost(Fault::LostAfter), lost(Fault::Unproven)].repeat(10));
    sleep(LEASE).await;
    assert!(!one.lease().is_held());
    assert!(engine.members().await.unwrap()[0].beat > 4, "they did arrive");
}
