//! Plays the steps of a transaction against a view.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use model::{Charge, ItemBody, Status};
use query::Statement;

use super::attached::Attached;
use super::draft::{Done, Draft, Shown, VersionDraft};
use super::slot::{Base, Image, Slot};
use super::step::{Action, New, Step, TransactionContext};
use super::{View, unique};
use crate::charge;
use crate::index::{Held, Wanted};
use crate::patch::{bytes_added, holds, names_written};
use crate::reader::{Death, render};
use crate::record::{ItemRecord, LogicalRecord, VersionKind, decode_number};
use crate::{Error, Patch, Result};

/// Limit: bytes of the items in one answer, the service's 4 MB.
pub(crate) const BATCH_ANSWER_BYTES_MAX: usize = 4 << 20;

/// Which step failed, and why.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) index: usize,
    pub(crate) error: Error,
    /// What the steps before it cost, which are undone and paid for.
    pub(crate) charges: Vec<Charge>,
}

impl Refusal {
    pub(crate) fn new(index: usize, error: Error) -> Refusal {
        Refusal { index, error, charges: Vec::new() }
    }
}

/// Runs all steps in order; the first that fails refuses the whole.
pub(crate) fn run(
    context: &TransactionContext,
    view: &View,
    steps: &[Step],
) -> Result<Draft, Refusal> {
    let refuse = |error: Error| Refusal::new(0, error);
    let mut running = Running::begin(context, view).map_err(refuse)?;
    let mut results: Vec<Done> = Vec::with_capacity(steps.len());
    let mut n_bytes = 0;
    for (index, step) in steps.iter().enumerate() {
        let done = running.step(step).and_then(|done| {
            n_bytes += if step.minimal { 0 } else { done.shown.text_len() };
            if n_bytes > BATCH_ANSWER_BYTES_MAX { Err(Error::AnswerTooLarge) } else { Ok(done) }
        });
        match done {
            Ok(done) => results.push(done),
            Err(error) => {
                let charges = results.iter().map(|done| done.charge).collect();
                return Err(Refusal { index, error, charges });
            }
        }
    }
    running.finish(results).map_err(refuse)
}

pub(crate) struct Running<'a> {
    pub(super) context: &'a TransactionContext,
    pub(super) view: &'a View,
    pub(super) slots: Vec<Slot>,
    /// Ids looked up or changed so far; `None` means that no item has the id now.
    by_id: HashMap<String, Option<usize>>,
    /// Unique keys looked up or changed so far.
    pub(super) uniques: HashMap<Bytes, Option<usize>>,
    /// Unique keys that the store holds for a slot and that the slot has given back, perhaps to take them again.
    pub(super) released: HashMap<Bytes, usize>,
    /// The counters before the transaction.
    pub(super) before: LogicalRecord,
    pub(super) n_items: u64,
    pub(super) bytes: u64,
    pub(super) versions: Vec<VersionDraft>,
    pub(super) attached: Attached,
}

/// A running transaction between two steps, free of what it borrows.
#[derive(Debug, Default)]
pub(crate) struct Paused {
    pub(crate) slots: Vec<Slot>,
    by_id: HashMap<String, Option<usize>>,
    uniques: HashMap<Bytes, Option<usize>>,
    released: HashMap<Bytes, usize>,
    before: LogicalRecord,
    n_items: u64,
    bytes: u64,
    versions: Vec<VersionDraft>,
    pub(crate) attached: Attached,
}

impl<'a> Running<'a> {
    pub(crate) fn pause(self) -> Paused {
        Paused {
            slots: self.slots,
            by_id: self.by_id,
            uniques: self.uniques,
            released: self.released,
            before: self.before,
            n_items: self.n_items,
            bytes: self.bytes,
            versions: self.versions,
            attached: self.attached,
        }
    }

