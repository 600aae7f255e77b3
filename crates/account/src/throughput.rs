//! Throughput rules: what may be asked for, its minimum, and how many ranges it makes.
//!
//! Wire: the limits and steps of manual and autoscale throughput are those of the service.

use model::{Object, Value, json};

use crate::body;
use crate::catalog::record::{number_value, read_number};
use crate::error::Result;
use crate::operation::ThroughputRequest;
use crate::performance_level::PerformanceLevel;

/// Limit: the service's numbers.
pub(crate) const MANUAL_MIN: u64 = 400;
const MANUAL_STEP: u64 = 100;
const AUTOSCALE_MIN: u64 = 1000;
const AUTOSCALE_STEP: u64 = 1000;
const THROUGHPUT_MAX: u64 = 1_000_000;
/// What one physical partition can serve: all that a container without a partition key has.
const WITHOUT_KEY_MAX: u64 = 10_000;
/// What a migration to autoscale starts with at least.
const AUTOSCALE_MIGRATED_MIN: u64 = 4000;

const PER_RANGE_MANUAL: u64 = 6000;
const PER_RANGE_OTHER: u64 = 10_000;
/// Limit: a range costs memory and a head in the store; the largest throughput makes 167.
pub(crate) const RANGES_MAX: u32 = 1000;

/// Containers that share a database's throughput; each further one is refused.
pub(crate) const SHARED_CONTAINERS_MAX: usize = 25;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThroughputError {
    #[error(
        "Specifying both manual throughput and autopilot settings is not supported: \
         x-ms-offer-throughput and x-ms-cosmos-offer-autopilot-settings exclude each other"
    )]
    Both,
    #[error("Requested throughput {requested} is less than required minimum throughput {min}")]
    TooLow { requested: i64, min: u64 },
    #[error(
        "The offer should have valid throughput values between {MANUAL_MIN} and {THROUGHPUT_MAX} \
         inclusive in increments of {MANUAL_STEP}."
    )]
    ManualStep,
    #[error(
        "The offer should have valid throughput values between {MANUAL_MIN} and {WITHOUT_KEY_MAX} inclusive in \
         increments of {MANUAL_STEP}: a container without a partition key has one physical partition."
    )]
    WithoutKey,
    #[error(
        "The autopilot settings should have a valid maxThroughput between {AUTOSCALE_MIN} and \
         {THROUGHPUT_MAX} inclusive in increments of {AUTOSCALE_STEP}."
    )]
    AutoscaleStep,
    #[error("The offer type '{0}' is none of the performance levels S1, S2 and S3")]
    LevelUnknown(String),
    #[error(
        "x-ms-offer-type and a throughput (x-ms-offer-throughput, x-ms-cosmos-offer-autopilot-settings) \
         exclude each other"
    )]
    LevelAndThroughput,
    #[error("A performance level is for a container: a database has throughput, or none")]
    LevelOfDatabase,
    #[error("The autopilot settings are invalid: {0}")]
    AutoscaleInvalid(&'static str),
    #[error(
        "The offer cannot be changed between manual and autoscale throughput by its content; use the migration headers"
    )]
    KindChanged,
    #[error("A migration must leave the offer's content as it is: {0}")]
    MigrationContent(&'static str),
    #[error("The offer is already of the kind that the migration asks for")]
    MigrationPointless,
    #[error("Every partition key range of the container needs its throughput, and no other")]
    SharesIncomplete,
    #[error("The throughput of a partition key range must be from 100 to 10000 RU/s")]
    ShareOutside,
    #[error("The throughput of all partition key ranges together must be the container's")]
    SharesSum,
    #[error("The throughput of a database is not divided over partition key ranges")]
    SharesShared,
    #[error("The container has no throughput to divide")]
    SharesUnprovisioned,
    #[error("The offer property '{0}' cannot be changed")]
    OfferProperty(&'static str),
}

/// Provisioned throughput.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Throughput {
    Manual(u64),
    Level(PerformanceLevel),
    Autoscale {
        max: u64,
        /// Percent by which the service may raise the maximum; kept and returned.
        increment_percent: Option<u64>,
    },
}

impl Throughput {
    /// What a create asks for, checked.
    pub(crate) fn requested(request: &ThroughputRequest) -> Result<Throughput> {
        match request {
            ThroughputRequest::Both => Err(ThroughputError::Both.into()),
            ThroughputRequest::LevelAndThroughput => {
                Err(ThroughputError::LevelAndThroughput.into())
            }
            ThroughputRequest::Level(text) => Throughput::level(text),
            ThroughputRequest::Manual(units) => {
                Ok(Throughput::Manual(check_manual(*units, MANUAL_MIN)?))
            }
            ThroughputRequest::Autoscale(text) => match json::parse(text.as_bytes()) {
                Ok(Value::Object(settings)) => Throughput::autoscale(&settings, AUTOSCALE_MIN),
                _ => Err(ThroughputError::AutoscaleInvalid("not a JSON object").into()),
            },
        }
    }

