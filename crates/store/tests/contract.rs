//! The contract of every store: one suite of claims, run for each.
//!
//! To add a store, add a line to `suite!` and an arm to `Kind`. To add a claim, write a function
//! and name it in the list.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use model::Env;
use store::{
    Batch, CACHE_BYTES_DEFAULT, DirectReads, Direction, Durability, EmbeddedOptions, Error, Ingest,
    KEY_BYTES_MAX, KeyRange, Snapshot, Store,
};
use tempfile::TempDir;

macro_rules! suite {
    ($($kind:ident => $value:expr),+; $claims:tt) => { $( suite!(@one $kind, $value, $claims); )+ };
    (@one $kind:ident, $value:expr, [$($claim:ident),+ $(,)?]) => {
        mod $kind {
            use super::*;
            $( #[test] fn $claim() { super::$claim(&Fixture::new($value)); } )+
        }
    };
}

suite!(
    memory => Kind::Memory,
    embedded_fsync => Kind::Embedded(Durability::Fsync, DirectReads::Compared),
    embedded_relaxed => Kind::Embedded(
        Durability::Relaxed { interval: Duration::from_millis(5) },
        DirectReads::On
    ),
    embedded_by_engine => Kind::Embedded(
        Durability::Relaxed { interval: Duration::from_millis(5) },
        DirectReads::Off
    );
    [
        an_empty_store_has_nothing,
        what_is_put_can_be_read_until_it_is_deleted,
        keys_come_in_byte_order_both_ways,
        a_scan_respects_its_bounds,
        a_scan_resumes_where_it_stopped,
        a_snapshot_never_changes,
        a_batch_is_seen_whole_or_not_at_all,
        the_last_write_to_a_key_counts,
        a_condition_holds_or_nothing_is_written,
        conditions_see_the_batches_called_before,
        conditions_do_not_see_their_own_batch,
        commit_order_is_call_order,
        an_empty_batch_is_a_barrier,
        empty_and_large_values_come_back,
        keys_beyond_the_limits_are_refused,
        a_commit_is_a_future,
        statistics_count_what_happened,
        a_closed_store_refuses_politely,
        random_batches_agree_with_a_map,
        what_was_acknowledged_is_there_after_reopening,
        a_load_is_there_when_it_has_finished,
        a_load_takes_only_ascending_puts,
        commits_go_on_beside_a_load,
        what_is_loaded_can_be_changed_like_anything_else,
        a_dropped_load_can_be_deleted_and_leaves_the_rest_alone,
        a_discarded_range_can_be_deleted_and_the_rest_is_untouched,
        a_sweep_reads_what_a_scan_reads,
        a_sweep_beside_writers_shows_one_moment,
        a_sweep_shows_what_was_hidden_since,
        every_snapshot_agrees_with_the_map_of_its_time,
        a_snapshot_shows_what_was_discarded_after_it,
        what_is_recalled_is_what_the_snapshot_shows,
    ]
);

#[derive(Clone, Copy)]
enum Kind {
    Memory,
    Embedded(Durability, DirectReads),
}

impl Kind {
    fn reads_directly(self) -> bool {
        matches!(self, Kind::Embedded(_, DirectReads::On | DirectReads::Compared))
    }
}

struct Fixture {
    kind: Kind,
    dir: TempDir,
    store: Arc<dyn Store>,
}

impl Fixture {
    fn new(kind: Kind) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let store = open(kind, &dir);
        Fixture { kind, dir, store }
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.store.snapshot()
    }

    #[track_caller]
    fn commit(&self, batch: Batch) {
        self.store.commit(batch).wait().unwrap();
    }
}

fn open(kind: Kind, dir: &TempDir) -> Arc<dyn Store> {
    match kind {
        Kind::Memory => store::open_memory(),
        Kind::Embedded(durability, direct_reads) => {
            let options = EmbeddedOptions {
                durability,
                cache_bytes: CACHE_BYTES_DEFAULT,
                direct_reads,
                env: Env::system(),
            };
            store::open_embedded(dir.path(), &options).unwrap()
        }
    }
}

fn puts(entries: &[(&'static str, &'static str)]) -> Batch {
    let mut batch = Batch::new();
    for (key, value) in entries {
        batch.put(*key, *value);
    }
    batch
}

#[allow(clippy::unnecessary_wraps, reason = "every caller wants it wrapped")]
fn value(text: &'static str) -> Option<Bytes> {
    Some(Bytes::from_static(text.as_bytes()))
}

fn keys(snapshot: &dyn Snapshot, range: KeyRange, direction: Direction) -> Vec<String> {
    let entries = snapshot.scan(range, direction);
    entries.map(|entry| String::from_utf8(entry.unwrap().0.to_vec()).unwrap()).collect()
}

fn forward(fixture: &Fixture, range: KeyRange) -> String {
    keys(&*fixture.snapshot(), range, Direction::Forward).join(" ")
}

fn backward(fixture: &Fixture, range: KeyRange) -> String {
    keys(&*fixture.snapshot(), range, Direction::Backward).join(" ")
}

