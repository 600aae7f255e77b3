//! What every range has used since it was opened: two looks tell what it uses now.

use std::collections::HashSet;

use model::{Charge, RangeId};

use crate::account::{Account, Inner};
use crate::container::Container;
use crate::error::Result;
use crate::meter::{Budget, ContainerHeat, Enforcement, HeatColumn, HotKey};
use crate::operation::Link;
use crate::range_map::Range;

/// A container and its ranges, in the order of the hash space.
#[derive(Debug, Clone)]
pub struct ContainerUse {
    pub database: String,
    pub container: String,
    /// Changes with the ranges and only then.
    pub layout: String,
    pub ranges: Vec<RangeUse>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RangeUse {
    pub id: RangeId,
    /// Request units of reads and of writes, since the range was opened.
    pub read: Charge,
    pub write: Charge,
    pub n_throttled: u64,
    pub n_items: u64,
    pub bytes: u64,
    /// Request units that are left now, below zero for debt; `None` where nobody counts.
    pub left: Option<f64>,
}

/// The load of a container by slices of the hash space.
#[derive(Debug, Clone)]
pub struct HeatMap {
    /// Seconds of a column.
    pub width: u64,
    pub columns: Vec<HeatColumn>,
    /// The ranges as they are now, with their budgets.
    pub ranges: ContainerHeat,
}

impl Account {
    /// Every container in order of its name.
    pub fn uses(&self) -> Vec<ContainerUse> {
        let containers: Vec<_> = self.inner.catalog.tables().containers().cloned().collect();
        let mut all: Vec<ContainerUse> =
            containers.iter().map(|container| use_of(&self.inner, container)).collect();
        all.sort_by(|a, b| (&a.database, &a.container).cmp(&(&b.database, &b.container)));
        all
    }

    /// What happens to requests over the provisioned throughput.
    pub fn enforcement(&self) -> Enforcement {
        self.inner.shared_buckets.enforcement(self.inner.options())
    }

    /// Changes what happens to them, until the account is opened again.
    pub fn enforce(&self, enforcement: Enforcement) {
        self.inner.shared_buckets.enforce(enforcement);
    }

    /// Item bytes above which a range is split.
    pub fn partition_bytes(&self) -> u64 {
        self.inner.options().relocation.partition_bytes
    }

    /// The hottest logical partition of a range, if one stands out.
    pub fn hottest_key(&self, container: &Link, range: RangeId) -> Result<Option<HotKey>> {
        let container = self.container(container)?;
        let range = container.ranges.by_id(range);
        Ok(range.and_then(|range| range.meter.watched_keys().into_iter().next()))
    }

    /// The history of [`Account::heat_map`], to be kept over a restart.
    pub fn save_heat(&self) -> Vec<u8> {
        collect_heat(&self.inner);
        self.inner.heat_history.save()
    }

    /// Takes up a history that was saved. Returns whether it could be read.
    pub fn load_heat(&self, bytes: &[u8]) -> bool {
        self.inner.heat_history.load(bytes)
    }

    /// Where in the hash space the load was from `from` to `to`, in seconds since 1970.
    pub fn heat_map(&self, container: &Link, from: u64, to: u64) -> Result<HeatMap> {
        collect_heat(&self.inner);
        let found = self.container(container)?;
        let now = self.inner.env().now_seconds();
        let (width, columns) = self.inner.heat_history.read(&found.rid_text, now, from, to);
        Ok(HeatMap { width, columns, ranges: self.heat(container)? })
    }
}

fn use_of(inner: &Inner, container: &Container) -> ContainerUse {
    let [database, name] = container.names();
    let budget = {
        let tables = inner.catalog.tables();
        Budget::of(&tables, container, inner.options(), &inner.shared_buckets)
    };
    let now = inner.env().monotonic();
    let of_range = |range: &Range| {
        let (read, write, n_throttled) = range.meter.totals();
        let usage = range.partition.usage();
        let (n_items, bytes) = (usage.n_items, usage.bytes);
        let left = budget.as_ref().map(|budget| budget.left(now, range));
        RangeUse { id: range.id(), read, write, n_throttled, n_items, bytes, left }
    };
    let ranges = container.ranges.iter().map(of_range).collect();
    ContainerUse { database, container: name, layout: container.ranges.etag.clone(), ranges }
}

/// Moves what the meters have noted into the history.
pub(crate) fn collect_heat(inner: &Inner) {
    let containers: Vec<_> = inner.catalog.tables().containers().cloned().collect();
    let now = inner.env().now_seconds();
    for container in &containers {
        let definition = &container.properties.definition;
        for range in container.ranges.iter() {
            if let Some(used) = range.meter.take_slices() {
                let slices = definition.slices(&range.entry.epks);
                inner.heat_history.add(&container.rid_text, now, slices, used);
            }
        }
    }
    let rids: HashSet<&str> = containers.iter().map(|container| &*container.rid_text).collect();
    inner.heat_history.trim(|rid| rids.contains(rid));
}
