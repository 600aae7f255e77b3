//! An engine that can be opened anew inside its process.
//!
//! The engine's threads end for good when the disk is full or no file can be opened, and it takes no write afterwards. What
//! is on disk is whole: a restart would go on from there. This does the same without one, once there is room again.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::RwLock;

use super::engine::LsmEngine;
use crate::embedded::directory::Directory;
use crate::embedded::engine::{Engine, Feed, Writes};
use crate::embedded::space::Room;
use crate::{Direction, EmbeddedOptions, Error, KeyRange, Result, Scan, Snapshot, StoreMemory};

/// How often, and how many times, it looks whether the readers of the old engine have gone.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
// Limit: ten seconds, in which reads are refused. Then they go on for a while, and it is tried again.
const POLLS_MAX: u32 = 1_000;

/// Files that can be opened at once before the engine is opened anew.
const SPARE_FILES: usize = 32;

#[derive(Debug)]
pub(crate) struct ReopenableEngine {
    path: PathBuf,
    options: EmbeddedOptions,
    /// Nothing after an attempt that failed.
    current: RwLock<Option<Arc<LsmEngine>>>,
}

impl ReopenableEngine {
    pub(crate) fn open(path: &Path, options: &EmbeddedOptions) -> Result<ReopenableEngine> {
        let engine = LsmEngine::open(Directory::lock(path)?, options)?;
        Ok(ReopenableEngine {
            path: path.to_path_buf(),
            options: options.clone(),
            current: RwLock::new(Some(Arc::new(engine))),
        })
    }

    fn current(&self) -> Result<Arc<LsmEngine>> {
        self.current.read().clone().ok_or_else(closed)
    }
}

fn closed() -> Error {
    Error::Exhausted("the store is being opened anew".into())
}

impl Engine for ReopenableEngine {
    fn write(&self, writes: Writes) -> Result<()> {
        self.current()?.write(writes)
    }

    fn sync(&self) -> Result<()> {
        self.current()?.sync()
    }

    fn note(&self) {
        if let Ok(current) = self.current() {
            current.note();
        }
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        match self.current() {
            Ok(current) => current.snapshot(),
            Err(error) => Arc::new(Refusing(error)),
        }
    }

    fn has_new_tables(&self) -> bool {
        self.current().is_ok_and(|current| current.has_new_tables())
    }

    fn snapshot_for_bulk_scan(&self, range: &KeyRange) -> Arc<dyn Snapshot> {
        match self.current() {
            Ok(current) => current.snapshot_for_bulk_scan(range),
            Err(error) => Arc::new(Refusing(error)),
        }
    }

    fn flush(&self) -> Result<()> {
        self.current()?.flush()
    }

    fn ingest(&self, next: &mut dyn FnMut() -> Feed) -> Result<()> {
        self.current()?.ingest(next)
    }

    fn discard(&self, range: &KeyRange) -> Result<()> {
        self.current()?.discard(range)
    }

    fn settle(&self) -> Result<()> {
        self.current()?.settle()
    }

    fn disk_bytes(&self) -> u64 {
        self.current().map_or(0, |current| current.disk_bytes())
    }

    fn memory(&self) -> StoreMemory {
        self.current().map(|current| current.memory()).unwrap_or_default()
    }

    fn room(&self) -> Room {
        self.current().map_or(Room::Enough, |current| current.room())
    }

    fn can_reopen(&self) -> bool {
        true
    }

    /// Waits until nobody reads from the old engine, closes it, and opens it from its files.
    fn reopen(&self) -> Result<()> {
        check_resources(self.room())?;
        let old = self.current.write().take();
        if let Some(old) = old {
            match close(old) {
                Ok(()) => {}
                Err(old) => {
                    *self.current.write() = Some(old);
                    return Err(Error::Unavailable("the old engine is still being read".into()));
                }
            }
        }
        let engine = LsmEngine::open(Directory::lock(&self.path)?, &self.options)?;
        *self.current.write() = Some(Arc::new(engine));
        Ok(())
    }
}

/// Closes an engine that nobody else holds any more; gives it back if somebody does for too long.
fn close(mut engine: Arc<LsmEngine>) -> Result<(), Arc<LsmEngine>> {
    for _ in 0..POLLS_MAX {
        engine = match Arc::try_unwrap(engine) {
            Ok(own) if own.is_read() => Arc::new(own),
            Ok(own) => {
                drop(own);
                return Ok(());
            }
            Err(shared) => shared,
        };
        thread::sleep(POLL_INTERVAL);
    }
    Err(engine)
}

/// Whether an engine that is opened now would get on.
fn check_resources(room: Room) -> Result<()> {
    if room != Room::Enough {
        return Err(Error::Exhausted("the disk is still full".into()));
    }
    let files: io::Result<Vec<File>> = (0..SPARE_FILES).map(|_| File::open(".")).collect();
    match files {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::Exhausted(format!("still no files can be opened: {error}"))),
    }
}

/// What is shown while there is no engine.
#[derive(Debug)]
pub(crate) struct Refusing(Error);

impl Refusing {
    pub(crate) fn reopening() -> Refusing {
        Refusing(closed())
    }
}

impl Snapshot for Refusing {
    fn get(&self, _key: &[u8]) -> Result<Option<Bytes>> {
        Err(self.0.clone())
    }

    fn scan(&self, _range: KeyRange, _direction: Direction) -> Scan<'_> {
        Box::new(std::iter::once(Err(self.0.clone())))
    }
}
