//! Step-counted faults: the first, second, third… write or sync fails, until a run ends without.
//!
//! Claims, whatever fails: what was acknowledged is there, before and after a restart; nothing is
//! half there; readers never saw what was not acknowledged; afterwards every commit says restart.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use model::Env;
use store::engine::{self, Engine, Feed, Writes};
use store::{
    Batch, CACHE_BYTES_DEFAULT, Direction, Durability, EmbeddedOptions, Error, KeyRange, Snapshot,
    Store,
};

const RELAXED: Durability = Durability::Relaxed { interval: Duration::from_millis(1) };

/// Which call fails, and whether the engine did its part before.
#[derive(Debug, Clone, Copy)]
struct Fault {
    call: Call,
    step: usize,
    happens: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Write,
    Sync,
    Ingest,
}

#[derive(Debug)]
struct FaultyEngine {
    inner: Arc<dyn Engine>,
    fault: Fault,
    n_calls: AtomicUsize,
}

impl FaultyEngine {
    fn step(&self, call: Call, act: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let is_due = self.fault.call == call
            && self.n_calls.fetch_add(1, Ordering::SeqCst) + 1 == self.fault.step;
        if !is_due {
            return act();
        }
        if self.fault.happens {
            act()?;
        }
        Err(Error::Unavailable("injected fault".into()))
    }
}

impl Engine for FaultyEngine {
    fn write(&self, writes: Writes) -> Result<(), Error> {
        self.step(Call::Write, || self.inner.write(writes))
    }

    fn sync(&self) -> Result<(), Error> {
        self.step(Call::Sync, || self.inner.sync())
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.inner.snapshot()
    }

    fn ingest(&self, next: &mut dyn FnMut() -> Feed) -> Result<(), Error> {
        self.step(Call::Ingest, || self.inner.ingest(next))
    }

    fn discard(&self, range: &KeyRange) -> Result<(), Error> {
        self.inner.discard(range)
    }

    fn settle(&self) -> Result<(), Error> {
        self.inner.settle()
    }

    fn disk_bytes(&self) -> u64 {
        self.inner.disk_bytes()
    }
}

fn options(durability: Durability) -> EmbeddedOptions {
    EmbeddedOptions {
        durability,
        cache_bytes: CACHE_BYTES_DEFAULT,
        direct_reads: store::DirectReads::On,
        env: Env::system(),
    }
}

fn open_faulty(dir: &Path, durability: Durability, fault: Fault) -> Arc<dyn Store> {
    let options = options(durability);
    let inner = engine::open(dir, &options).unwrap();
    store::open_on(Arc::new(FaultyEngine { inner, fault, n_calls: AtomicUsize::new(0) }), &options)
        .unwrap()
}

/// A batch of three keys that name it.
fn batch(name: &str) -> Batch {
    let mut batch = Batch::new();
    for part in ["x", "y", "z"] {
        batch.put(format!("{name}/{part}"), name.to_owned());
    }
    batch
}

/// The names of the batches that are there, each of them whole.
#[track_caller]
fn names(snapshot: &dyn Snapshot) -> Vec<String> {
    let entries: Vec<(Bytes, Bytes)> =
        snapshot.scan(KeyRange::all(), Direction::Forward).map(Result::unwrap).collect();
    let mut names = Vec::new();
    for parts in entries.chunks(3) {
        let name = String::from_utf8(parts[0].1.to_vec()).unwrap();
        let found: Vec<&[u8]> = parts.iter().map(|(key, _)| &key[..]).collect();
        let whole = ["x", "y", "z"].map(|part| format!("{name}/{part}"));
        assert_eq!(found, whole.iter().map(String::as_bytes).collect::<Vec<_>>(), "half a batch");
        names.push(name);
    }
    names
}

/// Commits one batch after the other; returns how many were acknowledged.
fn run_alone(store: &dyn Store, n_batches: usize) -> usize {
    for index in 0..n_batches {
        match store.commit(batch(&format!("{index:03}"))).wait() {
            Ok(()) => {
                let found = store.snapshot().contains(format!("{index:03}/z").as_bytes());
                assert_eq!(found, Ok(true), "acknowledged is visible");
            }
            Err(error) => {
                assert_poisoned(&error);
                return index;
            }
        }
    }
    n_batches
}

#[track_caller]
fn assert_poisoned(error: &Error) {
    assert!(matches!(error, Error::Poisoned(_)), "{error}");
    assert!(error.to_string().contains("restart"), "{error}");
}

