//! Deletes every item of one logical partition.

use model::Status;

use super::ItemRequest;
use super::batch::whole_key;
use crate::error::Result;
use crate::outcome::{Body, Facts, Failed, Outcome};

impl ItemRequest<'_> {
    /// Reads see the effect at once; items written afterwards survive.
    pub(super) async fn delete_logical_partition(&self) -> Result<Outcome, Failed> {
        let at = self.logical().map_err(|error| self.fail(whole_key(error)))?;
        let range = self.route(&at).map_err(|error| self.fail(error))?;
        let charge = range
            .partition
            .delete_logical(&at)
            .await
            .map_err(|error| self.fail_at(range, error))?;
        let facts = Facts { charge, ..self.facts_of(range.id(), range.partition.lsn()) };
        Ok(Outcome { status: Status::OK, body: Body::Empty, facts })
    }
}
