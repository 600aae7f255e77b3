//! The partition itself: opening it, and what everything else reaches through it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use model::{Env, EpkRange, Lsn, RangeId};
use parking_lot::{Mutex, RwLock};
use store::{Batch, Snapshot, Store};

use crate::expiry::Sweep;
use crate::index::IndexSnapshotCache;
use crate::keys::Keys;
use crate::reader::{Liveness, Purges, Reader};
use crate::record::Head;
use crate::statistics::UsageCounters;
use crate::writer::Writer;
use crate::{Result, Settings};

/// One physical partition. Clones share it.
#[derive(Debug, Clone)]
pub struct Partition(Arc<Inner>);

/// Tells whether anybody still has a partition open, without keeping it open.
#[derive(Debug, Clone)]
pub struct Watch(Weak<Inner>);

impl Watch {
    pub fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    incarnation: u64,
    range: RangeId,
    epks: EpkRange,
    pub(crate) env: Env,
    pub(crate) settings: RwLock<Arc<Settings>>,
    pub(crate) writer: Mutex<Writer>,
    /// The last acknowledged commit.
    pub(crate) lsn: AtomicU64,
    /// Items and bytes; the writer counts.
    pub(crate) usage: Arc<UsageCounters>,
    /// Purges as of the last acknowledged commit.
    pub(crate) purges: RwLock<Purges>,
    pub(crate) sweep: Mutex<Sweep>,
    pub(crate) index_looks: IndexSnapshotCache,
}

impl Inner {
    /// Seconds since the epoch, as item headers hold them.
    // Limit: 32 bits of seconds end in 2106.
    pub(crate) fn now(&self) -> u32 {
        u32::try_from(self.env.now_seconds()).unwrap_or(u32::MAX)
    }
}

impl Partition {
    /// Adds the first entries of a new partition to `batch`, which the caller commits.
    ///
    /// `incarnation` was never used before; `rid_prefix` is unique in the container and grows.
    pub fn initialise(batch: &mut Batch, incarnation: u64, rid_prefix: u16, first_lsn: Lsn) {
        let keys = Keys::new(incarnation);
        batch.put(keys.head(), Head::first(rid_prefix, first_lsn).encode());
    }

    /// Opens an initialised partition. Nobody else may have it open.
    pub fn open(
        store: Arc<dyn Store>,
        incarnation: u64,
        range: RangeId,
        epks: EpkRange,
        settings: Arc<Settings>,
        env: Env,
    ) -> Result<Partition> {
        let writer =
            Writer::load(&*store.snapshot(), Keys::new(incarnation), &settings.index_policy)?;
        Ok(Partition(Arc::new(Inner {
            store,
            incarnation,
            range,
            epks,
            env,
            settings: RwLock::new(settings),
            lsn: AtomicU64::new(writer.head.lsn.0),
            usage: Arc::clone(&writer.usage),
            purges: RwLock::new(writer.purges.clone()),
            writer: Mutex::new(writer),
            sweep: Mutex::new(Sweep::default()),
            index_looks: IndexSnapshotCache::default(),
        })))
    }

    /// Takes new settings for everything that begins after the call.
    pub fn set_settings(&self, settings: Arc<Settings>) {
        let policy = settings.index_policy.clone();
        *self.0.settings.write() = settings;
        let mut writer = self.0.writer.lock();
        let n_items = writer.head.n_items;
        writer.dictionary.adopt(&policy, n_items);
    }

    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.0.settings.read())
    }

    /// Returns the last acknowledged commit.
    pub fn lsn(&self) -> Lsn {
        Lsn(self.0.lsn.load(Ordering::Acquire))
    }

    /// Notes that a commit is visible, which its own caller may not have noticed yet.
    pub(crate) fn has_seen(&self, lsn: Lsn) {
        if lsn > self.lsn() {
            self.0.lsn.fetch_max(lsn.0, Ordering::AcqRel);
        }
    }

    pub fn epks(&self) -> &EpkRange {
        &self.0.epks
    }

    pub fn range(&self) -> RangeId {
        self.0.range
    }

    pub fn incarnation(&self) -> u64 {
        self.0.incarnation
    }

    pub fn watch(&self) -> Watch {
        Watch(Arc::downgrade(&self.0))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    pub(crate) fn keys(&self) -> Keys {
        Keys::new(self.0.incarnation)
    }

    /// Takes one look at the acknowledged state.
    pub(crate) fn reader(&self) -> Reader {
        self.look(|store| store.snapshot())
    }

    /// Takes a look of which most will be read.
    pub(crate) fn reader_to_sweep(&self) -> Reader {
        self.look(|store| store.snapshot_for_bulk_scan(&self.keys().after_head()))
    }

    fn look(&self, snapshot: impl FnOnce(&dyn Store) -> Arc<dyn Snapshot>) -> Reader {
        let settings = self.settings();
        // Invariant: purges before snapshot. A purge ends only after its items are gone, so a snapshot taken later
        // than the marks never shows an item that the marks have already forgotten.
        let purges = self.0.purges.read().clone();
        Reader {
            snapshot: snapshot(&*self.0.store),
            liveness: Liveness {
                now: self.0.now(),
                default_ttl: settings.default_ttl,
                ttl_path: settings.ttl_path.clone(),
                purges,
            },
            settings,
            keys: self.keys(),
        }
    }
}
