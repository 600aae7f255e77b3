//! Every way an engine can fail, by script and under seeds, and servers that follow the rules through all of them.

use std::collections::BTreeSet;

use journal::memory::{CallKind, Fault, FaultRates, MemoryEngine, ScriptedFault};
use journal::{
    Append, Epoch, Error, Journal as _, Open, Opened, Outcome, Position, SessionId, Sessions as _,
};
use model::Env;

use crate::parts::{JOURNAL, ME, OTHER, append_all, begin, bytes, entry, is_doubt, open, read};
use crate::server;

/// An engine with a journal of one entry, that fails the next call of this kind.
async fn failing(call: CallKind, fault: Fault) -> (MemoryEngine, Opened, Position) {
    let engine = MemoryEngine::new(&Env::fixed(1, 0));
    let opened = begin(&engine, JOURNAL).await;
    let end = append_all(&engine, JOURNAL, opened, &["first"]).await;
    engine.script(vec![ScriptedFault { call, after: 0, fault }]);
    (engine, opened, end)
}

/// The outcome of an append with this fault, and whether a later open finds it.
async fn append_with(fault: Fault) -> (MemoryEngine, Outcome, bool) {
    let (engine, opened, end) = failing(CallKind::Append, fault).await;
    let append = entry(JOURNAL, opened.epoch, end, "second");
    let outcome = engine.append(append.clone()).await;
    engine.heal();
    let last = open(&engine, JOURNAL, ME).await.last;
    (engine, outcome, last.position == append.position())
}

#[test]
fn appends_fail_in_every_way() {
    server::run(async {
        #[rustfmt::skip]
        let table = [
            (Fault::Refused,    false, false),
            (Fault::LostBefore, true,  false),
            (Fault::LostAfter,  true,  true),
            (Fault::Unproven,   true,  true),
            (Fault::Late(9),    true,  false), // the open fences it
            (Fault::Away(0),    false, false),
        ];
        for (fault, is_in_doubt, is_in) in table {
            let (engine, outcome, found) = append_with(fault).await;
            assert_eq!(is_doubt(&outcome), is_in_doubt, "{fault:?}: {outcome:?}");
            assert!(outcome != Outcome::Appended, "{fault:?}");
            assert_eq!(found, is_in, "{fault:?}");
            let n_entries = read(&engine, JOURNAL, 1).await.len();
            engine.release();
            assert_eq!(read(&engine, JOURNAL, 1).await.len(), n_entries, "{fault:?} came later");
            engine.check().unwrap();
        }
    });
}

#[test]
fn a_stuck_append_arrives_when_nobody_has_opened() {
    server::run(async {
        let (engine, opened, end) = failing(CallKind::Append, Fault::Late(100)).await;
        assert!(is_doubt(&engine.append(entry(JOURNAL, opened.epoch, end, "x")).await));
        assert_eq!((engine.n_stuck(), read(&engine, JOURNAL, 1).await.len()), (1, 1));
        engine.release();
        assert_eq!((engine.n_stuck(), read(&engine, JOURNAL, 1).await.len()), (0, 2));
    });
}

#[test]
fn a_stuck_open_arrives_and_fences_if_its_epoch_still_stands() {
    server::run(async {
        for is_overtaken in [false, true] {
            let (engine, opened, end) = failing(CallKind::Open, Fault::Late(100)).await;
            let late = Open { journal: JOURNAL, seen: opened.epoch, holder: OTHER };
            assert!(matches!(engine.open(late).await, Err(Error::InDoubt(_))));
            let epoch =
                if is_overtaken { open(&engine, JOURNAL, ME).await.epoch } else { opened.epoch };
            engine.release();
            let outcome = engine.append(entry(JOURNAL, epoch, end, "x")).await;
            assert_eq!(outcome == Outcome::Appended, is_overtaken, "{outcome:?}");
        }
    });
}

#[test]
fn what_is_visible_may_vanish_until_something_later_is_acknowledged() {
    server::run(async {
        for is_proven in [false, true] {
            let (engine, opened, end) = failing(CallKind::Append, Fault::Unproven).await;
            assert!(is_doubt(&engine.append(entry(JOURNAL, opened.epoch, end, "x")).await));
            assert_eq!(read(&engine, JOURNAL, 1).await.len(), 2, "visible");
            if is_proven {
                engine.register(member()).await.unwrap();
            }
            engine.promote_oldest();
            let n_entries = read(&engine, JOURNAL, 1).await.len();
            assert_eq!(n_entries, if is_proven { 2 } else { 1 });
        }
    });
}

