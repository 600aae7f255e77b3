//! Delete by partition key: one mark makes every item of the logical partition dead at once; the items are removed
//! in bounded steps afterwards, also after a restart.

use std::collections::HashMap;

use bytes::Bytes;
use model::{Charge, Lsn};

use crate::keys::{LogicalPrefix, id_of};
use crate::partition::Partition;
use crate::record::{decode_number, encode_lsn};
use crate::scan::SCANNED_MAX;
use crate::writer::Marks;
use crate::{Error, Logical, Result, charge};

// Limit: items removed by the call itself. What is left is removed by `expire`, step by step.
const REMOVED_AT_ONCE_MAX: usize = 1_000;

impl Partition {
    /// Deletes every item of the logical partition. Items written after the call's LSN survive.
    pub async fn delete_logical(&self, at: &Logical) -> Result<Charge> {
        let place = LogicalPrefix::new(at, &self.settings().definition);
        let key = Bytes::from(self.keys().purge(&place));
        let now = self.inner().now();
        self.commit_marks(Some(&place), |Marks { head, batch, purges, .. }| {
            head.lsn = head.lsn.next();
            head.ts = head.ts.max(now);
            batch.put(key.clone(), encode_lsn(head.lsn));
            purges.insert(place.clone().into_bytes(), head.lsn);
            Ok(true)
        })
        .await?;
        self.remove_purged(&place, REMOVED_AT_ONCE_MAX).await?;
        Ok(charge::delete_logical())
    }

    /// Goes on with the purges that are under way; removes at most `items_max` items.
    pub(crate) async fn continue_purges(&self, items_max: usize) -> Result<usize> {
        let purges = self.inner().purges.read().clone();
        let mut n_removed = 0;
        for place in purges.keys() {
            if n_removed >= items_max {
                break;
            }
            let place = LogicalPrefix::from_bytes(place.clone());
            n_removed += self.remove_purged(&place, items_max - n_removed).await?;
        }
        Ok(n_removed)
    }

    /// Removes up to `items_max` dead items of a purged logical partition, and the mark after the last one.
    async fn remove_purged(&self, place: &LogicalPrefix, items_max: usize) -> Result<usize> {
        let reader = self.reader();
        let Some(cutoff) = reader.liveness.purges.get(place.as_bytes()).copied() else {
            return Ok(0);
        };
        let range = reader.keys.keys_of(place);
        let range = match self.inner().sweep.lock().purged.get(place) {
            Some((since, key)) if *since == cutoff => range.after(key),
            _ => range,
        };
        let (mut dead, mut last) = (Vec::new(), None);
        let mut is_complete = true;
        for (n_scanned, entry) in reader.scan(range).enumerate() {
            if dead.len() >= items_max || n_scanned >= SCANNED_MAX {
                is_complete = false;
                break;
            }
            let (key, value) = entry?;
            let number = decode_number(&value)?;
            let record = reader.item(number)?.ok_or(Error::Corrupt("a key points at no item"))?;
            if record.moment.lsn <= cutoff {
                dead.push((id_of(&key, place)?, number));
            }
            last = Some(key);
        }
        let n_dead = dead.len();
        self.reap(HashMap::from([(place.clone(), dead)])).await?;
        if is_complete {
            self.inner().sweep.lock().purged.remove(place);
            self.end_purge(place, cutoff).await?;
            return Ok(n_dead);
        }
        if let Some(key) = last {
            self.inner().sweep.lock().purged.insert(place.clone(), (cutoff, key));
        }
        // Nothing found among the survivors so far, yet there is more to do.
        Ok(n_dead.max(1))
    }

    /// Takes the mark away, unless the logical partition was deleted again meanwhile.
    async fn end_purge(&self, place: &LogicalPrefix, cutoff: Lsn) -> Result<()> {
        let key = Bytes::from(self.keys().purge(place));
        self.commit_marks(Some(place), |Marks { batch, purges, .. }| {
            if purges.get(place.as_bytes()) != Some(&cutoff) {
                return Ok(false);
            }
            purges.remove(place.as_bytes());
            batch.delete(key.clone());
            Ok(true)
        })
        .await?;
        Ok(())
    }
}