fn an_empty_store_has_nothing(fixture: &Fixture) {
    let snapshot = fixture.snapshot();
    assert_eq!(snapshot.get(b"a"), Ok(None));
    assert_eq!(snapshot.get(b""), Ok(None));
    assert_eq!(snapshot.contains(b"a"), Ok(false));
    assert_eq!(forward(fixture, KeyRange::all()), "");
    assert_eq!(backward(fixture, KeyRange::all()), "");
}

fn what_is_put_can_be_read_until_it_is_deleted(fixture: &Fixture) {
    fixture.commit(puts(&[("a", "1"), ("b", "2")]));
    assert_eq!(fixture.snapshot().get(b"a"), Ok(value("1")));
    assert_eq!(fixture.snapshot().contains(b"b"), Ok(true));
    let mut batch = puts(&[("a", "3")]);
    batch.delete("b");
    batch.delete("never there");
    fixture.commit(batch);
    assert_eq!(fixture.snapshot().get(b"a"), Ok(value("3")));
    assert_eq!(fixture.snapshot().contains(b"b"), Ok(false));
    assert_eq!(forward(fixture, KeyRange::all()), "a");
}

fn keys_come_in_byte_order_both_ways(fixture: &Fixture) {
    let mut batch = Batch::new();
    let ordered: [&[u8]; 7] = [b"\0", b"\0\0", b"A", b"a", b"a\0", b"a\xff", b"\xff\xff"];
    for key in ordered.iter().rev() {
        batch.put(*key, *key);
    }
    fixture.commit(batch);
    let snapshot = fixture.snapshot();
    let walk = |direction| -> Vec<Bytes> {
        snapshot.scan(KeyRange::all(), direction).map(|entry| entry.unwrap().0).collect()
    };
    assert_eq!(walk(Direction::Forward), ordered);
    let mut reversed = walk(Direction::Backward);
    reversed.reverse();
    assert_eq!(reversed, ordered);
}

fn a_scan_respects_its_bounds(fixture: &Fixture) {
    fixture.commit(puts(&[("a", ""), ("b", ""), ("ba", ""), ("bb", ""), ("c", ""), ("d", "")]));
    let table = [
        (KeyRange::all(), "a b ba bb c d"),
        (KeyRange::new("b", "c"), "b ba bb"),
        (KeyRange::new("aa", "cc"), "b ba bb c"),
        (KeyRange::from("c"), "c d"),
        (KeyRange::prefix(b"b"), "b ba bb"),
        (KeyRange::prefix(b"bb"), "bb"),
        (KeyRange::prefix(b"x"), ""),
        (KeyRange::new("b", "b"), ""),
        (KeyRange::new("c", "b"), ""),
        (KeyRange::new("", "b"), "a"),
    ];
    for (range, expected) in table {
        assert_eq!(forward(fixture, range.clone()), expected, "{range:?}");
        let reversed: Vec<&str> = expected.split_whitespace().rev().collect();
        assert_eq!(backward(fixture, range.clone()), reversed.join(" "), "{range:?}");
    }
}

fn a_scan_resumes_where_it_stopped(fixture: &Fixture) {
    fixture.commit(puts(&[("a", ""), ("b", ""), ("b\0", ""), ("c", "")]));
    let range = KeyRange::new("a", "d");
    assert_eq!(forward(fixture, range.clone().after(b"b")), "b\0 c");
    assert_eq!(backward(fixture, range.clone().before(b"b\0")), "b a");
    assert_eq!(forward(fixture, range.after(b"c")), "");
}

fn a_snapshot_never_changes(fixture: &Fixture) {
    fixture.commit(puts(&[("a", "1"), ("b", "1")]));
    let before = fixture.snapshot();
    let mut scan = before.scan(KeyRange::all(), Direction::Forward);
    let mut batch = puts(&[("a", "2"), ("c", "2")]);
    batch.delete("b");
    fixture.commit(batch);
    assert_eq!(before.get(b"a"), Ok(value("1")));
    assert_eq!(before.get(b"c"), Ok(None));
    assert_eq!(keys(&*before, KeyRange::all(), Direction::Backward), ["b", "a"]);
    assert_eq!(scan.next().unwrap().unwrap().1, "1");
    assert_eq!(scan.next().unwrap().unwrap().0, "b");
    assert!(scan.next().is_none());
    assert_eq!(forward(fixture, KeyRange::all()), "a c");
}

/// Two keys always hold the same value while a writer changes both and a reader looks.
fn a_batch_is_seen_whole_or_not_at_all(fixture: &Fixture) {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..200_u32 {
                let mut batch = Batch::new();
                batch.put("first", round.to_be_bytes().to_vec());
                batch.put("second", round.to_be_bytes().to_vec());
                fixture.commit(batch);
            }
            is_done.store(true, Ordering::SeqCst);
        });
        while !is_done.load(Ordering::SeqCst) {
            let snapshot = fixture.snapshot();
            assert_eq!(snapshot.get(b"first"), snapshot.get(b"second"));
        }
    });
}

fn the_last_write_to_a_key_counts(fixture: &Fixture) {
    let mut batch = puts(&[("a", "1"), ("a", "2"), ("b", "1")]);
    batch.delete("b");
    batch.delete("c");
    batch.put("c", "3");
    fixture.commit(batch);
    assert_eq!(fixture.snapshot().get(b"a"), Ok(value("2")));
    assert_eq!(forward(fixture, KeyRange::all()), "a c");
}

