//! Reads ranges from the tables themselves.
//!
//! A scan of the engine is made for short ranges: it looks for every block in the cache, and leaves it there in the place of
//! those that requests need; and it carries each entry through a heap, though nearly all come from one run. For who
//! reads gigabytes, both together cost more than the reading.

use std::ops::Bound;

use fjall::{SeqNo, Slice};
use lsm_tree::Table;

use super::merged::{Found, Merged, Run, Versions};
use super::moment::Moment;
use crate::{Direction, KeyRange};

/// What a snapshot shows of a range, and where to read it.
pub(super) struct Swift {
    range: KeyRange,
    seqno: SeqNo,
    moment: Moment,
}

impl Swift {
    /// Prepares to read `range` as a snapshot at `seqno` shows it, of which this is the moment.
    pub(super) fn new(range: KeyRange, seqno: SeqNo, moment: Moment) -> Swift {
        Swift { range, seqno, moment }
    }

    /// Reads a range; `None` if it was not prepared.
    pub(super) fn sweep(&self, range: &KeyRange) -> Option<Merged> {
        if range.is_empty() || !self.range.covers(range) {
            return None;
        }
        let mut runs: Vec<Run> =
            self.moment.in_memory(range, Direction::Forward, self.seqno).into_iter().collect();
        for tables in self.moment.tables_of(range) {
            let (is_only, range, seqno) = (tables.len() == 1, range.clone(), self.seqno);
            let versions = tables.into_iter().flat_map(move |it| versions_of(&it, &range, is_only));
            let is_shown = move |found: &Found| {
                found.as_ref().map_or(true, |version| version.key.seqno < seqno)
            };
            runs.push(Run::new(versions.filter(is_shown)));
        }
        Some(Merged::new(runs, Direction::Forward))
    }
}

/// What a table has of the range. The only one of a run is asked for a part, because most of it may be of no use. One
/// of several is read whole: what is passed over is little beside what is read.
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
    let is_before = move |found: &Found| {
        found.as_ref().is_ok_and(|version| &*version.key.user_key < start.start())
    };
    let is_not_after = move |found: &Found| {
        let key = found.as_ref().ok().map(|version| &*version.key.user_key);
        key.zip(end.end()).is_none_or(|(key, end)| key < end)
    };
    Box::new(versions.skip_while(is_before).take_while(is_not_after))
}
