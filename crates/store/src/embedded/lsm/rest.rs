//! What the engine does while nobody writes: it brings all tables into one order.
//!
//! A scan looks into every run of tables, and so does a read that finds its key late. The engine merges runs only
//! when new ones come, so a store that was loaded and is then only read would keep five or more for good; in one run
//! a short scan took half the time of one in two and the memory. What is in memory goes to tables before, so a start
//! after a crash has little to replay.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fjall::{AbstractTree, Database, Keyspace};
use parking_lot::{Condvar, Mutex};

use crate::{Error, Result, stand_back};

/// How often it looks whether anything was written.
const LOOK: Duration = Duration::from_secs(2);
/// Commits between two looks that still count as rest: jobs of the server write a little all the time.
const COMMITS_AT_REST: u64 = 8;

/// How often, and how many times, it looks whether the memory is in tables.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
// Limit: five seconds; a full memory table is written in about one. An engine whose workers died never gets there.
const LOOKS_MAX: u32 = 1_000;

/// Bytes outside the order that are worth the work.
const UNORDERED_BYTES_MIN: u64 = 4 << 20;
/// The part of all bytes that must be outside the order, after one look at rest and after many: no byte is rewritten more
/// often than the last says, however often writes come and rest. A long rest is likely to go on, and much to be read in it.
const UNORDERED_PARTS: RangeInclusive<u64> = 4..=16;
// Limit: 2 GB of tables, half a minute of work in which the engine's other merges wait. Larger stores are left to these.
const TABLE_BYTES_MAX: u64 = 2 << 30;

/// The thread that waits for rest. Dropping it waits for a merge that is under way.
#[derive(Debug)]
pub(super) struct Rest {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_over: Mutex<bool>,
    wake: Condvar,
    /// Loads under way: they write tables, and no commit tells of it.
    n_loads: AtomicUsize,
}

/// Counts a load while it lives.
#[derive(Debug)]
pub(super) struct Load<'r>(&'r AtomicUsize);

impl Drop for Load<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Rest {
    pub(super) fn start(database: Database, keyspace: Keyspace) -> Result<Rest> {
        let shared = Arc::new(Shared::default());
        let watch = Watch { shared: Arc::clone(&shared), database, keyspace };
        let thread =
            thread::Builder::new()
                .name("orrery-rest".into())
                .spawn(move || watch.run())
                .map_err(|error| Error::Unavailable(format!("cannot start a thread: {error}")))?;
        Ok(Rest { shared, thread: Some(thread) })
    }

    pub(super) fn load(&self) -> Load<'_> {
        self.shared.n_loads.fetch_add(1, Ordering::SeqCst);
        Load(&self.shared.n_loads)
    }

    /// Begins nothing more.
    pub(super) fn end(&self) {
        *self.shared.is_over.lock() = true;
        self.shared.wake.notify_all();
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that waits for rest ended by a panic");
        }
    }
}

struct Watch {
    shared: Arc<Shared>,
    database: Database,
    keyspace: Keyspace,
}

impl Watch {
    fn run(self) {
        stand_back();
        let mut before = self.database.seqno();
        let mut n_looks = 0;
        while !self.is_over_after(LOOK) {
            let now = self.database.seqno();
            let is_at_rest =
                now - before <= COMMITS_AT_REST && self.shared.n_loads.load(Ordering::SeqCst) == 0;
            before = now;
            n_looks = if is_at_rest { n_looks + 1 } else { 0 };
            if is_at_rest && Bytes::of(&self.keyspace).is_worth_a_merge(n_looks) {
                if let Err(error) = self.merge() {
                    // The engine's own merges go on, and say so when it cannot write any more.
                    tracing::warn!(%error, "cannot bring the tables into one order");
                    return;
                }
                before = self.database.seqno();
            }
        }
    }

    /// Waits, and tells whether the engine is to be closed.
    fn is_over_after(&self, wait: Duration) -> bool {
        let mut is_over = self.shared.is_over.lock();
        if !*is_over {
            self.shared.wake.wait_for(&mut is_over, wait);
        }
        *is_over
    }

    fn merge(&self) -> Result<(), fjall::Error> {
        let before = Bytes::of(&self.keyspace);
        tracing::debug!(?before, "tables are brought into one order");
        merge(&self.keyspace)?;
        tracing::debug!(after = ?Bytes::of(&self.keyspace), "tables are in one order");
        Ok(())
    }
}

