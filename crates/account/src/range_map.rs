//! The ranges of a container and their physical partitions.
//!
//! Invariant: sorted by `min`, the ranges tile `["", "FF")` without gap or overlap.

use std::collections::HashMap;
use std::sync::Arc;

use model::{Env, Epk, EpkRange, Object, RangeId, Value};
use partition::{Partition, Settings};
use store::Store;

use crate::body;
use crate::catalog::record::{number_value, read_number};
use crate::error::{Error, Result};
use crate::meter::RangeMeter;
use crate::shares;

/// What the catalog keeps of a range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RangeEntry {
    pub(crate) id: RangeId,
    pub(crate) epks: EpkRange,
    pub(crate) incarnation: u64,
    pub(crate) rid_prefix: u16,
    /// All ancestors, oldest first.
    pub(crate) parents: Vec<RangeId>,
    pub(crate) ts: u64,
}

impl RangeEntry {
    pub(crate) fn to_value(&self) -> Value {
        let parents = self.parents.iter().map(|RangeId(id)| Value::from(i64::from(*id)));
        Value::Object(body::object([
            ("id", i64::from(self.id.0).into()),
            ("min", self.epks.min().to_string().into()),
            ("max", self.epks.max().to_string().into()),
            ("incarnation", number_value(self.incarnation)),
            ("ridPrefix", i64::from(self.rid_prefix).into()),
            ("parents", Value::Array(parents.collect())),
            ("ts", number_value(self.ts)),
        ]))
    }

    fn from_value(value: &Value) -> Option<RangeEntry> {
        let number = |name| value.get(name).and_then(read_number);
        let epk = |name| Epk::parse(value.get(name)?.as_str()?).ok();
        let id = |value: &Value| Some(RangeId(u32::try_from(read_number(value)?).ok()?));
        let parents = value.get("parents")?.as_array()?;
        Some(RangeEntry {
            id: id(value.get("id")?)?,
            epks: EpkRange::new(epk("min")?, epk("max")?)?,
            incarnation: number("incarnation")?,
            rid_prefix: u16::try_from(number("ridPrefix")?).ok()?,
            parents: parents.iter().map(id).collect::<Option<_>>()?,
            ts: number("ts")?,
        })
    }
}

/// One range and the partition that serves it.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    pub(crate) entry: RangeEntry,
    pub(crate) partition: Partition,
    pub(crate) meter: Arc<RangeMeter>,
    /// Its part of the container's throughput.
    pub(crate) share: f64,
}

impl Range {
    pub(crate) fn id(&self) -> RangeId {
        self.entry.id
    }
}

/// A partition that is open already, and what is measured of it.
#[derive(Debug)]
pub(crate) struct OpenPartition {
    partition: Partition,
    meter: Arc<RangeMeter>,
}

impl OpenPartition {
    /// One that begins to work.
    pub(crate) fn new(partition: &Partition, env: &Env) -> OpenPartition {
        let meter = Arc::new(RangeMeter::new(env.clone()));
        OpenPartition { partition: partition.clone(), meter }
    }

    pub(crate) fn of(range: &Range) -> OpenPartition {
        OpenPartition { partition: range.partition.clone(), meter: Arc::clone(&range.meter) }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct RangeMap {
    ranges: Vec<Range>,
    /// Changes with the topology and only then.
    pub(crate) etag: String,
}

impl RangeMap {
    /// Makes the map that a container's state describes, of partitions that are `open` already where there are such.
    pub(crate) fn open(
        store: &Arc<dyn Store>,
        env: &Env,
        state: &Object,
        settings: &Arc<Settings>,
        open: impl IntoIterator<Item = OpenPartition>,
    ) -> Result<RangeMap> {
        let mut open: HashMap<u64, OpenPartition> =
            open.into_iter().map(|open| (open.partition.incarnation(), open)).collect();
        let entries = read_layout(state)?;
        let ids: Vec<RangeId> = entries.iter().map(|entry| entry.id).collect();
        let shares = shares::of(state, &ids);
        let range = |(entry, share): (RangeEntry, f64)| {
            if let Some(OpenPartition { partition, meter }) = open.remove(&entry.incarnation) {
                partition.set_settings(Arc::clone(settings));
                return Ok(Range { entry, partition, meter, share });
            }
            let (store, settings) = (Arc::clone(store), Arc::clone(settings));
            let epks = entry.epks.clone();
            let partition =
                Partition::open(store, entry.incarnation, entry.id, epks, settings, env.clone())?;
            let meter = Arc::new(RangeMeter::new(env.clone()));
            Ok(Range { entry, partition, meter, share })
        };
        let ranges = entries.into_iter().zip(shares).map(range).collect::<Result<Vec<_>>>()?;
        let etag = state.get("rangesEtag").and_then(Value::as_str);
        let etag = etag.ok_or_else(|| corrupt("no etag"))?.to_owned();
        Ok(RangeMap { ranges, etag })
    }

    /// The range that owns `epk`.
    #[expect(clippy::expect_used, reason = "checked when the map was opened")]
    pub(crate) fn route(&self, epk: &Epk) -> &Range {
        let after = self.ranges.partition_point(|range| range.entry.epks.min() <= epk);
        let index = after.saturating_sub(1);
        let range = self.ranges.get(index).expect("the range map always covers the hash space");
        debug_assert!(
            range.entry.epks.contains(epk) || *epk >= Epk::max(),
            "the range that a key is routed to owns it"
        );
        range
    }

    pub(crate) fn by_id(&self, id: RangeId) -> Option<&Range> {
        self.ranges.iter().find(|range| range.entry.id == id)
    }

    /// In the order of the hash space.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Range> {
        self.ranges.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn overlapping(&self, epks: &EpkRange) -> impl Iterator<Item = &Range> {
        self.ranges.iter().filter(|range| range.entry.epks.overlaps(epks))
    }
}

/// Reads the ranges of a container's state, in order. Fails unless they tile the hash space without gap or overlap.
pub(crate) fn read_layout(state: &Object) -> Result<Vec<RangeEntry>> {
    let entries = state.get("ranges").and_then(Value::as_array);
    let entries = entries.ok_or_else(|| corrupt("missing"))?.iter().map(RangeEntry::from_value);
    let mut entries = entries.collect::<Option<Vec<_>>>().ok_or_else(|| corrupt("malformed"))?;
    entries.sort_by(|a, b| a.epks.min().cmp(b.epks.min()));
    if !tiles(&entries) {
        return Err(corrupt("they do not tile the hash space"));
    }
    Ok(entries)
}

fn corrupt(what: &str) -> Error {
    Error::CatalogCorrupt(format!("ranges: {what}"))
}

fn tiles(entries: &[RangeEntry]) -> bool {
    let full = EpkRange::full();
    let ends_meet =
        entries.windows(2).all(|pair| matches!(pair, [a, b] if a.epks.max() == b.epks.min()));
    let first = entries.first().map(|entry| entry.epks.min());
    let last = entries.last().map(|entry| entry.epks.max());
    ends_meet && first == Some(full.min()) && last == Some(full.max())
}
