//! How the throughput of a container is divided over its ranges: equally, until somebody says otherwise.
//!
//! Wire: redistribution. Shares are fractions, so they are kept when the throughput changes; the
//! children of a split divide what their parent had, and a merged range has what its parents had together.

use model::{Object, RangeId, Value};

use crate::account::Account;
use crate::error::{Error, Result};
use crate::meter;
use crate::operation::Link;
use crate::range_map::Range;
use crate::throughput::ThroughputError;

/// Where the state of a container keeps the shares that are not equal.
const SHARES: &str = "shares";

/// Limit: request units per second of one range, as on the service.
const UNITS_MIN: f64 = 100.0;
const UNITS_MAX: f64 = 10_000.0;

/// The share of each of `ranges`; equal unless the state has one for every range.
pub(crate) fn of(state: &Object, ranges: &[RangeId]) -> Vec<f64> {
    let set = set_shares(state);
    let shares: Option<Vec<f64>> = ranges.iter().map(|id| set.as_ref()?.get(*id)).collect();
    shares.unwrap_or_else(|| vec![equal(ranges.len()); ranges.len()])
}

fn equal(n_ranges: usize) -> f64 {
    1.0 / f64::from(u32::try_from(n_ranges).unwrap_or(u32::MAX).max(1))
}

/// Passes the shares of `sources` on to the ranges that take their place.
pub(crate) fn pass_on(state: &mut Object, sources: &[RangeId], targets: &[RangeId]) {
    let Some(mut set) = set_shares(state) else { return };
    let sum: f64 = sources.iter().filter_map(|id| set.take(*id)).sum();
    for id in targets {
        set.0.insert(id.to_string(), Value::from(sum * equal(targets.len())));
    }
    state.insert(SHARES, Value::Object(set.0));
}

/// Shares that somebody set.
struct Set(Object);

fn set_shares(state: &Object) -> Option<Set> {
    match state.get(SHARES) {
        Some(Value::Object(set)) => Some(Set(set.clone())),
        _ => None,
    }
}

impl Set {
    fn get(&self, id: RangeId) -> Option<f64> {
        self.0.get(&id.to_string()).and_then(Value::as_f64)
    }

    fn take(&mut self, id: RangeId) -> Option<f64> {
        let share = self.get(id);
        self.0.remove(&id.to_string());
        share
    }
}

impl Account {
    /// Gives every range of a container the request units per second of `units`, which must be the container's
    /// together; none makes the shares equal again.
    pub async fn redistribute(&self, container: &Link, units: Vec<(RangeId, f64)>) -> Result<()> {
        let link = container.clone();
        let change = self.inner.catalog.change(move |draft| {
            let found = draft.tables.find_owner(&link)?;
            let container = draft.tables.container(found.number()).cloned();
            let container = container.ok_or(Error::OwnerNotFound)?;
            let mut state = container.record().state.clone();
            state.remove(SHARES);
            if !units.is_empty() {
                let provisioned = meter::provisioned(draft.tables, &container);
                let (total, database) = provisioned.ok_or(ThroughputError::SharesUnprovisioned)?;
                if database.is_some() {
                    return Err(ThroughputError::SharesShared.into());
                }
                let ids: Vec<RangeId> = container.ranges.iter().map(Range::id).collect();
                state.insert(SHARES, Value::Object(checked(&ids, &units, total)?));
            }
            draft.update_state(container.record(), state);
            Ok(())
        });
        change.await
    }
}

fn checked(ids: &[RangeId], units: &[(RangeId, f64)], total: f64) -> Result<Object> {
    let mut shares = Object::new();
    for id in ids {
        let mut own = units.iter().filter(|(other, _)| other == id).map(|(_, units)| *units);
        let (Some(units), None) = (own.next(), own.next()) else {
            return Err(ThroughputError::SharesIncomplete.into());
        };
        if !(UNITS_MIN..=UNITS_MAX).contains(&units) {
            return Err(ThroughputError::ShareOutside.into());
        }
        shares.insert(id.to_string(), Value::from(units / total));
    }
    let sum: f64 = units.iter().map(|(_, units)| *units).sum();
    if units.len() != ids.len() {
        return Err(ThroughputError::SharesIncomplete.into());
    }
    if (sum - total).abs() > 0.5 {
        return Err(ThroughputError::SharesSum.into());
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_go_to_those_who_take_the_place() {
        let ids = |ids: &[u32]| ids.iter().copied().map(RangeId).collect::<Vec<_>>();
        let mut state = Object::new();
        pass_on(&mut state, &ids(&[0]), &ids(&[2, 3]));
        assert_eq!(of(&state, &ids(&[2, 3])), [0.5, 0.5]);
        let mut set = Object::new();
        set.insert("0", Value::from(0.75));
        set.insert("1", Value::from(0.25));
        state.insert(SHARES, Value::Object(set));
        assert_eq!(of(&state, &ids(&[0, 1])), [0.75, 0.25]);
        pass_on(&mut state, &ids(&[0]), &ids(&[2, 3]));
        assert_eq!(of(&state, &ids(&[2, 3, 1])), [0.375, 0.375, 0.25]);
        pass_on(&mut state, &ids(&[3, 1]), &ids(&[4]));
        assert_eq!(of(&state, &ids(&[2, 4])), [0.375, 0.625]);
        assert_eq!(of(&state, &ids(&[2, 9])), [0.5, 0.5], "unknown ranges: equal shares");
    }
}