fn a_condition_holds_or_nothing_is_written(fixture: &Fixture) {
    fixture.commit(puts(&[("a", "1"), ("empty", "")]));
    let table = [
        ("a", value("1"), true),
        ("a", value("2"), false),
        ("a", None, false),
        ("b", None, true),
        ("b", value("1"), false),
        ("b", value(""), false),
        ("empty", value(""), true),
        ("empty", None, false),
    ];
    for (key, expected, holds) in table {
        let mut batch = puts(&[("first", "x")]);
        batch.expect("a", value("1"));
        batch.expect(key, expected.clone());
        batch.put("last", "x");
        let answer = fixture.store.commit(batch).wait();
        assert_eq!(answer, if holds { Ok(()) } else { Err(Error::Conflict) }, "{key} {expected:?}");
        assert_eq!(fixture.snapshot().contains(b"first"), Ok(holds), "{key} {expected:?}");
        assert_eq!(fixture.snapshot().contains(b"last"), Ok(holds), "{key} {expected:?}");
        let mut clean = Batch::new();
        clean.delete("first");
        clean.delete("last");
        fixture.commit(clean);
    }
}

/// Called without waiting, so that a store with group commit finds them in one group.
fn conditions_see_the_batches_called_before(fixture: &Fixture) {
    let conditional = |expected: Option<Bytes>, new: Option<&'static str>| {
        let mut batch = Batch::new();
        batch.expect("k", expected);
        match new {
            Some(new) => batch.put("k", new),
            None => batch.delete("k"),
        }
        fixture.store.commit(batch)
    };
    // Something to chew on first.
    let mut large = Batch::new();
    large.put("large", vec![1; 1 << 20]);
    let large = fixture.store.commit(large);
    let commits = [
        (conditional(None, Some("1")), Ok(())),
        (conditional(None, Some("x")), Err(Error::Conflict)),
        (conditional(value("1"), Some("2")), Ok(())),
        (conditional(value("1"), Some("x")), Err(Error::Conflict)),
        (conditional(value("2"), None), Ok(())),
        (conditional(value("2"), Some("x")), Err(Error::Conflict)),
        (conditional(None, Some("3")), Ok(())),
    ];
    large.wait().unwrap();
    for (index, (commit, expected)) in commits.into_iter().enumerate() {
        assert_eq!(commit.wait(), expected, "batch {index}");
    }
    assert_eq!(fixture.snapshot().get(b"k"), Ok(value("3")));
}

fn conditions_do_not_see_their_own_batch(fixture: &Fixture) {
    let mut batch = puts(&[("a", "1")]);
    batch.expect("a", None);
    batch.put("b", "1");
    fixture.commit(batch);
    assert_eq!(forward(fixture, KeyRange::all()), "a b");
}

/// Writers take numbers under a lock and call `commit` there, without waiting. Each batch expects
/// the number before, so any reordering is a conflict; a reader checks that no snapshot has a gap.
fn commit_order_is_call_order(fixture: &Fixture) {
    const N_WRITERS: u64 = 8;
    const N_BATCHES: u64 = 100;
    let next = Mutex::new(1_u64);
    let is_done = AtomicBool::new(false);
    let write = || {
        let mut commits = Vec::new();
        for _ in 0..N_BATCHES {
            let mut next = next.lock().unwrap();
            let before = (*next > 1).then(|| Bytes::from((*next - 1).to_be_bytes().to_vec()));
            let mut batch = Batch::new();
            batch.expect("head", before);
            batch.put("head", next.to_be_bytes().to_vec());
            batch.put(format!("n/{:06}", *next), "");
            *next += 1;
            commits.push(fixture.store.commit(batch));
        }
        for commit in commits {
            commit.wait().unwrap();
        }
    };
    let check = || {
        let snapshot = fixture.snapshot();
        let head = snapshot
            .get(b"head")
            .unwrap()
            .map_or(0, |head| u64::from_be_bytes(<[u8; 8]>::try_from(&head[..]).unwrap()));
        let numbers = keys(&*snapshot, KeyRange::prefix(b"n/"), Direction::Forward);
        let expected: Vec<String> = (1..=head).map(|number| format!("n/{number:06}")).collect();
        assert_eq!(numbers, expected);
        head
    };
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !is_done.load(Ordering::SeqCst) {
                check();
            }
        });
        let writers: Vec<_> = (0..N_WRITERS).map(|_| scope.spawn(write)).collect();
        let outcomes: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::SeqCst);
        reader.join().unwrap();
        assert!(outcomes.iter().all(Result::is_ok), "no commit lost its place");
    });
    assert_eq!(check(), N_WRITERS * N_BATCHES);
}

fn an_empty_batch_is_a_barrier(fixture: &Fixture) {
    let first = fixture.store.commit(puts(&[("a", "1")]));
    fixture.store.commit(Batch::new()).wait().unwrap();
    assert_eq!(fixture.snapshot().get(b"a"), Ok(value("1")));
    assert_eq!(first.wait(), Ok(()));
}

