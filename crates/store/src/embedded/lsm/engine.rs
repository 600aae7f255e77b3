//! The tree behind the [`Engine`] seam. One committer drives it, which keeps its waits simple.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use fjall::{
    AbstractTree, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable,
};
use model::Env;
use parking_lot::Mutex;

use super::direct_reads::{DirectReader, SnapshotReader};
use super::idle_compaction::IdleCompaction;
use super::ledger::{Before, Ledger};
use super::manifest::{LogNote, MANIFEST, Manifest};
use super::value_cache::ValueCache;
use super::{files, log_repair, table_ingest};
use crate::embedded::directory::{Directory, DirectoryContent};
use crate::embedded::engine::{Engine, Feed, Room, Writes};
use crate::embedded::space::{self, Space};
use crate::{
    Direction, Durability, EmbeddedOptions, Error, KeyRange, Result, Scan, Snapshot, StoreMemory,
};

/// All data is in one keyspace: more of them cost memory and were not faster.
const KEYSPACE: &str = "orrery";

/// Where the engine keeps the tables of a keyspace.
const TABLES_FOLDER: &str = "tables";

/// Log bytes beyond which the engine moves data out of the log.
// Limit: a start after a crash replays the log, seconds per 100 MB.
const LOG_BYTES_MAX: u64 = 128 << 20;

/// Bytes in the memtable before it is flushed to a table.
// Limit: up to five such tables are in memory under load.
const MEMTABLE_BYTES_MAX: u64 = 64 << 20;

/// Tables that are kept open.
// Limit: what the engine would choose by itself; a third of the descriptors where these are few, and a few in any case.
const OPEN_TABLES_MAX: usize = 900;
const OPEN_TABLES_PART: u64 = 3;
const OPEN_TABLES_MIN: usize = 32;
/// What is assumed where the limit cannot be read.
#[cfg(not(target_os = "linux"))]
const DESCRIPTORS_UNKNOWN: u64 = 1_024;

/// Bytes in memory that may go to a table while commits wait for a load to be added.
// Limit: some 20 ms of work.
const ADDING_BYTES_MAX: u64 = 4 << 20;

/// Full memory tables, and runs of the top level, at which writes wait for the workers.
// Limit: below the engine's own limits (4 and 30), where it would wait without checking that the
// workers are still alive.
const SEALED_MEMTABLES_MAX: usize = 3;

/// What the memtables may hold together, the one that is being written included.
const WRITE_BUFFER_BYTES_MAX: u64 = (SEALED_MEMTABLES_MAX as u64 + 1) * MEMTABLE_BYTES_MAX;
const TOP_RUNS_MAX: usize = 28;

/// How often, and how many times, a wait for the workers polls.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
// Limit: a minute; a full memory table is written in about a second.
const POLLS_MAX: u32 = 12_000;
// Limit: so that a stop ends before impatient supervisors kill. What is not moved by then stays in the log.
const SETTLING_MAX: Duration = Duration::from_secs(5);

pub(crate) struct LsmEngine {
    // Dropped in this order: the directory stays locked until the engine is gone.
    compaction: IdleCompaction,
    pub(super) keyspace: Keyspace,
    pub(super) database: Database,
    directory: Arc<Directory>,
    ledger: Ledger,
    space: Arc<Space>,
    /// The log was emptied under the engine, so it must not be written again.
    is_settled: AtomicBool,
    /// Held while entries go into memory, and while tables are added that must be younger than these.
    writing: Mutex<()>,
    value_cache: Arc<ValueCache>,
    pub(super) direct_reader: DirectReader,
    /// The version of the tables at the last snapshot.
    shown: AtomicU64,
    env: Env,
}

