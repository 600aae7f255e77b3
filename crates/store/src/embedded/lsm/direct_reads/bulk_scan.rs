//! Bulk scans that bypass the block cache, for relocations.
//!
//! The engine's scan is made for short ranges: it looks up every block in the cache, evicts blocks that requests need,
//! and merges through a heap though nearly all entries come from one run. For gigabytes, both together cost more than the
//! reading.
//!
//! Invariant: a bulk scan reads only the version that is pinned for its snapshot.

use std::ops::Bound;

use fjall::{SeqNo, Slice};
use lsm_tree::Table;

use super::merge_iterator::{MergeIterator, SortedRun, VersionResult, Versions};
use super::pinned_version::PinnedVersion;
use crate::{Direction, KeyRange};

/// Reads `range` as a snapshot at `seqno` shows it, in the version that is pinned for it.
pub(super) fn read(pinned: &PinnedVersion, range: &KeyRange, seqno: SeqNo) -> MergeIterator {
    let mut runs: Vec<SortedRun> =
        pinned.in_memory(range, Direction::Forward, seqno).into_iter().collect();
    for tables in pinned.tables_of(range) {
        let (is_only, range) = (tables.len() == 1, range.clone());
        let versions = tables.into_iter().flat_map(move |it| versions_of(&it, &range, is_only));
        let is_shown = move |found: &VersionResult| {
            found.as_ref().map_or(true, |version| version.key.seqno < seqno)
        };
        runs.push(SortedRun::new(versions.filter(is_shown)));
    }
    MergeIterator::new(runs, Direction::Forward)
}

/// The versions of the range in one table. The only table of a run is read by range, because most of it may lie outside.
/// One of several is read whole: what is skipped is little beside what is read.
fn versions_of(table: &Table, range: &KeyRange, is_only: bool) -> Versions {
    let own = &table.metadata.key_range;
    let is_inside = range.contains(own.min()) && range.contains(own.max());
    if is_only && !is_inside {
        let start = Bound::Included(Slice::from(range.start()));
        let end = range.end().map_or(Bound::Unbounded, |end| Bound::Excluded(Slice::from(end)));
        return Box::new(table.range((start, end)));
    }
    let versions = match table.scan() {
        Ok(versions) => versions,
        Err(error) => return Box::new(std::iter::once(Err(error))),
    };
    if is_inside {
        return Box::new(versions);
    }
    let (start, end) = (range.clone(), range.clone());
    let is_before = move |found: &VersionResult| {
        found.as_ref().is_ok_and(|version| &*version.key.user_key < start.start())
    };
    let is_not_after = move |found: &VersionResult| {
        let key = found.as_ref().ok().map(|version| &*version.key.user_key);
        key.zip(end.end()).is_none_or(|(key, end)| key < end)
    };
    Box::new(versions.skip_while(is_before).take_while(is_not_after))
}
