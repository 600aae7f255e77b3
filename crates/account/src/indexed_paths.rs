//! The paths that the indexes of a container know, for completion in editors.

use std::collections::BTreeMap;

use partition::IndexedPath;

use crate::account::Account;
use crate::error::Result;
use crate::operation::Link;
use crate::threads::run_blocking;

/// Limit: paths of one answer.
pub const INDEXED_PATHS_MAX: usize = 2000;
/// Limit: ranges that are asked. The paths of items hardly depend on where they lie.
const RANGES_MAX: usize = 16;

impl Account {
    /// The paths that have values in some range, in order, with the kinds of values that stand there.
    ///
    /// # Errors
    /// No such container, or the error of the store.
    pub fn indexed_paths(&self, link: &Link) -> Result<Vec<IndexedPath>> {
        let container = self.container(link)?;
        let mut all: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
        for range in container.ranges.iter().take(RANGES_MAX) {
            let found = run_blocking(|| range.partition.indexed_paths(INDEXED_PATHS_MAX))?;
            for IndexedPath { path, kinds } in found {
                let known = all.entry(path).or_default();
                for kind in kinds {
                    if !known.contains(&kind) {
                        known.push(kind);
                    }
                }
            }
        }
        let shown = all.into_iter().take(INDEXED_PATHS_MAX);
        Ok(shown.map(|(path, kinds)| IndexedPath { path, kinds }).collect())
    }
}
