//! Entries that go to tables without passing log and memory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::engine::to_error;
use crate::embedded::engine::Feed;
use crate::{KeyRange, Result};

/// Bytes after which the tables being written are synced.
///
/// The engine syncs a table of 64 MB when it is full. A commit that syncs its log at that moment would wait for all of
/// it; small portions let it through.
const SYNC_BYTES: usize = 2 << 20;

/// How a load ended.
#[derive(Debug)]
pub(super) struct Fed {
    /// From its first key to its last.
    pub(super) span: KeyRange,
    pub(super) is_given_up: bool,
}

/// Writes what `next` gives to `sink`, whose tables are in `folder`. Returns `None` if there was nothing.
pub(super) fn feed(
    folder: &Path,
    mut sink: impl FnMut(Bytes, Bytes) -> Result<(), fjall::LsmError>,
    next: &mut dyn FnMut() -> Feed,
) -> Result<Option<Fed>> {
    let mut span: Option<(Bytes, Bytes)> = None;
    let mut n_unsynced = 0;
    let is_given_up = loop {
        let writes = match next() {
            Feed::Entries(writes) => writes,
            Feed::Finish => break false,
            Feed::GiveUp => break true,
        };
        if let (Some(first), Some(last)) = (writes.first(), writes.last()) {
            let start = span.map_or_else(|| first.key.clone(), |(start, _)| start);
            span = Some((start, last.key.clone()));
        }
        for write in writes {
            let value = write.value.unwrap_or_default();
            n_unsynced += write.key.len() + value.len();
            sink(write.key, value).map_err(|error| to_error("cannot write", &error.into()))?;
        }
        if n_unsynced >= SYNC_BYTES {
            n_unsynced = 0;
            sync_newest(folder);
        }
    };
    sync_newest(folder);
    Ok(span.map(|(start, last)| {
        let mut end = last.to_vec();
        end.push(0);
        Fed { span: KeyRange::new(start, end), is_given_up }
    }))
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
