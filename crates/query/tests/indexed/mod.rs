//! Items in memory with a range index over them.
#![allow(dead_code, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use query::index::{Declared, IndexPath, IndexPolicy, TermSpan, each_term, each_vector};
use query::{Direction, Error, IndexEntry, ItemIndex, ItemSource, Numbers, SourceItem};

/// Term and item number, in order.
type Entries = BTreeSet<(Vec<u8>, u64)>;

/// A source with an index.
#[derive(Debug, Clone)]
pub struct IndexedSource {
    items: BTreeMap<u64, SourceItem>,
    policy: IndexPolicy,
    paths: BTreeMap<String, Entries>,
    vectors: BTreeMap<(String, u64), Vec<u8>>,
    /// Whether counts may be taken from the index.
    pub is_exact: bool,
    /// Whether the index can name the items without a path.
    pub finds_undefined: bool,
    /// From which item on nothing can be read.
    breaks_at: Option<u64>,
}

impl IndexedSource {
    pub fn new(items: &[SourceItem], policy: IndexPolicy) -> IndexedSource {
        let mut source = IndexedSource {
            items: BTreeMap::new(),
            policy,
            paths: BTreeMap::new(),
            vectors: BTreeMap::new(),
            is_exact: true,
            finds_undefined: true,
            breaks_at: None,
        };
        for item in items {
            source.add(item.clone());
        }
        source
    }

    pub fn put(&mut self, item: SourceItem) {
        self.remove(item.number);
        self.add(item);
    }

    /// Adds an item with a number of its own.
    fn add(&mut self, item: SourceItem) {
        let (number, text) = (item.number, item.to_value().unwrap().to_text());
        each_term(&text, &self.policy, |path, term, _| {
            let entries = self.paths.entry(path.to_string()).or_default();
            entries.insert((term.to_vec(), number));
        })
        .unwrap();
        each_vector(&text, &self.policy, |name, _, packed| {
            self.vectors.insert((name.to_string(), number), packed);
        })
        .unwrap();
        self.items.insert(number, item);
    }

    /// Changes an item and not the index, which no store does: only so is it seen who looks at the item.
    pub fn put_unnoticed(&mut self, item: SourceItem) {
        self.items.insert(item.number, item);
    }

    pub fn break_at(&mut self, number: u64) {
        self.breaks_at = Some(number);
    }

    pub fn remove(&mut self, number: u64) {
        self.items.remove(&number);
        self.vectors.retain(|(_, own), _| *own != number);
        for entries in self.paths.values_mut() {
            entries.retain(|(_, own)| *own != number);
        }
    }
}

impl ItemSource for IndexedSource {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem, Error>> + '_> {
        let start = after.map_or(0, |after| after + 1);
        Box::new(self.items.range(start..).map(|(_, item)| Ok(item.clone())))
    }

    fn index(&self) -> Option<&dyn ItemIndex> {
        (!self.policy.is_none()).then_some(self)
    }

    fn shared(&self) -> Option<&(dyn ItemSource + Sync)> {
        Some(self)
    }

    fn parts(&self) -> Option<query::Parts<'_>> {
        None
    }
}

impl ItemIndex for IndexedSource {
    fn covers(&self, path: &IndexPath) -> bool {
        self.policy.includes(path)
    }

    fn declared(&self) -> Vec<(&str, &Declared)> {
        self.policy.declared().collect()
    }

    fn seek_in(
        &self,
        name: &str,
        span: &TermSpan,
        after: Option<(&[u8], u64)>,
        direction: Direction,
    ) -> Box<dyn Iterator<Item = Result<IndexEntry, Error>> + '_> {
        let Some(entries) = self.paths.get(name) else {
            return Box::new(std::iter::empty());
        };
        let after = after.map(|(term, number)| (term.to_vec(), number));
        let (span, is_forward) = (span.clone(), direction == Direction::Forward);
        let entries = entries.range((span.start.clone(), 0)..(span.end, 0));
        let later = move |entry: &&(Vec<u8>, u64)| {
            after
                .as_ref()
                .is_none_or(|after| if is_forward { *entry > after } else { *entry < after })
        };
        let entry = |(term, number): &(Vec<u8>, u64)| {
            Ok(IndexEntry { term: term.clone().into(), number: *number })
        };
        if is_forward {
            Box::new(entries.filter(later).map(entry))
        } else {
            Box::new(entries.rev().filter(later).map(entry))
        }
    }

    fn fetch(&self, number: u64) -> Result<Option<SourceItem>, Error> {
        if self.breaks_at.is_some_and(|from| number >= from) {
            let message = "the disk is gone".to_owned();
            return Err(Error::Source { status: model::Status::UNAVAILABLE, message });
        }
        Ok(self.items.get(&number).cloned())
    }

    fn without(
        &self,
        path: &IndexPath,
        after: Option<u64>,
        direction: Direction,
    ) -> Option<Numbers<'_>> {
        if !self.finds_undefined {
            return None;
        }
        let with: BTreeSet<u64> = match self.paths.get(&path.to_string()) {
            Some(entries) => entries.iter().map(|(_, number)| *number).collect(),
            None => BTreeSet::new(),
        };
        let is_forward = direction == Direction::Forward;
        let wanted = move |number: &u64| {
            let is_later = |after: u64| if is_forward { *number > after } else { *number < after };
            after.is_none_or(is_later) && !with.contains(number)
        };
        let numbers = self.items.keys().copied().filter(wanted);
        let mut numbers: Vec<u64> = numbers.collect();
        if !is_forward {
            numbers.reverse();
        }
        Some(Box::new(numbers.into_iter().map(Ok)))
    }

    fn each_packed(
        &self,
        name: &str,
        visit: &mut dyn FnMut(u64, &[u8]) -> bool,
    ) -> Result<(), Error> {
        let mut own = self.vectors.iter().filter(|((index, _), _)| index == name);
        own.all(|((_, number), packed)| visit(*number, packed));
        Ok(())
    }

    fn n_items(&self) -> Option<u64> {
        Some(self.items.len() as u64)
    }

    fn n_indexed(&self) -> Option<u64> {
        self.n_items()
    }

    fn item_bytes(&self) -> u64 {
        let bytes: usize = self.items.values().map(|item| item.bytes).sum();
        (bytes as u64).checked_div(self.items.len() as u64).unwrap_or(0)
    }

    fn is_exact(&self) -> bool {
        self.is_exact
    }

    fn counts_exactly(&self) -> bool {
        self.is_exact
    }

    fn prefetch(&self, _numbers: &[u64]) {}
}
