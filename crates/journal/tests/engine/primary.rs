//! Primaries that follow the rules through every fault: what they say is written stays, what they say is not never comes.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use journal::memory::{CallKind, Fault, FaultRates, MemoryEngine, ScriptedFault};
use journal::{
    Engine, Journal as _, NewMember, Outcome, Primary, SessionId, Sessions as _, Settled,
};
use model::Env;

use crate::parts::{JOURNAL, ME, OTHER, bytes, open, read};
use crate::server;

async fn engine() -> MemoryEngine {
    let engine = MemoryEngine::new(&Env::fixed(1, 0));
    engine.create(JOURNAL).await.unwrap();
    for number in 1..=3 {
        let session = SessionId::new(number);
        let (name, addresses) = (number.to_string(), String::new());
        let member = NewMember { session, name, addresses, level_max: 1 };
        engine.register(member).await.unwrap();
    }
    engine
}

async fn primary(engine: &MemoryEngine, me: SessionId) -> Primary {
    let seen = engine.row(JOURNAL).await.unwrap().unwrap().epoch;
    let engine: Arc<dyn Engine> = Arc::new(engine.clone());
    Primary::open(engine, JOURNAL, seen, me).await.unwrap().unwrap()
}

#[test]
fn doubt_is_settled_by_opening_again() {
    server::run(async {
        #[rustfmt::skip]
        let table = [
            (Fault::LostBefore, Settled::NotWritten),
            (Fault::LostAfter,  Settled::Written),
            (Fault::Unproven,   Settled::Written),
            (Fault::Late(50),   Settled::NotWritten),
        ];
        for (fault, expected) in table {
            let engine = engine().await;
            let mut primary = primary(&engine, ME).await;
            engine.script(vec![ScriptedFault { call: CallKind::Append, after: 0, fault }]);
            assert!(matches!(primary.append(bytes("x")).await, Outcome::InDoubt(_)));
            let refused = primary.append(bytes("y")).await;
            assert!(matches!(refused, Outcome::NotAppended(_)), "nothing is sent in doubt");
            assert_eq!(primary.settle().await, expected, "{fault:?}");
            engine.release();
            assert_eq!(primary.append(bytes("z")).await, Outcome::Appended);
            let n_entries = if expected == Settled::Written { 2 } else { 1 };
            assert_eq!(read(&engine, JOURNAL, 1).await.len(), n_entries, "{fault:?}");
        }
    });
}

#[test]
fn a_deposed_primary_learns_whether_its_entry_is_in() {
    server::run(async {
        for (fault, is_in) in [(Fault::LostBefore, false), (Fault::LostAfter, true)] {
            for is_ended in [false, true] {
                let engine = engine().await;
                let mut primary = primary(&engine, ME).await;
                engine.script(vec![ScriptedFault { call: CallKind::Append, after: 0, fault }]);
                assert!(matches!(primary.append(bytes("x")).await, Outcome::InDoubt(_)));
                open(&engine, JOURNAL, OTHER).await;
                if is_ended {
                    assert!(engine.end(ME, 0).await.unwrap());
                }
                let expected = (!is_ended).then_some(is_in);
                assert_eq!(primary.settle().await, Settled::Deposed(expected));
                assert!(primary.is_deposed());
                assert!(matches!(primary.append(bytes("y")).await, Outcome::NotAppended(_)));
            }
        }
    });
}

#[test]
fn an_engine_that_went_back_is_noticed() {
    server::run(async {
        let engine = engine().await;
        let mut primary = primary(&engine, ME).await;
        let backup = engine.back_up();
        for text in ["a", "b"] {
            assert_eq!(primary.append(bytes(text)).await, Outcome::Appended);
        }
        engine.restore(&backup);
        assert!(matches!(primary.append(bytes("c")).await, Outcome::InDoubt(_)));
        assert!(matches!(primary.settle().await, Settled::Diverged(_)));
        assert!(primary.is_in_doubt(), "nothing more is sent");
    });
}

/// What servers told their clients.
#[derive(Default)]
struct Told {
    written: BTreeSet<Bytes>,
    not_written: BTreeSet<Bytes>,
    unknown: usize,
}

async fn run_seed(seed: u64) -> (MemoryEngine, Told) {
    let engine = engine().await;
    let env = Env::fixed(seed, 0);
    engine.fail_at_random(&env, FaultRates::MANY);
    let shared: Arc<dyn Engine> = Arc::new(engine.clone());
    let mut primaries: [Option<Primary>; 3] = [None, None, None];
    let mut sent: [Bytes; 3] = Default::default();
    let mut told = Told::default();
    for step in 0..500 {
        if env.random_u64().is_multiple_of(30) {
            engine.promote(&env);
        }
        let index = usize::try_from(env.random_u64() % 3).unwrap();
        let Some(primary) = primaries[index].as_mut().filter(|it| !it.is_deposed()) else {
            // Now and then somebody takes it from the others.
            if let (0, Ok(Some(row))) = (env.random_u64() % 4, engine.row(JOURNAL).await) {
                let me = SessionId::new(1 + index as u64);
                let opened = Primary::open(Arc::clone(&shared), JOURNAL, row.epoch, me).await;
                primaries[index] = opened.unwrap_or(None);
            }
            continue;
        };
        if primary.is_in_doubt() {
            match primary.settle().await {
                Settled::Written | Settled::Deposed(Some(true)) => {
                    told.written.insert(sent[index].clone());
                }
                Settled::NotWritten | Settled::Deposed(Some(false)) => {
                    told.not_written.insert(sent[index].clone());
                }
                Settled::Deposed(None) => told.unknown += 1,
                Settled::Again(_) => {}
                Settled::Diverged(last) => panic!("seed {seed}: nothing was taken back: {last:?}"),
            }
            continue;
        }
        let next = bytes(&format!("{step}"));
        match primary.append(next.clone()).await {
            Outcome::Appended => drop(told.written.insert(next)),
            Outcome::NotAppended(_) => drop(told.not_written.insert(next)),
            Outcome::InDoubt(_) => sent[index] = next,
        }
    }
    engine.heal();
    engine.release();
    engine.check().unwrap();
    (engine, told)
}

#[test]
fn primaries_tell_the_truth_through_all_faults() {
    server::run(async {
        let (mut n_written, mut n_not_written) = (0, 0);
        for seed in 0..500 {
            let (engine, told) = run_seed(seed).await;
            let mut entries = BTreeSet::new();
            let mut next = 1;
            loop {
                let page = read(&engine, JOURNAL, next).await;
                let Some(last) = page.last() else { break };
                next = last.position.number + 1;
                for entry in page {
                    assert!(entries.insert(entry.bytes), "seed {seed}: an entry is there twice");
                }
            }
            let lost: Vec<_> = told.written.difference(&entries).collect();
            assert!(lost.is_empty(), "seed {seed}: acknowledged and lost: {lost:?}");
            let wrong: Vec<_> = told.not_written.intersection(&entries).collect();
            assert!(wrong.is_empty(), "seed {seed}: denied and there: {wrong:?}");
            n_written += told.written.len();
            n_not_written += told.not_written.len();
        }
        assert!(n_written > 500 * 20 && n_not_written > 500, "{n_written} {n_not_written}");
    });
}
