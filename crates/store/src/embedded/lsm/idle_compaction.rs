//! Major compaction while the store is idle.
//!
//! A scan reads every sorted run, and so does a read whose key is in the last one. The engine compacts only when new runs
//! come, so a store that was loaded and is then only read would keep five or more for good; a short scan of one run takes
//! half the time of one of two runs and the memtable. The memtable is flushed first, so recovery after a crash has little
//! to replay.
//!
//! Invariant: it starts only while next to nothing is written, and rewrites no byte more often than [`UNORDERED_PARTS`].

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fjall::{AbstractTree, Database, Keyspace};
use parking_lot::{Condvar, Mutex};

use crate::embedded::space::Space;
use crate::{Error, Result, lower_priority};

/// How often it checks whether anything was written.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Commits between two checks at which the store still counts as idle: jobs of the server write a little all the time.
const IDLE_COMMITS_MAX: u64 = 8;

/// How often, and how many times, it checks whether the memtable is flushed.
const FLUSH_POLL_INTERVAL: Duration = Duration::from_millis(5);
// Limit: five seconds; a full memory table is written in about one. An engine whose workers died never gets there.
const FLUSH_POLLS_MAX: u32 = 1_000;

/// Closed snapshots after which the engine looks for the oldest one that is open: about a millisecond of work.
const SNAPSHOTS_PER_WATERMARK: usize = 10_000;

/// Bytes outside the last level that are worth a compaction.
const UNORDERED_BYTES_MIN: u64 = 4 << 20;
/// The part of all bytes that must be outside the last level, after one idle check and after many: no byte is rewritten
/// more often than the second says, however often writes stop and resume. A long idle time is likely to go on.
const UNORDERED_PARTS: RangeInclusive<u64> = 4..=16;
// Limit: 2 GB of tables, half a minute of work in which the engine's other compactions wait. Larger stores are left to these.
const TABLE_BYTES_MAX: u64 = 2 << 30;

