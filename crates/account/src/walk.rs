//! A walk over the hash space: what of it is still to be read, and from which position.
//!
//! A cursor is a span of effective partition keys with a position that holds in all of it. A span is read
//! range by range; where a range covers only its beginning, the span is cut and the rest keeps the
//! position. So a position taken before a split goes on in every child, and one taken before a merge reads
//! its own part of the merged range only.

use std::collections::VecDeque;

use model::EpkRange;

use crate::range_map::{Range, RangeMap};

/// A span of the hash space and where to go on in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor<P> {
    pub(crate) epks: EpkRange,
    pub(crate) position: P,
}

/// Invariant: the spans do not overlap; they are read in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Walk<P> {
    pub(crate) cursors: VecDeque<Cursor<P>>,
}

impl<P: Clone> Walk<P> {
    /// A walk over `epks` from the beginning.
    pub(crate) fn start(epks: EpkRange, position: P) -> Walk<P> {
        Walk { cursors: VecDeque::from([Cursor { epks, position }]) }
    }

    /// A walk with nothing left to read.
    pub(crate) fn done() -> Walk<P> {
        Walk { cursors: VecDeque::new() }
    }

    /// What of the walk lies in `epks`; `None` if nothing does.
    pub(crate) fn within(self, epks: &EpkRange) -> Option<Walk<P>> {
        let cut = |cursor: Cursor<P>| {
            let epks = cursor.epks.intersect(epks)?;
            Some(Cursor { epks, position: cursor.position })
        };
        let cursors: VecDeque<_> = self.cursors.into_iter().filter_map(cut).collect();
        (!cursors.is_empty()).then_some(Walk { cursors })
    }

    /// Takes the first cursor, cut to the range that it begins in.
    pub(crate) fn next<'m>(&mut self, ranges: &'m RangeMap) -> Option<(Cursor<P>, &'m Range)> {
        let cursor = self.cursors.pop_front()?;
        debug_assert!(
            self.cursors.iter().all(|other| other.epks.intersect(&cursor.epks).is_none()),
            "the spans of a walk do not overlap"
        );
        let range = ranges.route(cursor.epks.min());
        let end = range.entry.epks.max();
        if cursor.epks.max() <= end {
            return Some((cursor, range));
        }
        let head = EpkRange::new(cursor.epks.min().clone(), end.clone());
        let rest = EpkRange::new(end.clone(), cursor.epks.max().clone());
        if let Some(epks) = rest {
            self.cursors.push_front(Cursor { epks, position: cursor.position.clone() });
        }
        // Invariant: the range owns the beginning of the span, so the head is not empty.
        let epks = head.unwrap_or(cursor.epks);
        Some((Cursor { epks, position: cursor.position }, range))
    }

    /// Cuts every cursor at range boundaries.
    pub(crate) fn by_range(mut self, ranges: &RangeMap) -> Walk<P> {
        let mut cursors = VecDeque::new();
        while let Some((cursor, _)) = self.next(ranges) {
            cursors.push_back(cursor);
        }
        Walk { cursors }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::{Env, Lsn, PartitionKeyDefinition, RangeId, Rid};
    use partition::{LOGICAL_BYTES_MAX, Partition, Settings};
    use store::Batch;

    use super::*;
    use crate::range_map::RangeEntry;

    type Step = (EpkRange, Option<u64>, RangeId);

    /// A map of `n_ranges` ranges over a store of its own.
    fn map(n_ranges: u32) -> RangeMap {
        let definition = PartitionKeyDefinition::new(&["/pk"]).unwrap();
        let store = store::open_memory();
        let mut entries = Vec::new();
        let mut batch = Batch::new();
        for (id, epks) in (0..).zip(definition.boundaries(n_ranges)) {
            let incarnation = u64::from(id) + 1;
            Partition::initialise(&mut batch, incarnation, 0, Lsn(1));
            let (id, parents) = (RangeId(id), Vec::new());
            let entry = RangeEntry { id, epks, incarnation, rid_prefix: 0, parents, ts: 0 };
            entries.push(entry.to_value());
        }
        store.commit(batch).wait().unwrap();
        let settings = Settings {
            container: Rid::container(1, 1),
            container_link: "".into(),
            definition,
            unique_keys: Vec::new(),
            default_ttl: None,
            ttl_path: None,
            version_retention: None,
            logical_bytes_max: LOGICAL_BYTES_MAX,
            is_indexed: true,
            is_automatic: true,
            index_policy: query::index::IndexPolicy::all(),
        };
        let ranges = model::Value::Array(entries);
        let state = crate::body::object([("ranges", ranges), ("rangesEtag", "x".into())]);
        RangeMap::open(&store, &Env::fixed(1, 0), &state, &Arc::new(settings), []).unwrap()
    }

    /// Walks to the end and returns what was read with which position.
    fn steps(mut walk: Walk<Option<u64>>, ranges: &RangeMap) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some((cursor, range)) = walk.next(ranges) {
            assert!(range.entry.epks.covers(&cursor.epks), "a step stays in its range");
            steps.push((cursor.epks, cursor.position, range.id()));
        }
        steps
    }

    #[test]
    fn a_walk_visits_every_range_once_in_order() {
        let ranges = map(4);
        let steps = steps(Walk::start(EpkRange::full(), None), &ranges);
        let expected: Vec<_> =
            ranges.iter().map(|range| (range.entry.epks.clone(), None, range.id())).collect();
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_position_taken_before_a_split_goes_on_in_every_child() {
        let (before, after) = (map(2), map(4));
        let mut walk = Walk::start(EpkRange::full(), None);
        let (cursor, _) = walk.next(&before).unwrap();
        walk.cursors.push_front(Cursor { epks: cursor.epks, position: Some(77) });
        let steps = steps(walk, &after);
        let positions: Vec<_> = steps.iter().map(|(_, position, _)| *position).collect();
        let first_new = positions.iter().position(Option::is_none).unwrap();
        assert!(first_new >= 2 && positions[..first_new].iter().all(|p| *p == Some(77)));
        assert!(positions[first_new..].iter().all(Option::is_none));
        let is_tiled = steps.windows(2).all(|pair| pair[0].0.max() == pair[1].0.min());
        assert!(is_tiled, "nothing twice, nothing left out");
        assert_eq!(steps.first().unwrap().0.min(), EpkRange::full().min());
        assert_eq!(steps.last().unwrap().0.max(), EpkRange::full().max());
    }

    #[test]
    fn a_position_taken_before_a_merge_reads_its_own_part() {
        let (before, after) = (map(4), map(1));
        let mut walk = Walk::start(EpkRange::full(), None);
        let (first, _) = walk.next(&before).unwrap();
        let (second, _) = walk.next(&before).unwrap();
        walk.cursors.push_front(Cursor { epks: second.epks.clone(), position: Some(5) });
        let steps = steps(walk, &after);
        assert_eq!(steps[0], (second.epks, Some(5), RangeId(0)));
        assert!(steps.iter().all(|(epks, ..)| !epks.overlaps(&first.epks)), "done stays done");
    }
}