fn empty_and_large_values_come_back(fixture: &Fixture) {
    let sizes = [0_usize, 1, 4_095, 4_096, 65_535, 65_536, 2 << 20, 5 << 20];
    let content = |size: usize| -> Vec<u8> {
        (0..size).map(|index| u8::try_from((index * 7 + size) % 251).unwrap()).collect()
    };
    for size in sizes {
        let mut batch = Batch::new();
        batch.put(format!("v/{size}"), content(size));
        batch.put(vec![b'k'; (size % KEY_BYTES_MAX).max(1)], "");
        fixture.commit(batch);
    }
    let snapshot = fixture.snapshot();
    for size in sizes {
        let found = snapshot.get(format!("v/{size}").as_bytes()).unwrap().unwrap();
        assert!(found == content(size), "value of {size} bytes");
    }
    assert_eq!(snapshot.scan(KeyRange::prefix(b"v/"), Direction::Backward).count(), sizes.len());
}

fn keys_beyond_the_limits_are_refused(fixture: &Fixture) {
    for size in [0, KEY_BYTES_MAX + 1] {
        let mut batch = puts(&[("a", "1")]);
        batch.put(vec![b'k'; size], "");
        let answer = fixture.store.commit(batch).wait();
        assert!(matches!(answer, Err(Error::Corrupt(_))), "{size}: {answer:?}");
    }
    fixture.commit(puts(&[("b", "1")]));
    assert_eq!(forward(fixture, KeyRange::all()), "b");
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn a_commit_is_a_future(fixture: &Fixture) {
    let mut commit = pin!(fixture.store.commit(puts(&[("a", "1")])));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    while commit.as_mut().poll(&mut context).is_pending() {
        thread::park_timeout(Duration::from_secs(10));
    }
    assert_eq!(commit.as_mut().poll(&mut context), Poll::Ready(Ok(())));
    assert_eq!(fixture.snapshot().get(b"a"), Ok(value("1")));
}

fn statistics_count_what_happened(fixture: &Fixture) {
    fixture.commit(puts(&[("a", "1"), ("b", "2")]));
    fixture.commit(puts(&[("c", "3")]));
    let mut batch = puts(&[("d", "4")]);
    batch.expect("a", None);
    assert_eq!(fixture.store.commit(batch).wait(), Err(Error::Conflict));
    let statistics = fixture.store.statistics();
    assert_eq!((statistics.commits, statistics.conflicts, statistics.operations), (2, 1, 3));
    assert_eq!((statistics.groups, statistics.bytes, statistics.waiting), (2, 6, 0));
    assert_eq!(statistics.latencies.count(), 2);
    match fixture.kind {
        Kind::Memory => assert_eq!((statistics.syncs, statistics.disk_bytes), (0, 0)),
        Kind::Embedded(Durability::Fsync, _) => {
            assert_eq!(statistics.syncs, 2);
            // Logs are set to 64 MiB in advance; only what is filled counts.
            assert!((1..16 << 20).contains(&statistics.disk_bytes), "{statistics:?}");
        }
        Kind::Embedded(Durability::Relaxed { .. }, _) => wait_for_sync(fixture),
    }
}

/// Relaxed stores sync by themselves, also when nothing more is written.
fn wait_for_sync(fixture: &Fixture) {
    let has_synced = (0..2_000).any(|_| {
        thread::sleep(Duration::from_millis(5));
        fixture.store.statistics().syncs > 0
    });
    assert!(has_synced, "no sync within ten seconds");
}

fn a_closed_store_refuses_politely(fixture: &Fixture) {
    fixture.commit(puts(&[("a", "1")]));
    let before = fixture.snapshot();
    let waiting = fixture.store.commit(puts(&[("b", "1")]));
    fixture.store.close().unwrap();
    assert_eq!(waiting.wait(), Ok(()), "what was called before is finished");
    fixture.store.close().unwrap();
    let answer = fixture.store.commit(puts(&[("c", "1")])).wait();
    assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    let after = fixture.snapshot();
    assert!(matches!(after.get(b"a"), Err(Error::Unavailable(_))));
    let mut scan = after.scan(KeyRange::all(), Direction::Forward);
    assert!(matches!(scan.next(), Some(Err(Error::Unavailable(_)))));
    assert!(scan.next().is_none());
    assert_eq!(before.get(b"a"), Ok(value("1")), "older snapshots stay readable");
}

/// A thousand random batches over a few keys, against a map; closed and opened on the way.
fn random_batches_agree_with_a_map(fixture: &Fixture) {
    let env = Env::fixed(7, 0);
    let mut expected: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut store = Arc::clone(&fixture.store);
    for round in 0..1_000_u32 {
        let mut batch = Batch::new();
        let mut next = expected.clone();
        for _ in 0..env.random_u64() % 5 {
            let key = format!("{:02}", env.random_u64() % 40).into_bytes();
            if env.random_u64().is_multiple_of(3) {
                next.remove(&key);
                batch.delete(key);
            } else {
                let value = format!("{round}").into_bytes();
                next.insert(key.clone(), value.clone());
                batch.put(key, value);
            }
        }
        let guess = format!("{:02}", env.random_u64() % 40).into_bytes();
        let holds = env.random_u64().is_multiple_of(2);
        let current = expected.get(&guess).map(|value| Bytes::from(value.clone()));
        batch.expect(guess, if holds { current } else { value("wrong") });
        let answer = store.commit(batch).wait();
        assert_eq!(answer, if holds { Ok(()) } else { Err(Error::Conflict) }, "round {round}");
        if holds {
            expected = next;
        }
        if round % 250 == 249 && matches!(fixture.kind, Kind::Embedded(..)) {
            store.close().unwrap();
            store = open(fixture.kind, &fixture.dir);
        }
        if round % 50 == 0 || round == 999 {
            let snapshot = store.snapshot();
            let found = snapshot.scan(KeyRange::all(), Direction::Forward).map(Result::unwrap);
            assert!(found.eq(expected.clone().into_iter().map(|(k, v)| (k.into(), v.into()))));
        }
    }
}

/// Three ways to end: an orderly close, a plain drop, and a close with a reader still there.
fn what_was_acknowledged_is_there_after_reopening(fixture: &Fixture) {
    let Kind::Embedded(..) = fixture.kind else { return };
    fixture.commit(puts(&[("a", "1"), ("b", "1")]));
    let reader = fixture.snapshot();
    fixture.store.close().unwrap();
    let options = EmbeddedOptions {
        durability: Durability::Fsync,
        cache_bytes: CACHE_BYTES_DEFAULT,
        direct_reads: DirectReads::Compared,
        env: Env::system(),
    };
    let locked = store::open_embedded(fixture.dir.path(), &options).unwrap_err();
    assert!(locked.to_string().contains("in use by this process"), "{locked}");
    drop(reader);

    let store = open(fixture.kind, &fixture.dir);
    let mut batch = puts(&[("c", "2")]);
    batch.expect("a", value("1"));
    batch.delete("b");
    store.commit(batch).wait().unwrap();
    drop(store);

    let store = open(fixture.kind, &fixture.dir);
    let snapshot = store.snapshot();
    assert_eq!(keys(&*snapshot, KeyRange::all(), Direction::Forward), ["a", "c"]);
    assert_eq!(snapshot.get(b"c"), Ok(value("2")));
    assert_eq!(store.statistics().commits, 0, "counters start anew");
}

/// Loads `first..last` in batches of a hundred; values are a KiB, so that some hundreds are more than one commit.
fn load_some(
    store: &Arc<dyn Store>,
    prefix: &str,
    numbers: std::ops::Range<u32>,
) -> Box<dyn Ingest> {
    let mut ingest = Arc::clone(store).ingest().unwrap();
    for first in numbers.clone().step_by(100) {
        let mut batch = Batch::new();
        for number in first..(first + 100).min(numbers.end) {
            batch.put(loaded_key(prefix, number), loaded_value(number));
        }
        ingest.write(batch).wait().unwrap();
    }
    ingest
}

fn loaded_key(prefix: &str, number: u32) -> String {
    format!("{prefix}/{number:06}")
}

fn loaded_value(number: u32) -> Vec<u8> {
    vec![u8::try_from(number % 251).unwrap(); 1024]
}

#[track_caller]
fn assert_loaded(snapshot: &dyn Snapshot, prefix: &str, numbers: std::ops::Range<u32>) {
    let found = snapshot.scan(KeyRange::prefix(prefix.as_bytes()), Direction::Forward);
    let expected = numbers.map(|number| (loaded_key(prefix, number), loaded_value(number)));
    let expected = expected.map(|(key, value)| (Bytes::from(key), Bytes::from(value)));
    assert!(found.map(Result::unwrap).eq(expected), "{prefix}");
}

fn delete_all(fixture: &Fixture, range: &KeyRange) {
    let mut batch = Batch::new();
    for key in keys(&*fixture.snapshot(), range.clone(), Direction::Forward) {
        batch.delete(key);
    }
    fixture.commit(batch);
}

fn reopen(fixture: &mut Fixture, is_orderly: bool) {
    if let Kind::Embedded(..) = fixture.kind {
        if is_orderly {
            fixture.store.close().unwrap();
        }
        fixture.store = store::open_memory();
        fixture.store = open(fixture.kind, &fixture.dir);
    }
}

/// A load that is one commit, one that has a table of its own, and an empty one.
fn a_load_is_there_when_it_has_finished(fixture: &Fixture) {
    let mut fixture = Fixture::new(fixture.kind);
    for is_orderly in [false, true] {
        let round = if is_orderly { "b" } else { "a" };
        let sizes = [("small", 10), ("large", 3_000), ("none", 0)];
        for (name, n_entries) in sizes {
            let ingest = load_some(&fixture.store, &format!("{round}{name}"), 0..n_entries);
            ingest.finish().wait().unwrap();
            assert_loaded(&*fixture.snapshot(), &format!("{round}{name}"), 0..n_entries);
        }
        reopen(&mut fixture, is_orderly);
        for (name, n_entries) in sizes {
            assert_loaded(&*fixture.snapshot(), &format!("{round}{name}"), 0..n_entries);
        }
    }
}

fn a_load_takes_only_ascending_puts(fixture: &Fixture) {
    let (mut delete, mut condition) = (Batch::new(), Batch::new());
    delete.delete("x");
    condition.expect("x", None);
    condition.put("x", "");
    for refused in [puts(&[("b", ""), ("a", "")]), puts(&[("a", "")]), delete, condition] {
        let mut ingest = Arc::clone(&fixture.store).ingest().unwrap();
        ingest.write(puts(&[("a", "")])).wait().unwrap();
        assert!(matches!(ingest.write(refused).wait(), Err(Error::Corrupt(_))));
    }
}

fn commits_go_on_beside_a_load(fixture: &Fixture) {
    let mut fixture = Fixture::new(fixture.kind);
    fixture.commit(puts(&[("m/before", "1"), ("z", "1")]));
    let before = fixture.snapshot();
    let is_over = AtomicBool::new(false);
    let n_commits = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut n_commits = 0_u32;
            while n_commits == 0 || !is_over.load(Ordering::SeqCst) {
                let mut batch = puts(&[("z", "2")]);
                batch.put(format!("n/{n_commits:06}"), loaded_value(n_commits));
                fixture.commit(batch);
                n_commits += 1;
            }
            n_commits
        });
        load_some(&fixture.store, "load", 0..5_000).finish().wait().unwrap();
        assert_loaded(&*fixture.snapshot(), "load", 0..5_000);
        is_over.store(true, Ordering::SeqCst);
        writer.join().unwrap()
    });
    assert_eq!(keys(&*before, KeyRange::all(), Direction::Forward), ["m/before", "z"]);
    drop(before);
    for _ in 0..2 {
        let snapshot = fixture.snapshot();
        assert_loaded(&*snapshot, "load", 0..5_000);
        assert_loaded(&*snapshot, "n", 0..n_commits);
        assert_eq!(snapshot.get(b"z"), Ok(value("2")));
        drop(snapshot);
        reopen(&mut fixture, false);
    }
}

