//! The contract, once per engine: in memory, PostgreSQL, PostgreSQL whose defaults are unkind.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use journal::memory::MemoryEngine;
use journal::{
    Base, BaseId, Chain, ENTRY_BYTES_MAX, Engine, Epoch, JournalId, Last, NewMember, Open, Opened,
    Outcome, Position, ReadEntries, Registered, SessionId,
};
use model::Env;

use crate::parts::{JOURNAL, ME, OTHER, append_all, begin, bytes, entry, is_doubt, open, read};
use crate::server;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Each claim on each engine.
macro_rules! contract {
    ($($(#[$meta:meta])* $name:ident),* $(,)?) => {
        mod memory {
            use super::*;
            $($(#[$meta])* #[test] fn $name() {
                server::run(async {
                    let engine = MemoryEngine::new(&Env::fixed(1, 0));
                    super::$name(Arc::new(engine.clone())).await;
                    engine.check().unwrap();
                });
            })*
        }
        mod postgres {
            use super::*;
            $(#[test] fn $name() { on_postgres(&[], super::$name); })*
        }
        /// As a careless administrator may set it up.
        mod unkind_postgres {
            use super::*;
            $(#[test] fn $name() {
                on_postgres(
                    &[
                        "default_transaction_isolation = 'serializable'",
                        "default_transaction_deferrable = on",
                        "statement_timeout = '1s'",
                        "search_path = ''",
                        "row_security = off",
                    ],
                    super::$name,
                );
            })*
        }
    };
}

contract! {
    entries_follow_each_other,
    an_entry_is_taken_only_under_the_epoch_of_its_journal,
    of_two_openers_one_wins,
    an_entry_is_taken_only_behind_the_one_that_it_names,
    of_entries_that_compete_for_a_number_one_is_taken,
    journals_in_one_statement_do_not_know_each_other,
    a_seal_stops_everybody_until_it_is_lifted_by_its_name,
    reads_are_bounded_and_begin_where_they_are_told,
    large_entries_come_back_and_too_large_ones_are_refused,
    a_base_is_whole_or_not_there,
    trimming_keeps_what_two_confirmed_bases_need,
    a_removed_journal_leaves_nothing,
    rows_are_paged,
    a_proven_look_shows_what_is_there_to_the_living,
    sessions_beat_and_end_for_good,
    names_are_unique_among_the_living,
    a_session_is_forgotten_when_it_holds_nothing,
    the_first_halt_stands_until_it_is_ended_by_its_message,
    levels_rise_one_after_the_other,
}

fn on_postgres<F: Future>(set: &[&str], claim: impl FnOnce(Arc<dyn Engine>) -> F) {
    let Some(server) = server::shared() else { return };
    server::run(async {
        let url = server::database(server, set).await;
        claim(server::engine(&url, TIMEOUT).await).await;
    });
}

async fn entries_follow_each_other(engine: Arc<dyn Engine>) {
    let engine = &*engine;
    let opened = begin(engine, JOURNAL).await;
    assert_eq!(opened, Opened { epoch: Epoch::new(1), last: Last::none(JOURNAL) });
    let end = append_all(engine, JOURNAL, opened, &["a", "b", "c"]).await;
    let last = engine.last(JOURNAL).await.unwrap();
    assert_eq!(last, Some(Last { position: end, epoch: opened.epoch }));
    let mut position = Position::start(JOURNAL);
    for (text, entry) in ["a", "b", "c"].iter().zip(read(engine, JOURNAL, 1).await) {
        position = position.then(&bytes(text));
        assert_eq!((entry.position, &entry.bytes), (position, &bytes(text)));
        assert_eq!(entry.epoch, opened.epoch);
        let chain = engine.chain_at(JOURNAL, position.number).await.unwrap();
        assert_eq!(chain, Some(position.chain));
    }
    assert_eq!(position, end);
    assert_eq!(engine.chain_at(JOURNAL, 0).await.unwrap(), Some(Chain::start(JOURNAL)));
    assert_eq!(engine.chain_at(JOURNAL, 4).await.unwrap(), None);
    // Made again, it is as it was.
    engine.create(JOURNAL).await.unwrap();
    assert_eq!(engine.last(JOURNAL).await.unwrap(), last);
    assert_eq!(engine.last(JournalId::new(99)).await.unwrap(), None);
}

async fn an_entry_is_taken_only_under_the_epoch_of_its_journal(engine: Arc<dyn Engine>) {
    let engine = &*engine;
    let mine = begin(engine, JOURNAL).await;
    let end = append_all(engine, JOURNAL, mine, &["a"]).await;
    let theirs = open(engine, JOURNAL, OTHER).await;
    assert_eq!(theirs.last, Last { position: end, epoch: mine.epoch });
    assert!(is_doubt(&engine.append(entry(JOURNAL, mine.epoch, end, "late")).await));
    append_all(engine, JOURNAL, theirs, &["b"]).await;
    let future = Epoch::new(theirs.epoch.get() + 1);
    let end = engine.last(JOURNAL).await.unwrap().unwrap().position;
    assert!(is_doubt(&engine.append(entry(JOURNAL, future, end, "early")).await));
    assert_eq!(read(engine, JOURNAL, 1).await.len(), 2);
    let row = engine.row(JOURNAL).await.unwrap().unwrap();
    assert_eq!((row.epoch, row.holder, row.sealed), (theirs.epoch, OTHER, 0));
}

async fn of_two_openers_one_wins(engine: Arc<dyn Engine>) {
    engine.create(JOURNAL).await.unwrap();
    for round in 0..10 {
        let seen = Epoch::new(round);
        let holders = [ME, OTHER, SessionId::new(3)];
        let opens = holders.map(|holder| engine.open(Open { journal: JOURNAL, seen, holder }));
        let mut winners = 0;
        for opened in opens {
            // With an unkind default one of them may be told to try again; nothing has changed then.
            if let Ok(Some(opened)) = opened.await {
                assert_eq!(opened.epoch, Epoch::new(round + 1));
                winners += 1;
            }
        }
        assert_eq!(winners, 1);
    }
    let none = Open { journal: JournalId::new(99), seen: Epoch::default(), holder: ME };
    assert_eq!(engine.open(none).await.unwrap(), None);
}

async fn an_entry_is_taken_only_behind_the_one_that_it_names(engine: Arc<dyn Engine>) {
    let engine = &*engine;
    let opened = begin(engine, JOURNAL).await;
    let start = opened.last.position;
    let end = append_all(engine, JOURNAL, opened, &["a", "b"]).await;
    let wrong = [
        // The same again, and another in its place.
        entry(JOURNAL, opened.epoch, start, "a"),
        entry(JOURNAL, opened.epoch, start, "x"),
        // Behind a gap.
        entry(JOURNAL, opened.epoch, end.then(b"missing"), "x"),
        // Behind the right number of another history.
        entry(JOURNAL, opened.epoch, Position { chain: Chain::new(1), ..end }, "x"),
    ];
    for append in wrong {
        let outcome = engine.append(append.clone()).await;
        assert!(is_doubt(&outcome), "{append:?}: {outcome:?}");
    }
    assert_eq!(read(engine, JOURNAL, 1).await.len(), 2);
    assert_eq!(engine.append(entry(JOURNAL, opened.epoch, end, "c")).await, Outcome::Appended);
}

async fn of_entries_that_compete_for_a_number_one_is_taken(engine: Arc<dyn Engine>) {
    let old = begin(&*engine, JOURNAL).await;
    let new = open(&*engine, JOURNAL, OTHER).await;
    let mut position = new.last.position;
    for round in 0..30 {
        let compete = |number: u64| {
            let epoch = if number.is_multiple_of(2) { old.epoch } else { new.epoch };
            let append = entry(JOURNAL, epoch, position, &format!("{number} of {round}"));
            (append.position(), engine.append(append))
        };
        let mut taken = Vec::new();
        for (position, answer) in (0..9).map(compete).collect::<Vec<_>>() {
            if answer.await == Outcome::Appended {
                taken.push(position);
            }
        }
        let last = engine.last(JOURNAL).await.unwrap().unwrap();
        assert!(taken.len() <= 1, "{taken:?}");
        assert!(taken.iter().all(|it| *it == last.position && last.epoch == new.epoch));
        position = last.position;
    }
    assert!(position.number > 5);
}

async fn journals_in_one_statement_do_not_know_each_other(engine: Arc<dyn Engine>) {
    let engine = &*engine;
    let mut opened = Vec::new();
    for number in 1..=40 {
        opened.push((JournalId::new(number), begin(engine, JournalId::new(number)).await));
    }
    for round in 0..5 {
        // Every third is out of date.
        let is_stale = |journal: JournalId| journal.get().is_multiple_of(3);
        let text = format!("{round}");
        let answers: Vec<_> = opened
            .iter()
            .map(|(journal, opened)| {
                let epoch = if is_stale(*journal) { Epoch::new(9) } else { opened.epoch };
                engine.append(entry(*journal, epoch, opened.last.position, &text))
            })
            .collect();
        for ((journal, opened), answer) in opened.iter_mut().zip(answers) {
            match answer.await {
                Outcome::Appended if !is_stale(*journal) => {
                    opened.last.position = opened.last.position.then(&bytes(&text));
                }
                Outcome::InDoubt(_) if is_stale(*journal) => {}
                // A serialization failure of a group, under an unkind default: sent again in the next round.
                Outcome::NotAppended(_) => {}
                other => panic!("journal {journal}: {other:?}"),
            }
        }
    }
    for (journal, opened) in opened {
        let last = engine.last(journal).await.unwrap().unwrap();
        assert_eq!(last.position, opened.last.position, "journal {journal}");
    }
}

async fn a_seal_stops_everybody_until_it_is_lifted_by_its_name(engine: Arc<dyn Engine>) {
    let engine = &*engine;
    let opened = begin(engine, JOURNAL).await;
    let end = append_all(engine, JOURNAL, opened, &["a"]).await;
    assert_eq!(engine.seal(JOURNAL, Epoch::new(0), 5).await.unwrap(), None);
    let sealed = engine.seal(JOURNAL, opened.epoch, 5).await.unwrap().unwrap();
    assert_eq!(sealed.last.position, end);
    let row = engine.row(JOURNAL).await.unwrap().unwrap();
    assert_eq!((row.epoch, row.holder, row.sealed), (sealed.epoch, SessionId::NOBODY, 5));
    for epoch in [opened.epoch, sealed.epoch] {
        let open = Open { journal: JOURNAL, seen: epoch, holder: ME };
        assert_eq!(engine.open(open).await.unwrap(), None);
        assert_eq!(engine.seal(JOURNAL, epoch, 6).await.unwrap(), None);
    }
    assert!(is_doubt(&engine.append(entry(JOURNAL, opened.epoch, end, "b")).await));
    assert!(!engine.unseal(JOURNAL, 6).await.unwrap());
    assert!(engine.unseal(JOURNAL, 5).await.unwrap());
    assert!(!engine.unseal(JOURNAL, 5).await.unwrap());
    let reopened = open(engine, JOURNAL, OTHER).await;
    append_all(engine, JOURNAL, reopened, &["b"]).await;
}

async fn reads_are_bounded_and_begin_where_they_are_told(engine: Arc<dyn Engine>) {
    let engine = &*engine;
    let opened = begin(engine, JOURNAL).await;
    let long = "x".repeat(999);
    append_all(engine, JOURNAL, opened, &[long.as_str(); 10]).await;
    for (from, bytes_max, n_entries) in
        [(1, 3_000, 3), (1, 3_999, 3), (1, 0, 1), (8, usize::MAX, 3), (10, 1, 1), (11, 1, 0)]
    {
        let ReadEntries::Entries(entries) = engine.read(JOURNAL, from, bytes_max).await.unwrap()
        else {
            panic!("nothing is trimmed");
        };
        assert_eq!(entries.len(), n_entries, "from {from}, {bytes_max} bytes");
        assert!(entries.iter().zip(from..).all(|(entry, number)| entry.position.number == number));
    }
    let none = engine.read(JournalId::new(99), 1, 1).await.unwrap();
    assert_eq!(none, ReadEntries::Entries(vec![]));
}

async fn large_entries_come_back_and_too_large_ones_are_refused(engine: Arc<dyn Engine>) {
    let opened = begin(&*engine, JOURNAL).await;
    let mut append = entry(JOURNAL, opened.epoch, opened.last.position, "");
    for n_bytes in [1 << 20, (1 << 20) + 1, 9 << 20] {
        append.bytes = Bytes::from(vec![journal::FORMAT; n_bytes]);
        assert_eq!(engine.append(append.clone()).await, Outcome::Appended);
        append.after = append.position();
        let found = read(&*engine, JOURNAL, append.after.number).await;
        assert!(found[0].bytes == append.bytes && found[0].position == append.after);
    }
    append.bytes = Bytes::from(vec![journal::FORMAT; ENTRY_BYTES_MAX + 1]);
    assert!(matches!(engine.append(append.clone()).await, Outcome::NotAppended(_)));
    for wrong in [&b""[..], b"\x00", b"\xffx"] {
        append.bytes = Bytes::from_static(wrong);
        assert!(matches!(engine.append(append.clone()).await, Outcome::NotAppended(_)));
    }
}

fn base(id: u64, position: Position, chunks: u32) -> Base {
    let id = BaseId::new(id);
    Base { id, journal: JOURNAL, position, chunks, digest: [7; 32], confirmed: 0 }
}

/// Makes and confirms a base.
async fn confirmed_base(engine: &dyn Engine, id: u64, position: Position) {
    let base = base(id, position, 1);
    engine.put_chunk(base.id, 0, bytes("chunk")).await.unwrap();
    assert!(engine.publish(base).await.unwrap());
    assert!(engine.confirm(base.id, base.digest).await.unwrap());
}

async fn a_base_is_whole_or_not_there(engine: Arc<dyn Engine>) {
    let opened = begin(&*engine, JOURNAL).await;
    let end = append_all(&*engine, JOURNAL, opened, &["a"]).await;
    let made = base(1, end, 3);
    assert!(engine.put_chunk(made.id, 0, Bytes::from_static(b"\x00")).await.is_err());
    for chunk in [0, 2] {
        engine.put_chunk(made.id, chunk, bytes(&format!("chunk {chunk}"))).await.unwrap();
    }
    assert!(!engine.publish(made).await.unwrap(), "a chunk is missing");
    assert_eq!(engine.bases(JOURNAL).await.unwrap(), []);
    assert_eq!(engine.unfinished().await.unwrap(), [(made.id, 2)]);
    engine.put_chunk(made.id, 1, bytes("chunk 1")).await.unwrap();
    // Again, as after a lost answer.
    engine.put_chunk(made.id, 1, bytes("chunk 1")).await.unwrap();
    assert!(engine.publish(made).await.unwrap());
    assert!(engine.publish(made).await.unwrap());
    assert_eq!(engine.bases(JOURNAL).await.unwrap(), [made]);
    assert_eq!(engine.unfinished().await.unwrap(), []);
    assert_eq!(engine.chunk(made.id, 1).await.unwrap(), Some(bytes("chunk 1")));
    assert_eq!(engine.chunk(made.id, 3).await.unwrap(), None);
    assert!(!engine.confirm(made.id, [8; 32]).await.unwrap(), "another digest");
    assert!(engine.confirm(made.id, made.digest).await.unwrap());
    assert_eq!(engine.bases(JOURNAL).await.unwrap(), [Base { confirmed: 1, ..made }]);
    // A confirmed one is kept, one that is not goes, and so do chunks that nobody will finish.
    engine.discard(made.id).await.unwrap();
    assert_eq!(engine.bases(JOURNAL).await.unwrap().len(), 1);
    let (doubtful, unfinished) = (base(2, end, 1), BaseId::new(3));
    engine.put_chunk(doubtful.id, 0, bytes("x")).await.unwrap();
    assert!(engine.publish(doubtful).await.unwrap());
    for chunk in 0..100 {
        engine.put_chunk(unfinished, chunk, bytes("x")).await.unwrap();
    }
    engine.discard(doubtful.id).await.unwrap();
    engine.discard(unfinished).await.unwrap();
    assert_eq!(engine.unfinished().await.unwrap(), []);
    assert_eq!(engine.bases(JOURNAL).await.unwrap().len(), 1);
    assert_eq!(engine.chunk(doubtful.id, 0).await.unwrap(), None);
    assert!(!engine.publish(base(3, end, 100)).await.unwrap(), "its chunks are gone");
}

async fn trimming_keeps_what_two_confirmed_bases_need(engine: Arc<dyn Engine>) {
    let engine = &*engine;
    let opened = begin(engine, JOURNAL).await;
    let texts: Vec<String> = (1..=2_500).map(|n| n.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    append_all(engine, JOURNAL, opened, &texts).await;
    let at = |number: u64| {
        let start = Position::start(JOURNAL);
        texts[..usize::try_from(number).unwrap()].iter().fold(start, |at, it| at.then(&bytes(it)))
    };
    assert_eq!(engine.trim(JOURNAL).await.unwrap(), 0, "no base");
    confirmed_base(engine, 1, at(10)).await;
    assert_eq!(engine.trim(JOURNAL).await.unwrap(), 0, "one base may be wrong");
    let doubtful = base(2, at(20), 1);
    engine.put_chunk(doubtful.id, 0, bytes("x")).await.unwrap();
    assert!(engine.publish(doubtful).await.unwrap());
    assert_eq!(engine.trim(JOURNAL).await.unwrap(), 0, "the second is not confirmed");
    confirmed_base(engine, 3, at(2_200)).await;
    assert_eq!(engine.trim(JOURNAL).await.unwrap(), 10);
    assert_eq!(engine.trim(JOURNAL).await.unwrap(), 0);
    assert_eq!(engine.read(JOURNAL, 10, 1).await.unwrap(), ReadEntries::Trimmed);
    assert_eq!(engine.read(JOURNAL, 10, 0).await.unwrap(), ReadEntries::Trimmed);
    assert_eq!(engine.chain_at(JOURNAL, 10).await.unwrap(), None);
    assert_eq!(read(engine, JOURNAL, 11).await[0].bytes, bytes("11"));
    let numbers =
        |bases: Vec<Base>| -> Vec<u64> { bases.iter().map(|base| base.position.number).collect() };
    assert_eq!(numbers(engine.bases(JOURNAL).await.unwrap()), [2_200, 20, 10]);
    // Two at the very end: everything may go but for the entry that the next one names.
    confirmed_base(engine, 4, at(2_500)).await;
    assert_eq!(engine.trim(JOURNAL).await.unwrap(), 2_190);
    assert_eq!(numbers(engine.bases(JOURNAL).await.unwrap()), [2_500, 2_200]);
    assert_eq!(engine.unfinished().await.unwrap(), []);
    confirmed_base(engine, 5, at(2_500)).await;
    assert_eq!(engine.trim(JOURNAL).await.unwrap(), 299);
    let end = engine.last(JOURNAL).await.unwrap().unwrap().position;
    assert_eq!(end, at(2_500));
    assert_eq!(engine.append(entry(JOURNAL, opened.epoch, end, "next")).await, Outcome::Appended);
    // Number 1 is free, and yet not to be taken again.
    let first = entry(JOURNAL, opened.epoch, Position::start(JOURNAL), "1");
    assert!(is_doubt(&engine.append(first).await));
}

async fn a_removed_journal_leaves_nothing(engine: Arc<dyn Engine>) {
    let other = JournalId::new(8);
    let kept = begin(&*engine, other).await;
    append_all(&*engine, other, kept, &["kept"]).await;
    let opened = begin(&*engine, JOURNAL).await;
    let end = append_all(&*engine, JOURNAL, opened, &["a", "b"]).await;
    confirmed_base(&*engine, 1, end).await;
    for _ in 0..2 {
        engine.remove(JOURNAL).await.unwrap();
        assert_eq!(engine.row(JOURNAL).await.unwrap(), None);
        assert_eq!(engine.last(JOURNAL).await.unwrap(), None);
        assert_eq!(read(&*engine, JOURNAL, 1).await, []);
        assert_eq!(engine.bases(JOURNAL).await.unwrap(), []);
        assert_eq!(engine.unfinished().await.unwrap(), []);
    }
    assert!(is_doubt(&engine.append(entry(JOURNAL, opened.epoch, end, "c")).await));
    engine.put_chunk(BaseId::new(2), 0, bytes("x")).await.unwrap();
    assert!(!engine.publish(base(2, end, 1)).await.unwrap(), "a base of no journal");
    assert_eq!(read(&*engine, other, 1).await.len(), 1);
}

async fn a_proven_look_shows_what_is_there_to_the_living(engine: Arc<dyn Engine>) {
    let opened = begin(&*engine, JOURNAL).await;
    engine.register(member(1, "one")).await.unwrap();
    let empty = engine.prove(JOURNAL, 0, ME).await.unwrap().unwrap();
    assert_eq!(empty.row, engine.row(JOURNAL).await.unwrap().unwrap());
    assert_eq!((empty.last, empty.chain), (Last::none(JOURNAL), Some(Chain::start(JOURNAL))));
    let end = append_all(&*engine, JOURNAL, opened, &["a", "b"]).await;
    let look = engine.prove(JOURNAL, 2, ME).await.unwrap().unwrap();
    assert_eq!((look.last.position, look.chain), (end, Some(end.chain)));
    assert_eq!(engine.prove(JOURNAL, 3, ME).await.unwrap().unwrap().chain, None);
    assert_eq!(engine.members().await.unwrap()[0].beat, 3, "each look is a beat");
    assert_eq!(engine.prove(JOURNAL, 1, OTHER).await.unwrap(), None, "never registered");
    assert_eq!(engine.prove(JournalId::new(99), 1, ME).await.unwrap(), None);
    assert!(engine.end(ME, 4).await.unwrap());
    assert_eq!(engine.prove(JOURNAL, 1, ME).await.unwrap(), None, "ended");
}

async fn rows_are_paged(engine: Arc<dyn Engine>) {
    for number in [3, 1, 2, 10, 7] {
        engine.create(JournalId::new(number)).await.unwrap();
    }
    let mut found = Vec::new();
    let mut after = JournalId::new(0);
    loop {
        let page = engine.rows(after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.journal;
        found.extend(page.iter().map(|row| row.journal.get()));
    }
    assert_eq!(found, [1, 2, 3, 7, 10]);
}

fn member(session: u64, name: &str) -> NewMember {
    let session = SessionId::new(session);
    NewMember { session, name: name.into(), addresses: "http://127.0.0.1".into(), level_max: 1 }
}

async fn sessions_beat_and_end_for_good(engine: Arc<dyn Engine>) {
    assert_eq!(engine.register(member(1, "one")).await.unwrap(), Registered::Yes);
    assert_eq!(engine.register(member(1, "one")).await.unwrap(), Registered::Yes);
    for count in 1..=3 {
        let beat = engine.beat(ME).await.unwrap();
        assert_eq!(beat.beat, Some(count));
        assert_eq!(beat.cluster, engine.cluster().await.unwrap());
    }
    let members = engine.members().await.unwrap();
    assert_eq!((&members[0].member, members[0].beat), (&member(1, "one"), 3));
    assert!(!engine.end(ME, 2).await.unwrap(), "it has beaten since");
    assert!(engine.end(ME, 3).await.unwrap());
    assert!(!engine.end(ME, 3).await.unwrap());
    assert_eq!(engine.beat(ME).await.unwrap().beat, None);
    assert_eq!(engine.beat(OTHER).await.unwrap().beat, None, "never registered");
    assert!(engine.members().await.unwrap()[0].ended);
}

async fn names_are_unique_among_the_living(engine: Arc<dyn Engine>) {
    assert_eq!(engine.register(member(1, "same")).await.unwrap(), Registered::Yes);
    engine.beat(ME).await.unwrap();
    let Registered::NameInUse(found) = engine.register(member(2, "same")).await.unwrap() else {
        panic!("the name is in use");
    };
    assert_eq!((found.member, found.beat, found.ended), (member(1, "same"), 1, false));
    assert!(engine.end(ME, 1).await.unwrap());
    assert_eq!(engine.register(member(2, "same")).await.unwrap(), Registered::Yes);
    assert_eq!(engine.beat(OTHER).await.unwrap().beat, Some(1));
}

async fn a_session_is_forgotten_when_it_holds_nothing(engine: Arc<dyn Engine>) {
    engine.register(member(1, "one")).await.unwrap();
    begin(&*engine, JOURNAL).await;
    assert!(!engine.forget(ME).await.unwrap(), "not ended");
    assert!(engine.end(ME, 0).await.unwrap());
    assert!(!engine.forget(ME).await.unwrap(), "holds a journal");
    open(&*engine, JOURNAL, OTHER).await;
    assert!(engine.forget(ME).await.unwrap());
    assert!(!engine.forget(ME).await.unwrap());
    assert_eq!(engine.members().await.unwrap(), []);
}

async fn the_first_halt_stands_until_it_is_ended_by_its_message(engine: Arc<dyn Engine>) {
    engine.register(member(1, "one")).await.unwrap();
    assert_eq!(engine.cluster().await.unwrap().halted, None);
    engine.halt("first".into()).await.unwrap();
    engine.halt("second".into()).await.unwrap();
    assert_eq!(engine.beat(ME).await.unwrap().cluster.halted.as_deref(), Some("first"));
    assert!(!engine.resume("second".into()).await.unwrap());
    assert!(engine.resume("first".into()).await.unwrap());
    assert_eq!(engine.cluster().await.unwrap().halted, None);
}

async fn levels_rise_one_after_the_other(engine: Arc<dyn Engine>) {
    assert_eq!(engine.cluster().await.unwrap().level, 1);
    assert!(!engine.raise_level(2, 3).await.unwrap());
    assert!(engine.raise_level(1, 2).await.unwrap());
    assert!(!engine.raise_level(2, 1).await.unwrap(), "never down");
    assert_eq!(engine.cluster().await.unwrap().level, 2);
}
