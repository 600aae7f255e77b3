//! Reclaims the bytes of a partition that nobody can reach any more, in small batches.

use std::sync::Arc;

use store::{Batch, Direction, Store};

use crate::Result;
use crate::keys::Keys;
use crate::partition::Partition;

impl Partition {
    /// Deletes up to `entries_max` entries of a forgotten partition; false when nothing is left.
    ///
    /// The head goes first, because its key is the lowest: a commit that is still on its way then loses its condition
    /// and cannot leave entries behind.
    pub async fn destroy_step(
        store: &Arc<dyn Store>,
        incarnation: u64,
        entries_max: usize,
    ) -> Result<bool> {
        let mut batch = Batch::new();
        {
            let snapshot = store.snapshot();
            let range = Keys::new(incarnation).all();
            for entry in snapshot.scan(range, Direction::Forward).take(entries_max.max(1)) {
                batch.delete(entry?.0);
            }
        }
        if batch.is_empty() {
            return Ok(false);
        }
        store.commit(batch).await?;
        Ok(true)
    }
}