impl LsmEngine {
    pub(crate) fn open(directory: Directory, options: &EmbeddedOptions) -> Result<LsmEngine> {
        let content = directory.prepare(files::is_blank)?;
        let found = match content {
            DirectoryContent::Nothing => None,
            DirectoryContent::Store | DirectoryContent::StoreWithoutManifest => {
                let is_required = content == DirectoryContent::Store;
                let is_lenient = matches!(options.durability, Durability::Relaxed { .. });
                Some(check_files(&directory, is_required, is_lenient)?)
            }
        };
        let (value_cache, block_bytes) = ValueCache::new(options.cache_bytes);
        let (database, keyspace) = open_database(&directory, block_bytes)?;
        let manifest = match found {
            Some(manifest) => manifest,
            None => Manifest {
                keyspaces: files::check(&directory.engine_path(), None)?,
                logs: vec![LogNote::default()],
            },
        };
        let directory = Arc::new(directory);
        let ledger = Ledger::start(Arc::clone(&directory), manifest, &database)?;
        if content != DirectoryContent::Store {
            directory.finish_creation()?;
        }
        let space = Arc::new(Space::watch(directory.path()));
        let compaction =
            IdleCompaction::start(database.clone(), keyspace.clone(), Arc::clone(&space))?;
        Ok(LsmEngine {
            compaction,
            keyspace,
            database,
            directory,
            ledger,
            space,
            is_settled: AtomicBool::new(false),
            writing: Mutex::default(),
            value_cache: Arc::new(value_cache),
            direct_reader: DirectReader::new(options.direct_reads),
            shown: AtomicU64::default(),
            env: options.env.clone(),
        })
    }

    /// Whether anybody still has a snapshot: it holds the directory, as this and its ledger do.
    pub(super) fn is_read(&self) -> bool {
        Arc::strong_count(&self.directory) > 2
    }

    /// Waits until the workers have caught up. An engine whose workers died says so when asked to
    /// persist, and never catches up.
    fn wait_while(&self, is_behind: impl Fn(&Keyspace) -> bool) -> Result<()> {
        if self.has_caught_up(POLLS_MAX, is_behind)? {
            return Ok(());
        }
        Err(Error::Unavailable("the engine does not catch up with its writes".into()))
    }

    /// Waits like [`LsmEngine::wait_while`] and tells whether the wait came to its end.
    fn has_caught_up(&self, n_polls: u32, is_behind: impl Fn(&Keyspace) -> bool) -> Result<bool> {
        for _ in 0..n_polls {
            if !is_behind(&self.keyspace) {
                return Ok(true);
            }
            self.persist(PersistMode::Buffer)?;
            thread::sleep(POLL_INTERVAL);
        }
        Ok(false)
    }

    /// Flushes the memtable to tables.
    fn flush_memtable(&self) -> Result<()> {
        self.rotate()?;
        self.wait_while(|keyspace| self.is_flushing(keyspace))
    }

    fn rotate(&self) -> Result<()> {
        let rotated = self.keyspace.rotate_memtable();
        rotated.map(drop).map_err(|error| to_error("cannot move data out of the log", &error))
    }

    fn is_flushing(&self, keyspace: &Keyspace) -> bool {
        keyspace.tree.sealed_memtable_count() > 0 || self.database.outstanding_flushes() > 0
    }

    fn check_settled(&self) -> Result<()> {
        if self.is_settled.load(Ordering::SeqCst) {
            return Err(Error::Unavailable("the engine was settled".into()));
        }
        Ok(())
    }

    /// Makes a snapshot of a view that was taken at `time` or a little later.
    fn snapshot_at(&self, time: u64, view: fjall::Snapshot, reader: SnapshotReader) -> LsmSnapshot {
        LsmSnapshot {
            time,
            view,
            reader,
            keyspace: self.keyspace.clone(),
            value_cache: Arc::clone(&self.value_cache),
            _directory: Arc::clone(&self.directory),
        }
    }

    fn persist(&self, mode: PersistMode) -> Result<()> {
        self.database.persist(mode).map_err(|error| to_error("cannot sync", &error))
    }
}