    /// What a performance level is worth.
    pub(crate) fn level(text: &str) -> Result<Throughput> {
        let unknown = || ThroughputError::LevelUnknown(text.chars().take(64).collect());
        Ok(Throughput::Level(PerformanceLevel::parse(text).ok_or_else(unknown)?))
    }

    /// Reads and checks `{"maxThroughput":…,"autoUpgradePolicy":…}`.
    pub(crate) fn autoscale(settings: &Object, min: u64) -> Result<Throughput> {
        let max = body::optional_int(settings, "maxThroughput")?
            .ok_or(ThroughputError::AutoscaleInvalid("no maxThroughput"))?;
        let max = check_autoscale(max, min)?;
        let increment_percent = match body::optional_object(settings, "autoUpgradePolicy")? {
            None => None,
            Some(policy) => Some(increment_percent(policy)?),
        };
        Ok(Throughput::Autoscale { max, increment_percent })
    }

    /// The most units per second that it can give.
    pub(crate) fn max(&self) -> u64 {
        match self {
            Throughput::Manual(units) => *units,
            Throughput::Level(level) => level.units(),
            Throughput::Autoscale { max, .. } => *max,
        }
    }

    /// Refuses more than one physical partition can serve to a container that has only one.
    pub(crate) fn check_without_key(&self) -> Result<(), ThroughputError> {
        if self.max() > WITHOUT_KEY_MAX { Err(ThroughputError::WithoutKey) } else { Ok(()) }
    }

    /// Ranges of a new container with this throughput of its own.
    pub(crate) fn n_ranges(&self) -> u32 {
        match self {
            Throughput::Manual(units) => n_ranges(*units, PER_RANGE_MANUAL),
            Throughput::Level(_) => 1,
            Throughput::Autoscale { max, .. } => n_ranges(*max, PER_RANGE_OTHER),
        }
    }

    /// Ranges of a new container that shares this throughput of its database.
    pub(crate) fn n_ranges_shared(&self) -> u32 {
        n_ranges(self.max(), PER_RANGE_OTHER)
    }

    pub(crate) fn to_state(&self) -> Value {
        match self {
            Throughput::Manual(units) => {
                Value::Object(body::object([("manual", number_value(*units))]))
            }
            Throughput::Level(level) => {
                Value::Object(body::object([("level", level.name().into())]))
            }
            Throughput::Autoscale { max, increment_percent } => {
                let mut state = body::object([("autoscale", number_value(*max))]);
                if let Some(percent) = increment_percent {
                    state.insert("incrementPercent", number_value(*percent));
                }
                Value::Object(state)
            }
        }
    }

    pub(crate) fn from_state(state: &Value) -> Option<Throughput> {
        let number = |name| state.get(name).and_then(read_number);
        if let Some(level) = state.get("level").and_then(Value::as_str) {
            return PerformanceLevel::parse(level).map(Throughput::Level);
        }
        match (number("manual"), number("autoscale")) {
            (Some(units), None) => Some(Throughput::Manual(units)),
            (None, Some(max)) => {
                Some(Throughput::Autoscale { max, increment_percent: number("incrementPercent") })
            }
            _ => None,
        }
    }
}

fn n_ranges(units: u64, per_range: u64) -> u32 {
    u32::try_from(units.div_ceil(per_range)).unwrap_or(RANGES_MAX).clamp(1, RANGES_MAX)
}

fn increment_percent(policy: &Object) -> Result<u64> {
    let invalid = ThroughputError::AutoscaleInvalid(
        "autoUpgradePolicy needs throughputPolicy.incrementPercent",
    );
    let policy = body::optional_object(policy, "throughputPolicy")?.ok_or(invalid.clone())?;
    let percent = body::optional_int(policy, "incrementPercent")?.ok_or(invalid.clone())?;
    u64::try_from(percent).ok().filter(|percent| *percent <= 1000).ok_or(invalid.into())
}

pub(crate) fn check_manual(units: i64, min: u64) -> Result<u64, ThroughputError> {
    let too_low = ThroughputError::TooLow { requested: units, min };
    let checked = u64::try_from(units).map_err(|_| too_low.clone())?;
    if checked < min {
        return Err(too_low);
    }
    if checked <= THROUGHPUT_MAX && checked.is_multiple_of(MANUAL_STEP) {
        Ok(checked)
    } else {
        Err(ThroughputError::ManualStep)
    }
}

