//! Names in sight, and groups.

use super::Binder;
use super::tree::Aggregate;

/// A name and the variable it stands for.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    /// `None` for an input set without a name.
    pub(super) name: Option<String>,
    pub(super) level: usize,
}

/// A group whose select list is being bound.
#[derive(Debug)]
pub(super) struct GroupScope {
    pub(super) level: usize,
    /// The keys as `format::identity` prints them.
    pub(super) keys: Vec<String>,
    /// Variables that have no single value within a group.
    pub(super) row_levels: Vec<usize>,
    pub(super) aggregates: Vec<Aggregate>,
}

impl Binder<'_> {
    /// Returns the level a name stands for.
    pub(super) fn resolve(&self, name: &str) -> Option<usize> {
        let binding = self.scope.iter().rev().find(|own| own.name.as_deref() == Some(name))?;
        Some(binding.level)
    }

    /// Returns the group key that prints like `identity`.
    pub(super) fn group_key(&self, identity: &str) -> Option<(usize, usize)> {
        self.groups.iter().rev().find_map(|group| {
            let index = group.keys.iter().position(|key| key == identity)?;
            Some((group.level, index))
        })
    }

    /// Returns whether a variable differs between the rows of a group in sight.
    pub(super) fn varies_in_group(&self, level: usize) -> bool {
        self.groups.iter().any(|group| group.row_levels.contains(&level))
    }
}
