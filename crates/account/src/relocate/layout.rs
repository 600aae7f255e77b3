//! The two catalog changes of a relocation.
//!
//! The first reserves ids and empty partitions. In the store these are garbage from the start: a crash before the second
//! leaves the old layout, and their bytes go. The second is the cut-over: in one commit, which depends on the last heads
//! of the sources, the new ranges take the place of the old, the new partitions stop being garbage and the old ones
//! start. A crash after it leaves the new layout. There is no other state.

use std::collections::BTreeSet;

use model::{ETag, EpkRange, Object, RangeId, Value};
use partition::Partition;
use store::Batch;

use super::error::RelocationError;
use super::plan::Plan;
use super::status::RelocationKind;
use crate::catalog::Draft;
use crate::catalog::record::{number_value, read_number};
use crate::container::Container;
use crate::error::{Error, Result};
use crate::range_map::RangeEntry;
use crate::shares;

/// Limit: ancestors that a range remembers, newest first. Clients whose map is older read the whole map again.
const PARENTS_MAX: usize = 256;

/// Why there is a next range: ids are never used again, also those of relocations that failed.
const NEXT_RANGE: &str = "nextRange";

/// What the first change needs to know of a plan.
#[derive(Debug)]
pub(super) struct Wish {
    container: u64,
    kind: RelocationKind,
    sources: Vec<RangeEntry>,
    spans: Vec<EpkRange>,
}

impl Wish {
    pub(super) fn of(plan: &Plan) -> Wish {
        Wish {
            container: plan.container,
            kind: plan.kind,
            sources: plan.sources.iter().map(|range| range.entry.clone()).collect(),
            spans: plan.spans.clone(),
        }
    }

    /// Reserves the new ranges.
    pub(super) fn reserve(&self, draft: &mut Draft<'_>) -> Result<Vec<RangeEntry>> {
        let container = current(draft, self.container, &self.sources)?;
        let record = container.record();
        let mut next = next_range(&record.state, &container);
        let ts = draft.env.now_seconds();
        let mut entries = Vec::with_capacity(self.spans.len());
        for epks in self.spans.iter().cloned() {
            let entry = if let (RelocationKind::Move, [source]) =
                (self.kind, self.sources.as_slice())
            {
                let incarnation = draft.reserve_partition(source.rid_prefix);
                RangeEntry { incarnation, ..source.clone() }
            } else {
                // Limit: item numbers have sixteen bits for the range that gave them out.
                let rid_prefix = u16::try_from(next).map_err(|_| RelocationError::IdsExhausted)?;
                let id = RangeId(u32::from(rid_prefix));
                next += 1;
                let incarnation = draft.reserve_partition(rid_prefix);
                let parents = ancestors(&self.sources);
                RangeEntry { id, epks, incarnation, rid_prefix, parents, ts }
            };
            entries.push(entry);
        }
        let mut state = record.state.clone();
        state.insert(NEXT_RANGE, number_value(next));
        draft.update_state(record, state);
        Ok(entries)
    }

    /// Puts the new ranges in the place of the old ones.
    pub(super) fn cut_over(
        &self,
        draft: &mut Draft<'_>,
        entries: &[RangeEntry],
        partitions: Vec<Partition>,
        conditions: &Batch,
    ) -> Result<()> {
        let container = current(draft, self.container, &self.sources)?;
        let is_source =
            |incarnation: u64| self.sources.iter().any(|source| source.incarnation == incarnation);
        let kept = container.ranges.iter().map(|range| &range.entry);
        let kept = kept.filter(|entry| !is_source(entry.incarnation));
        let ranges = kept.chain(entries).map(RangeEntry::to_value).collect();
        let mut state = container.record().state.clone();
        state.insert("ranges", Value::Array(ranges));
        state.insert("rangesEtag", ETag::random(draft.env).as_str());
        let ids = |entries: &[RangeEntry]| entries.iter().map(|entry| entry.id).collect::<Vec<_>>();
        shares::pass_on(&mut state, &ids(&self.sources), &ids(entries));
        draft.update_state(container.record(), state);
        draft.expect(conditions);
        for partition in partitions {
            draft.take_partition(partition);
        }
        for source in &self.sources {
            draft.discard_partition(source.incarnation);
        }
        Ok(())
    }
}

/// The container, if it still has these ranges as they were.
fn current(
    draft: &Draft<'_>,
    number: u64,
    sources: &[RangeEntry],
) -> Result<std::sync::Arc<Container>> {
    let container = draft.tables.container(number).cloned().ok_or(Error::NotFound)?;
    let has = |source: &RangeEntry| {
        container.ranges.iter().any(|range| range.entry.incarnation == source.incarnation)
    };
    if sources.iter().all(has) { Ok(container) } else { Err(RelocationError::LayoutChanged.into()) }
}

fn next_range(state: &Object, container: &Container) -> u64 {
    let kept = state.get(NEXT_RANGE).and_then(read_number).unwrap_or(0);
    let highest = container.ranges.iter().map(|range| u64::from(range.id().0)).max();
    highest.map_or(0, |highest| highest + 1).max(kept)
}

/// Ids grow with time, so their order is the order of age.
fn ancestors(sources: &[RangeEntry]) -> Vec<RangeId> {
    let ids: BTreeSet<u32> = sources
        .iter()
        .flat_map(|source| source.parents.iter().chain(std::iter::once(&source.id)))
        .map(|RangeId(id)| *id)
        .collect();
    let skipped = ids.len().saturating_sub(PARENTS_MAX);
    ids.into_iter().skip(skipped).map(RangeId).collect()
}