#[track_caller]
fn check_alone(durability: Durability, call: Call, happens: bool) {
    const N_BATCHES: usize = 6;
    for step in 1.. {
        let fault = Fault { call, step, happens };
        let dir = tempfile::tempdir().unwrap();
        let store = open_faulty(dir.path(), durability, fault);
        let n_acknowledged = run_alone(&*store, N_BATCHES);
        let acknowledged: Vec<_> = (0..n_acknowledged).map(|index| format!("{index:03}")).collect();
        assert_eq!(names(&*store.snapshot()), acknowledged, "{fault:?}: nothing unacknowledged");
        let is_over = n_acknowledged == N_BATCHES;
        if !is_over {
            assert_eq!(n_acknowledged, step - 1, "{fault:?}: acknowledged up to the fault");
            assert_poisoned(&store.commit(batch("later")).wait().unwrap_err());
            assert_poisoned(&store.commit(Batch::new()).wait().unwrap_err());
            assert_poisoned(&store.close().unwrap_err());
        }
        drop(store);

        let store = store::open_embedded(dir.path(), &options(durability)).unwrap();
        let mut found = names(&*store.snapshot());
        if found.len() == n_acknowledged + 1 {
            // Not acknowledged, and kept: legal, because it is whole.
            assert_eq!(found.pop(), Some(format!("{n_acknowledged:03}")), "{fault:?}");
        }
        assert_eq!(found, acknowledged, "{fault:?}: after a restart");
        store.commit(batch("new")).wait().unwrap();
        if is_over {
            assert!(step > N_BATCHES, "{fault:?}: every step had its turn");
            return;
        }
    }
}

#[test]
fn a_write_that_fails_before_it_happens_poisons() {
    check_alone(Durability::Fsync, Call::Write, false);
}

#[test]
fn a_write_that_fails_after_it_happened_poisons() {
    check_alone(Durability::Fsync, Call::Write, true);
}

#[test]
fn a_sync_that_fails_before_it_happens_poisons() {
    check_alone(Durability::Fsync, Call::Sync, false);
}

#[test]
fn a_sync_that_fails_after_it_happened_poisons() {
    check_alone(Durability::Fsync, Call::Sync, true);
}

#[test]
fn a_write_that_fails_poisons_a_relaxed_store() {
    check_alone(RELAXED, Call::Write, false);
    check_alone(RELAXED, Call::Write, true);
}

/// The batch was acknowledged before its sync; the failure is the next caller's to hear.
#[test]
fn a_background_sync_that_fails_poisons_a_relaxed_store() {
    for step in 1..4 {
        let dir = tempfile::tempdir().unwrap();
        let fault = Fault { call: Call::Sync, step, happens: false };
        let store = open_faulty(dir.path(), RELAXED, fault);
        let mut acknowledged = Vec::new();
        for index in 0.. {
            let name = format!("{index:05}");
            match store.commit(batch(&name)).wait() {
                Ok(()) => acknowledged.push(name),
                Err(error) => {
                    assert_poisoned(&error);
                    break;
                }
            }
            assert!(index < 10_000, "step {step}: never poisoned");
            thread::sleep(Duration::from_millis(1));
        }
        drop(store);
        let store = store::open_embedded(dir.path(), &options(RELAXED)).unwrap();
        assert_eq!(names(&*store.snapshot()), acknowledged, "step {step}");
    }
}

/// Many writers in groups: each knows what it was told, and the sum of it is on disk.
#[test]
fn a_fault_under_concurrency_loses_nothing_acknowledged() {
    const N_WRITERS: usize = 8;
    for step in 1..12 {
        let call = if step % 2 == 0 { Call::Write } else { Call::Sync };
        let fault = Fault { call, step, happens: step % 3 == 0 };
        let dir = tempfile::tempdir().unwrap();
        let store = open_faulty(dir.path(), Durability::Fsync, fault);
        let write = |writer: usize| {
            let names = (0..10_000).map(|index| format!("{writer}-{index:05}"));
            let acknowledged = names.map_while(|name| match store.commit(batch(&name)).wait() {
                Ok(()) => Some(name),
                Err(error) => {
                    assert_poisoned(&error);
                    None
                }
            });
            acknowledged.collect::<Vec<_>>()
        };
        let mut acknowledged: Vec<String> = thread::scope(|scope| {
            let write = &write;
            let writers: Vec<_> =
                (0..N_WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
        });
        acknowledged.sort();
        assert_eq!(names(&*store.snapshot()), acknowledged, "{fault:?}");
        drop(store);

        let store = store::open_embedded(dir.path(), &options(Durability::Fsync)).unwrap();
        let found = names(&*store.snapshot());
        assert!(acknowledged.iter().all(|name| found.contains(name)), "{fault:?}");
        assert!(found.len() <= acknowledged.len() + N_WRITERS, "{fault:?}: only the last group");
    }
}

/// Loads more than fits one commit; returns how it ended.
fn load(store: &Arc<dyn Store>) -> Result<(), Error> {
    let mut ingest = Arc::clone(store).ingest()?;
    for number in 0..200 {
        let mut batch = Batch::new();
        batch.put(format!("load/{number:03}"), vec![7; 10 << 10]);
        ingest.write(batch).wait()?;
    }
    ingest.finish().wait()
}

/// A load that did not begin changes nothing; one of which nobody knows how far it came takes a restart.
#[test]
fn a_load_that_fails_is_refused_and_leaves_what_was_acknowledged() {
    for happens in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let fault = Fault { call: Call::Ingest, step: 1, happens };
        let store = open_faulty(dir.path(), Durability::Fsync, fault);
        store.commit(batch("before")).wait().unwrap();
        let error = load(&store).unwrap_err();
        let after = store.commit(batch("later")).wait();
        if happens {
            assert_poisoned(&error);
            assert_poisoned(&after.unwrap_err());
        } else {
            assert!(matches!(error, Error::Unavailable(_)), "{error}");
            after.unwrap();
            assert_eq!(load(&store), Ok(()), "the next one works");
        }
        drop(store);
        let store = store::open_embedded(dir.path(), &options(Durability::Fsync)).unwrap();
        let snapshot = store.snapshot();
        assert_eq!(snapshot.contains(b"before/z"), Ok(true));
        let loaded = snapshot.scan(KeyRange::prefix(b"load/"), Direction::Forward).count();
        assert_eq!(loaded, 200, "it happened, or was repeated");
    }
}