fn what_is_loaded_can_be_changed_like_anything_else(fixture: &Fixture) {
    let mut fixture = Fixture::new(fixture.kind);
    load_some(&fixture.store, "load", 0..2_000).finish().wait().unwrap();
    let mut batch = Batch::new();
    batch.expect(loaded_key("load", 7), Some(loaded_value(7).into()));
    batch.put(loaded_key("load", 7), "new");
    for number in 8..2_000 {
        batch.delete(loaded_key("load", number));
    }
    fixture.commit(batch);
    for _ in 0..2 {
        let snapshot = fixture.snapshot();
        assert_eq!(keys(&*snapshot, KeyRange::all(), Direction::Forward).len(), 8);
        assert_eq!(snapshot.get(loaded_key("load", 7).as_bytes()), Ok(value("new")));
        drop(snapshot);
        reopen(&mut fixture, true);
    }
}

fn a_dropped_load_can_be_deleted_and_leaves_the_rest_alone(fixture: &Fixture) {
    let mut fixture = Fixture::new(fixture.kind);
    fixture.commit(puts(&[("a", "1"), ("z", "1")]));
    drop(load_some(&fixture.store, "small", 0..10));
    drop(load_some(&fixture.store, "large", 0..3_000));
    reopen(&mut fixture, false);
    for _ in 0..2 {
        delete_all(&fixture, &KeyRange::new("b", "y"));
        let snapshot = fixture.snapshot();
        assert_eq!(keys(&*snapshot, KeyRange::all(), Direction::Forward), ["a", "z"]);
        drop(snapshot);
        reopen(&mut fixture, true);
    }
}

