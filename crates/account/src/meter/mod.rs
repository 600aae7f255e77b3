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
mod heat_file;
mod heat_history;
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
pub(crate) use heat_history::HeatHistory;
use heat_history::SliceUse;
pub use heat_history::{HeatCell, HeatColumn};
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

impl Enforcement {
    pub const ALL: [Enforcement; 3] = [Enforcement::Off, Enforcement::Warn, Enforcement::On];

    /// As it is said on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Enforcement::Off => "off",
            Enforcement::Warn => "warn",
            Enforcement::On => "on",
        }
    }
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
    /// What of the total was for writes.
    written: Charge,
    n_throttled: u64,
    /// Since it was last taken.
    slices: SliceUse,
}

/// What a request used, and of which logical partition if it was one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used<'a> {
    /// The logical partition and its slice of the hash space.
    pub(crate) at: Option<(&'a Logical, u8)>,
    pub(crate) charge: Charge,
    pub(crate) is_write: bool,
}

impl RangeMeter {
    pub(crate) fn new(env: Env) -> RangeMeter {
        RangeMeter { env, inside: Mutex::default() }
    }

    /// Notes what a request used.
    pub(crate) fn record(&self, now: Duration, used: Used<'_>) {
        let Used { at, charge, is_write } = used;
        if charge == Charge::ZERO {
            return;
        }
        let cell = HeatCell::of_charge(charge, is_write);
        let mut inside = self.inside.lock();
        inside.total += charge;
        if is_write {
            inside.written += charge;
        }
        inside.history.add(now, charge);
        match at {
            Some((at, slice)) => {
                inside.sketch.add(now, &at.epk, &at.key, charge);
                inside.slices.slices.add(slice, cell);
            }
            None => inside.slices.whole.add(cell),
        }
    }

    /// Request units of reads and of writes, and refused requests, since the range was opened.
    pub(crate) fn totals(&self) -> (Charge, Charge, u64) {
        let inside = self.inside.lock();
        let read = inside.total.hundredths().saturating_sub(inside.written.hundredths());
        (Charge::from_hundredths(read), inside.written, inside.n_throttled)
    }

    /// What was noted since the last time, by slices of the hash space.
    pub(crate) fn take_slices(&self) -> Option<SliceUse> {
        let mut inside = self.inside.lock();
        let is_used = !inside.slices.is_empty();
        is_used.then(|| std::mem::take(&mut inside.slices))
    }

    /// All logical partitions that are watched, hottest first.
    pub(crate) fn watched_keys(&self) -> Vec<HotKey> {
        let now = self.env.monotonic();
        self.inside.lock().sketch.hottest(now, usize::MAX).0
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

    fn left(&self, rate: Rate) -> f64 {
        self.inside.lock().bucket.left(self.env.monotonic(), rate)
    }

    fn charge(&self, rate: Rate, charge: Charge) {
        self.inside.lock().bucket.charge(self.env.monotonic(), rate, charge);
    }

    fn throttled(&self, slice: Option<u8>) {
        let now = self.env.monotonic();
        let mut inside = self.inside.lock();
        inside.n_throttled += 1;
        let refused = HeatCell { n_throttled: 1, ..HeatCell::default() };
        match slice {
            Some(slice) => inside.slices.slices.add(slice, refused),
            None => inside.slices.whole.add(refused),
        }
        inside.history.throttled(now);
    }
}
