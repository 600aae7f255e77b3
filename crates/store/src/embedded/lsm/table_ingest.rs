//! Bulk loads: writes sorted entries straight to tables, past log and memtable, and syncs them in portions.
//!
//! One long sync at the end of a table would hold up the commits that sync their log meanwhile.
//!
//! Invariant: keys come in ascending order, each once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bytes::Bytes;

use super::engine::to_error;
use crate::embedded::engine::Feed;
use crate::{KeyRange, Result, yield_if_due};

/// Bytes after which the tables being written are synced.
///
/// The engine syncs a table of 64 MB when it is full, and a commit that syncs its log at that moment waits for all of it.
/// Portions let it through; much smaller ones only make the file system write its own log more often.
const SYNC_BYTES: usize = 16 << 20;

/// How a load ended.
#[derive(Debug)]
pub(super) struct LoadedSpan {
    /// From its first key to its last.
    pub(super) span: KeyRange,
    pub(super) is_given_up: bool,
}

/// Writes what `next` gives to `sink`, whose tables are in `folder`. Returns `None` if there was nothing.
pub(super) fn feed(
    folder: &Path,
    mut sink: impl FnMut(Bytes, Bytes) -> Result<(), fjall::LsmError>,
    next: &mut dyn FnMut() -> Feed,
) -> Result<Option<LoadedSpan>> {
    let mut span: Option<(Bytes, Bytes)> = None;
    let mut portions = Portions { folder, n_bytes: 0, is_busy: Arc::default() };
    let is_given_up = loop {
        let writes = match next() {
            Feed::Entries(writes) => writes,
            Feed::Finish => break false,
            Feed::GiveUp => break true,
        };
        debug_assert!(
            writes.windows(2).all(|pair| pair[0].key < pair[1].key),
            "keys of a bulk load ascend"
        );
        if let (Some(first), Some(last)) = (writes.first(), writes.last()) {
            debug_assert!(
                span.as_ref().is_none_or(|(_, end)| *end < first.key),
                "each portion of a bulk load begins behind the one before"
            );
            let start = span.map_or_else(|| first.key.clone(), |(start, _)| start);
            span = Some((start, last.key.clone()));
        }
        for write in writes {
            let value = write.value.unwrap_or_default();
            portions.n_bytes += write.key.len() + value.len();
            sink(write.key, value).map_err(|error| to_error("cannot write", &error.into()))?;
            yield_if_due();
        }
        portions.sync_when_due();
    };
    sync_newest(folder);
    Ok(span.map(|(start, last)| {
        let mut end = last.to_vec();
        end.push(0);
        LoadedSpan { span: KeyRange::new(start, end), is_given_up }
    }))
}

/// Syncs the tables being written from another thread.
#[derive(Debug)]
struct Portions<'f> {
    folder: &'f Path,
    /// Written since the last sync began.
    n_bytes: usize,
    is_busy: Arc<AtomicBool>,
}

impl Portions<'_> {
    fn sync_when_due(&mut self) {
        if self.n_bytes < SYNC_BYTES || self.is_busy.swap(true, Ordering::SeqCst) {
            return;
        }
        self.n_bytes = 0;
        let (folder, is_busy) = (self.folder.to_path_buf(), Arc::clone(&self.is_busy));
        let started = thread::Builder::new().name("orrery-sync".into()).spawn(move || {
            sync_newest(&folder);
            is_busy.store(false, Ordering::SeqCst);
        });
        if started.is_err() {
            // Then the engine's own syncs are longer, and nothing else happens.
            self.is_busy.store(false, Ordering::SeqCst);
        }
    }
}

/// Syncs the youngest tables, among them those being written. Only to have less to sync later: the engine syncs
/// every table before it counts, so an error here is left to it.
fn sync_newest(folder: &Path) {
    // More than one load, the flush of the memory and a compaction can be under way at once.
    const N_NEWEST: usize = 6;
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut tables: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((path.file_name()?.to_str()?.parse().ok()?, path))
        })
        .collect();
    tables.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
    for (_, path) in tables.into_iter().take(N_NEWEST) {
        if let Ok(table) = File::open(path) {
            let _ = table.sync_data();
        }
    }
}