    pub(crate) fn resume(
        context: &'a TransactionContext,
        view: &'a View,
        paused: Paused,
    ) -> Running<'a> {
        Running {
            context,
            view,
            slots: paused.slots,
            by_id: paused.by_id,
            uniques: paused.uniques,
            released: paused.released,
            before: paused.before,
            n_items: paused.n_items,
            bytes: paused.bytes,
            versions: paused.versions,
            attached: paused.attached,
        }
    }

    /// The id of the live item with this number, if it belongs to the logical partition.
    pub(crate) fn id_of(&mut self, number: u64) -> Result<String> {
        let known = self.slots.iter().find(|slot| slot.number() == Some(number));
        if let Some(slot) = known {
            return slot.id().map(str::to_owned).ok_or(Error::missing());
        }
        let bytes = self.view.get(&self.context.keys.item(number))?.ok_or(Error::missing())?;
        let record = ItemRecord::decode(bytes)?;
        let is_here = record.place_bytes() == self.context.place.as_bytes();
        if !is_here || !self.view.liveness.is_live(&record) {
            return Err(Error::missing());
        }
        Ok(parse_stored(&record)?.id().to_owned())
    }

    pub(crate) fn begin(context: &'a TransactionContext, view: &'a View) -> Result<Running<'a>> {
        let before = match view.get(&context.keys.logical(&context.place))? {
            Some(bytes) => LogicalRecord::decode(&bytes)?,
            None => LogicalRecord::default(),
        };
        Ok(Running {
            context,
            view,
            slots: Vec::new(),
            by_id: HashMap::new(),
            uniques: HashMap::new(),
            released: HashMap::new(),
            before,
            n_items: before.n_items,
            bytes: before.bytes,
            versions: Vec::new(),
            attached: Attached::default(),
        })
    }

    /// Plays one step. One that fails leaves everything as it was.
    pub(crate) fn step(&mut self, step: &Step) -> Result<Done> {
        let done = match &step.action {
            Action::Create(new) => self.create(new),
            Action::Upsert(new) => self.upsert(step, new),
            Action::Replace { id, new } => self.replace(step, id, new),
            Action::Patch { id, patch, condition } => {
                self.patch(step, id, patch, condition.as_deref())
            }
            Action::Delete { id } => self.delete(step, id),
            Action::Read { id } => return self.read(step, id),
            Action::Attachment { item, op } => self.attachment(step, item, op),
            Action::Reap { id, number } => self.reap(id, *number),
        };
        done.map_err(Error::of_write)
    }

    fn create(&mut self, new: &Arc<New>) -> Result<Done> {
        if self.occupant(&new.id)?.is_some() {
            return Err(Error::ItemExists { charge: self.conflict(new, false)? });
        }
        let slot = self.add(Slot::fresh());
        self.write(slot, new)?;
        Ok(Done {
            status: Status::CREATED,
            charge: charge::create(self.slots[slot].weight(self.context)),
            shown: Shown::Written { slot, new: Arc::clone(new) },
        })
    }

    fn upsert(&mut self, step: &Step, new: &Arc<New>) -> Result<Done> {
        // Wire: without an item there is nothing for If-Match to miss, and the upsert creates.
        let Some(slot) = self.occupant(&new.id)? else { return self.create(new) };
        self.check_conditions(step, slot)?;
        self.overwrite(slot, new)
    }

    fn replace(&mut self, step: &Step, id: &str, new: &Arc<New>) -> Result<Done> {
        let slot = self.existing(id)?;
        self.check_conditions(step, slot)?;
        if id != new.id && self.occupant(&new.id)?.is_some() {
            return Err(Error::ItemExists { charge: self.conflict(new, false)? });
        }
        self.overwrite(slot, new)
    }

    fn patch(
        &mut self,
        step: &Step,
        id: &str,
        patch: &Patch,
        condition: Option<&Statement>,
    ) -> Result<Done> {
        let slot = self.existing(id)?;
        self.check_conditions(step, slot)?;
        if let Some(condition) = condition
            && !holds(condition, &self.readable(slot))?
        {
            return Err(Error::PatchConditionUnmet);
        }
        let text = self.slots[slot].text();
        let item =
            model::json::parse(text).map_err(|_| Error::Corrupt("a stored item is not JSON"))?;
        let written = names_written(&item, self.slots[slot].added());
        let item = patch.apply(item)?;
        let n_added = bytes_added(&item, &written);
        let body = ItemBody::from_value(&item)?;
        let new = match self.context.new_version(&body) {
            Ok(new) => {
                Arc::new(new.hidden_if(step.hides).bare_if(step.is_bare).with_added(n_added))
            }
            Err(Error::PartitionKeyMismatch) => return Err(Patch::touches_partition_key()),
            Err(error) => return Err(error),
        };
        let replaced = self.overwrite(slot, &new)?;
        Ok(Done {
            charge: replaced.charge + charge::patch_operations(patch.n_operations()),
            ..replaced
        })
    }

    fn delete(&mut self, step: &Step, id: &str) -> Result<Done> {
        let slot = self.existing(id)?;
        self.check_conditions(step, slot)?;
        self.look_up_terms(slot)?;
        let charge = charge::delete(self.slots[slot].weight(self.context));
        self.remove(slot, VersionKind::Delete)?;
        Ok(Done { status: Status::NO_CONTENT, charge, shown: Shown::Nothing })
    }

    fn read(&mut self, step: &Step, id: &str) -> Result<Done> {
        let index = self.existing(id)?;
        let slot = &self.slots[index];
        if let (Some(header), Some(record)) = (&step.if_none_match, slot.stored_record())
            && slot.is_named_by(header)
        {
            let shown = Shown::Unchanged { etag: record.etag(), lsn: record.moment.lsn };
            return Ok(Done { status: Status::NOT_MODIFIED, charge: charge::nothing(), shown });
        }
        let shown = match (&slot.image, &slot.base) {
            (Image::Written(new), _) => Shown::Written { slot: index, new: Arc::clone(new) },
            (_, Some(base)) => Shown::Stored { number: base.number, record: base.record.clone() },
            (_, None) => return Err(Error::missing()),
        };
        Ok(Done { status: Status::OK, charge: charge::read(slot.text().len()), shown })
    }

    fn reap(&mut self, id: &str, number: u64) -> Result<Done> {
        let done = Done { status: Status::NO_CONTENT, charge: Charge::ZERO, shown: Shown::Nothing };
        if let Some(slot) = self.find(id)?
            && self.slots[slot].base.as_ref().is_some_and(|base| base.number == number)
            && let Some(death) = self.death(slot)
        {
            self.remove(slot, kind_of(death))?;
        }
        Ok(done)
    }

    /// The live item that has the id; a dead one is removed on the way, because its id is about to be taken.
    fn occupant(&mut self, id: &str) -> Result<Option<usize>> {
        let Some(slot) = self.find(id)? else { return Ok(None) };
        let Some(death) = self.death(slot) else { return Ok(Some(slot)) };
        self.remove(slot, kind_of(death))?;
        Ok(None)
    }

    /// The live item that has the id. A dead one is left to the sweeper.
    pub(super) fn existing(&mut self, id: &str) -> Result<usize> {
        let slot = self.find(id)?.ok_or(Error::missing())?;
        if self.death(slot).is_some() { Err(Error::missing()) } else { Ok(slot) }
    }

    fn find(&mut self, id: &str) -> Result<Option<usize>> {
        if let Some(known) = self.by_id.get(id) {
            return Ok(*known);
        }
        let Some(bytes) = self.view.get(&self.context.keys.key(&self.context.place, id))? else {
            return Ok(None);
        };
        let number = decode_number(&bytes)?;
        let record = self.load(number)?;
        let slot = self.add(Slot::stored(Base { id: id.to_owned(), number, record }));
        self.by_id.insert(id.to_owned(), Some(slot));
        Ok(Some(slot))
    }

    fn load(&self, number: u64) -> Result<ItemRecord> {
        let bytes = self.view.get(&self.context.keys.item(number))?;
        ItemRecord::decode(bytes.ok_or(Error::Corrupt("a key points at no item"))?)
    }

    fn death(&self, slot: usize) -> Option<Death> {
        self.view.liveness.death(self.slots[slot].stored_record()?)
    }

    fn add(&mut self, slot: Slot) -> usize {
        self.slots.push(slot);
        self.slots.len() - 1
    }

    fn check_conditions(&self, step: &Step, slot: usize) -> Result<()> {
        let slot = &self.slots[slot];
        let missed = step.if_match.as_ref().is_some_and(|header| !slot.is_named_by(header));
        let forbidden = step.if_none_match.as_ref().is_some_and(|header| slot.is_named_by(header));
        if missed || forbidden { Err(Error::EtagMismatch) } else { Ok(()) }
    }

    fn overwrite(&mut self, slot: usize, new: &Arc<New>) -> Result<Done> {
        self.look_up_terms(slot)?;
        let before = self.slots[slot].weight(self.context);
        let n_changed = self.write(slot, new)?;
        let charge = charge::replace(before, self.slots[slot].weight(self.context), n_changed);
        let shown = Shown::Written { slot, new: Arc::clone(new) };
        Ok(Done { status: Status::OK, charge, shown })
    }

    /// Gives the slot a new image. Every check on the new version's surroundings is here.
    ///
    /// Returns how many index terms go and come.
    fn write(&mut self, slot: usize, new: &Arc<New>) -> Result<usize> {
        let old_bytes = self.slots[slot].text().len() as u64;
        let new_bytes = new.record.text().len() as u64;
        self.check_room(old_bytes, new_bytes)?;
        self.claim(slot, new)?;
        let is_create = matches!(self.slots[slot].image, Image::Absent);
        self.keep_version(
            slot,
            if is_create { VersionKind::Create } else { VersionKind::Replace },
            Some(new),
        );
        self.bytes = self.bytes.saturating_sub(old_bytes) + new_bytes;
        self.n_items += u64::from(is_create);
        if let Some(id) = self.slots[slot].id().map(str::to_owned) {
            self.by_id.insert(id, None);
        }
        self.by_id.insert(new.id.clone(), Some(slot));
        self.look_up_terms(slot)?;
        let wanted = Wanted::of(new.record.text(), &self.view.dictionary)?;
        Ok(self.slots[slot].write(new, wanted, self.view.liveness.now))
    }

    /// Derives what the index holds of a stored item, once: a charge counts it, the commit removes it.
    fn look_up_terms(&mut self, slot: usize) -> Result<()> {
        let slot = &mut self.slots[slot];
        if let (Some(base), None) = (&slot.base, &slot.held) {
            slot.held = Some(Held::stored(base.record.text(), &self.view.dictionary)?);
        }
        Ok(())
    }

    /// What it costs to find out that an id or a unique key of a new item is taken.
    fn conflict(&self, new: &New, is_unique_key: bool) -> Result<Charge> {
        let n_terms = if self.context.settings.is_indexed {
            Wanted::of(new.record.text(), &self.view.dictionary)?.n_counted()
        } else {
            0
        };
        Ok(charge::conflict(n_terms, is_unique_key))
    }

    /// Checks that the logical partition may grow as asked; it may always shrink.
    pub(super) fn check_room(&self, old_bytes: u64, new_bytes: u64) -> Result<()> {
        let limit = self.context.settings.logical_bytes_max;
        let is_over = self.bytes.saturating_sub(old_bytes) + new_bytes > limit;
        if is_over && new_bytes > old_bytes {
            return Err(Error::LogicalPartitionFull { bytes_max: limit });
        }
        Ok(())
    }

    fn remove(&mut self, slot: usize, kind: VersionKind) -> Result<()> {
        self.detach(slot)?;
        self.look_up_terms(slot)?;
        self.release(slot)?;
        self.keep_version(slot, kind, None);
        self.bytes = self.bytes.saturating_sub(self.slots[slot].text().len() as u64);
        self.n_items = self.n_items.saturating_sub(1);
        if let Some(id) = self.slots[slot].id().map(str::to_owned) {
            self.by_id.insert(id, None);
        }
        self.slots[slot].image = Image::Absent;
        self.slots[slot].wanted = None;
        Ok(())
    }

    /// Takes the unique keys of the new version for the slot and gives back those of the old one.
    fn claim(&mut self, slot: usize, new: &Arc<New>) -> Result<()> {
        if new.uniques.is_empty() {
            return Ok(());
        }
        for key in &new.uniques {
            if self.holder(key)?.is_some_and(|holder| holder != slot) {
                return Err(Error::UniqueKeyTaken { charge: self.conflict(new, true)? });
            }
        }
        self.release(slot)?;
        for key in &new.uniques {
            self.uniques.insert(key.clone(), Some(slot));
        }
        Ok(())
    }

    fn release(&mut self, slot: usize) -> Result<()> {
        let claimed = match (&self.slots[slot].image, &self.slots[slot].base) {
            (Image::Written(new), _) => new.uniques.clone(),
            (Image::Stored, Some(base)) => {
                let claimed = stored_claims(self.context, &base.record)?;
                self.released.extend(claimed.iter().map(|key| (key.clone(), slot)));
                claimed
            }
            (Image::Absent | Image::Stored, _) => return Ok(()),
        };
        self.uniques.extend(claimed.into_iter().map(|key| (key, None)));
        Ok(())
    }

    /// The slot whose item holds a unique key. A dead holder is removed and no longer holds it.
    fn holder(&mut self, key: &Bytes) -> Result<Option<usize>> {
        if let Some(known) = self.uniques.get(key) {
            return Ok(*known);
        }
        let Some(bytes) = self.view.get(key)? else { return Ok(None) };
        let number = decode_number(&bytes)?;
        let slot = self.slot_of(number)?;
        let holds = match self.death(slot) {
            Some(death) => {
                self.remove(slot, kind_of(death))?;
                None
            }
            None => Some(slot),
        };
        self.uniques.insert(key.clone(), holds);
        Ok(holds)
    }

    fn slot_of(&mut self, number: u64) -> Result<usize> {
        let is_it = |slot: &Slot| slot.base.as_ref().is_some_and(|base| base.number == number);
        if let Some(slot) = self.slots.iter().position(is_it) {
            return Ok(slot);
        }
        let record = self.load(number)?;
        let id = parse_stored(&record)?.id().to_owned();
        let slot = self.add(Slot::stored(Base { id: id.clone(), number, record }));
        self.by_id.insert(id, Some(slot));
        Ok(slot)
    }

    /// Notes what happens to the slot for the all-versions feed, while the old image is still there.
    fn keep_version(&mut self, slot: usize, kind: VersionKind, current: Option<&Arc<New>>) {
        if self.context.settings.version_retention.is_none() {
            return;
        }
        let from = &self.slots[slot];
        self.versions.push(VersionDraft {
            kind,
            slot,
            current: current.cloned(),
            previous: from.image.clone(),
        });
    }

    /// The item as a client would read it now, for a patch condition.
    fn readable(&self, slot: usize) -> Bytes {
        let slot = &self.slots[slot];
        match (slot.etag(), &slot.base) {
            (Some(etag), Some(base)) => {
                let settings = &self.context.settings;
                render(settings, base.number, slot.text(), &etag, base.record.ts, None)
            }
            _ => Bytes::copy_from_slice(slot.text()),
        }
    }
}

/// The unique keys that a stored item holds.
pub(super) fn stored_claims(
    context: &TransactionContext,
    record: &ItemRecord,
) -> Result<Vec<Bytes>> {
    if context.settings.unique_keys.is_empty() {
        return Ok(Vec::new());
    }
    Ok(unique::claims(context, &parse_stored(record)?))
}

fn parse_stored(record: &ItemRecord) -> Result<ItemBody> {
    ItemBody::parse(record.text()).map_err(|_| Error::Corrupt("a stored item is not an item"))
}

fn kind_of(death: Death) -> VersionKind {
    match death {
        Death::Expired => VersionKind::Expire,
        Death::Purged => VersionKind::Delete,
    }
}