/// Why there is `prove`: a beat that is acknowledged by another engine says nothing about what the first one showed.
#[test]
fn a_look_and_a_later_beat_prove_nothing_when_the_engine_changes_between() {
    server::run(async {
        let (engine, opened, end) = failing(CallKind::Append, Fault::Unproven).await;
        engine.register(member()).await.unwrap();
        let append = entry(JOURNAL, opened.epoch, end, "x");
        assert!(is_doubt(&engine.append(append.clone()).await));
        let number = append.position().number;
        let seen = engine.chain_at(JOURNAL, number).await.unwrap();
        assert_eq!(seen, Some(append.position().chain));
        engine.promote_oldest();
        assert_eq!(engine.beat(ME).await.unwrap().beat, Some(1));
        assert_eq!(engine.chain_at(JOURNAL, number).await.unwrap(), None, "gone all the same");
        // Proven, it stays.
        engine.script(vec![ScriptedFault {
            call: CallKind::Append,
            after: 0,
            fault: Fault::Unproven,
        }]);
        assert!(is_doubt(&engine.append(append.clone()).await));
        assert!(engine.prove(JOURNAL, number, ME).await.unwrap().unwrap().chain.is_some());
        engine.promote_oldest();
        assert!(engine.chain_at(JOURNAL, number).await.unwrap().is_some());
    });
}

fn member() -> journal::NewMember {
    journal::NewMember { session: ME, name: "one".into(), addresses: String::new(), level_max: 1 }
}

#[test]
fn an_engine_that_went_back_takes_nothing_behind_a_gap() {
    server::run(async {
        let engine = MemoryEngine::new(&Env::fixed(1, 0));
        let opened = begin(&engine, JOURNAL).await;
        let backup = engine.back_up();
        let end = append_all(&engine, JOURNAL, opened, &["a", "b"]).await;
        let before = engine.reconnects();
        engine.restore(&backup);
        assert!(engine.reconnects() > before, "members can tell that they must look");
        // The epoch is the same as ever, and yet:
        assert!(is_doubt(&engine.append(entry(JOURNAL, opened.epoch, end, "c")).await));
        // Another history of the same length.
        let other = append_all(&engine, JOURNAL, opened, &["x", "y"]).await;
        assert_eq!(other.number, end.number);
        assert!(is_doubt(&engine.append(entry(JOURNAL, opened.epoch, end, "c")).await));
        engine.check().unwrap();
    });
}

#[test]
fn an_engine_that_is_away_answers_nothing_and_comes_back() {
    server::run(async {
        let (engine, opened, end) = failing(CallKind::Read, Fault::Away(2)).await;
        for _ in 0..3 {
            assert!(matches!(engine.last(JOURNAL).await, Err(Error::Unavailable(_))));
        }
        assert_eq!(engine.last(JOURNAL).await.unwrap().unwrap().position, end);
        engine.set_away(true);
        let append = entry(JOURNAL, opened.epoch, end, "x");
        assert!(matches!(engine.append(append.clone()).await, Outcome::NotAppended(_)));
        assert!(matches!(engine.beat(ME).await, Err(Error::Unavailable(_))));
        engine.set_away(false);
        assert_eq!(engine.append(append).await, Outcome::Appended, "the epoch is as it was");
    });
}

/// How a server settles what is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settles {
    /// By an open that is acknowledged, as it must.
    ByOpening,
    /// By looking, without an open: what it sees may vanish.
    ByLooking,
}

/// A server that wants to append one entry after the other.
struct Server {
    me: SessionId,
    epoch: Option<Epoch>,
    position: Position,
    in_doubt: Option<Append>,
    written: u32,
}

/// Servers that compete for one journal, and what they promised to their clients.
struct Run {
    engine: MemoryEngine,
    settles: Settles,
    servers: Vec<Server>,
    acknowledged: BTreeSet<(u64, u64)>,
}

impl Run {
    async fn new(seed: u64, settles: Settles) -> Run {
        let env = Env::fixed(seed, 0);
        let engine = MemoryEngine::new(&env);
        engine.create(JOURNAL).await.unwrap();
        engine.fail_at_random(&env, FaultRates::MANY);
        let servers = (1..=3).map(|number| Server {
            me: SessionId::new(number),
            epoch: None,
            position: Position::start(JOURNAL),
            in_doubt: None,
            written: 0,
        });
        Run { servers: servers.collect(), engine, settles, acknowledged: BTreeSet::new() }
    }

    async fn step(&mut self, index: usize) {
        match self.servers[index].epoch {
            None => self.open(index).await,
            Some(epoch) => self.append(index, epoch).await,
        }
    }

