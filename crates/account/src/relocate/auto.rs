//! Splits that nobody asked for: more throughput than the ranges can serve, more bytes than one may hold.

use model::RangeId;

use super::options::RelocationOptions;
use super::plan::Plan;
use super::status::{RelocationKind, RelocationReason};
use super::{RelocationError, heat, start};
use crate::account::Inner;
use crate::catalog::offers::Offer;
use crate::catalog::record::Record;
use crate::catalog::tables::Tables;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::range_map::Range;
use crate::throughput::RANGES_MAX;

/// The throughput that a container has to itself or shares.
pub(super) fn throughput_of(tables: &Tables, container: &Container) -> u64 {
    let own = tables.offer_of(container.record().number);
    let offer = own.or_else(|| tables.offer_of(container.record().owner));
    offer.and_then(|record| Offer::of(record)).map_or(0, |offer| offer.throughput.max())
}

/// Ranges that a throughput needs.
pub(super) fn ranges_for(options: &RelocationOptions, throughput: u64) -> usize {
    let needed = throughput.div_ceil(options.partition_throughput.max(1));
    usize::try_from(needed.clamp(1, u64::from(RANGES_MAX))).unwrap_or(1)
}

/// Ranges that the container lacks for its throughput.
fn n_missing(tables: &Tables, options: &RelocationOptions, container: &Container) -> usize {
    if container.properties.definition.system_key || !options.is_automatic {
        return 0;
    }
    let needed = ranges_for(options, throughput_of(tables, container));
    needed.saturating_sub(container.ranges.len())
}

/// Says whether a change of throughput still waits for splits.
pub(crate) fn is_pending(tables: &Tables, options: &RelocationOptions, offer: &Record) -> bool {
    let Some(offer) = Offer::of(offer) else { return false };
    tables
        .containers()
        .filter(|container| {
            let record = container.record();
            let shares = record.owner == offer.target && tables.offer_of(record.number).is_none();
            record.number == offer.target || shares
        })
        .any(|container| n_missing(tables, options, container) > 0)
}

/// Starts what is due and does not wait for it. Returns how many relocations it started.
pub(crate) fn start_due(inner: &Inner) -> Result<usize> {
    let options = &inner.options().relocation;
    if !options.is_automatic {
        return Ok(0);
    }
    let mut due = Vec::new();
    {
        let tables = inner.catalog.tables();
        for container in tables.containers() {
            let active = inner.relocations.active_in(container.record().number);
            let now_ms = inner.env().now_ms();
            let is_busy = |id| {
                active.iter().any(|job| job.sources.contains(&id))
                    || inner.relocations.has_failed_lately(&container.name_path, id, now_ms)
            };
            let idle = || container.ranges.iter().filter(|range| !is_busy(range.id()));
            for range in idle() {
                let statistics = range.partition.statistics();
                if statistics.bytes > options.bytes_max() && statistics.n_logical > 1 {
                    let id = range.id();
                    due.push((container.clone(), id, RelocationReason::Storage));
                }
            }
            let n_coming = active.iter().filter(|job| job.kind == RelocationKind::Split).count();
            let n_coming = n_coming + due.iter().filter(|(it, ..)| same(it, container)).count();
            let n_missing = n_missing(&tables, options, container).saturating_sub(n_coming);
            let mut ranges: Vec<&Range> = idle()
                .filter(|range| {
                    !due.iter().any(|(it, id, _)| same(it, container) && *id == range.id())
                })
                .collect();
            // The least divided first, then the fullest: so the shares stay as even as they can.
            ranges.sort_by_key(|range| {
                let bytes = range.partition.statistics().bytes;
                (range.entry.parents.len(), std::cmp::Reverse(bytes), range.id().0)
            });
            let ids: Vec<RangeId> = ranges.iter().take(n_missing).map(|range| range.id()).collect();
            due.extend(
                ids.into_iter().map(|id| (container.clone(), id, RelocationReason::Throughput)),
            );
        }
    }
    let hot = heat::due(inner, &inner.catalog.tables());
    due.extend(hot.into_iter().map(|(container, id)| (container, id, RelocationReason::Heat)));
    let mut n_started = 0;
    for (container, id, reason) in due {
        match Plan::split(&container, id, None, reason).and_then(|plan| start(inner, plan)) {
            Ok(_) => n_started += 1,
            // A range that cannot be divided, or is taken: nothing to do about it now.
            Err(Error::Relocation(
                RelocationError::OneLogicalPartition(_)
                | RelocationError::WithoutKey
                | RelocationError::TooNarrow(_)
                | RelocationError::TooManyRanges(_)
                | RelocationError::Busy(_),
            )) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n_started)
}

fn same(a: &Container, b: &Container) -> bool {
    a.record().number == b.record().number
}