fn a_discarded_range_can_be_deleted_and_the_rest_is_untouched(fixture: &Fixture) {
    let mut fixture = Fixture::new(fixture.kind);
    for (index, name) in ["k", "l", "m"].iter().enumerate() {
        load_some(&fixture.store, name, 0..2_000).finish().wait().unwrap();
        let mut batch = Batch::new();
        for number in 2_000..2_100 {
            batch.put(loaded_key(name, number), loaded_value(number));
        }
        fixture.commit(batch);
        if index == 1 {
            reopen(&mut fixture, true);
        }
    }
    let range = KeyRange::prefix(b"l/");
    fixture.store.discard(range.clone()).wait().unwrap();
    let is_table = matches!(fixture.kind, Kind::Embedded(..));
    let n_left = keys(&*fixture.snapshot(), range.clone(), Direction::Forward).len();
    assert_eq!(n_left < 2_100, is_table, "{n_left}: what has a table of its own goes at once");
    delete_all(&fixture, &range);
    for _ in 0..2 {
        let snapshot = fixture.snapshot();
        assert_loaded(&*snapshot, "k", 0..2_100);
        assert_loaded(&*snapshot, "m", 0..2_100);
        assert_eq!(keys(&*snapshot, range.clone(), Direction::Forward).len(), 0);
        drop(snapshot);
        reopen(&mut fixture, false);
    }
}

/// The engine looks after every 10,000 of them which versions of a key nobody needs any more.
fn let_go_of_snapshots(fixture: &Fixture, n: usize) {
    for _ in 0..n {
        fixture.store.snapshot_for_bulk_scan(&KeyRange::new("", ""));
    }
}

