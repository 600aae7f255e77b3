//! What the ranges of a container used lately, for people and tools.

use model::{Charge, RangeId};

use super::bucket::units;
use super::{HotKey, MinuteUse, provisioned};
use crate::catalog::tables::Tables;
use crate::container::Container;

/// A container's throughput and its use.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerHeat {
    /// Request units per second that the container can use; `None` if nobody provisioned any.
    pub provisioned: Option<f64>,
    /// They are the database's, and other containers use them too.
    pub is_shared: bool,
    /// The highest of the ranges.
    pub normalised: f64,
    /// In the order of the hash space.
    pub ranges: Vec<(RangeId, RangeHeat)>,
}

/// What one range used.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeHeat {
    /// Request units per second that the range may use.
    pub provisioned: Option<f64>,
    /// The busiest second of the last minute over `provisioned`.
    pub normalised: f64,
    /// Since the range was opened.
    pub total: Charge,
    pub n_throttled: u64,
    /// Of the last minute, oldest first; the running second is the last.
    pub seconds: Vec<Charge>,
    /// Of the last hour, oldest first; the running minute is the last.
    pub minutes: Vec<MinuteUse>,
    /// The hottest logical partitions, hottest first, and what all of them used: both fade with time.
    pub hottest: Vec<HotKey>,
    pub watched: Charge,
}

impl RangeHeat {
    /// The busiest second of the last minute, in request units.
    pub fn peak(&self) -> f64 {
        units(self.seconds.iter().copied().max().unwrap_or_default())
    }
}

impl ContainerHeat {
    pub(crate) fn of(tables: &Tables, container: &Container) -> ContainerHeat {
        let provisioned = provisioned(tables, container);
        let is_shared = matches!(provisioned, Some((_, Some(_))));
        let provisioned = provisioned.map(|(units, _)| units);
        let ranges = container.ranges.iter().map(|range| {
            let mut heat = range.meter.heat();
            let share = if is_shared { 1.0 } else { range.share };
            heat.provisioned = provisioned.map(|units| units * share);
            heat.normalised = heat.provisioned.map_or(0.0, |units| heat.peak() / units);
            (range.id(), heat)
        });
        let ranges: Vec<_> = ranges.collect();
        let normalised = ranges.iter().map(|(_, heat)| heat.normalised).fold(0.0, f64::max);
        ContainerHeat { provisioned, is_shared, normalised, ranges }
    }
}
