//! Removes expired items. They are dead for everybody before; this only takes their bytes away.
//!
//! Items with a `ttl` of their own are found by due time in the expiry family. Items under the container's default
//! are found by walking the change family, which is in time order, from where the last walk ended.

use std::collections::HashMap;

use bytes::Bytes;
use model::{ItemBody, Lsn};

use crate::keys::{Family, LogicalPrefix, due_of, moment_of};
use crate::partition::Partition;
use crate::reader::Reader;
use crate::record::{Change, ItemRecord};
use crate::scan::SCANNED_MAX;
use crate::transaction::{BATCH_OPERATIONS_MAX, Step, TransactionContext};
use crate::{Error, Result};

/// How far the walk under the default has come. Forgotten on restart: then it starts over.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    /// Every item written up to here is gone, or does not expire under `default_ttl` by when it was written.
    done: Lsn,
    default_ttl: Option<i32>,
    /// Purges under way: up to which key of the logical partition nothing older than the purge is left.
    pub(crate) purged: HashMap<LogicalPrefix, (Lsn, Bytes)>,
}

/// Dead items of one logical partition: id and number.
type Dead = HashMap<LogicalPrefix, Vec<(String, u64)>>;

impl Partition {
    /// Does one step of removal: at most `items_max` expired items, or items of deleted logical partitions.
    ///
    /// Returns how many it removed; zero means that nothing is due now.
    pub async fn expire(&self, items_max: usize) -> Result<usize> {
        let n_purged = self.continue_purges(items_max).await?;
        if n_purged >= items_max {
            return Ok(n_purged);
        }
        let room = items_max - n_purged;
        let reader = self.reader();
        let Some(default_ttl) = reader.settings.default_ttl else { return Ok(n_purged) };
        let mut dead = Dead::new();
        let mut n_dead = reader.collect_due(room, &mut dead)?;
        let mut walked = None;
        if default_ttl > 0 {
            let from = self.sweep_start(default_ttl);
            let (n_found, to) = reader.walk_default(default_ttl, from, room - n_dead, &mut dead)?;
            n_dead += n_found;
            walked = Some(to);
        }
        self.reap(dead).await?;
        if let Some(to) = walked {
            let mut sweep = self.inner().sweep.lock();
            (sweep.done, sweep.default_ttl) = (to, Some(default_ttl));
        }
        Ok(n_purged + n_dead)
    }

    fn sweep_start(&self, default_ttl: i32) -> Lsn {
        let sweep = self.inner().sweep.lock();
        if sweep.default_ttl == Some(default_ttl) { sweep.done } else { Lsn::ZERO }
    }

    /// Removes items that are still dead, one transaction per logical partition and hundred items.
    pub(crate) async fn reap(&self, dead: Dead) -> Result<()> {
        for (place, items) in dead {
            let at = place.to_logical()?;
            let context = TransactionContext::new(self.settings(), self.keys(), &at);
            let mut steps: Vec<Step> =
                items.into_iter().map(|(id, number)| Step::reap(id, number)).collect();
            while !steps.is_empty() {
                let later = steps.split_off(steps.len().min(BATCH_OPERATIONS_MAX));
                self.transact(&context, &steps).await.map_err(|refusal| refusal.error)?;
                steps = later;
            }
        }
        Ok(())
    }
}

impl Reader {
    /// Items whose own time is over.
    fn collect_due(&self, items_max: usize, dead: &mut Dead) -> Result<usize> {
        let mut n_found = 0;
        for entry in self.scan(self.keys.family(Family::Expiry)) {
            let (due, number) = due_of(&entry?.0)?;
            if due > self.liveness.now || n_found >= items_max {
                break;
            }
            let record = self.item(number)?;
            let record = record.ok_or(Error::Corrupt("an expiry entry is no item"))?;
            if !self.liveness.is_live(&record) {
                bury(number, &record, dead)?;
                n_found += 1;
            }
        }
        Ok(n_found)
    }

    /// Items without a time of their own whose default is over, and how far the walk came.
    fn walk_default(
        &self,
        default_ttl: i32,
        from: Lsn,
        items_max: usize,
        dead: &mut Dead,
    ) -> Result<(usize, Lsn)> {
        let seconds = u32::try_from(default_ttl).unwrap_or(u32::MAX);
        let (mut n_found, mut done) = (0, from);
        let mut walking = from;
        for (n_scanned, entry) in self.scan(self.keys.changes(from)).enumerate() {
            let (key, value) = entry?;
            let lsn = moment_of(&key)?.lsn;
            if lsn != walking {
                done = walking;
                walking = lsn;
            }
            let change = Change::decode(&value)?;
            let is_young = change.ts.saturating_add(seconds) > self.liveness.now;
            if is_young || n_found >= items_max || n_scanned >= SCANNED_MAX {
                return Ok((n_found, done));
            }
            let record = self.item(change.number)?;
            let record = record.ok_or(Error::Corrupt("a feed entry is no item"))?;
            // An item that says from when its time counts may live on.
            if record.ttl == 0 && !self.liveness.is_live(&record) {
                bury(change.number, &record, dead)?;
                n_found += 1;
            }
        }
        // Those that lived on are looked at again from the beginning.
        let end = if self.liveness.ttl_path.is_some() { Lsn::ZERO } else { walking };
        Ok((n_found, end))
    }
}

fn bury(number: u64, record: &ItemRecord, dead: &mut Dead) -> Result<()> {
    let body = ItemBody::parse(record.text())
        .map_err(|_| Error::Corrupt("a stored item is not an item"))?;
    dead.entry(record.place()).or_default().push((body.id().to_owned(), number));
    Ok(())
}