pub(crate) fn check_autoscale(max: i64, min: u64) -> Result<u64, ThroughputError> {
    let too_low = ThroughputError::TooLow { requested: max, min };
    let checked = u64::try_from(max).map_err(|_| too_low.clone())?;
    if checked < min {
        return Err(too_low);
    }
    if checked <= THROUGHPUT_MAX && checked.is_multiple_of(AUTOSCALE_STEP) {
        Ok(checked)
    } else {
        Err(ThroughputError::AutoscaleStep)
    }
}

/// What decides the lowest throughput that may be set.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// The highest throughput ever provisioned.
    pub(crate) max_ever: u64,
    pub(crate) storage_bytes: u64,
    /// Containers that share the throughput; 0 for a container's own.
    pub(crate) n_sharing: usize,
}

impl Usage {
    fn storage_gb(self) -> u64 {
        self.storage_bytes >> 30
    }

    fn n_extra(self) -> u64 {
        u64::try_from(self.n_sharing.saturating_sub(SHARED_CONTAINERS_MAX)).unwrap_or(u64::MAX)
    }

    pub(crate) fn manual_min(self) -> u64 {
        let shared = MANUAL_MIN + 100 * self.n_extra();
        let min = shared.max(self.storage_gb()).max(self.max_ever / 100);
        min.next_multiple_of(MANUAL_STEP)
    }

    pub(crate) fn autoscale_min(self) -> u64 {
        let shared = AUTOSCALE_MIN + 1000 * self.n_extra();
        let min = shared.max(self.storage_gb() * 10).max(self.max_ever / 10);
        min.next_multiple_of(AUTOSCALE_STEP)
    }
}

/// Wire: the service picks the throughput of a migrated offer.
pub(crate) fn migrated_to_autoscale(units: u64) -> u64 {
    units.max(AUTOSCALE_MIGRATED_MIN).next_multiple_of(AUTOSCALE_STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_the_throughput() {
        #[rustfmt::skip]
        let table = [
            (Throughput::Manual(400), 1), (Throughput::Manual(6000), 1), (Throughput::Manual(6100), 2),
            (Throughput::Manual(11_000), 2), (Throughput::Manual(30_000), 5),
            (Throughput::Autoscale { max: 10_000, increment_percent: None }, 1),
            (Throughput::Autoscale { max: 11_000, increment_percent: None }, 2),
            (Throughput::Manual(1_000_000), 167),
        ];
        for (throughput, expected) in table {
            assert_eq!(throughput.n_ranges(), expected, "{throughput:?}");
        }
        assert_eq!(Throughput::Manual(20_000).n_ranges_shared(), 2);
    }

    #[test]
    fn requests_are_checked() {
        let manual = |units| Throughput::requested(&ThroughputRequest::Manual(units));
        let autoscale =
            |text: &str| Throughput::requested(&ThroughputRequest::Autoscale(text.into()));
        assert!(manual(400).is_ok() && manual(1_000_000).is_ok());
        for bad in [-200, 0, 399, 450, 1_000_100, i64::MAX, i64::MIN] {
            assert!(manual(bad).is_err(), "{bad}");
        }
        let text = manual(-200).unwrap_err().to_string();
        assert!(
            text.contains("Requested throughput -200 is less than required minimum throughput 400")
        );
        assert!(autoscale(r#"{"maxThroughput":4000}"#).is_ok());
        let upgrade = r#"{"maxThroughput":5000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":3}}}"#;
        let expected = Throughput::Autoscale { max: 5000, increment_percent: Some(3) };
        assert_eq!(autoscale(upgrade).unwrap(), expected);
        assert_eq!(Throughput::from_state(&expected.to_state()), Some(expected));
        for bad in [
            "",
            "[]",
            "{}",
            r#"{"maxThroughput":"x"}"#,
            r#"{"maxThroughput":999}"#,
            r#"{"maxThroughput":1500}"#,
            r#"{"maxThroughput":4000,"autoUpgradePolicy":{}}"#,
        ] {
            assert!(autoscale(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_minimum_remembers_the_highest_throughput() {
        let usage = Usage { max_ever: 50_000, ..Usage::default() };
        assert_eq!((usage.manual_min(), usage.autoscale_min()), (500, 5000));
        let usage = Usage { max_ever: 400, storage_bytes: 2000 << 30, n_sharing: 0 };
        assert_eq!(usage.manual_min(), 2000);
        assert_eq!(Usage { n_sharing: 27, ..Usage::default() }.manual_min(), 600);
    }
}
