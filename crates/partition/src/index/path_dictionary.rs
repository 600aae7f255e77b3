//! The path dictionary: numbers for the paths of the index, as of the last submitted commit.
//!
//! Keys of index entries have a number in the place of a path, which is shorter. The dictionary also has the rules of the
//! index and the lists of `absent`.
//!
//! Invariant: a number, once given, means the same path for good.

use std::collections::BTreeSet;
use std::sync::Arc;

use query::index::IndexPolicy;
use store::{Batch, Direction, Snapshot};

use super::absent::{ABSENT_MAX, Absent};
use super::rules::{IndexState, Rules};
use crate::Result;
use crate::keys::{Family, Keys, number_of_item, path_of};
use crate::record::PathRecord;

// Limit: paths of one partition. Objects used as maps would otherwise grow the dictionary without end; what stands at
// further paths is not indexed.
pub(crate) const PATHS_MAX: u16 = u16::MAX;

type Numbers = imbl::HashMap<Arc<str>, u16>;

/// The dictionary that the writer keeps, under its lock.
#[derive(Debug, Clone)]
pub(crate) struct PathDictionary {
    rules: Arc<Rules>,
    epoch: u32,
    progress: u64,
    numbers: Numbers,
    n_paths: u16,
    /// The paths by number, which starts with one.
    texts: Vec<Arc<str>>,
    absent: Absent,
    /// What the lists will be when the rebuild is done.
    rebuilt: Option<Absent>,
    /// Paths whose record is not in the store yet as it is here.
    unsaved: BTreeSet<Arc<str>>,
    is_state_unsaved: bool,
    /// Grows when the rules change.
    version: u64,
}

/// What a transaction needs of the dictionary.
#[derive(Debug, Clone)]
pub(crate) struct PathDictionaryView {
    pub(crate) rules: Arc<Rules>,
    pub(crate) version: u64,
    numbers: Numbers,
    is_full: bool,
}

impl PathDictionaryView {
    pub(crate) fn number(&self, path: &str) -> Option<u16> {
        self.numbers.get(path).copied()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }
}

impl PathDictionary {
    /// The dictionary of a partition without items.
    #[cfg(test)]
    pub(crate) fn for_tests(policy: &IndexPolicy) -> PathDictionary {
        PathDictionary {
            rules: Arc::new(Rules::settled(policy.clone())),
            epoch: 0,
            progress: 0,
            numbers: Numbers::new(),
            n_paths: 0,
            texts: Vec::new(),
            absent: Absent::empty(),
            rebuilt: None,
            unsaved: BTreeSet::new(),
            is_state_unsaved: false,
            version: 0,
        }
    }

    /// Reads the dictionary of a partition with `n_items` items.
    pub(crate) fn load(
        snapshot: &dyn Snapshot,
        keys: Keys,
        n_items: u64,
    ) -> Result<PathDictionary> {
        let state = snapshot.get(&keys.index_state())?;
        let is_state_unsaved = state.is_none();
        let state = if let Some(bytes) = state {
            IndexState::decode(&bytes)?
        } else {
            IndexState::new(&IndexPolicy::none())
        };
        let mut dictionary = PathDictionary {
            rules: state.rules,
            epoch: state.epoch,
            progress: state.progress,
            numbers: Numbers::new(),
            n_paths: state.n_paths,
            texts: vec!["".into(); usize::from(state.n_paths)],
            absent: Absent::empty(),
            rebuilt: None,
            unsaved: BTreeSet::new(),
            is_state_unsaved,
            version: 0,
        };
        if n_items > 0 {
            let is_few = usize::try_from(n_items).is_ok_and(|n_items| n_items <= ABSENT_MAX);
            let items = || snapshot.scan(keys.family(Family::Item), Direction::Forward);
            let numbers = || items().map(|entry| number_of_item(&entry?.0)).collect::<Result<_>>();
            dictionary.absent = Absent::loaded(is_few.then(numbers).transpose()?);
        }
        for entry in snapshot.scan(keys.family(Family::Path), Direction::Forward) {
            let (key, value) = entry?;
            let path: Arc<str> = path_of(&key)?.into();
            let record = PathRecord::decode(&value)?;
            dictionary.numbers.insert(Arc::clone(&path), record.number);
            if let Some(absent) = record.absent.filter(|_| record.epoch == state.epoch) {
                dictionary.absent.add(record.number, &path, absent);
            }
            let text = usize::from(record.number).checked_sub(1);
            if let Some(text) = text.and_then(|at| dictionary.texts.get_mut(at)) {
                *text = path;
            }
        }
        Ok(dictionary)
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
            // Lists of paths that were left out before are made anew while the rebuild goes over all items.
            self.rebuilt = Some(Absent::empty());
        }
        self.rules = Arc::new(rules);
        self.progress = 0;
        // Paths that are left out now lose their lists; the others keep them, for their entries stay whole.
        self.unsaved.extend(self.absent.keep(|path| policy.includes_named(path)));
        self.is_state_unsaved = true;
        self.version += 1;
    }

    pub(crate) fn view(&self) -> PathDictionaryView {
        PathDictionaryView {
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
            if let Some(rebuilt) = self.rebuilt.take() {
                self.unsaved.extend(self.absent.take_over(rebuilt));
            }
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
        self.texts.push(Arc::clone(&path));
        self.absent.begin(self.n_paths, &path);
        if let Some(rebuilt) = &mut self.rebuilt {
            rebuilt.begin(self.n_paths, &path);
        }
        self.unsaved.insert(path);
        self.is_state_unsaved = true;
        Some(self.n_paths)
    }

    /// Notes in the lists an item that was written with values at `paths`, or deleted.
    pub(crate) fn note(&mut self, number: u64, paths: Option<&[u16]>) {
        self.absent.note(number, paths, &self.texts, &mut self.unsaved);
        if let Some(rebuilt) = &mut self.rebuilt {
            rebuilt.note(number, paths, &self.texts, &mut BTreeSet::new());
        }
    }

    /// Adds to a batch what the store does not have yet.
    pub(crate) fn save(&mut self, keys: Keys, batch: &mut Batch) {
        for path in std::mem::take(&mut self.unsaved) {
            let Some(number) = self.numbers.get(&path).copied() else { continue };
            let absent = self.absent.get(number).cloned();
            let record = PathRecord { number, epoch: self.epoch, absent };
            batch.put(keys.path(&path), record.encode());
        }
        if std::mem::take(&mut self.is_state_unsaved) {
            let state = IndexState {
                rules: Arc::clone(&self.rules),
                epoch: self.epoch,
                n_paths: self.n_paths,
                progress: self.progress,
            };
            batch.put(keys.index_state(), state.encode());
        }
    }
}
