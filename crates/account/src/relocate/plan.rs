//! Which ranges become which, checked against the container as it is.

use model::{Epk, EpkRange, RangeId};
use partition::relocate::SplitPoint;

use super::auto;
use super::error::RelocationError;
use super::options::RelocationOptions;
use super::status::{RelocationKind, RelocationReason};
use crate::catalog::tables::Tables;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::range_map::Range;
use crate::throughput::RANGES_MAX;

/// What a relocation is to do.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Number of the container.
    pub(crate) container: u64,
    /// Its path of names.
    pub(crate) path: String,
    pub(crate) kind: RelocationKind,
    pub(crate) reason: RelocationReason,
    /// In the order of the hash space.
    pub(crate) sources: Vec<Range>,
    /// The spans of the new ranges, in the order of the hash space.
    pub(crate) spans: Vec<EpkRange>,
}

impl Plan {
    fn new(container: &Container, kind: RelocationKind, reason: RelocationReason) -> Plan {
        Plan {
            container: container.record().number,
            path: container.name_path.to_string(),
            kind,
            reason,
            sources: Vec::new(),
            spans: Vec::new(),
        }
    }

    /// Plans a split at a point, or where it is best.
    pub(super) fn split(
        container: &Container,
        id: RangeId,
        at: Option<Epk>,
        reason: RelocationReason,
    ) -> Result<Plan> {
        let range = find(container, id)?;
        if container.properties.definition.system_key {
            return Err(RelocationError::WithoutKey.into());
        }
        let n_ranges = container.ranges.len();
        if n_ranges >= usize::try_from(RANGES_MAX).unwrap_or(usize::MAX) {
            return Err(RelocationError::TooManyRanges(n_ranges).into());
        }
        let epks = &range.entry.epks;
        let at = match at {
            Some(at) => at,
            None => best_point(container, range, reason)?,
        };
        let halves = epks.split_at(&at);
        let halves = halves.ok_or_else(|| RelocationError::PointOutside(epks.clone()))?;
        Ok(Plan {
            sources: vec![range.clone()],
            spans: halves.into(),
            ..Plan::new(container, RelocationKind::Split, reason)
        })
    }

    /// Plans the merge of two neighbours, named in any order.
    pub(super) fn merge(
        tables: &Tables,
        options: &RelocationOptions,
        container: &Container,
        [a, b]: [RangeId; 2],
    ) -> Result<Plan> {
        let mut sources = [find(container, a)?.clone(), find(container, b)?.clone()];
        sources.sort_by(|a, b| a.entry.epks.min().cmp(b.entry.epks.min()));
        let [low, high] = &sources;
        if low.entry.epks.max() != high.entry.epks.min() {
            return Err(RelocationError::NotAdjacent(a, b).into());
        }
        let ranges = container.ranges.len().saturating_sub(1);
        let throughput = auto::throughput_of(tables, container);
        let per_range = options.partition_throughput;
        let needed = auto::ranges_for(options, throughput);
        if needed > ranges {
            let error = RelocationError::TooMuchThroughput { ranges, throughput, per_range };
            return Err(error.into());
        }
        let bytes = sources.iter().map(|range| range.partition.statistics().bytes).sum();
        let bytes_max = options.bytes_max();
        if bytes > bytes_max {
            return Err(RelocationError::TooManyBytes { bytes, bytes_max }.into());
        }
        let union = EpkRange::new(low.entry.epks.min().clone(), high.entry.epks.max().clone());
        Ok(Plan {
            spans: union.into_iter().collect(),
            sources: sources.into(),
            ..Plan::new(container, RelocationKind::Merge, RelocationReason::Command)
        })
    }

    pub(super) fn relocate(container: &Container, id: RangeId) -> Result<Plan> {
        let range = find(container, id)?;
        Ok(Plan {
            sources: vec![range.clone()],
            spans: vec![range.entry.epks.clone()],
            ..Plan::new(container, RelocationKind::Move, RelocationReason::Command)
        })
    }
}

fn best_point(container: &Container, range: &Range, reason: RelocationReason) -> Result<Epk> {
    let id = range.id();
    match range.partition.split_point()? {
        SplitPoint::Middle(at) | SplitPoint::Balanced(at) => Ok(at),
        // Throughput is divided over ranges, full or empty: the service halves the hash space then.
        SplitPoint::OneLogical if reason == RelocationReason::Throughput => {
            let middle = container.properties.definition.split_point(&range.entry.epks);
            Ok(middle.ok_or(RelocationError::TooNarrow(id))?)
        }
        SplitPoint::OneLogical => Err(RelocationError::OneLogicalPartition(id).into()),
        SplitPoint::TooNarrow => Err(RelocationError::TooNarrow(id).into()),
    }
}

fn find(container: &Container, id: RangeId) -> Result<&Range> {
    let gone = || Error::RangeGone { range: id, container: container.rid_text.to_string() };
    container.ranges.by_id(id).ok_or_else(gone)
}
