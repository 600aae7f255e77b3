//! The catalog in memory: every metadata resource, found by number, by owner and name, and by rid.
//!
//! Invariants: `names`, `children`, `rids`, `offers` name exactly the records in `records`; every container
//! record has its runtime in `containers`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use model::Rid;

use super::head::Head;
use super::record::{ACCOUNT, KINDS, Record};
use crate::catalog::offers::Offer;
use crate::container::Container;
use crate::operation::ResourceKind;

type Family = (u64, ResourceKind);

#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) head: Head,
    records: BTreeMap<u64, Arc<Record>>,
    children: HashMap<Family, BTreeSet<u64>>,
    names: HashMap<Family, HashMap<String, u64>>,
    rids: HashMap<Rid, u64>,
    /// Offer of a database or container.
    offers: HashMap<u64, u64>,
    containers: HashMap<u64, Arc<Container>>,
}

impl Tables {
    pub(crate) fn new(head: Head) -> Tables {
        Tables {
            head,
            records: BTreeMap::new(),
            children: HashMap::new(),
            names: HashMap::new(),
            rids: HashMap::new(),
            offers: HashMap::new(),
            containers: HashMap::new(),
        }
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Arc<Record>> {
        self.records.get(&number)
    }

    pub(crate) fn by_name(&self, owner: u64, kind: ResourceKind, id: &str) -> Option<&Arc<Record>> {
        let number = self.names.get(&(owner, kind))?.get(id)?;
        self.records.get(number)
    }

    pub(crate) fn by_rid(&self, rid: &Rid) -> Option<&Arc<Record>> {
        self.records.get(self.rids.get(rid)?)
    }

    /// In creation order, from the first with a number above `after`.
    pub(crate) fn children(
        &self,
        owner: u64,
        kind: ResourceKind,
        after: u64,
    ) -> impl Iterator<Item = &Arc<Record>> {
        let numbers = self.children.get(&(owner, kind));
        numbers
            .into_iter()
            .flat_map(move |numbers| numbers.range(after.saturating_add(1)..))
            .filter_map(|number| self.records.get(number))
    }

    pub(crate) fn n_children(&self, owner: u64, kind: ResourceKind) -> usize {
        self.children.get(&(owner, kind)).map_or(0, BTreeSet::len)
    }

    /// Everything below a record, the record not included.
    pub(crate) fn descendants(&self, number: u64) -> Vec<Arc<Record>> {
        let mut found: Vec<Arc<Record>> = Vec::new();
        let mut open = vec![number];
        while let Some(owner) = open.pop() {
            for record in KINDS.into_iter().flat_map(|kind| self.children(owner, kind, 0)) {
                open.push(record.number);
                found.push(Arc::clone(record));
            }
        }
        found
    }

    pub(crate) fn offer_of(&self, target: u64) -> Option<&Arc<Record>> {
        self.records.get(self.offers.get(&target)?)
    }

    pub(crate) fn container(&self, number: u64) -> Option<&Arc<Container>> {
        self.containers.get(&number)
    }

    pub(crate) fn containers(&self) -> impl Iterator<Item = &Arc<Container>> {
        self.containers.values()
    }

    pub(crate) fn n_records(&self, kind: ResourceKind) -> usize {
        self.children.iter().filter(|((_, k), _)| *k == kind).map(|(_, set)| set.len()).sum()
    }

    pub(crate) fn children_of_kind(&self, kind: ResourceKind) -> Vec<Arc<Record>> {
        self.records.values().filter(|record| record.kind == kind).cloned().collect()
    }

    /// The record and its owners, outermost first.
    pub(crate) fn chain(&self, record: &Arc<Record>) -> Vec<Arc<Record>> {
        let mut chain = vec![Arc::clone(record)];
        let mut owner = record.owner;
        while owner != ACCOUNT {
            let Some(record) = self.records.get(&owner) else { break };
            owner = record.owner;
            chain.push(Arc::clone(record));
        }
        chain.reverse();
        chain
    }

    /// Adds a record or puts it in the place of the one with the same number.
    pub(crate) fn insert(&mut self, record: Arc<Record>) {
        self.remove_names(record.number);
        let family = (record.owner, record.kind);
        self.children.entry(family).or_default().insert(record.number);
        self.names.entry(family).or_default().insert(record.id.clone(), record.number);
        self.rids.insert(record.rid, record.number);
        if let Some(offer) = Offer::of(&record) {
            self.offers.insert(offer.target, record.number);
        }
        self.records.insert(record.number, record);
    }

    pub(crate) fn insert_container(&mut self, number: u64, container: Arc<Container>) {
        self.containers.insert(number, container);
    }

    pub(crate) fn remove(&mut self, number: u64) {
        self.remove_names(number);
        self.containers.remove(&number);
        self.records.remove(&number);
    }

    fn remove_names(&mut self, number: u64) {
        let Some(record) = self.records.get(&number) else { return };
        let family = (record.owner, record.kind);
        if let Some(children) = self.children.get_mut(&family) {
            children.remove(&number);
            if children.is_empty() {
                self.children.remove(&family);
            }
        }
        if let Some(names) = self.names.get_mut(&family) {
            names.remove(&record.id);
            if names.is_empty() {
                self.names.remove(&family);
            }
        }
        self.rids.remove(&record.rid);
        if let Some(offer) = Offer::of(record) {
            self.offers.remove(&offer.target);
        }
    }
}
