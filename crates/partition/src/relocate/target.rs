//! A partition that is being built from the items of others.
//!
//! Here everything but the versions and the purge marks is derived from the items, as a write derives it: keys,
//! members, feed entries, expiry, unique keys, counters, index. So the new partition has an index under the policy of
//! the container, whatever the sources were in the middle of. What `raw_copy` brought over before is the same, had it been
//! derived.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use model::{EpkRange, ItemBody};
use query::index::IndexPolicy;
use store::{Batch, Commit, Direction, KeyRange, Snapshot, Store};

use crate::index::{PathDictionary, TermChange};
use crate::keys::{CommitPosition, Keys, LogicalPrefix, moment_of, split_epk};
use crate::reader::Purges;
use crate::record::{
    AttachmentName, Change, Head, ItemRecord, LogicalRecord, VersionRecord, decode_number,
    encode_lsn, encode_number,
};
use crate::transaction::{TransactionContext, claims_of};
use crate::{Error, Result, Settings};

// Limit: batches on their way to the store. Nobody waits for them one by one: the last commit of the relocation is
// behind them all.
const IN_FLIGHT_MAX: usize = 1;

/// An item as a source has it now: `None` when it is gone.
pub(super) type ItemState = (u64, Option<ItemRecord>);

#[derive(Debug)]
pub(super) struct Builder {
    store: Arc<dyn Store>,
    pub(super) keys: Keys,
    epks: EpkRange,
    settings: Arc<Settings>,
    pub(super) head: Head,
    head_bytes: Bytes,
    dictionary: PathDictionary,
    /// With several sources two commits can have one LSN.
    is_merge: bool,
    in_flight: Vec<Commit>,
    /// Counters as they are after what is in flight.
    pub(super) recent: HashMap<LogicalPrefix, LogicalRecord>,
}

/// What a partition has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    n_items: u64,
    bytes: u64,
    n_logical: u64,
    n_attachments: u64,
    media_bytes: u64,
}

impl Counts {
    pub(super) fn add_attachment(&mut self, name: AttachmentName) {
        self.n_attachments += 1;
        self.media_bytes += name.media_bytes.unwrap_or(0);
    }

    pub(super) fn add(&mut self, logical: LogicalRecord) {
        self.n_items += logical.n_items;
        self.bytes += logical.bytes;
        self.n_logical += 1;
    }
}

/// One batch in the making.
pub(super) struct Sheet {
    pub(super) snapshot: Arc<dyn Snapshot>,
    pub(super) batch: Batch,
    counters: HashMap<LogicalPrefix, Counters>,
    moments: HashSet<CommitPosition>,
}

pub(super) struct Counters {
    before: LogicalRecord,
    pub(super) now: LogicalRecord,
}

impl Builder {
    /// Takes a partition that was initialised and has nothing in it.
    pub(super) fn new(
        store: Arc<dyn Store>,
        incarnation: u64,
        epks: EpkRange,
        settings: Arc<Settings>,
        is_merge: bool,
    ) -> Result<Builder> {
        let keys = Keys::new(incarnation);
        let snapshot = store.snapshot();
        let head_bytes = snapshot.get(&keys.head())?.ok_or(Error::Forgotten)?;
        let head = Head::decode(&head_bytes)?;
        let mut dictionary = PathDictionary::load(&*snapshot, keys, 0)?;
        dictionary.adopt(&settings.index_policy, 0);
        Ok(Builder {
            store,
            keys,
            epks,
            settings,
            head,
            head_bytes,
            dictionary,
            is_merge,
            in_flight: Vec::new(),
            recent: HashMap::new(),
        })
    }

    /// The policy that the index here is under.
    pub(super) fn policy(&self) -> &IndexPolicy {
        &self.settings.index_policy
    }

    /// Takes over entries that came into the empty partition as they were elsewhere.
    pub(super) fn adopt(&mut self, counts: Counts) -> Result<()> {
        let Counts { n_items, bytes, n_logical, n_attachments, media_bytes } = counts;
        (self.head.n_items, self.head.bytes, self.head.n_logical) = (n_items, bytes, n_logical);
        self.head.attachments.n_attachments = n_attachments;
        self.head.attachments.media_bytes = media_bytes;
        self.dictionary = PathDictionary::load(&*self.store.snapshot(), self.keys, n_items)?;
        self.dictionary.adopt(&self.settings.index_policy, n_items);
        Ok(())
    }

