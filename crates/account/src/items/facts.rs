//! What every answer tells beside its body, failures included: owner, range, LSN, session token, charge.

use std::sync::Arc;

use model::{Charge, Lsn, RangeId};

use super::request::ItemRequest;
use crate::error::Error;
use crate::outcome::{Facts, Failed};
use crate::range_map::Range;
use crate::session;

impl ItemRequest<'_> {
    pub(super) fn facts(&self) -> Facts {
        Facts {
            owner_path: Some(Arc::clone(&self.container.name_path)),
            owner_rid: Some(Arc::clone(&self.container.rid_text)),
            ..Facts::default()
        }
    }

    /// Facts of an answer that a range served up to an LSN.
    pub(super) fn facts_of(&self, range: RangeId, lsn: Lsn) -> Facts {
        let served = self.container.ranges.by_id(range);
        Facts {
            session: Some(session::entry(self.options, range, lsn)),
            range: Some(range),
            lsn: Some(lsn),
            partition: served.map(|range| range.entry.incarnation),
            range_usage: served.map(|range| range.partition.usage()),
            ..self.facts()
        }
    }

    pub(super) fn fail(&self, error: impl Into<Error>) -> Failed {
        match self.likely_range() {
            Some(range) => self.fail_at(range, error),
            None => error.into().into(),
        }
    }

    /// A failure that a range found out.
    pub(super) fn fail_at(&self, range: &Range, error: impl Into<Error>) -> Failed {
        let error = error.into();
        let charge = charge_of(&error);
        let facts = self.facts_of(range.id(), range.partition.lsn());
        Failed { error, facts: Box::new(Facts { charge, ..facts }) }
    }
}

pub(super) fn charge_of(error: &Error) -> Charge {
    match error {
        Error::Partition(error) => error.charge(),
        Error::Throttled { .. } => partition::charge::throttled(),
        Error::Item(_) | Error::KeyMismatch => partition::charge::refused(),
        _ => Charge::ZERO,
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { error, facts: Box::default() }
    }
}
