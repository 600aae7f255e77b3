//! What the writer knows of the index, as of the last submitted commit.
//!
//! Beside the rules and the numbers of paths it keeps, for paths that nearly every item has, the list of the items
//! that lack them: so an order by such a path needs no look at the items. A list that grows too long is given up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use query::index::IndexPolicy;
use store::{Batch, Direction, Snapshot};

use super::rules::{Rules, State};
use crate::Result;
use crate::keys::{Family, Keys, number_of_item, path_of};
use crate::record::PathRecord;

// Limit: paths of one partition. Objects used as maps would otherwise grow the book without end; what stands at
// further paths is not indexed.
const PATHS_MAX: u16 = u16::MAX;

// Limit: paths with a list of the items that lack them; each write looks at all of these lists.
const LISTS_MAX: usize = 64;

// Limit: items in one such list.
pub(crate) const ABSENT_MAX: usize = 32;

type Numbers = imbl::HashMap<Arc<str>, u16>;

/// The writer's book.
#[derive(Debug, Clone)]
pub(crate) struct Book {
    rules: Arc<Rules>,
    epoch: u32,
    progress: u64,
    numbers: Numbers,
    n_paths: u16,
    /// By path number: its text, and the items that lack it.
    lists: BTreeMap<u16, (Arc<str>, Vec<u64>)>,
    /// All items, while there are only few.
    few: Option<Vec<u64>>,
    /// Paths whose record is not in the store yet as it is here.
    unsaved: BTreeSet<Arc<str>>,
    is_state_unsaved: bool,
    /// Grows when the rules change.
    version: u64,
}

/// What a transaction needs of the book.
#[derive(Debug, Clone)]
pub(crate) struct BookView {
    pub(crate) rules: Arc<Rules>,
    pub(crate) version: u64,
    numbers: Numbers,
    is_full: bool,
}

impl BookView {
    pub(crate) fn number(&self, path: &str) -> Option<u16> {
        self.numbers.get(path).copied()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }
}

impl Book {
    /// Reads the book of a partition with `n_items` items.
    pub(crate) fn load(snapshot: &dyn Snapshot, keys: Keys, n_items: u64) -> Result<Book> {
        let state = snapshot.get(&keys.index_state())?;
        let is_state_unsaved = state.is_none();
        let state = if let Some(bytes) = state {
            State::decode(&bytes)?
        } else {
            let rules = Arc::new(Rules::settled(IndexPolicy::none()));
            State { rules, epoch: 0, n_paths: 0, progress: 0 }
        };
        let mut book = Book {
            rules: state.rules,
            epoch: state.epoch,
            progress: state.progress,
            numbers: Numbers::new(),
            n_paths: state.n_paths,
            lists: BTreeMap::new(),
            few: None,
            unsaved: BTreeSet::new(),
            is_state_unsaved,
            version: 0,
        };
        for entry in snapshot.scan(keys.family(Family::Path), Direction::Forward) {
            let (key, value) = entry?;
            let path: Arc<str> = path_of(&key)?.into();
            let record = PathRecord::decode(&value)?;
            book.numbers.insert(Arc::clone(&path), record.number);
            if let Some(absent) = record.absent.filter(|_| record.epoch == state.epoch) {
                book.lists.insert(record.number, (path, absent));
            }
        }
        if usize::try_from(n_items).is_ok_and(|n_items| n_items <= ABSENT_MAX) {
            let items = snapshot.scan(keys.family(Family::Item), Direction::Forward);
            book.few = Some(items.map(|entry| number_of_item(&entry?.0)).collect::<Result<_>>()?);
        }
        Ok(book)
    }