/// The engine drops what later writes hide when they go to a table, though this snapshot shows it.
fn a_sweep_shows_what_was_hidden_since(fixture: &Fixture) {
    let fixture = Fixture::new(fixture.kind);
    for (key, value) in [("k", "before"), ("other", "one commit later")] {
        let mut batch = Batch::new();
        batch.put(key, value);
        fixture.commit(batch);
    }
    let snapshot = fixture.store.snapshot_for_bulk_scan(&KeyRange::all());
    let_go_of_snapshots(&fixture, 10_000);
    let mut batch = Batch::new();
    batch.put("k", "after");
    fixture.commit(batch);
    fixture.store.prepare_bulk_scan().wait().unwrap();
    let swept: Vec<_> =
        store::BulkScan::new(snapshot, KeyRange::all()).map(Result::unwrap).collect();
    assert_eq!(
        swept,
        [("k", "before"), ("other", "one commit later")].map(|(k, v)| (k.into(), v.into()))
    );
}

/// Each snapshot is of one moment, whatever is written and moved to tables then.
fn a_sweep_beside_writers_shows_one_moment(fixture: &Fixture) {
    const N_KEYS: u32 = 50;
    let fixture = Fixture::new(fixture.kind);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A commit gives all keys one value, or none of them another.
            for round in 0.. {
                let mut batch = Batch::new();
                batch.put("other", format!("round {round}"));
                for number in 0..if round % 8 == 0 { N_KEYS } else { 0 } {
                    batch.put(loaded_key("k", number), format!("round {round}"));
                }
                fixture.commit(batch);
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                thread::sleep(Duration::from_micros(100));
            }
        });
        let (mut n_direct, mut before) = (0, VecDeque::new());
        for turn in 0..30 {
            if turn % 3 == 0 {
                fixture.store.prepare_bulk_scan().wait().unwrap();
            }
            let snapshot = fixture.store.snapshot_for_bulk_scan(&KeyRange::all());
            n_direct += usize::from(snapshot.bulk_scan(&KeyRange::all()).is_some());
            before.push_back(snapshot);
            if before.len() > 4 {
                before.pop_front();
            }
            let_go_of_snapshots(&fixture, 10_000);
            // Read when the engine has gone on.
            let snapshot = &before[0];
            let swept = store::BulkScan::new(Arc::clone(snapshot), KeyRange::all());
            let swept: Vec<_> = swept.map(Result::unwrap).collect();
            let scanned = snapshot.scan(KeyRange::all(), Direction::Forward);
            assert!(swept.iter().cloned().map(Ok).eq(scanned), "{turn}");
            let is_k = |key: &Bytes| key.starts_with(b"k/");
            let values = swept.iter().filter(|(key, _)| is_k(key)).map(|(_, value)| value);
            assert!(values.clone().all(|value| *value == swept[0].1), "{turn}");
            assert!(swept.is_empty() || values.count() == N_KEYS as usize, "{turn}");
        }
        is_over.store(true, Ordering::SeqCst);
        if fixture.kind.reads_directly() {
            assert!(n_direct > 10, "{n_direct}");
        }
    });
}

/// Keys of several ages: loaded, changed, deleted and written again, partly after the snapshot was taken.
fn a_sweep_reads_what_a_scan_reads(fixture: &Fixture) {
    let fixture = Fixture::new(fixture.kind);
    let env = Env::fixed(7, 0);
    let mut snapshots = vec![fixture.snapshot()];
    for (round, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        load_some(&fixture.store, name, 0..1_000).finish().wait().unwrap();
        let mut batch = Batch::new();
        for _ in 0..400 {
            let name = ["a", "b", "c", "d"][usize::try_from(env.random_u64() % 4).unwrap()];
            let key = loaded_key(name, u32::try_from(env.random_u64() % 1_100).unwrap());
            match env.random_u64() % 3 {
                0 => batch.delete(key),
                _ => batch.put(key, format!("round {round}")),
            }
        }
        if round % 2 == 1 {
            // Moves older entries out of memory than these, and they stay there.
            fixture.store.prepare_bulk_scan().wait().unwrap();
        }
        fixture.commit(batch);
        snapshots.push(fixture.snapshot());
        let bulk_scan = fixture.store.snapshot_for_bulk_scan(&KeyRange::all());
        assert_eq!(bulk_scan.bulk_scan(&KeyRange::all()).is_some(), fixture.kind.reads_directly());
        snapshots.push(bulk_scan);
        snapshots.push(fixture.store.snapshot_for_bulk_scan(&KeyRange::prefix(b"b/")));
        if round % 2 == 1 {
            // One that is read to its end between the rounds disturbs none of the others.
            assert!(store::BulkScan::new(fixture.snapshot(), KeyRange::all()).count() > 1_000);
        }
    }
    // What hides the entries of these snapshots goes to tables while they are open.
    fixture.store.prepare_bulk_scan().wait().unwrap();
    let mut ranges = vec![KeyRange::all(), KeyRange::prefix(b"b/"), KeyRange::new("x", "z")];
    ranges.push(KeyRange::new(loaded_key("a", 17), loaded_key("a", 18)));
    ranges.push(KeyRange::new(loaded_key("a", 990), loaded_key("c", 700)));
    ranges.push(KeyRange::from(loaded_key("c", 1_000)));
    ranges.push(KeyRange::new("b", "a"));
    for (age, snapshot) in snapshots.iter().enumerate() {
        for range in &ranges {
            let swept = store::BulkScan::new(Arc::clone(snapshot), range.clone());
            let scanned = snapshot.scan(range.clone(), Direction::Forward);
            assert!(swept.eq(scanned), "{age} {range:?}");
        }
    }
}