/// The thread that waits for an idle store. Dropping it waits for a compaction that is under way.
#[derive(Debug)]
pub(super) struct IdleCompaction {
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

impl IdleCompaction {
    pub(super) fn start(
        database: Database,
        keyspace: Keyspace,
        space: Arc<Space>,
    ) -> Result<IdleCompaction> {
        let shared = Arc::new(Shared::default());
        let watch = IdleWatcher { shared: Arc::clone(&shared), database, keyspace, space };
        let thread = thread::Builder::new()
            .name("orrery-compact".into())
            .spawn(move || watch.run())
            .map_err(|error| Error::Unavailable(format!("cannot start a thread: {error}")))?;
        Ok(IdleCompaction { shared, thread: Some(thread) })
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

impl Drop for IdleCompaction {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the idle compaction ended by a panic");
        }
    }
}

struct IdleWatcher {
    shared: Arc<Shared>,
    database: Database,
    keyspace: Keyspace,
    space: Arc<Space>,
}

impl IdleWatcher {
    fn run(self) {
        lower_priority();
        let mut before = self.database.seqno();
        let mut n_idle_checks = 0;
        while !self.is_over_after(CHECK_INTERVAL) {
            release_versions(&self.database, &self.keyspace);
            let now = self.database.seqno();
            let is_idle =
                now - before <= IDLE_COMMITS_MAX && self.shared.n_loads.load(Ordering::SeqCst) == 0;
            before = now;
            n_idle_checks = if is_idle { n_idle_checks + 1 } else { 0 };
            let bytes = TreeBytes::of(&self.keyspace);
            let is_due = is_idle
                && bytes.is_worth_compacting(n_idle_checks)
                && self.space.has_room_for(bytes.in_tables, bytes.in_memory);
            if is_due {
                if let Err(error) = self.compact() {
                    // The engine's own compactions go on, and report when it cannot write any more.
                    tracing::warn!(%error, "cannot compact the tables");
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

    fn compact(&self) -> Result<(), fjall::Error> {
        let before = TreeBytes::of(&self.keyspace);
        tracing::debug!(?before, "major compaction begins");
        major_compact(&self.keyspace)?;
        tracing::debug!(after = ?TreeBytes::of(&self.keyspace), "major compaction is done");
        Ok(())
    }
}

/// Lets go of versions of the tree that no snapshot shows any more, and with them of the files of tables that were dropped.
///
/// The engine does so when it flushes a memtable, up to its watermark, which it moves then, or when many snapshots have been
/// closed. A store that drops tables and is not written afterwards comes to neither.
pub(super) fn release_versions(database: &Database, keyspace: &Keyspace) {
    if keyspace.tree.get_version_history_lock().free_list_len() == 0 {
        return;
    }
    for _ in 0..SNAPSHOTS_PER_WATERMARK {
        drop(database.snapshot());
    }
    let watermark = database.supervisor.snapshot_tracker.get_seqno_safe_to_gc();
    let released = keyspace.tree.get_version_history_lock().maintenance(keyspace.path(), watermark);
    if let Err(error) = released {
        tracing::warn!(?error, "cannot let go of old versions of the tables");
    }
}

/// Compacts everything into one sorted run, unless the memtable cannot be flushed.
pub(super) fn major_compact(keyspace: &Keyspace) -> Result<(), fjall::Error> {
    // First, so that the log is not older than the tables: a compaction drops tombstones, and with them what tells the
    // engine up to where its tables cover the log.
    keyspace.rotate_memtable()?;
    for _ in 0..FLUSH_POLLS_MAX {
        if keyspace.tree.sealed_memtable_count() == 0 {
            return keyspace.major_compact();
        }
        thread::sleep(FLUSH_POLL_INTERVAL);
    }
    Ok(())
}

/// How many bytes are where in the tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TreeBytes {
    in_memory: u64,
    above_last_level: u64,
    in_tables: u64,
}

impl TreeBytes {
    fn of(keyspace: &Keyspace) -> TreeBytes {
        let in_memory = keyspace.tree.active_memtable().size();
        let version = keyspace.tree.current_version();
        let (mut in_tables, mut last) = (0, 0);
        for level in version.iter_levels() {
            last = level.size();
            in_tables += last;
        }
        TreeBytes { in_memory, above_last_level: in_tables - last, in_tables }
    }

    /// Whether a compaction pays after so many idle checks.
    fn is_worth_compacting(self, n_idle_checks: u64) -> bool {
        let unordered = self.in_memory + self.above_last_level;
        let all = self.in_memory + self.in_tables;
        let (first, last) = (UNORDERED_PARTS.start(), UNORDERED_PARTS.end());
        let part = first.saturating_mul(n_idle_checks).min(*last);
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
    fn a_compaction_must_be_worth_its_work() {
        const MB: u64 = 1 << 20;
        #[rustfmt::skip]
        let table = [
            // in memory, above the last level, in tables; after one idle check, and after ten
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
            let bytes = TreeBytes { in_memory, above_last_level, in_tables };
            let is_worth = [1, 10].map(|n_idle_checks| bytes.is_worth_compacting(n_idle_checks));
            assert_eq!(is_worth, [soon, late], "{bytes:?}");
        }
    }

    #[test]
    fn a_compaction_leaves_one_run_and_all_entries() {
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
        major_compact(&keyspace).unwrap();
        let bytes = TreeBytes::of(&keyspace);
        assert_eq!((bytes.in_memory, bytes.above_last_level), (0, 0), "{bytes:?}");
        assert_eq!(keyspace.len().unwrap(), 99, "the last round deleted one");
        assert_eq!(keyspace.get(7_u32.to_be_bytes()).unwrap().unwrap(), "new".as_bytes());
        let before = fjall::Readable::get(&old, &keyspace, 7_u32.to_be_bytes()).unwrap().unwrap();
        assert_eq!(before, 2_u32.to_be_bytes());
    }

    #[test]
    fn it_compacts_when_nothing_is_written_and_ends_when_told() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::builder(folder.path()).open().unwrap();
        let keyspace = database.keyspace("k", KeyspaceCreateOptions::default).unwrap();
        let compaction = IdleCompaction::start(
            database.clone(),
            keyspace.clone(),
            Arc::new(Space::watch(folder.path())),
        )
        .unwrap();
        for n in 0..40_u32 {
            keyspace.insert(n.to_be_bytes(), vec![7; 128 << 10]).unwrap();
        }
        let is_ordered =
            || keyspace.tree.table_count() > 0 && TreeBytes::of(&keyspace).in_memory == 0;
        for _ in 0..600 {
            if is_ordered() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        assert!(is_ordered());
        drop(compaction);
        assert_eq!(keyspace.len().unwrap(), 40);
    }
}