    /// Takes the policy of the container; the index has to be rebuilt for a new one.
    pub(crate) fn adopt(&mut self, policy: &IndexPolicy, n_items: u64) {
        if self.rules.policy == *policy {
            return;
        }
        let mut rules = (*self.rules).clone();
        if n_items == 0 {
            rules = Rules::settled(policy.clone());
        } else {
            rules.aim_at(policy.clone());
        }
        self.rules = Arc::new(rules);
        self.progress = 0;
        // Paths that were left out before have no lists, and those that are now must lose theirs.
        self.epoch += 1;
        self.lists.clear();
        self.is_state_unsaved = true;
        self.version += 1;
    }

    pub(crate) fn view(&self) -> BookView {
        BookView {
            rules: Arc::clone(&self.rules),
            version: self.version,
            numbers: self.numbers.clone(),
            is_full: self.n_paths == PATHS_MAX,
        }
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    pub(crate) fn progress(&self) -> u64 {
        self.progress
    }

    /// Notes how far the rebuild came; `None`: it is done.
    pub(crate) fn advance(&mut self, progress: Option<u64>) {
        self.is_state_unsaved = true;
        if let Some(progress) = progress {
            self.progress = progress;
        } else {
            self.rules = Arc::new(Rules::settled(self.rules.policy.clone()));
            self.version += 1;
        }
    }

    /// Returns the number of a path and gives it one if there is any left.
    pub(crate) fn number_of(&mut self, path: &str) -> Option<u16> {
        if let Some(number) = self.numbers.get(path) {
            return Some(*number);
        }
        if self.n_paths == PATHS_MAX {
            return None;
        }
        self.n_paths += 1;
        let path: Arc<str> = path.into();
        self.numbers.insert(Arc::clone(&path), self.n_paths);
        // An item can have many values at a path through an array; nobody orders by it.
        let can_have_list = self.lists.len() < LISTS_MAX && !path.contains("/[]");
        if let (Some(few), true) = (&self.few, can_have_list) {
            self.lists.insert(self.n_paths, (Arc::clone(&path), few.clone()));
        }
        self.unsaved.insert(path);
        self.is_state_unsaved = true;
        Some(self.n_paths)
    }

    /// Notes in the lists an item that was written with values at `paths`, or deleted.
    pub(crate) fn note(&mut self, number: u64, paths: Option<&[u16]>) {
        if let Some(few) = &mut self.few {
            match (paths, few.binary_search(&number)) {
                (Some(_), Err(at)) => few.insert(at, number),
                (None, Ok(at)) => drop(few.remove(at)),
                (Some(_), Ok(_)) | (None, Err(_)) => {}
            }
            if few.len() > ABSENT_MAX {
                self.few = None;
            }
        }
        let mut full = Vec::new();
        for (path_number, (path, absent)) in &mut self.lists {
            let is_absent = paths.is_some_and(|paths| paths.binary_search(path_number).is_err());
            match (is_absent, absent.binary_search(&number)) {
                (true, Err(at)) => absent.insert(at, number),
                (false, Ok(at)) => drop(absent.remove(at)),
                (true, Ok(_)) | (false, Err(_)) => continue,
            }
            self.unsaved.insert(Arc::clone(path));
            if absent.len() > ABSENT_MAX {
                full.push(*path_number);
            }
        }
        for path_number in full {
            self.lists.remove(&path_number);
        }
    }

    /// Adds to a batch what the store does not have yet.
    pub(crate) fn save(&mut self, keys: Keys, batch: &mut Batch) {
        for path in std::mem::take(&mut self.unsaved) {
            let Some(number) = self.numbers.get(&path).copied() else { continue };
            let absent = self.lists.get(&number).map(|(_, absent)| absent.clone());
            let record = PathRecord { number, epoch: self.epoch, absent };
            batch.put(keys.path(&path), record.encode());
        }
        if std::mem::take(&mut self.is_state_unsaved) {
            let state = State {
                rules: Arc::clone(&self.rules),
                epoch: self.epoch,
                n_paths: self.n_paths,
                progress: self.progress,
            };
            batch.put(keys.index_state(), state.encode());
        }
    }
}
