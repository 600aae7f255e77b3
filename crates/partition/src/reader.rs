//! One consistent look at a partition: a snapshot, the marks that declare items dead, the settings and the time.
//!
//! Hot path: every point read makes one. Nothing here may block, log or copy item text needlessly.

use std::sync::Arc;

use bytes::Bytes;
use model::json::{ItemText, Picks, pick};
use model::{ETag, EpkRange, Lsn, PropertyPath, Rid};
use store::{Direction, KeyRange, Scan, Snapshot};

use crate::keys::{Keys, LogicalPrefix, place_of, split_epk};
use crate::record::{Head, ItemRecord, LogicalRecord, decode_number};
use crate::{Error, Result, Scope, Settings};

/// Logical partitions that were deleted and whose items are still being removed: items written at or before the
/// LSN are dead.
pub(crate) type Purges = imbl::HashMap<Bytes, Lsn>;

/// Who is alive at one moment. The same rule serves readers, writers and the sweeper.
#[derive(Debug, Clone)]
pub(crate) struct Liveness {
    pub(crate) now: u32,
    pub(crate) default_ttl: Option<i32>,
    pub(crate) ttl_path: Option<Arc<PropertyPath>>,
    pub(crate) purges: Purges,
}

/// Why an item is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    Expired,
    Purged,
}

impl Liveness {
    pub(crate) fn is_live(&self, record: &ItemRecord) -> bool {
        self.death(record).is_none()
    }

    pub(crate) fn death(&self, record: &ItemRecord) -> Option<Death> {
        if !self.purges.is_empty()
            && self.purges.get(record.place_bytes()).is_some_and(|lsn| record.moment.lsn <= *lsn)
        {
            return Some(Death::Purged);
        }
        // Wire: without a default the container has no expiry and an item's own ttl means nothing.
        let ttl = match (record.ttl, self.default_ttl?) {
            (0, default) => default,
            (own, _) => own,
        };
        let seconds = u32::try_from(ttl).ok()?;
        let base = match &self.ttl_path {
            Some(path) => base_of(record, path).unwrap_or(u64::from(record.ts)),
            None => u64::from(record.ts),
        };
        (base.saturating_add(u64::from(seconds)) <= u64::from(self.now)).then_some(Death::Expired)
    }
}

/// The time at the path; none when it is no whole number.
fn base_of(record: &ItemRecord, path: &PropertyPath) -> Option<u64> {
    let mut picks = Picks::NOTHING;
    picks.add(path.segments().iter().map(String::as_str));
    let item = pick(record.text(), &picks, 0).ok()?;
    let value = path.segments().iter().try_fold(&item, |value, name| value.get(name))?;
    u64::try_from(value.as_i64()?).ok()
}

#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) snapshot: Arc<dyn Snapshot>,
    pub(crate) liveness: Liveness,
    pub(crate) settings: Arc<Settings>,
    pub(crate) keys: Keys,
}

impl Reader {
    pub(crate) fn head(&self) -> Result<Head> {
        let bytes = self.snapshot.get(&self.keys.head())?.ok_or(Error::Forgotten)?;
        Head::decode(&bytes)
    }

    /// Returns the live item with this id.
    pub(crate) fn find(
        &self,
        place: &LogicalPrefix,
        id: &str,
    ) -> Result<Option<(u64, ItemRecord)>> {
        let key = self.keys.key(place, id);
        let Some(bytes) = self.snapshot.get_cached(&key, true)? else { return Ok(None) };
        let number = decode_number(&bytes)?;
        let record = self.recall(number, true)?.ok_or(Error::Corrupt("a key points at no item"))?;
        Ok(self.liveness.is_live(&record).then_some((number, record)))
    }

    /// Returns the item with this number, dead or alive.
    pub(crate) fn item(&self, number: u64) -> Result<Option<ItemRecord>> {
        self.snapshot.get(&self.keys.item_array(number))?.map(ItemRecord::decode).transpose()
    }

    /// Returns the item like [`Reader::item`], by way of [`Snapshot::get_cached`].
    pub(crate) fn recall(&self, number: u64, keeps: bool) -> Result<Option<ItemRecord>> {
        let bytes = self.snapshot.get_cached(&self.keys.item_array(number), keeps)?;
        bytes.map(ItemRecord::decode).transpose()
    }

    pub(crate) fn scan(&self, range: KeyRange) -> Scan<'_> {
        self.snapshot.scan(range, Direction::Forward)
    }

    /// Returns true when the item is alive and inside the scope.
    pub(crate) fn shows(&self, scope: &ScopeFilter, record: &ItemRecord) -> Result<bool> {
        Ok(scope.contains(record.place_bytes())? && self.liveness.is_live(record))
    }

    pub(crate) fn render(&self, number: u64, record: &ItemRecord, lsn: Option<Lsn>) -> Bytes {
        render(&self.settings, number, record.item_text(), &record.etag(), record.ts, lsn)
    }
}

