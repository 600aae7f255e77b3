//! For paths that nearly every item has: the items that lack them, so that an order by such a path needs no look at
//! the items. A list that grows too long is given up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

// Limit: paths with a list of the items that lack them; each write looks at all of these lists.
const LISTS_MAX: usize = 64;

// Limit: items in one such list.
pub(crate) const ABSENT_MAX: usize = 32;

/// The lists as of the last submitted commit.
#[derive(Debug, Clone)]
pub(super) struct Absent {
    /// By path number: its text, and the items that lack it, ascending.
    lists: BTreeMap<u16, (Arc<str>, Vec<u64>)>,
    /// All items, while there are only few.
    few: Option<Vec<u64>>,
    /// Whether every item came through [`Absent::note`], so that a path without a list is one that none of the few has.
    knows_all: bool,
}

impl Absent {
    /// Lists for a partition without items, or for items that will all be noted.
    pub(super) fn empty() -> Absent {
        Absent { lists: BTreeMap::new(), few: Some(Vec::new()), knows_all: true }
    }

    /// Lists as they were saved.
    pub(super) fn loaded(few: Option<Vec<u64>>) -> Absent {
        Absent { lists: BTreeMap::new(), few, knows_all: false }
    }

    pub(super) fn add(&mut self, number: u16, path: &Arc<str>, absent: Vec<u64>) {
        // An item can have many values at a path through an array; nobody orders by it. Declared indexes have no path.
        let can_have_list =
            self.lists.len() < LISTS_MAX && path.starts_with('/') && !path.contains("/[]");
        if can_have_list {
            self.lists.entry(number).or_insert_with(|| (Arc::clone(path), absent));
        }
    }

    /// Starts the list of a path that no item has had.
    pub(super) fn begin(&mut self, number: u16, path: &Arc<str>) {
        if let Some(few) = self.few.clone() {
            self.add(number, path, few);
        }
    }

    pub(super) fn get(&self, number: u16) -> Option<&Vec<u64>> {
        self.lists.get(&number).map(|(_, absent)| absent)
    }

    /// Gives up the lists of paths that are not to be kept; returns these paths.
    pub(super) fn keep(&mut self, keep: impl Fn(&str) -> bool) -> Vec<Arc<str>> {
        let mut dropped = Vec::new();
        self.lists.retain(|_, (path, _)| {
            let is_kept = keep(path);
            if !is_kept {
                dropped.push(Arc::clone(path));
            }
            is_kept
        });
        dropped
    }

    /// Takes over the lists of other paths; returns these paths.
    pub(super) fn take_over(&mut self, other: Absent) -> Vec<Arc<str>> {
        let mut taken = Vec::new();
        for (number, (path, absent)) in other.lists {
            if !self.lists.contains_key(&number) {
                self.add(number, &path, absent);
                taken.push(path);
            }
        }
        taken
    }

    /// Notes an item that was written with values at `paths`, or deleted. Paths whose lists change go to `changed`.
    pub(super) fn note(
        &mut self,
        number: u64,
        paths: Option<&[u16]>,
        texts: &[Arc<str>],
        changed: &mut BTreeSet<Arc<str>>,
    ) {
        if let (true, Some(few), Some(paths)) = (self.knows_all, self.few.clone(), paths) {
            let others: Vec<u64> = few.into_iter().filter(|own| *own != number).collect();
            for path in paths {
                let text = usize::from(*path).checked_sub(1).and_then(|at| texts.get(at));
                if let Some(text) = text.filter(|_| !self.lists.contains_key(path)) {
                    self.add(*path, text, others.clone());
                    if self.lists.contains_key(path) {
                        changed.insert(Arc::clone(text));
                    }
                }
            }
        }
        self.note_few(number, paths.is_some());
        let mut full = Vec::new();
        for (path_number, (path, absent)) in &mut self.lists {
            let is_absent = paths.is_some_and(|paths| paths.binary_search(path_number).is_err());
            match (is_absent, absent.binary_search(&number)) {
                (true, Err(at)) => absent.insert(at, number),
                (false, Ok(at)) => drop(absent.remove(at)),
                (true, Ok(_)) | (false, Err(_)) => continue,
            }
            changed.insert(Arc::clone(path));
            if absent.len() > ABSENT_MAX {
                full.push(*path_number);
            }
        }
        for path_number in full {
            self.lists.remove(&path_number);
        }
    }

    fn note_few(&mut self, number: u64, exists: bool) {
        let Some(few) = &mut self.few else { return };
        match (exists, few.binary_search(&number)) {
            (true, Err(at)) => few.insert(at, number),
            (false, Ok(at)) => drop(few.remove(at)),
            (true, Ok(_)) | (false, Err(_)) => {}
        }
        if few.len() > ABSENT_MAX {
            self.few = None;
        }
    }
}
