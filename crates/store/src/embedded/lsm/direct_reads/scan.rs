//! Direct scans of tables and memtable for queries, past the engine's iterators.
//!
//! The engine's scan seeks both ends of a range in every table before it reads, and merges through a heap. Queries read
//! short ranges, several at a time, so that was half of what a query cost. Here the end is found by reading up to it,
//! and where one sorted run has all of the range there is nothing to merge.
//!
//! Invariant: a scan reads only the version that is pinned for its snapshot.

use std::ops::Bound;

use fjall::{SeqNo, Slice};
use lsm_tree::Table;

use super::merge_iterator::{MergeIterator, SortedRun, VersionResult};
use super::pinned_version::PinnedVersion;
use crate::{Direction, KeyRange};

/// Reads `range` as a snapshot at `seqno` shows it, in the version that is pinned for it.
pub(super) fn scan(
    pinned: &PinnedVersion,
    range: &KeyRange,
    direction: Direction,
    seqno: SeqNo,
) -> MergeIterator {
    let runs = pinned.tables_of(range).into_iter().map(|tables| {
        debug_assert!(
            tables.iter().all(|table| table.get_highest_seqno() < seqno),
            "a snapshot is younger than the tables of its version"
        );
        match direction {
            Direction::Forward => run(tables, range),
            Direction::Backward => run_backward(tables, range),
        }
    });
    MergeIterator::new(runs.chain(pinned.in_memory(range, direction, seqno)).collect(), direction)
}

/// What the tables of one run have of the range.
fn run(mut tables: Vec<Table>, range: &KeyRange) -> SortedRun {
    let start = Slice::from(range.start());
    let from =
        |table: &Table| table.range((Bound::Included(start.clone()), Bound::<Slice>::Unbounded));
    let end = range.end().map(Slice::from);
    let is_before_end = move |found: &VersionResult| {
        let key = found.as_ref().ok().map(|version| &version.key.user_key);
        key.zip(end.as_ref()).is_none_or(|(key, end)| key < end)
    };
    if tables.len() == 1
        && let Some(table) = tables.pop()
    {
        return SortedRun::new(from(&table).take_while(is_before_end));
    }
    let versions = tables.into_iter().enumerate().flat_map(move |(at, table)| {
        let start = if at == 0 { Bound::Included(start.clone()) } else { Bound::Unbounded };
        table.range((start, Bound::<Slice>::Unbounded))
    });
    SortedRun::new(versions.take_while(is_before_end))
}

/// The same from the end.
fn run_backward(tables: Vec<Table>, range: &KeyRange) -> SortedRun {
    let end = range.end().map_or(Bound::Unbounded, |end| Bound::Excluded(Slice::from(end)));
    let start = Slice::from(range.start());
    let is_after_start = move |found: &VersionResult| {
        found.as_ref().ok().is_none_or(|version| version.key.user_key >= start)
    };
    let versions = tables.into_iter().rev().enumerate().flat_map(move |(at, table)| {
        let end = if at == 0 { end.clone() } else { Bound::Unbounded };
        table.range((Bound::<Slice>::Unbounded, end)).rev()
    });
    SortedRun::new(versions.take_while(is_after_start))
}
