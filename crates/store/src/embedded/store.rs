//! The embedded store as the layers above see it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};

use super::committer::{Committer, Shared, check_room};
use super::engine::Engine;
use super::ingest::{TableIngest, discard, flush};
use super::queue::Queue;
use crate::statistics::Recorder;
use crate::{
    Batch, Commit, Direction, EmbeddedOptions, Error, Ingest, KeyRange, Result, Scan, Snapshot,
    Store, StoreStatistics,
};

/// An engine, its committer, and the snapshot they published last.
#[derive(Debug)]
pub(super) struct EmbeddedStore {
    shared: Arc<Shared>,
    running: Mutex<Option<Running>>,
}

/// What exists between start and close.
#[derive(Debug)]
struct Running {
    engine: Arc<dyn Engine>,
    committer: JoinHandle<()>,
}

impl EmbeddedStore {
    pub(super) fn start(
        engine: Arc<dyn Engine>,
        options: &EmbeddedOptions,
    ) -> Result<EmbeddedStore> {
        let shared = Arc::new(Shared {
            queue: Queue::default(),
            published: RwLock::new(engine.snapshot()),
            recorder: Recorder::default(),
            env: options.env.clone(),
            can_recover: AtomicBool::new(false),
        });
        let committer =
            Committer::new(Arc::clone(&shared), Arc::clone(&engine), options.durability);
        let committer = thread::Builder::new()
            .name("orrery-commit".into())
            .spawn(move || committer.run())
            .map_err(|error| Error::Unavailable(format!("cannot start a thread: {error}")))?;
        Ok(EmbeddedStore { shared, running: Mutex::new(Some(Running { engine, committer })) })
    }

    fn engine(&self) -> Result<Arc<dyn Engine>> {
        let running = self.running.lock();
        let engine = running.as_ref().map(|running| Arc::clone(&running.engine));
        engine.ok_or_else(|| Error::Unavailable("store is closed".into()))
    }

    /// Lets the committer finish what waits, and waits for it.
    fn stop(&self, running: Running) -> Arc<dyn Engine> {
        self.shared.queue.close();
        if running.committer.join().is_err() {
            tracing::error!("the committer ended by a panic");
        }
        *self.shared.published.write() = Arc::new(ClosedSnapshot);
        running.engine
    }
}

impl Store for EmbeddedStore {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::clone(&self.shared.published.read())
    }

    fn prepare_bulk_scan(&self) -> Commit {
        self.engine().map_or_else(|error| Commit::ready(Err(error)), flush)
    }

    fn snapshot_for_bulk_scan(&self, range: &KeyRange) -> Arc<dyn Snapshot> {
        match self.engine() {
            Ok(engine) => engine.snapshot_for_bulk_scan(range),
            Err(_) => self.snapshot(),
        }
    }

    fn commit(&self, batch: Batch) -> Commit {
        match batch.check() {
            Ok(()) => self.shared.queue.push(batch, self.shared.env.monotonic()),
            Err(error) => Commit::ready(Err(error)),
        }
    }

    fn ingest(self: Arc<Self>) -> Result<Box<dyn Ingest>> {
        Ok(Box::new(TableIngest::new(Arc::clone(&self.shared), self.engine()?)))
    }

    fn discard(&self, range: KeyRange) -> Commit {
        match self.engine() {
            Ok(engine) => discard(Arc::clone(&self.shared), engine, range),
            Err(error) => Commit::ready(Err(error)),
        }
    }

    fn close(&self) -> Result<()> {
        // The lock is held to the end: a second call returns when the store is closed.
        let mut running = self.running.lock();
        let Some(running) = running.take() else { return Ok(()) };
        let engine = self.stop(running);
        self.shared.queue.poisoned()?;
        engine.settle()
    }

    fn check_writable(&self) -> Result<()> {
        self.shared.queue.check()?;
        check_room(self.engine()?.room(), false)
    }

    fn statistics(&self) -> StoreStatistics {
        let engine = self.running.lock().as_ref().map(|running| Arc::clone(&running.engine));
        StoreStatistics {
            disk_bytes: engine.as_ref().map_or(0, |engine| engine.disk_bytes()),
            memory: engine.map(|engine| engine.memory()).unwrap_or_default(),
            waiting: self.shared.queue.len() as u64,
            ..self.shared.recorder.read()
        }
    }
}

impl Drop for EmbeddedStore {
    /// Without `close` everything acknowledged is still kept; only the next start is slower.
    fn drop(&mut self) {
        if let Some(running) = self.running.get_mut().take() {
            drop(self.stop(running));
        }
    }
}

/// What a closed store shows, so that it no longer holds its directory.
#[derive(Debug)]
struct ClosedSnapshot;

impl Snapshot for ClosedSnapshot {
    fn get(&self, _key: &[u8]) -> Result<Option<Bytes>> {
        Err(Error::Unavailable("store is closed".into()))
    }

    fn scan(&self, _range: KeyRange, _direction: Direction) -> Scan<'_> {
        Box::new(std::iter::once(Err(Error::Unavailable("store is closed".into()))))
    }
}
