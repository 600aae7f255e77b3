//! What ranges use, who uses it, and whether they may use more.
//!
//! Use is measured always and costs a short lock per request. Budgets are looked at only when throughput is enforced:
//! each range has its share of the container's throughput, containers that share a database's have one budget
//! together.
//!
//! Wire: a physical partition has its share of the throughput, per second; what is over it gets 429/3200.

mod bucket;
mod budget;
mod heat;
mod history;
mod sketch;

use std::time::Duration;

use model::{Charge, Env};
use parking_lot::Mutex;
use partition::Logical;

pub(crate) use bucket::units;
use bucket::{Bucket, Rate, Wait};
pub(crate) use budget::{Budget, SharedBuckets, provisioned};
pub use heat::{ContainerHeat, RangeHeat};
use history::History;
pub use history::MinuteUse;
pub use sketch::HotKey;
use sketch::Sketch;

/// Whether requests over the provisioned throughput are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Enforcement {
    /// Nothing is refused.
    #[default]
    Off,
    /// Nothing is refused; what would be is counted and logged.
    Warn,
    /// 429 with a time to come back.
    On,
}

// Limit: hottest keys that a report names.
const HOTTEST_MAX: usize = 16;

/// The meter of one range; lives as long as the range.
#[derive(Debug)]
pub(crate) struct RangeMeter {
    env: Env,
    inside: Mutex<MeterState>,
}

#[derive(Debug, Default)]
struct MeterState {
    history: History,
    sketch: Sketch,
    bucket: Bucket,
    total: Charge,
    n_throttled: u64,
}

impl RangeMeter {
    pub(crate) fn new(env: Env) -> RangeMeter {
        RangeMeter { env, inside: Mutex::default() }
    }

    /// Notes what a request used, and of which logical partition if it was one.
    pub(crate) fn record(&self, now: Duration, logical: Option<&Logical>, charge: Charge) {
        if charge == Charge::ZERO {
            return;
        }
        let mut inside = self.inside.lock();
        inside.total += charge;
        inside.history.add(now, charge);
        if let Some(at) = logical {
            inside.sketch.add(now, &at.epk, &at.key, charge);
        }
    }

    /// The busiest second of the last minute, in request units.
    pub(crate) fn peak(&self) -> f64 {
        let mut inside = self.inside.lock();
        inside.history.advance(self.env.monotonic());
        units(inside.history.peak())
    }

    pub(crate) fn heat(&self) -> RangeHeat {
        let now = self.env.monotonic();
        let mut inside = self.inside.lock();
        inside.history.advance(now);
        let (hottest, watched) = inside.sketch.hottest(now, HOTTEST_MAX);
        RangeHeat {
            provisioned: None,
            normalised: 0.0,
            total: inside.total,
            n_throttled: inside.n_throttled,
            seconds: inside.history.seconds().collect(),
            minutes: inside.history.minutes().collect(),
            hottest,
            watched,
        }
    }

    fn admit(&self, rate: Rate, who: u64) -> Result<(), Wait> {
        self.inside.lock().bucket.admit(self.env.monotonic(), rate, who)
    }

    fn charge(&self, rate: Rate, charge: Charge) {
        self.inside.lock().bucket.charge(self.env.monotonic(), rate, charge);
    }

    fn throttled(&self) {
        let now = self.env.monotonic();
        let mut inside = self.inside.lock();
        inside.n_throttled += 1;
        inside.history.throttled(now);
    }
}
