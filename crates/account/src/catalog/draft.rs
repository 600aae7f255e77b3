//! A catalog change on paper: what to put and delete, computed against the tables as they are.

use std::sync::Arc;

use bytes::Bytes;
use model::{ChildKind, ETag, Env, Lsn, Object, Rid};
use partition::{Partition, Watch};
use store::Batch;

use super::head::Head;
use super::keys;
use super::record::{ACCOUNT, Record};
use super::tables::Tables;
use crate::account::AccountOptions;
use crate::error::{Error, Result};
use crate::operation::ResourceKind;

#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) tables: &'a Tables,
    pub(crate) env: &'a Env,
    pub(crate) options: &'a AccountOptions,
    plan: Plan,
}

/// A finished draft.
#[derive(Debug)]
pub(super) struct Plan {
    old_head: Bytes,
    pub(super) head: Head,
    pub(super) puts: Vec<Arc<Record>>,
    pub(super) deletes: Vec<u64>,
    pub(super) garbage: Vec<Garbage>,
    /// Incarnations that are garbage unless a later change says otherwise; known to the store only.
    reserved: Vec<u64>,
    /// Reserved incarnations that are in use from now on.
    taken: Vec<u64>,
    /// Partitions that the change puts to work, open already.
    pub(super) open: Vec<Partition>,
    batch: Batch,
}

/// A partition whose bytes are to be removed when nobody has it open any more.
#[derive(Debug, Clone)]
pub(crate) struct Garbage {
    pub(crate) incarnation: u64,
    watch: Option<Watch>,
}

impl Garbage {
    /// A partition that nobody opened since the start.
    pub(crate) fn closed(incarnation: u64) -> Garbage {
        Garbage { incarnation, watch: None }
    }

    pub(crate) fn of(partition: &Partition) -> Garbage {
        Garbage { incarnation: partition.incarnation(), watch: Some(partition.watch()) }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::is_open)
    }
}