impl Engine for LsmEngine {
    fn write(&self, writes: Writes) -> Result<()> {
        self.check_settled()?;
        self.wait_while(|keyspace| {
            keyspace.tree.sealed_memtable_count() >= SEALED_MEMTABLES_MAX
                || keyspace.tree.l0_run_count() >= TOP_RUNS_MAX
        })?;
        let mut batch = OwnedWriteBatch::with_capacity(self.database.clone(), writes.len())
            .durability(Some(PersistMode::Buffer));
        let time = self.value_cache.begin(&writes);
        for (key, value) in writes {
            match value {
                Some(value) => batch.insert(&self.keyspace, key, value),
                None => batch.remove(&self.keyspace, key),
            }
        }
        let _writing = self.writing.lock();
        let before = Before::of(&self.database, &self.keyspace);
        let committed = batch.commit();
        self.value_cache.end(time);
        committed.map_err(|error| to_error("cannot write", &error))?;
        self.ledger.wrote(before);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.persist(PersistMode::SyncData)?;
        self.ledger.synced();
        Ok(())
    }

    fn note(&self) {
        self.ledger.note(&self.keyspace);
        let in_tables = self.keyspace.tree.disk_space();
        self.space.restore(space::wanted(self.database.write_buffer_size(), in_tables));
    }

    fn room(&self) -> Room {
        self.space.room(self.database.write_buffer_size(), self.keyspace.tree.disk_space())
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let version = self.direct_reader.note(&self.database, &self.keyspace);
        self.shown.store(version, Ordering::Relaxed);
        let time = self.value_cache.now();
        Arc::new(self.snapshot_at(time, self.database.snapshot(), self.direct_reader.of_snapshot()))
    }

    fn has_new_tables(&self) -> bool {
        self.keyspace.tree.current_version().id() != self.shown.load(Ordering::Relaxed)
    }

    fn snapshot_for_bulk_scan(&self, range: &KeyRange) -> Arc<dyn Snapshot> {
        let _writing = self.writing.lock();
        self.direct_reader.note(&self.database, &self.keyspace);
        let (time, view) = (self.value_cache.now(), self.database.snapshot());
        let reader = self.direct_reader.of_bulk_snapshot(&self.keyspace, &view, range);
        Arc::new(self.snapshot_at(time, view, reader))
    }

    fn flush(&self) -> Result<()> {
        self.check_settled()?;
        self.flush_memtable()
    }

    fn ingest(&self, next: &mut dyn FnMut() -> Feed) -> Result<()> {
        self.check_settled()?;
        let _load = self.compaction.load();
        let failed = |error: fjall::LsmError| to_error("cannot load", &error.into());
        let mut ingestion = self.keyspace.tree.ingestion().map_err(failed)?;
        let folder = self.keyspace.path().join(TABLES_FOLDER);
        let fed = table_ingest::feed(&folder, |key, value| ingestion.write(key, value), next)?;
        let Some(fed) = fed else { return Ok(()) };
        // Commits wait while the engine moves to tables what is in memory, so most of it goes before.
        if self.keyspace.tree.active_memtable().size() > ADDING_BYTES_MAX {
            self.flush_memtable()?;
        }
        {
            let _writing = self.writing.lock();
            self.check_settled()?;
            ingestion.finish().map_err(failed)?;
        }
        if fed.is_given_up {
            // The engine knows the files of a load only when they are tables.
            return self.discard(&fed.span);
        }
        // No log has these tables: a list without them must not pass for the current one.
        self.note();
        Ok(())
    }

