//! How much of its throughput a container may use, range by range.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use model::Charge;
use parking_lot::Mutex;

use super::Enforcement;
use super::bucket::{Bucket, Rate, Wait};
use crate::account::AccountOptions;
use crate::catalog::offers::Offer;
use crate::catalog::tables::Tables;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::range_map::Range;

// Limit: request units per second of one physical partition, however much the container has.
const RANGE_UNITS_MAX: f64 = 10_000.0;

type SharedBucket = Arc<Mutex<Bucket>>;

/// The budgets of databases whose containers share one, by the number of the database.
// Limit: one small entry for each database with throughput that was used since the start.
#[derive(Debug, Default)]
pub(crate) struct SharedBuckets {
    buckets: Mutex<HashMap<u64, SharedBucket>>,
    /// What was said since the start about requests over the throughput: 0 for nothing, else one more than the place in
    /// [`Enforcement::ALL`].
    enforcement: AtomicUsize,
}

impl SharedBuckets {
    /// What happens to requests over the throughput.
    pub(crate) fn enforcement(&self, options: &AccountOptions) -> Enforcement {
        let said = self.enforcement.load(Ordering::Relaxed).checked_sub(1);
        let said = said.and_then(|at| Enforcement::ALL.get(at).copied());
        said.unwrap_or(options.enforcement)
    }

    pub(crate) fn enforce(&self, enforcement: Enforcement) {
        let at = Enforcement::ALL.iter().position(|it| *it == enforcement);
        self.enforcement.store(at.map_or(0, |at| at + 1), Ordering::Relaxed);
    }
}

/// The throughput that a request may use.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    /// Request units per second of the whole container, or of the database that shares them.
    units: f64,
    has_burst: bool,
    is_enforced: bool,
    shared: Option<SharedBucket>,
}

impl Budget {
    /// The budget of a container; `None` when throughput is not looked at.
    pub(crate) fn of(
        tables: &Tables,
        container: &Container,
        options: &AccountOptions,
        shared: &SharedBuckets,
    ) -> Option<Budget> {
        let enforcement = shared.enforcement(options);
        if enforcement == Enforcement::Off {
            return None;
        }
        let (units, database) = provisioned(tables, container)?;
        let shared =
            database.map(|number| Arc::clone(shared.buckets.lock().entry(number).or_default()));
        let is_enforced = enforcement == Enforcement::On;
        Some(Budget { units, has_burst: options.has_burst, is_enforced, shared })
    }

    fn rate(&self, range: &Range) -> Rate {
        let units = match self.shared {
            Some(_) => self.units,
            None => (self.units * range.share).min(RANGE_UNITS_MAX),
        };
        Rate { units, has_burst: self.has_burst }
    }

    fn admitted(&self, now: Duration, range: &Range, who: u64) -> Result<(), Wait> {
        let rate = self.rate(range);
        match &self.shared {
            Some(bucket) => bucket.lock().admit(now, rate, who),
            None => range.meter.admit(rate, who),
        }
    }

    /// Lets a request to `range` in. `who` is the same number when it comes again; `slice` says where in the hash space
    /// it goes.
    pub(crate) fn admit(
        &self,
        now: Duration,
        range: &Range,
        who: u64,
        slice: impl FnOnce() -> Option<u8>,
    ) -> Result<()> {
        let Err(wait) = self.admitted(now, range, who) else {
            return Ok(());
        };
        range.meter.throttled(slice());
        if self.is_enforced {
            return Err(Error::Throttled { retry_after_ms: wait.ms });
        }
        tracing::warn!(range = %range.id(), "over the provisioned throughput");
        Ok(())
    }

    /// Request units that are left to a range now; below zero is debt.
    pub(crate) fn left(&self, now: Duration, range: &Range) -> f64 {
        let rate = self.rate(range);
        match &self.shared {
            Some(bucket) => bucket.lock().left(now, rate),
            None => range.meter.left(rate),
        }
    }

    pub(crate) fn charge(&self, now: Duration, range: &Range, charge: Charge) {
        match &self.shared {
            Some(bucket) => bucket.lock().charge(now, self.rate(range), charge),
            None => range.meter.charge(self.rate(range), charge),
        }
    }
}

/// Request units per second that a container can use, and the number of the database whose they are if it has none
/// of its own.
pub(crate) fn provisioned(tables: &Tables, container: &Container) -> Option<(f64, Option<u64>)> {
    let record = container.record();
    let own = tables.offer_of(record.number).and_then(|record| Offer::of(record));
    let shared = || tables.offer_of(record.owner).and_then(|record| Offer::of(record));
    let (offer, database) = match own {
        Some(offer) => (offer, None),
        None => (shared()?, Some(record.owner)),
    };
    let units = u32::try_from(offer.throughput.max()).unwrap_or(u32::MAX);
    Some((f64::from(units), database))
}