/// Brings everything into one run, unless the engine does not get the memory into tables.
pub(super) fn merge(keyspace: &Keyspace) -> Result<(), fjall::Error> {
    // First, so that the log is not older than the tables: a merge drops deletes, and with them what tells the engine
    // up to where its tables know the log.
    keyspace.rotate_memtable()?;
    for _ in 0..LOOKS_MAX {
        if keyspace.tree.sealed_memtable_count() == 0 {
            return keyspace.major_compact();
        }
        thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

/// Where the bytes of the engine are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bytes {
    in_memory: u64,
    above_last_level: u64,
    in_tables: u64,
}

impl Bytes {
    fn of(keyspace: &Keyspace) -> Bytes {
        let in_memory = keyspace.tree.active_memtable().size();
        let version = keyspace.tree.current_version();
        let (mut in_tables, mut last) = (0, 0);
        for level in version.iter_levels() {
            last = level.size();
            in_tables += last;
        }
        Bytes { in_memory, above_last_level: in_tables - last, in_tables }
    }

    /// Whether it is after so many looks at rest.
    fn is_worth_a_merge(self, n_looks: u64) -> bool {
        let unordered = self.in_memory + self.above_last_level;
        let all = self.in_memory + self.in_tables;
        let (first, last) = (UNORDERED_PARTS.start(), UNORDERED_PARTS.end());
        let part = first.saturating_mul(n_looks).min(*last);
        all <= TABLE_BYTES_MAX
            && unordered >= UNORDERED_BYTES_MIN
            && unordered.saturating_mul(part) >= all
    }
}

#[cfg(test)]
mod tests {
    use fjall::KeyspaceCreateOptions;

    use super::*;

    #[test]
    fn a_merge_must_be_worth_its_work() {
        const MB: u64 = 1 << 20;
        #[rustfmt::skip]
        let table = [
            // in memory, above the last level, in tables; after one look, and after ten
            (0,       0,         0,         false, false), // nothing
            (3 * MB,  0,         0,         false, false), // too little
            (5 * MB,  0,         0,         true,  true),  // all in memory
            (0,       256 * MB,  256 * MB,  true,  true),  // just loaded
            (0,       256 * MB,  1024 * MB, true,  true),  // a quarter is new
            (64 * MB, 64 * MB,   1024 * MB, false, true),  // some is new
            (20 * MB, 20 * MB,   1024 * MB, false, false), // little is new
            (0,       0,         1024 * MB, false, false), // in order
            (0,       3000 * MB, 3000 * MB, false, false), // too much
        ];
        for (in_memory, above_last_level, in_tables, soon, late) in table {
            let bytes = Bytes { in_memory, above_last_level, in_tables };
            let is_worth = [1, 10].map(|n_looks| bytes.is_worth_a_merge(n_looks));
            assert_eq!(is_worth, [soon, late], "{bytes:?}");
        }
    }

    #[test]
    fn a_merge_leaves_one_run_and_all_entries() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::builder(folder.path()).open().unwrap();
        let keyspace = database.keyspace("k", KeyspaceCreateOptions::default).unwrap();
        for round in 0..3_u32 {
            for n in 0..100_u32 {
                keyspace.insert(n.to_be_bytes(), round.to_be_bytes()).unwrap();
            }
            keyspace.remove(round.to_be_bytes()).unwrap();
            keyspace.rotate_memtable_and_wait().unwrap();
        }
        // A reader from before sees what it saw.
        let old = database.snapshot();
        keyspace.insert(7_u32.to_be_bytes(), "new").unwrap();
        assert!(keyspace.tree.l0_run_count() > 1);
        merge(&keyspace).unwrap();
        let bytes = Bytes::of(&keyspace);
        assert_eq!((bytes.in_memory, bytes.above_last_level), (0, 0), "{bytes:?}");
        assert_eq!(keyspace.len().unwrap(), 99, "the last round deleted one");
        assert_eq!(keyspace.get(7_u32.to_be_bytes()).unwrap().unwrap(), "new".as_bytes());
        let before = fjall::Readable::get(&old, &keyspace, 7_u32.to_be_bytes()).unwrap().unwrap();
        assert_eq!(before, 2_u32.to_be_bytes());
    }

    #[test]
    fn it_merges_when_nothing_is_written_and_ends_when_told() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::builder(folder.path()).open().unwrap();
        let keyspace = database.keyspace("k", KeyspaceCreateOptions::default).unwrap();
        let rest = Rest::start(database.clone(), keyspace.clone()).unwrap();
        for n in 0..40_u32 {
            keyspace.insert(n.to_be_bytes(), vec![7; 128 << 10]).unwrap();
        }
        let is_ordered = || keyspace.tree.table_count() > 0 && Bytes::of(&keyspace).in_memory == 0;
        for _ in 0..600 {
            if is_ordered() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        assert!(is_ordered());
        drop(rest);
        assert_eq!(keyspace.len().unwrap(), 40);
    }
}