    fn discard(&self, range: &KeyRange) -> Result<()> {
        self.check_settled()?;
        let _load = self.compaction.load();
        let dropped = self.keyspace.tree.drop_range::<&[u8], _>(range.as_bounds());
        dropped.map_err(|error| to_error("cannot drop tables", &error.into()))?;
        // What the log says of these keys must not count as unwritten, and come back at the next start, because the tables
        // that had it are gone: some table is to be younger than all of it. This comes second, for it makes the engine
        // compact, and dropping would wait for that.
        self.flush_memtable()?;
        self.note();
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        self.is_settled.store(true, Ordering::SeqCst);
        self.compaction.end();
        // A load that is being added goes first.
        drop(self.writing.lock());
        self.rotate()?;
        let begin = self.env.monotonic();
        self.has_caught_up(POLLS_MAX, |keyspace| {
            let waited = self.env.monotonic().saturating_sub(begin);
            self.is_flushing(keyspace) && waited < SETTLING_MAX
        })?;
        let is_flushed = !self.is_flushing(&self.keyspace);
        self.persist(PersistMode::SyncAll)?;
        // Invariant: nothing is in memory, so all that the log holds is in synced tables, and the
        // log may go. The engine itself would keep up to 64 MB and read it all at the next start.
        let is_in_tables = is_flushed && self.keyspace.tree.active_memtable().size() == 0;
        self.note();
        if is_in_tables && self.ledger.may_be_empty() {
            log_repair::empty_newest(&self.directory.engine_path())?;
            self.ledger.is_empty(&self.keyspace);
        }
        Ok(())
    }

    fn disk_bytes(&self) -> u64 {
        self.directory.disk_bytes()
    }

    fn memory(&self) -> StoreMemory {
        let (values, values_max) = self.value_cache.memory();
        StoreMemory {
            cache_bytes: self.database.cache_size() + values,
            cache_bytes_max: self.database.cache_capacity() + values_max,
            write_buffer_bytes: self.database.write_buffer_size(),
            write_buffer_bytes_max: WRITE_BUFFER_BYTES_MAX,
        }
    }
}

impl fmt::Debug for LsmEngine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LsmEngine")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

struct LsmSnapshot {
    /// For the value cache.
    time: u64,
    view: fjall::Snapshot,
    reader: SnapshotReader,
    keyspace: Keyspace,
    value_cache: Arc<ValueCache>,
    /// Dropped last: it stays locked as long as this reads from it.
    _directory: Arc<Directory>,
}

impl Snapshot for LsmSnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>> {
        let found = self.view.get(&self.keyspace, key);
        found.map(|value| value.map(Bytes::from)).map_err(|error| to_error("cannot read", &error))
    }

    fn get_cached(&self, key: &[u8], keeps: bool) -> Result<Option<Bytes>> {
        if let Some(value) = self.value_cache.get(key, self.time) {
            return Ok(Some(value));
        }
        let found = self.get(key)?;
        if keeps && let Some(value) = &found {
            self.value_cache.insert(key, value, self.time);
        }
        Ok(found)
    }

    fn prefetch(&self, keys: &[&[u8]]) {
        self.value_cache.prefetch(keys);
    }

    fn contains(&self, key: &[u8]) -> Result<bool> {
        let found = self.view.contains_key(&self.keyspace, key);
        found.map_err(|error| to_error("cannot read", &error))
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Scan<'_> {
        if range.is_empty() {
            return Box::new(std::iter::empty());
        }
        if let Some(entries) = self.reader.scan(&self.keyspace, &self.view, &range, direction) {
            return entries;
        }
        let found = self.view.range::<&[u8], _>(&self.keyspace, range.as_bounds());
        match direction {
            Direction::Forward => Box::new(found.map(to_entry)),
            Direction::Backward => Box::new(found.rev().map(to_entry)),
        }
    }

    fn bulk_scan(&self, range: &KeyRange) -> Option<Scan<'static>> {
        self.reader.bulk_scan(&self.keyspace, &self.view, range)
    }
}

impl fmt::Debug for LsmSnapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LsmSnapshot")
            .field("at", &self.view.seqno())
            .finish_non_exhaustive()
    }
}