/// Splices the system properties into an item's text.
pub(crate) fn render<'a>(
    settings: &Settings,
    number: u64,
    text: impl Into<ItemText<'a>>,
    etag: &ETag,
    ts: u32,
    lsn: Option<Lsn>,
) -> Bytes {
    let rid = Rid::item(&settings.container, number);
    let link = &settings.container_link;
    model::with_system_properties(text, &rid, link, etag, u64::from(ts), lsn).into()
}

/// A scope in the form that item headers are compared with.
#[derive(Debug, Clone)]
pub(crate) enum ScopeFilter {
    All,
    /// Items in one of the ranges.
    Epks(Vec<EpkRange>),
    LogicalPrefix(LogicalPrefix),
    /// Some logical partitions in byte order, and how many items they have.
    Places {
        places: Vec<LogicalPrefix>,
        n_items: u64,
    },
}

// Limit: logical partitions of a scope that are looked up one by one; with more of them the items are walked.
const PLACES_MAX: usize = 64;

impl Reader {
    pub(crate) fn n_items_of(&self, place: &LogicalPrefix) -> Result<u64> {
        let record = self.snapshot.get(&self.keys.logical(place))?;
        let record = record.map(|bytes| LogicalRecord::decode(&bytes)).transpose()?;
        Ok(record.map_or(0, |record| record.n_items))
    }

    /// Returns the scope of some ranges: the logical partitions in them where those are few.
    pub(crate) fn narrowed(&self, spans: &[EpkRange]) -> Result<ScopeFilter> {
        let (mut places, mut n_items) = (Vec::new(), 0);
        for span in spans {
            for entry in self.scan(self.keys.logicals_in(span)) {
                let (key, value) = entry?;
                if places.len() >= PLACES_MAX {
                    return Ok(ScopeFilter::Epks(spans.to_vec()));
                }
                places.push(place_of(&key));
                n_items += LogicalRecord::decode(&value)?.n_items;
            }
        }
        places.sort_by(|left, right| left.as_bytes().cmp(right.as_bytes()));
        places.dedup();
        Ok(match places.pop() {
            Some(only) if places.is_empty() => ScopeFilter::LogicalPrefix(only),
            last => {
                places.extend(last);
                ScopeFilter::Places { places, n_items }
            }
        })
    }
}

impl ScopeFilter {
    pub(crate) fn new(scope: &Scope, settings: &Settings) -> ScopeFilter {
        match scope {
            Scope::All => ScopeFilter::All,
            Scope::Epks(range) => ScopeFilter::Epks(vec![range.clone()]),
            Scope::Logical(at) => {
                ScopeFilter::LogicalPrefix(LogicalPrefix::new(at, &settings.definition))
            }
        }
    }

    pub(crate) fn contains(&self, place: &[u8]) -> Result<bool> {
        match self {
            ScopeFilter::All => Ok(true),
            ScopeFilter::Epks(ranges) => {
                let epk = split_epk(place)?.0;
                Ok(ranges.iter().any(|range| range.contains(&epk)))
            }
            ScopeFilter::LogicalPrefix(own) => Ok(own.as_bytes() == place),
            ScopeFilter::Places { places, .. } => {
                Ok(places.binary_search_by(|own| own.as_bytes().cmp(place)).is_ok())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::CommitPosition;
    use crate::record::Fresh;

    fn record(lsn: u64, ts: u32, ttl: Option<i32>) -> ItemRecord {
        let place = LogicalPrefix::from_bytes(Bytes::from_static(b"\0\0p"));
        let fresh = Fresh::new(&place, ttl, 0, b"{}").unwrap();
        ItemRecord::decode(fresh.stamp(CommitPosition { lsn: Lsn(lsn), seq: 0 }, ts)).unwrap()
    }

    #[test]
    fn an_item_dies_when_its_seconds_are_over() {
        #[rustfmt::skip]
        let table = [
            // default, own, age, dead
            (None,       Some(1),  100, false), // expiry is off
            (Some(-1),   None,     100, false),
            (Some(-1),   Some(10),   9, false),
            (Some(-1),   Some(10),  10, true),
            (Some(10),   None,       9, false),
            (Some(10),   None,      10, true),
            (Some(10),   Some(-1), 100, false), // own -1 means never
            (Some(10),   Some(50),  49, false), // own wins over the default
            (Some(50),   Some(10),  10, true),
        ];
        for (default_ttl, own, age, dead) in table {
            let liveness =
                Liveness { now: 1000 + age, default_ttl, ttl_path: None, purges: Purges::new() };
            let death = liveness.death(&record(1, 1000, own));
            assert_eq!(death, dead.then_some(Death::Expired), "{default_ttl:?} {own:?} {age}");
        }
    }

    #[test]
    fn a_purge_kills_what_was_written_up_to_it() {
        let purges = Purges::unit(Bytes::from_static(b"\0\0p"), Lsn(5));
        let liveness = Liveness { now: 0, default_ttl: None, ttl_path: None, purges };
        assert_eq!(liveness.death(&record(5, 0, None)), Some(Death::Purged));
        assert_eq!(liveness.death(&record(6, 0, None)), None);
    }
}