/// A panic in the engine is a bug, and must not leave a writer waiting.
#[test]
fn a_committer_that_panics_answers_everyone() {
    #[derive(Debug)]
    struct PanickingEngine(Arc<dyn Engine>);

    impl Engine for PanickingEngine {
        fn write(&self, _writes: Writes) -> Result<(), Error> {
            thread::sleep(Duration::from_millis(20));
            panic!("expected by the test");
        }
        fn sync(&self) -> Result<(), Error> {
            Ok(())
        }
        fn snapshot(&self) -> Arc<dyn Snapshot> {
            self.0.snapshot()
        }
        fn ingest(&self, _next: &mut dyn FnMut() -> Feed) -> Result<(), Error> {
            panic!("expected by the test");
        }
        fn discard(&self, _range: &KeyRange) -> Result<(), Error> {
            Ok(())
        }
        fn settle(&self) -> Result<(), Error> {
            Ok(())
        }
        fn disk_bytes(&self) -> u64 {
            0
        }
    }

    let dir = tempfile::tempdir().unwrap();
    let options = options(Durability::Fsync);
    let inner = engine::open(dir.path(), &options).unwrap();
    let store = store::open_on(Arc::new(PanickingEngine(inner)), &options).unwrap();
    let commits: Vec<_> = (0..3)
        .map(|index| {
            thread::sleep(Duration::from_millis(5));
            store.commit(batch(&format!("{index}")))
        })
        .collect();
    for commit in commits {
        assert_poisoned(&commit.wait().unwrap_err());
    }
    assert_poisoned(&store.commit(batch("later")).wait().unwrap_err());
    assert_poisoned(&load(&store).unwrap_err());
    assert_poisoned(&store.close().unwrap_err());
}

/// A real fault: files may not grow beyond about 70 MB, so the second large batch cannot be
/// logged. The limit is set for a child process by the shell.
#[cfg(unix)]
#[test]
fn a_log_that_cannot_grow_poisons_and_recovers() {
    use std::process::Command;

    const CHILD: &str = "ORRERY_FULL_DISK_DIR";
    let large = |name: &str| {
        let mut batch = batch(name);
        batch.put(format!("{name}/z"), vec![b'v'; 60 << 20]);
        batch
    };
    if let Some(dir) = std::env::var_os(CHILD) {
        let store = store::open_embedded(dir.as_ref(), &options(Durability::Fsync)).unwrap();
        store.commit(large("first")).wait().unwrap();
        assert_poisoned(&store.commit(large("second")).wait().unwrap_err());
        assert_poisoned(&store.commit(batch("third")).wait().unwrap_err());
        assert_eq!(store.snapshot().contains(b"second/x"), Ok(false));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 140000; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "a_log_that_cannot_grow_poisons_and_recovers", "--nocapture"])
        .env(CHILD, dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let store = store::open_embedded(dir.path(), &options(Durability::Fsync)).unwrap();
    let snapshot = store.snapshot();
    let found = ["first", "second", "third"].map(|name| {
        ["x", "y", "z"].map(|part| snapshot.contains(format!("{name}/{part}").as_bytes()).unwrap())
    });
    assert_eq!(found, [[true; 3], [false; 3], [false; 3]]);
}