/// Compares the files with the manifest and with each other, before the engine touches any of them. Returns what is
/// there.
fn check_files(directory: &Directory, is_required: bool, is_lenient: bool) -> Result<Manifest> {
    let manifest = match directory.read(MANIFEST)? {
        None if !is_required => None,
        None => return Err(files::damaged(&directory.path_of(MANIFEST), "is missing")),
        Some(text) => Some(Manifest::parse(&text).ok_or_else(|| {
            files::damaged(&directory.path_of(MANIFEST), "is not one that Orrery wrote")
        })?),
    };
    let engine = directory.engine_path();
    let keyspaces = files::check(&engine, manifest.as_ref())?;
    let data = keyspaces.iter().find(|note| note.id == files::DATA);
    let version = data.map_or(0, |note| note.version);
    let notes = manifest.map(|manifest| manifest.logs).unwrap_or_default();
    let logs = log_repair::repair(&engine, &notes, version, is_lenient)?;
    Ok(Manifest { keyspaces, logs })
}

fn open_database(directory: &Directory, cache_bytes: u64) -> Result<(Database, Keyspace)> {
    let open = || open_engine(directory, cache_bytes);
    // The engine panics at some damage.
    match catch_unwind(AssertUnwindSafe(open)) {
        Ok(opened) => opened.map_err(|error| to_error("cannot open the store", &error)),
        Err(_) => Err(files::damaged(&directory.engine_path(), "cannot be read by the engine")),
    }
}

fn open_engine(
    directory: &Directory,
    cache_bytes: u64,
) -> Result<(Database, Keyspace), fjall::Error> {
    // The first worker does not compact. Asked to, it passes the request on, and as long as no other worker is free it gets
    // it back and keeps a core busy with that: with two workers in all, for as long as any compaction takes.
    let n_workers = thread::available_parallelism().map_or(2, usize::from).clamp(3, 4);
    let database = Database::builder(directory.engine_path())
        .cache_size(cache_bytes)
        .max_journaling_size(LOG_BYTES_MAX)
        .max_cached_files(Some(open_tables_max(descriptor_limit())))
        .worker_threads(n_workers)
        .open()?;
    let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES_MAX);
    let keyspace = database.keyspace(KEYSPACE, options)?;
    Ok((database, keyspace))
}

/// How many files this process may have open.
fn descriptor_limit() -> u64 {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, getrlimit};
        getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
    }
    #[cfg(not(target_os = "linux"))]
    DESCRIPTORS_UNKNOWN
}

/// How many tables are kept open under a limit of descriptors: the server keeps half of a low one for connections and
/// itself.
fn open_tables_max(limit: u64) -> usize {
    let share = usize::try_from(limit / OPEN_TABLES_PART).unwrap_or(usize::MAX);
    share.clamp(OPEN_TABLES_MIN, OPEN_TABLES_MAX)
}

pub(super) fn to_entry(guard: fjall::Guard) -> Result<(Bytes, Bytes)> {
    let (key, value) = guard.into_inner().map_err(|error| to_error("cannot read", &error))?;
    Ok((key.into(), value.into()))
}

/// I/O may work again later; everything else that the engine reports does not.
pub(super) fn to_error(what: &str, error: &fjall::Error) -> Error {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
            let text = format!("{what}: {error}");
            if is_exhausted(error) { Error::Exhausted(text) } else { Error::Unavailable(text) }
        }
        fjall::Error::Locked => {
            Error::Unavailable(format!("{what}: the engine's files are locked"))
        }
        fjall::Error::Poisoned => Error::Poisoned(format!("{what}: an earlier write failed")),
        other => Error::Corrupt(format!("{what}: {other:?}")),
    }
}

/// Whether the disk is full or no more files can be opened: others may give that back.
fn is_exhausted(error: &io::Error) -> bool {
    // The same numbers on every system that has them.
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        || (cfg!(unix) && matches!(error.raw_os_error(), Some(ENFILE | EMFILE)))
}

#[cfg(test)]
mod tests {
    use super::open_tables_max;

    #[test]
    fn tables_kept_open_leave_descriptors_for_others() {
        for (limit, expected) in [(u64::MAX, 900), (4_096, 900), (1_024, 341), (256, 85), (16, 32)]
        {
            assert_eq!(open_tables_max(limit), expected, "{limit}");
        }
    }
}
