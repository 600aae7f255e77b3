//! From a partition key to the range that owns it, and what the request uses of that range.

use std::time::Duration;

use model::{Charge, PartitionKey, RangeId, Status};
use partition::Logical;

use super::request::ItemRequest;
use crate::error::{Error, Result};
use crate::meter::Used;
use crate::outcome::{Body, Failed, Outcome};
use crate::range_map::Range;
use crate::session;

impl ItemRequest<'_> {
    /// The logical partition of the key header, which must be complete.
    pub(super) fn logical(&self) -> Result<Logical> {
        let key = self.key.clone().ok_or(Error::KeyRequired)?;
        self.logical_of(key)
    }

    pub(super) fn logical_of(&self, key: PartitionKey) -> Result<Logical> {
        let definition = &self.container.properties.definition;
        definition.check(&key)?;
        self.allowed.check_key(Some(&key))?;
        Ok(Logical::new(definition, key))
    }

    /// The range that owns the key; a range header must agree with it.
    pub(super) fn route(&self, at: &Logical) -> Result<&Range> {
        let range = self.container.ranges.route(&at.epk);
        match self.range {
            Some(named) if named != range.id() => Err(self.range_gone(named)),
            Some(_) | None => {
                let _ = self.routed.set(at.clone());
                self.admit(range)?;
                Ok(range)
            }
        }
    }

    /// Refuses the request if the range has used up its throughput.
    pub(super) fn admit(&self, range: &Range) -> Result<()> {
        let Some(budget) = &self.budget else { return Ok(()) };
        let now = self.inner.env().monotonic();
        let definition = &self.container.properties.definition;
        let slice = || self.logical().ok().map(|at| definition.slice(&at.epk));
        budget.admit(now, range, self.fingerprint, slice)
    }

    /// Notes what a request used of a range.
    pub(super) fn record(
        &self,
        now: Duration,
        range: &Range,
        at: Option<&Logical>,
        charge: Charge,
    ) {
        let definition = &self.container.properties.definition;
        let at = at.map(|at| (at, definition.slice(&at.epk)));
        range.meter.record(now, Used { at, charge, is_write: self.is_write });
        if let Some(budget) = &self.budget {
            budget.charge(now, range, charge);
        }
    }

    pub(super) fn named_range(&self, id: RangeId) -> Result<&Range> {
        self.container.ranges.by_id(id).ok_or_else(|| self.range_gone(id))
    }

    pub(super) fn range_gone(&self, range: RangeId) -> Error {
        Error::RangeGone { range, container: self.container.rid_text.to_string() }
    }

    /// The range that would have served the request: the one of its item, that it names, of its key, or the first.
    pub(super) fn likely_range(&self) -> Option<&Range> {
        let ranges = &self.container.ranges;
        let routed = self.routed.get().map(|at| ranges.route(&at.epk));
        let named = || self.range.and_then(|id| ranges.by_id(id));
        let of_key = || self.logical().ok().map(|at| ranges.route(&at.epk));
        routed.or_else(named).or_else(of_key).or_else(|| ranges.iter().next())
    }

    pub(super) fn check_session(&self, range: &Range) -> Result<()> {
        let default = self.inner.options().default_consistency;
        session::check_read(self.options, default, &self.container, range)
    }

    /// Wire: clients of direct mode ask how far a replica is before they trust what it has read.
    pub(super) fn head(&self) -> Result<Outcome, Failed> {
        let range = match (&self.key, self.range) {
            (Some(_), _) => {
                let at = self.logical().map_err(|error| self.fail(error))?;
                self.route(&at).map_err(|error| self.fail(error))?
            }
            (None, Some(id)) => self.named_range(id).map_err(|error| self.fail(error))?,
            (None, None) => {
                self.likely_range().ok_or_else(|| self.fail(Error::ContainerNotFound))?
            }
        };
        let facts = self.facts_of(range.id(), range.partition.lsn());
        Ok(Outcome { status: Status::OK, body: Body::Empty, facts })
    }
}