/// Snapshots of different ages, read again and again while later writes hide what they show, and are moved to tables.
fn every_snapshot_agrees_with_the_map_of_its_time(fixture: &Fixture) {
    const N_KEYS: u64 = 60;
    let fixture = Fixture::new(fixture.kind);
    let env = Env::fixed(11, 0);
    let random = |n: u64| env.random_u64() % n;
    let mut map: BTreeMap<Bytes, Bytes> = BTreeMap::new();
    let mut ages = VecDeque::new();
    for round in 0..400_u32 {
        let mut batch = Batch::new();
        for _ in 0..random(6) {
            let key = Bytes::from(format!("{:02}", random(N_KEYS)));
            if random(3) == 0 {
                map.remove(&key);
                batch.delete(key);
            } else {
                let value = Bytes::from(format!("round {round}"));
                map.insert(key.clone(), value.clone());
                batch.put(key, value);
            }
        }
        fixture.commit(batch);
        ages.push_back((fixture.snapshot(), map.clone()));
        if ages.len() > 8 {
            ages.remove(usize::try_from(random(9)).unwrap());
        }
        match random(12) {
            0 => fixture.store.prepare_bulk_scan().wait().unwrap(),
            1 => let_go_of_snapshots(&fixture, 10_000),
            _ => {}
        }
        let (snapshot, map) = &ages[usize::try_from(random(ages.len() as u64)).unwrap()];
        let (a, b) = (random(N_KEYS), random(N_KEYS));
        let (first, end) = (format!("{:02}", a.min(b)), format!("{:02}", a.max(b)));
        let range = KeyRange::new(first.clone(), end.clone());
        let expected = || map.range(Bytes::from(first.clone())..Bytes::from(end.clone()));
        let owned = |(key, value): (&Bytes, &Bytes)| Ok((key.clone(), value.clone()));
        let scanned = snapshot.scan(range.clone(), Direction::Forward);
        assert!(scanned.eq(expected().map(owned)), "round {round}");
        let scanned = snapshot.scan(range, Direction::Backward);
        assert!(scanned.eq(expected().rev().map(owned)), "round {round}");
        snapshot.prefetch(&[first.as_bytes(), end.as_bytes(), b"no such key"]);
        for number in 0..N_KEYS {
            let key = format!("{number:02}");
            let found = snapshot.get_cached(key.as_bytes(), number % 4 > 0);
            assert_eq!(found, Ok(map.get(key.as_bytes()).cloned()), "round {round}");
        }
    }
}

/// Who began to read a range before it was given up reads it to its end.
fn a_snapshot_shows_what_was_discarded_after_it(fixture: &Fixture) {
    let fixture = Fixture::new(fixture.kind);
    load_some(&fixture.store, "k", 0..2_000).finish().wait().unwrap();
    fixture.commit(puts(&[("a", "1")]));
    let before = fixture.snapshot();
    fixture.store.discard(KeyRange::prefix(b"k/")).wait().unwrap();
    assert_loaded(&*before, "k", 0..2_000);
    fixture.commit(puts(&[("a", "2")]));
    assert_loaded(&*before, "k", 0..2_000);
    let is_table = matches!(fixture.kind, Kind::Embedded(..));
    let n_left = keys(&*fixture.snapshot(), KeyRange::prefix(b"k/"), Direction::Forward).len();
    assert_eq!(n_left, if is_table { 0 } else { 2_000 });
}

/// A value that was kept for one snapshot is never shown in another that has a different one, whoever reads first.
fn what_is_recalled_is_what_the_snapshot_shows(fixture: &Fixture) {
    let fixture = Fixture::new(fixture.kind);
    let put = |text: &'static str| {
        fixture.commit(puts(&[("k", text)]));
        fixture.snapshot()
    };
    let (first, second) = (put("1"), put("2"));
    let read = |snapshot: &Arc<dyn Snapshot>| snapshot.get_cached(b"k", true);
    for _ in 0..2 {
        assert_eq!(read(&second), Ok(value("2")));
        assert_eq!(read(&first), Ok(value("1")));
    }
    let mut batch = Batch::new();
    batch.delete("k");
    fixture.commit(batch);
    assert_eq!(read(&fixture.snapshot()), Ok(None));
    assert_eq!(read(&second), Ok(value("2")));
    let third = put("3");
    assert_eq!([&first, &second, &third].map(read), ["1", "2", "3"].map(|text| Ok(value(text))));
    // What is younger than all writes is shown by all snapshots that have it.
    fixture.commit(puts(&[("other", "1")]));
    assert_eq!([&third, &fixture.snapshot()].map(read), [(); 2].map(|()| Ok(value("3"))));
}
