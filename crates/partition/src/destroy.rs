//! Reclaims the bytes of a partition that nobody can reach any more, in small batches.

use std::sync::Arc;

use bytes::Bytes;
use store::{Batch, Direction, KeyRange, Store};

use crate::Result;
use crate::keys::Keys;
use crate::partition::Partition;

/// Steps of deletes after which what is left is worth more than single deletes.
const DISCARD_AFTER: usize = 10;

impl Partition {
    /// Deletes a forgotten partition in steps of `entries_max` entries. Between two of them others get their turn.
    pub async fn destroy(
        store: &Arc<dyn Store>,
        incarnation: u64,
        entries_max: usize,
        mut rest: impl AsyncFnMut(),
    ) -> Result<()> {
        let all = Keys::new(incarnation).all();
        let mut n_steps = 0;
        // What was deleted last: looking for the next entry from the start would walk over everything deleted so far.
        let mut range = all.clone();
        while let Some(last) = delete_some(store, range, entries_max).await? {
            range = all.clone().after(&last);
            n_steps += 1;
            if n_steps == DISCARD_AFTER {
                // Not the head: its delete must stay what the store knows of it, so that nothing is built on it again.
                store.discard(all.clone().after(&Keys::new(incarnation).head())).await?;
                range = all.clone();
            }
            rest().await;
        }
        while Self::destroy_step(store, incarnation, entries_max).await? {
            rest().await;
        }
        Ok(())
    }

    /// Deletes up to `entries_max` entries of a forgotten partition; false when nothing is left.
    ///
    /// The head goes first, because its key is the lowest: a commit that is still on its way then loses its condition
    /// and cannot leave entries behind.
    pub async fn destroy_step(
        store: &Arc<dyn Store>,
        incarnation: u64,
        entries_max: usize,
    ) -> Result<bool> {
        let deleted = delete_some(store, Keys::new(incarnation).all(), entries_max).await?;
        Ok(deleted.is_some())
    }
}

/// Deletes the first entries of a range and returns the last key of them.
async fn delete_some(
    store: &Arc<dyn Store>,
    range: KeyRange,
    entries_max: usize,
) -> Result<Option<Bytes>> {
    let mut batch = Batch::new();
    let mut last = None;
    {
        let snapshot = store.snapshot();
        for entry in snapshot.scan(range, Direction::Forward).take(entries_max.max(1)) {
            let (key, _) = entry?;
            last = Some(key.clone());
            batch.delete(key);
        }
    }
    if last.is_some() {
        store.commit(batch).await?;
    }
    Ok(last)
}