    async fn open(&mut self, index: usize) {
        let server = &mut self.servers[index];
        if self.settles == Settles::ByLooking
            && let Some(append) = server.in_doubt.take()
        {
            // The mistake: an entry that is there is taken for one that stays.
            let position = append.position();
            match self.engine.chain_at(JOURNAL, position.number).await {
                Ok(Some(chain)) if chain == position.chain => {
                    self.acknowledged.insert((position.number, chain.get()));
                }
                Ok(_) => {}
                Err(_) => server.in_doubt = Some(append),
            }
            return;
        }
        let Ok(Some(row)) = self.engine.row(JOURNAL).await else { return };
        let open = Open { journal: JOURNAL, seen: row.epoch, holder: server.me };
        let Ok(Some(opened)) = self.engine.open(open).await else { return };
        server.epoch = Some(opened.epoch);
        server.position = opened.last.position;
        if let Some(append) = server.in_doubt.take() {
            // Everybody before is fenced: it is in, or will never be.
            let position = append.position();
            match self.engine.chain_at(JOURNAL, position.number).await {
                Ok(chain) if chain == Some(position.chain) => {
                    self.acknowledged.insert((position.number, position.chain.get()));
                }
                Ok(_) => {}
                // It could not look: under this epoch it must not write yet.
                Err(_) => {
                    server.epoch = None;
                    server.in_doubt = Some(append);
                }
            }
        }
    }

    async fn append(&mut self, index: usize, epoch: Epoch) {
        let server = &mut self.servers[index];
        let text = format!("{} of {}", server.written, server.me);
        let append = entry(JOURNAL, epoch, server.position, &text);
        match self.engine.append(append.clone()).await {
            Outcome::Appended => {
                server.written += 1;
                server.position = append.position();
                let Position { number, chain } = server.position;
                self.acknowledged.insert((number, chain.get()));
            }
            Outcome::NotAppended(_) => {}
            Outcome::InDoubt(_) => {
                server.epoch = None;
                server.in_doubt = Some(append);
                server.written += 1;
            }
        }
    }

    /// The acknowledged entries that are not there as they were, and how many there are at all.
    async fn lost(&self) -> (Vec<u64>, usize) {
        self.engine.heal();
        self.engine.release();
        self.engine.check().unwrap();
        let mut entries = Vec::new();
        loop {
            let page = read(&self.engine, JOURNAL, 1 + entries.len() as u64).await;
            if page.is_empty() {
                break;
            }
            entries.extend(page);
        }
        let texts: BTreeSet<_> = entries.iter().map(|it| &it.bytes).collect();
        assert_eq!(texts.len(), entries.len(), "an entry is there twice");
        let chain_of = |number: u64| entries.get(usize::try_from(number - 1).unwrap());
        let is_lost = |(number, chain): &(u64, u64)| {
            let is_there = chain_of(*number).is_some_and(|it| it.position.chain.get() == *chain);
            (!is_there).then_some(*number)
        };
        (self.acknowledged.iter().filter_map(is_lost).collect(), entries.len())
    }
}

/// Runs under a seed, with promotions now and then. Returns what was lost, of how many.
async fn run_seed(seed: u64, settles: Settles) -> (Vec<u64>, usize) {
    let mut run = Run::new(seed, settles).await;
    let chance = Env::fixed(seed ^ 0x5EED, 0);
    for _ in 0..400 {
        if chance.random_u64().is_multiple_of(40) {
            run.engine.promote(&chance);
        }
        let index = usize::try_from(chance.random_u64() % 3).unwrap();
        run.step(index).await;
    }
    run.lost().await
}

#[test]
fn acked_is_kept_through_all_faults() {
    server::run(async {
        let mut n_entries = 0;
        for seed in 0..300 {
            let (lost, n) = run_seed(seed, Settles::ByOpening).await;
            assert!(lost.is_empty(), "seed {seed}: {lost:?} of {n} are lost");
            n_entries += n;
        }
        assert!(n_entries > 300 * 20, "{n_entries} entries");
    });
}

/// The run above can tell right from wrong.
#[test]
fn a_server_that_believes_what_it_sees_loses_writes() {
    server::run(async {
        let mut n_wrong = 0;
        for seed in 0..300 {
            n_wrong += usize::from(!run_seed(seed, Settles::ByLooking).await.0.is_empty());
        }
        assert!(n_wrong > 0);
    });
}

#[test]
fn a_seed_repeats() {
    server::run(async {
        let run = |seed| async move {
            let mut run = Run::new(seed, Settles::ByOpening).await;
            for index in 0..300 {
                run.step(index % 3).await;
            }
            (run.acknowledged, run.engine.last(JOURNAL).await)
        };
        assert_eq!(run(3).await, run(3).await);
        assert_ne!(run(3).await.0, run(4).await.0);
    });
}

#[test]
fn faults_wait_for_their_call() {
    server::run(async {
        let (engine, opened, end) = failing(CallKind::Open, Fault::Refused).await;
        let fault = ScriptedFault { call: CallKind::Append, after: 1, fault: Fault::LostAfter };
        engine.script(vec![fault]);
        let append = entry(JOURNAL, opened.epoch, end, "x");
        assert_eq!(engine.append(append.clone()).await, Outcome::Appended);
        let next = Append { after: append.position(), bytes: bytes("y"), ..append };
        assert!(is_doubt(&engine.append(next).await));
        assert_eq!(read(&engine, JOURNAL, 1).await.len(), 3);
    });
}