impl<'a> Draft<'a> {
    pub(super) fn new(tables: &'a Tables, env: &'a Env, options: &'a AccountOptions) -> Draft<'a> {
        let plan = Plan {
            old_head: tables.head.encode().into(),
            head: tables.head.clone(),
            puts: Vec::new(),
            deletes: Vec::new(),
            garbage: Vec::new(),
            reserved: Vec::new(),
            taken: Vec::new(),
            open: Vec::new(),
            batch: Batch::new(),
        };
        Draft { tables, env, options, plan }
    }

    pub(super) fn finish(self) -> Plan {
        self.plan
    }

    pub(crate) fn next_number(&mut self) -> u64 {
        let number = self.plan.head.next_number;
        self.plan.head.next_number += 1;
        number
    }

    /// Reserves an incarnation and writes the head of its partition in the same commit.
    pub(crate) fn new_partition(&mut self, rid_prefix: u16) -> u64 {
        self.new_partition_at(rid_prefix, Lsn(1))
    }

    /// The same, with a first LSN above those that clients have seen in its place.
    pub(crate) fn new_partition_at(&mut self, rid_prefix: u16, lsn: Lsn) -> u64 {
        let incarnation = self.plan.head.next_incarnation;
        self.plan.head.next_incarnation += 1;
        Partition::initialise(&mut self.plan.batch, incarnation, rid_prefix, lsn);
        incarnation
    }

    /// Has the bytes of a partition removed when nobody has it open any more.
    pub(crate) fn drop_partition(&mut self, partition: &Partition) {
        self.plan.garbage.push(Garbage::of(partition));
    }

    /// Reserves an incarnation for a partition that is to be filled before it is used. Until
    /// [`Draft::take_partition`] it counts as garbage: after a crash its bytes go.
    pub(crate) fn reserve_partition(&mut self, rid_prefix: u16) -> u64 {
        let incarnation = self.new_partition(rid_prefix);
        self.plan.reserved.push(incarnation);
        incarnation
    }

    /// Puts a filled partition to work.
    pub(crate) fn take_partition(&mut self, partition: Partition) {
        self.plan.taken.push(partition.incarnation());
        self.plan.open.push(partition);
    }

    /// Makes a partition garbage in the store. Whoever calls this sees to the reclaim in this process.
    pub(crate) fn discard_partition(&mut self, incarnation: u64) {
        self.plan.reserved.push(incarnation);
    }

    /// Makes the change depend on the conditions of `batch`.
    pub(crate) fn expect(&mut self, batch: &Batch) {
        for condition in batch.conditions() {
            self.plan.batch.expect(condition.key.clone(), condition.value.clone());
        }
    }

    /// Makes a new secret: every token and continuation of the account dies.
    pub(crate) fn new_secret(&mut self) {
        self.env.fill_random(&mut self.plan.head.secret);
    }

    /// Adds a new resource. Its rid is random where clients cache it, so that a wiped and refilled
    /// account never answers to an old one.
    pub(crate) fn add(
        &mut self,
        owner: Option<&Record>,
        kind: ResourceKind,
        id: &str,
        body: Object,
        state: Object,
    ) -> Result<Arc<Record>> {
        let number = self.next_number();
        let rid = self.new_rid(owner, kind, number)?;
        let id = if kind == ResourceKind::Offer { rid.to_string() } else { id.to_owned() };
        let ts = self.env.now_seconds();
        let record = Record {
            number,
            owner: owner.map_or(ACCOUNT, |owner| owner.number),
            kind,
            id,
            rid,
            etag: ETag::random_at(self.env, ts),
            ts,
            body,
            state,
        };
        Ok(self.put(record))
    }

    /// Puts a changed resource with a new etag and time.
    pub(crate) fn update(&mut self, old: &Record, change: impl FnOnce(&mut Record)) -> Arc<Record> {
        let mut record = old.clone();
        record.ts = self.env.now_seconds();
        record.etag = ETag::random_at(self.env, record.ts);
        change(&mut record);
        self.put(record)
    }

    /// Puts a resource whose state changed in a way that its users do not see: etag and time stay.
    pub(crate) fn update_state(&mut self, old: &Record, state: Object) -> Arc<Record> {
        self.put(Record { state, ..old.clone() })
    }

    fn put(&mut self, record: Record) -> Arc<Record> {
        let record = Arc::new(record);
        self.plan.puts.push(Arc::clone(&record));
        record
    }

    /// Deletes a resource with everything below it, their offers, and marks their bytes as garbage.
    pub(crate) fn delete(&mut self, record: &Record) {
        let mut numbers = vec![record.number];
        numbers.extend(self.tables.descendants(record.number).iter().map(|record| record.number));
        for number in numbers {
            if let Some(offer) = self.tables.offer_of(number) {
                self.plan.deletes.push(offer.number);
            }
            if let Some(container) = self.tables.container(number) {
                self.plan.garbage.extend(container.partitions().map(Garbage::of));
            }
            self.plan.deletes.push(number);
        }
    }

    fn new_rid(&self, owner: Option<&Record>, kind: ResourceKind, number: u64) -> Result<Rid> {
        let owner_rid = owner.map(|owner| owner.rid);
        let database = owner_rid.and_then(|rid| database_number(&rid));
        let rid = |kind| owner_rid.map(|owner| Rid::child(&owner, kind, number));
        let made = match kind {
            ResourceKind::Database => Some(self.unused(Rid::database)),
            ResourceKind::Offer => Some(self.unused(Rid::offer)),
            ResourceKind::Container => database.map(|db| self.unused(|n| Rid::container(db, n))),
            ResourceKind::User => database.map(|db| self.unused(|n| Rid::user(db, n))),
            ResourceKind::EncryptionKey => database.map(|db| Rid::encryption_key(db, number)),
            ResourceKind::Permission => owner_rid.map(|owner| Rid::permission(&owner, number)),
            ResourceKind::StoredProcedure => rid(ChildKind::StoredProcedure),
            ResourceKind::Trigger => rid(ChildKind::Trigger),
            ResourceKind::Udf => rid(ChildKind::Udf),
            ResourceKind::Item
            | ResourceKind::Attachment
            | ResourceKind::Conflict
            | ResourceKind::Range => None,
        };
        made.ok_or(Error::LinkInvalid("this resource has no owner here"))
    }

    /// A random rid that nobody in the account or in this draft has.
    fn unused(&self, make: impl Fn(u32) -> Rid) -> Rid {
        loop {
            #[expect(clippy::cast_possible_truncation, reason = "any 32 random bits will do")]
            let rid = make(self.env.random_u64() as u32);
            let is_drafted = self.plan.puts.iter().any(|record| record.rid == rid);
            if !is_drafted && self.tables.by_rid(&rid).is_none() {
                return rid;
            }
        }
    }
}

impl Plan {
    /// The one commit that carries the plan out; `None` if nothing changes.
    ///
    /// Invariant: it depends on the head that the draft was computed from, so that another server on the
    /// same store cannot be overwritten.
    pub(super) fn into_batch(mut self) -> Option<(Batch, Plan)> {
        if self.puts.is_empty() && self.deletes.is_empty() && self.batch.is_empty() {
            return None;
        }
        let mut batch = std::mem::take(&mut self.batch);
        batch.expect(keys::head(), Some(self.old_head.clone()));
        batch.put(keys::head(), self.head.encode());
        for number in &self.deletes {
            batch.delete(keys::record(*number));
        }
        for record in &self.puts {
            batch.put(keys::record(record.number), record.encode());
        }
        if !self.deletes.is_empty() && self.puts.is_empty() {
            batch.set_frees_space();
        }
        let garbage = self.garbage.iter().map(|garbage| &garbage.incarnation);
        for incarnation in garbage.chain(&self.reserved) {
            batch.put(keys::garbage(*incarnation), Bytes::new());
        }
        for incarnation in &self.taken {
            batch.delete(keys::garbage(*incarnation));
        }
        Some((batch, self))
    }
}

fn database_number(rid: &Rid) -> Option<u32> {
    rid.as_bytes().get(..4)?.try_into().ok().map(u32::from_be_bytes)
}
