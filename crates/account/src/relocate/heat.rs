//! Splits of ranges that stay hot, if the account wants them.
//!
//! A range is hot when it used nearly all of its throughput for a whole minute. Splitting helps only if the heat comes
//! from several logical partitions: a range with one hot key is left alone.

use std::sync::Arc;

use model::RangeId;

use crate::account::Inner;
use crate::catalog::tables::Tables;
use crate::container::Container;
use crate::meter::{self, RangeHeat};
use crate::range_map::Range;

/// Part of a minute's throughput from which a range is hot.
const HOT: f64 = 0.9;

/// Part of the charge from which one logical partition is the whole problem.
const ONE_KEY: f64 = 0.8;

/// Ranges that should be split because of their heat.
pub(super) fn due(inner: &Inner, tables: &Tables) -> Vec<(Arc<Container>, RangeId)> {
    if !inner.options().relocation.splits_on_heat {
        return Vec::new();
    }
    let mut due = Vec::new();
    for container in tables.containers() {
        let Some((units, database)) = meter::provisioned(tables, container) else { continue };
        let is_hot = |range: &&Range| {
            let share = if database.is_some() { 1.0 } else { range.share };
            is_due(&range.meter.heat(), units * share)
        };
        let active = inner.relocations.active_in(container.record().number);
        let is_busy = |range: &&Range| active.iter().any(|job| job.sources.contains(&range.id()));
        let hot = container.ranges.iter().filter(is_hot).filter(|range| !is_busy(range));
        due.extend(hot.map(|range| (Arc::clone(container), range.id())));
    }
    due
}

fn is_due(heat: &RangeHeat, units: f64) -> bool {
    // The last minute is still running.
    let Some(minute) = heat.minutes.iter().rev().nth(1) else { return false };
    let used = meter::units(minute.charge);
    let hottest = heat.hottest.first().map_or(0.0, |hot| meter::units(hot.charge));
    used >= HOT * 60.0 * units && hottest < ONE_KEY * meter::units(heat.watched)
}
