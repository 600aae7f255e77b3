//! The tree behind the [`Engine`] seam. One committer drives it, which keeps its waits simple.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use fjall::{
    AbstractTree, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable,
};
use model::Env;
use parking_lot::Mutex;

use super::merged::Merged;
use super::moment::{Moment, Since};
use super::rest::Rest;
use super::sweep::Swift;
use super::values::Values;
use super::{log, scan, tables};
use crate::embedded::directory::{Content, Directory};
use crate::embedded::engine::{Engine, Feed, Writes};
use crate::{Direction, Durability, EmbeddedOptions, Error, KeyRange, Result, Scan, Snapshot};

/// All data is in one keyspace: more of them cost memory and were not faster.
const KEYSPACE: &str = "orrery";

/// Where the engine keeps the tables of a keyspace.
const TABLES_FOLDER: &str = "tables";

/// Log bytes beyond which the engine moves data out of the log.
// Limit: a start after a crash replays the log, seconds per 100 MB.
const LOG_BYTES_MAX: u64 = 128 << 20;

/// Bytes in memory before they are sorted into a table.
// Limit: up to five such tables are in memory under load.
const MEMTABLE_BYTES_MAX: u64 = 64 << 20;

/// Bytes in memory that may go to a table while commits wait for a load to be added.
// Limit: some 20 ms of work.
const ADDING_BYTES_MAX: u64 = 4 << 20;

/// Full memory tables, and runs of the top level, at which writes wait for the workers.
// Limit: below the engine's own limits (4 and 30), where it would wait without looking whether the
// workers are still alive.
const SEALED_MEMTABLES_MAX: usize = 3;
const TOP_RUNS_MAX: usize = 28;

/// How often, and how many times, a wait for the workers looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
// Limit: a minute; a full memory table is written in about a second.
const LOOKS_MAX: u32 = 12_000;
// Limit: so that a stop ends before impatient supervisors kill. What is not moved by then stays in the log.
const SETTLING_MAX: Duration = Duration::from_secs(5);

pub(crate) struct LsmEngine {
    // Dropped in this order: the directory stays locked until the engine is gone.
    rest: Rest,
    pub(super) keyspace: Keyspace,
    pub(super) database: Database,
    directory: Arc<Directory>,
    /// The log was emptied under the engine, so it must not be written again.
    is_settled: AtomicBool,
    /// Held while entries go into memory, and while tables are added that must be younger than these.
    writing: Mutex<()>,
    values: Arc<Values>,
    pub(super) since: Arc<Since>,
    /// The version of the tables at the last snapshot.
    shown: AtomicU64,
    env: Env,
}

impl LsmEngine {
    pub(crate) fn open(directory: Directory, options: &EmbeddedOptions) -> Result<LsmEngine> {
        let content = directory.prepare()?;
        if content == Content::Store {
            let is_lenient = matches!(options.durability, Durability::Relaxed { .. });
            log::repair(&directory.engine_path(), is_lenient)?;
        }
        let (values, block_bytes) = Values::new(options.cache_bytes);
        let (database, keyspace) = open_database(&directory, block_bytes)
            .map_err(|error| to_error("cannot open the store", &error))?;
        if content == Content::Nothing {
            directory.finish_creation()?;
        }
        let rest = Rest::start(database.clone(), keyspace.clone())?;
        Ok(LsmEngine {
            rest,
            keyspace,
            database,
            directory: Arc::new(directory),
            is_settled: AtomicBool::new(false),
            writing: Mutex::default(),
            values: Arc::new(values),
            since: Arc::default(),
            shown: AtomicU64::default(),
            env: options.env.clone(),
        })
    }

    /// Waits until the workers have caught up. An engine whose workers died says so when asked to
    /// persist, and never catches up.
    fn wait_while(&self, is_behind: impl Fn(&Keyspace) -> bool) -> Result<()> {
        if self.has_caught_up(LOOKS_MAX, is_behind)? {
            return Ok(());
        }
        Err(Error::Unavailable("the engine does not catch up with its writes".into()))
    }

