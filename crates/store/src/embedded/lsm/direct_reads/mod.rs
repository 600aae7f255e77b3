//! Direct reads: scans of the tables and the memtable past the engine's own iterators.
//!
//! The engine's scan is made for long ranges of a large tree. Queries read many short ranges, and relocations read
//! gigabytes: for both, half of the work is the engine's preparation ([`scan`], [`bulk_scan`]). This module is the only one
//! that names parts of lsm-tree which its documentation hides; their versions are pinned in `Cargo.toml`.
//!
//! Invariant: a direct read gives what the engine's own scan of the same snapshot gives. [`DirectReads::Compared`] makes
//! both and compares them, entry by entry. Where the version of a snapshot is gone, there is no direct read, and the
//! caller scans with the engine.

mod bulk_scan;
mod compared;
mod merge_iterator;
mod pinned_version;
mod scan;

use std::sync::{Arc, OnceLock};

use fjall::{Database, Keyspace, Readable as _};

use self::compared::Compared;
use self::pinned_version::{PinnedVersion, VersionId, VersionLog};
use super::engine::to_entry;
use crate::{DirectReads, Direction, KeyRange, Scan};

/// The direct reads of one engine.
#[derive(Debug)]
pub(super) struct DirectReader {
    mode: DirectReads,
    log: Arc<VersionLog>,
}

/// The direct reads of one snapshot.
pub(super) struct SnapshotReader {
    mode: DirectReads,
    log: Arc<VersionLog>,
    /// The version of the snapshot; `None` if the tables had already changed when the first scan began.
    pinned: OnceLock<Option<PinnedVersion>>,
    /// What was prepared for a bulk scan.
    bulk_range: Option<KeyRange>,
}

impl DirectReader {
    pub(super) fn new(mode: DirectReads) -> DirectReader {
        DirectReader { mode, log: Arc::default() }
    }

    /// Notes the version of the tables and returns it. Called before each snapshot is taken.
    pub(super) fn note(&self, database: &Database, keyspace: &Keyspace) -> VersionId {
        self.log.note(database, keyspace)
    }

    /// The reads of a snapshot that was just taken. Its version is looked for at the first scan.
    pub(super) fn of_snapshot(&self) -> SnapshotReader {
        SnapshotReader {
            mode: self.mode,
            log: Arc::clone(&self.log),
            pinned: OnceLock::new(),
            bulk_range: None,
        }
    }

    /// Whether a snapshot at `seqno` could be read directly now.
    #[cfg(test)]
    pub(super) fn can_read(&self, keyspace: &Keyspace, seqno: fjall::SeqNo) -> bool {
        PinnedVersion::find(keyspace, &self.log, seqno).is_some()
    }

    /// How many tables each run has, as a snapshot at `seqno` is read.
    #[cfg(test)]
    pub(super) fn run_lengths(&self, keyspace: &Keyspace, seqno: fjall::SeqNo) -> Vec<usize> {
        let pinned = PinnedVersion::find(keyspace, &self.log, seqno);
        let runs = pinned.map(|pinned| pinned.tables_of(&KeyRange::all())).unwrap_or_default();
        runs.iter().map(Vec::len).collect()
    }

    /// The same, prepared for bulk scans inside of `range`: the version is pinned now, while the caller keeps writes out.
    pub(super) fn of_bulk_snapshot(
        &self,
        keyspace: &Keyspace,
        view: &fjall::Snapshot,
        range: &KeyRange,
    ) -> SnapshotReader {
        let reader = SnapshotReader { bulk_range: Some(range.clone()), ..self.of_snapshot() };
        reader.pin(keyspace, view);
        reader
    }
}

impl SnapshotReader {
    fn pin(&self, keyspace: &Keyspace, view: &fjall::Snapshot) -> Option<&PinnedVersion> {
        if self.mode == DirectReads::Off {
            return None;
        }
        let find = || PinnedVersion::find(keyspace, &self.log, view.seqno());
        self.pinned.get_or_init(find).as_ref()
    }

    /// Scans `range` as `view` shows it; `None` if the engine has to.
    pub(super) fn scan(
        &self,
        keyspace: &Keyspace,
        view: &fjall::Snapshot,
        range: &KeyRange,
        direction: Direction,
    ) -> Option<Scan<'static>> {
        let pinned = self.pin(keyspace, view)?;
        let entries = scan::scan(pinned, range, direction, view.seqno());
        Some(self.checked(keyspace, view, range, direction, Box::new(entries)))
    }

    /// Reads `range` if the snapshot was prepared for a bulk scan of it; `None` if not.
    pub(super) fn bulk_scan(
        &self,
        keyspace: &Keyspace,
        view: &fjall::Snapshot,
        range: &KeyRange,
    ) -> Option<Scan<'static>> {
        if range.is_empty() || !self.bulk_range.as_ref()?.covers(range) {
            return None;
        }
        let pinned = self.pin(keyspace, view)?;
        let entries = bulk_scan::read(pinned, range, view.seqno());
        Some(self.checked(keyspace, view, range, Direction::Forward, Box::new(entries)))
    }

    /// Compares with the engine's own scan, if that is asked for.
    fn checked(
        &self,
        keyspace: &Keyspace,
        view: &fjall::Snapshot,
        range: &KeyRange,
        direction: Direction,
        entries: Scan<'static>,
    ) -> Scan<'static> {
        if self.mode != DirectReads::Compared {
            return entries;
        }
        let own = view.range::<&[u8], _>(keyspace, range.as_bounds());
        let own: Scan<'static> = match direction {
            Direction::Forward => Box::new(own.map(to_entry)),
            Direction::Backward => Box::new(own.rev().map(to_entry)),
        };
        Box::new(Compared::new(entries, own))
    }
}