    pub(super) fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.store.snapshot()
    }

    pub(super) fn owns(&self, place: &[u8]) -> Result<bool> {
        Ok(self.epks.contains(&split_epk(place)?.0))
    }

    /// Adds items that are not here yet. Some commits may still be on their way afterwards.
    pub(super) async fn copy(&mut self, states: &[ItemState]) -> Result<()> {
        // Items of several sources must not take one place in the feed.
        if self.is_merge || self.in_flight.len() >= IN_FLIGHT_MAX {
            self.settle().await?;
        }
        self.write(states, true)
    }

    /// Makes items what the sources say they are.
    pub(super) async fn replay(&mut self, states: &[ItemState]) -> Result<()> {
        self.settle().await?;
        self.write(states, false)?;
        self.settle().await
    }

    /// Waits until everything written is there to be read.
    pub(super) async fn settle(&mut self) -> Result<()> {
        for commit in std::mem::take(&mut self.in_flight) {
            commit.await?;
        }
        self.recent.clear();
        Ok(())
    }

    fn write(&mut self, states: &[ItemState], is_new: bool) -> Result<()> {
        let mut sheet = Sheet::new(self.store.snapshot());
        let mut changes = Vec::with_capacity(states.len());
        for (number, record) in states {
            let old = if is_new { None } else { sheet.item(self.keys, *number)? };
            let new = match record {
                Some(record) if self.owns(record.place_bytes())? => Some(record),
                Some(_) | None => None,
            };
            if old.is_some() || new.is_some() {
                changes.push((*number, old, new));
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        // What goes before what comes: an id or a unique value may pass from one item to another.
        for (number, old, _) in &changes {
            if let Some(old) = old {
                self.retract(&mut sheet, *number, old)?;
            }
        }
        for (number, old, new) in &changes {
            let old_text = old.as_ref().map(ItemRecord::text);
            let new_text = new.map(ItemRecord::text);
            let view = self.dictionary.view();
            let terms = TermChange::new(old_text, new_text, &view)?;
            terms.seal(self.keys, *number, &mut self.dictionary, &mut sheet.batch);
            if let Some(new) = new {
                self.install(&mut sheet, *number, new)?;
            }
        }
        self.count(&mut sheet);
        self.commit(sheet.batch);
        Ok(())
    }

    fn retract(&self, sheet: &mut Sheet, number: u64, old: &ItemRecord) -> Result<()> {
        let (keys, place) = (self.keys, old.place());
        sheet.batch.delete(keys.change(old.moment));
        if let Some(due) = old.due() {
            sheet.batch.delete(keys.expiry(due, number));
        }
        sheet.batch.delete(keys.member(&place, number));
        sheet.batch.delete(keys.item(number));
        let (key, claims) = self.names(&place, old)?;
        for name in std::iter::once(key).chain(claims) {
            // Another item may have taken the name since, and come here before this one went.
            let holder = sheet.snapshot.get(&name)?.as_deref().map(decode_number).transpose()?;
            if holder == Some(number) {
                sheet.batch.delete(name);
            }
        }
        let counters = sheet.counters_of(self.keys, &self.recent, place)?;
        counters.now.n_items = counters.now.n_items.saturating_sub(1);
        counters.now.bytes = counters.now.bytes.saturating_sub(old.text().len() as u64);
        Ok(())
    }

    fn install(&self, sheet: &mut Sheet, number: u64, new: &ItemRecord) -> Result<()> {
        let (keys, place) = (self.keys, new.place());
        let moment = if self.is_merge { sheet.free_moment(keys, new.moment)? } else { new.moment };
        let (key, claims) = self.names(&place, new)?;
        for name in std::iter::once(key).chain(claims) {
            sheet.batch.put(name, encode_number(number));
        }
        sheet.batch.put(keys.member(&place, number), Bytes::new());
        sheet.batch.put(keys.item(number), new.at(moment));
        sheet.batch.put(keys.change(moment), Change { number, ts: new.ts }.encode());
        if let Some(due) = new.due() {
            sheet.batch.put(keys.expiry(due, number), Bytes::new());
        }
        let counters = sheet.counters_of(self.keys, &self.recent, place)?;
        counters.now.n_items += 1;
        counters.now.bytes += new.text().len() as u64;
        counters.now.lsn = counters.now.lsn.max(new.moment.lsn);
        Ok(())
    }

    /// The key entry and the unique keys of an item.
    fn names(&self, place: &LogicalPrefix, record: &ItemRecord) -> Result<(Bytes, Vec<Bytes>)> {
        let body = ItemBody::parse(record.text())
            .map_err(|_| Error::Corrupt("a stored item is not an item"))?;
        let key = self.keys.key(place, body.id()).into();
        if self.settings.unique_keys.is_empty() {
            return Ok((key, Vec::new()));
        }
        let context =
            TransactionContext::new(Arc::clone(&self.settings), self.keys, &place.to_logical()?);
        Ok((key, claims_of(&context, &body)))
    }

    /// Writes the counters of the logical partitions that a sheet touched, and moves the head's along.
    pub(super) fn count(&mut self, sheet: &mut Sheet) {
        let head = &mut self.head;
        for (place, Counters { before, now }) in sheet.counters.drain() {
            head.n_items = (head.n_items + now.n_items).saturating_sub(before.n_items);
            head.bytes = (head.bytes + now.bytes).saturating_sub(before.bytes);
            let exists = |record: LogicalRecord| u64::from(record.n_items > 0);
            head.n_logical = (head.n_logical + exists(now)).saturating_sub(exists(before));
            let key = self.keys.logical(&place);
            // Attachments may come before their item, or stay a step longer.
            if now.n_items == 0 && now.bytes == 0 {
                sheet.batch.delete(key);
            } else {
                sheet.batch.put(key, now.encode());
            }
            self.recent.insert(place, now);
        }
    }

    /// Adds entries of the all-versions feed, whole commits in order.
    pub(super) async fn write_versions(
        &mut self,
        versions: &[(CommitPosition, Bytes)],
    ) -> Result<()> {
        self.settle().await?;
        let snapshot = self.store.snapshot();
        let mut batch = Batch::new();
        let (mut lsn, mut offset) = (None, 0);
        for (moment, bytes) in versions {
            if !self.owns(VersionRecord::decode(bytes)?.place.as_bytes())? {
                continue;
            }
            if self.is_merge && lsn != Some(moment.lsn) {
                lsn = Some(moment.lsn);
                offset = next_seq(&*snapshot, self.keys, *moment)?;
            }
            let seq = moment.seq.checked_add(offset).ok_or(CROWDED)?;
            batch.put(self.keys.version(CommitPosition { seq, ..*moment }), bytes.clone());
        }
        if !batch.is_empty() {
            self.commit(batch);
        }
        self.settle().await
    }

    /// Writes the last batch: the marks of purges under way, and the head as it will be served.
    pub(super) async fn finish(&mut self, purges: &Purges) -> Result<()> {
        let mut batch = Batch::new();
        for (place, lsn) in purges {
            if self.owns(place)? {
                batch.put(
                    self.keys.purge(&LogicalPrefix::from_bytes(place.clone())),
                    encode_lsn(*lsn),
                );
            }
        }
        self.commit(batch);
        self.settle().await
    }

    /// Submits a batch with what changed in the dictionary and the head. Batches arrive in order, each on the head of the
    /// one before: if one fails, so do all after it.
    pub(super) fn commit(&mut self, mut batch: Batch) {
        self.dictionary.save(self.keys, &mut batch);
        let head_bytes = self.head.encode();
        let built_on = std::mem::replace(&mut self.head_bytes, head_bytes.clone());
        batch.expect(self.keys.head(), Some(built_on));
        batch.put(self.keys.head(), head_bytes);
        self.in_flight.push(self.store.commit(batch));
    }
}

const CROWDED: Error = Error::Corrupt("a commit of a merged feed has too many entries");

/// The first sequence number after those that a commit has in the all-versions feed.
fn next_seq(snapshot: &dyn Snapshot, keys: Keys, moment: CommitPosition) -> Result<u16> {
    let bound = |seq| keys.version(CommitPosition { seq, ..moment });
    let range = KeyRange::new(bound(0), bound(u16::MAX));
    match snapshot.scan(range, Direction::Backward).next() {
        Some(entry) => moment_of(&entry?.0)?.seq.checked_add(1).ok_or(CROWDED),
        None => Ok(0),
    }
}

impl Sheet {
    pub(super) fn new(snapshot: Arc<dyn Snapshot>) -> Sheet {
        let (counters, moments) = (HashMap::new(), HashSet::new());
        Sheet { snapshot, batch: Batch::new(), counters, moments }
    }

    fn item(&self, keys: Keys, number: u64) -> Result<Option<ItemRecord>> {
        self.snapshot.get(&keys.item(number))?.map(ItemRecord::decode).transpose()
    }

    pub(super) fn counters_of(
        &mut self,
        keys: Keys,
        recent: &HashMap<LogicalPrefix, LogicalRecord>,
        place: LogicalPrefix,
    ) -> Result<&mut Counters> {
        let counters = match self.counters.entry(place) {
            Entry::Occupied(counters) => counters.into_mut(),
            Entry::Vacant(free) => {
                let before = if let Some(record) = recent.get(free.key()) {
                    *record
                } else {
                    let stored = self.snapshot.get(&keys.logical(free.key()))?;
                    stored.as_deref().map(LogicalRecord::decode).transpose()?.unwrap_or_default()
                };
                free.insert(Counters { before, now: before })
            }
        };
        Ok(counters)
    }

    /// The place in the feed that an item of one source takes beside those of the others: same commit, so that
    /// positions of before hold.
    fn free_moment(&mut self, keys: Keys, wanted: CommitPosition) -> Result<CommitPosition> {
        let mut moment = wanted;
        while self.moments.contains(&moment) || self.snapshot.contains(&keys.change(moment))? {
            moment.seq = moment.seq.checked_add(1).ok_or(CROWDED)?;
        }
        self.moments.insert(moment);
        Ok(moment)
    }
}