    /// Waits like [`LsmEngine::wait_while`] and tells whether the wait came to its end.
    fn has_caught_up(&self, n_looks: u32, is_behind: impl Fn(&Keyspace) -> bool) -> Result<bool> {
        for _ in 0..n_looks {
            if !is_behind(&self.keyspace) {
                return Ok(true);
            }
            self.persist(PersistMode::Buffer)?;
            thread::sleep(LOOK_AGAIN);
        }
        Ok(false)
    }

    /// Moves what is in memory to tables.
    fn empty_memory(&self) -> Result<()> {
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
    fn look(&self, time: u64, view: fjall::Snapshot, swift: Option<Swift>) -> LsmSnapshot {
        LsmSnapshot {
            time,
            view,
            swift,
            keyspace: self.keyspace.clone(),
            values: Arc::clone(&self.values),
            moment: OnceLock::new(),
            since: Arc::clone(&self.since),
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
        let time = self.values.begin(&writes);
        for (key, value) in writes {
            match value {
                Some(value) => batch.insert(&self.keyspace, key, value),
                None => batch.remove(&self.keyspace, key),
            }
        }
        let _writing = self.writing.lock();
        let committed = batch.commit();
        self.values.end(time);
        committed.map_err(|error| to_error("cannot write", &error))
    }

    fn sync(&self) -> Result<()> {
        self.persist(PersistMode::SyncData)
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let version = self.since.note(&self.database, &self.keyspace);
        self.shown.store(version, Ordering::Relaxed);
        let time = self.values.now();
        Arc::new(self.look(time, self.database.snapshot(), None))
    }

    fn has_moved(&self) -> bool {
        self.keyspace.tree.current_version().id() != self.shown.load(Ordering::Relaxed)
    }

    fn snapshot_to_sweep(&self, range: &KeyRange) -> Arc<dyn Snapshot> {
        let _writing = self.writing.lock();
        self.since.note(&self.database, &self.keyspace);
        let (time, view) = (self.values.now(), self.database.snapshot());
        let moment = Moment::find(&self.keyspace, &self.since, view.seqno());
        let swift = moment.map(|moment| Swift::new(range.clone(), view.seqno(), moment));
        Arc::new(self.look(time, view, swift))
    }

    fn flush(&self) -> Result<()> {
        self.check_settled()?;
        self.empty_memory()
    }

    fn ingest(&self, next: &mut dyn FnMut() -> Feed) -> Result<()> {
        self.check_settled()?;
        let _load = self.rest.load();
        let failed = |error: fjall::LsmError| to_error("cannot load", &error.into());
        let mut ingestion = self.keyspace.tree.ingestion().map_err(failed)?;
        let folder = self.keyspace.path().join(TABLES_FOLDER);
        let fed = tables::feed(&folder, |key, value| ingestion.write(key, value), next)?;
        let Some(fed) = fed else { return Ok(()) };
        // Commits wait while the engine moves to tables what is in memory, so most of it goes before.
        if self.keyspace.tree.active_memtable().size() > ADDING_BYTES_MAX {
            self.empty_memory()?;
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
        Ok(())
    }

    fn discard(&self, range: &KeyRange) -> Result<()> {
        self.check_settled()?;
        let _load = self.rest.load();
        let dropped = self.keyspace.tree.drop_range::<&[u8], _>(range.as_bounds());
        dropped.map_err(|error| to_error("cannot drop tables", &error.into()))?;
        // What the log says of these keys must not count as unwritten, and come back at the next start, because the tables
        // that had it are gone: some table is to be younger than all of it. This comes second, for it makes the engine
        // compact, and dropping would wait for that.
        self.empty_memory()
    }

    fn settle(&self) -> Result<()> {
        self.is_settled.store(true, Ordering::SeqCst);
        self.rest.end();
        // A load that is being added goes first.
        drop(self.writing.lock());
        self.rotate()?;
        let begin = self.env.monotonic();
        self.has_caught_up(LOOKS_MAX, |keyspace| {
            let waited = self.env.monotonic().saturating_sub(begin);
            self.is_flushing(keyspace) && waited < SETTLING_MAX
        })?;
        let is_flushed = !self.is_flushing(&self.keyspace);
        self.persist(PersistMode::SyncAll)?;
        // Invariant: nothing is in memory, so all that the log holds is in synced tables, and the
        // log may go. The engine itself would keep up to 64 MB and read it all at the next start.
        if is_flushed && self.keyspace.tree.active_memtable().size() == 0 {
            log::empty_newest(&self.directory.engine_path())?;
        }
        Ok(())
    }

    fn disk_bytes(&self) -> u64 {
        self.directory.disk_bytes()
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
    /// For the values that are kept.
    time: u64,
    view: fjall::Snapshot,
    /// How to read much, if it was taken for that.
    swift: Option<Swift>,
    keyspace: Keyspace,
    values: Arc<Values>,
    /// What scans read, as long as the engine had not moved anything when the first began.
    moment: OnceLock<Option<Moment>>,
    since: Arc<Since>,
    /// Dropped last: it stays locked as long as this reads from it.
    _directory: Arc<Directory>,
}

impl LsmSnapshot {
    fn scan_tables(&self, range: &KeyRange, direction: Direction) -> Option<Merged> {
        let seqno = self.view.seqno();
        let find = || Moment::find(&self.keyspace, &self.since, seqno);
        let moment = self.moment.get_or_init(find);
        moment.as_ref().map(|moment| scan::scan(moment, range, direction, seqno))
    }
}

impl Snapshot for LsmSnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>> {
        let found = self.view.get(&self.keyspace, key);
        found.map(|value| value.map(Bytes::from)).map_err(|error| to_error("cannot read", &error))
    }

    fn recall(&self, key: &[u8], keeps: bool) -> Result<Option<Bytes>> {
        if let Some(value) = self.values.get(key, self.time) {
            return Ok(Some(value));
        }
        let found = self.get(key)?;
        if keeps && let Some(value) = &found {
            self.values.keep(key, value, self.time);
        }
        Ok(found)
    }

    fn announce(&self, keys: &[&[u8]]) {
        self.values.announce(keys);
    }

    fn contains(&self, key: &[u8]) -> Result<bool> {
        let found = self.view.contains_key(&self.keyspace, key);
        found.map_err(|error| to_error("cannot read", &error))
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Scan<'_> {
        if range.is_empty() {
            return Box::new(std::iter::empty());
        }
        if let Some(merged) = self.scan_tables(&range, direction) {
            return Box::new(merged);
        }
        let found = self.view.range::<&[u8], _>(&self.keyspace, range.as_bounds());
        match direction {
            Direction::Forward => Box::new(found.map(to_entry)),
            Direction::Backward => Box::new(found.rev().map(to_entry)),
        }
    }

    fn sweep(&self, range: &KeyRange) -> Option<Scan<'static>> {
        let merged = self.swift.as_ref()?.sweep(range)?;
        Some(Box::new(merged))
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

fn open_database(
    directory: &Directory,
    cache_bytes: u64,
) -> Result<(Database, Keyspace), fjall::Error> {
    // The first worker does not compact. Asked to, it passes the request on, and as long as no other worker is free it gets
    // it back and keeps a core busy with that: with two workers in all, for as long as any compaction takes.
    let n_workers = thread::available_parallelism().map_or(2, usize::from).clamp(3, 4);
    let database = Database::builder(directory.engine_path())
        .cache_size(cache_bytes)
        .max_journaling_size(LOG_BYTES_MAX)
        .worker_threads(n_workers)
        .open()?;
    let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES_MAX);
    let keyspace = database.keyspace(KEYSPACE, options)?;
    Ok((database, keyspace))
}

fn to_entry(guard: fjall::Guard) -> Result<(Bytes, Bytes)> {
    let (key, value) = guard.into_inner().map_err(|error| to_error("cannot read", &error))?;
    Ok((key.into(), value.into()))
}

/// I/O may work again later; everything else that the engine reports does not.
pub(super) fn to_error(what: &str, error: &fjall::Error) -> Error {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
            Error::Unavailable(format!("{what}: {error}"))
        }
        fjall::Error::Locked => {
            Error::Unavailable(format!("{what}: the engine's files are locked"))
        }
        fjall::Error::Poisoned => Error::Poisoned(format!("{what}: an earlier write failed")),
        other => Error::Corrupt(format!("{what}: {other:?}")),
    }
}
