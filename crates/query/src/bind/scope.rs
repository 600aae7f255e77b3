//! Names in sight, and groups.

use super::Binder;
use super::let_in::LetValue;
use super::tree::Aggregate;

/// A name and what it stands for.
#[derive(Debug)]
pub(super) struct Binding {
    /// `None` for an input set without a name.
    pub(super) name: Option<String>,
    pub(super) meaning: Meaning,
}

#[derive(Debug)]
pub(super) enum Meaning {
    /// The variable of an input set.
    Input(usize),
    Let(LetValue),
}

impl Binding {
    pub(super) fn of_input(name: Option<String>, level: usize) -> Binding {
        Binding { name, meaning: Meaning::Input(level) }
    }

    pub(super) fn of_let(name: &str, value: LetValue) -> Binding {
        Binding { name: Some(name.to_owned()), meaning: Meaning::Let(value) }
    }
}

/// A group whose select list is being bound.
#[derive(Debug)]
pub(super) struct GroupScope {
    pub(super) level: usize,
    /// The keys as `format::identity` prints them.
    pub(super) keys: Vec<String>,
    /// Whether there is one row at most, so that everything has one value.
    pub(super) is_one_row: bool,
    /// How many names were in sight when the select list began.
    pub(super) n_names: usize,
    /// How many of these have nothing to do with the rows.
    pub(super) n_outer: usize,
    pub(super) aggregates: Vec<Aggregate>,
}

impl Binder<'_> {
    /// Returns what a name stands for, and its place among the names in sight.
    pub(super) fn resolve(&self, name: &str) -> Option<(usize, &Meaning)> {
        let found = self.scope.iter().rposition(|own| own.name.as_deref() == Some(name))?;
        Some((found, &self.scope.get(found)?.meaning))
    }

    /// Returns the input set that a name stands for.
    pub(super) fn resolve_input(&self, name: &str) -> Option<usize> {
        match self.resolve(name)?.1 {
            Meaning::Input(level) => Some(*level),
            Meaning::Let(_) => None,
        }
    }

    /// Returns the group key that prints like `identity`.
    pub(super) fn group_key(&self, identity: &str) -> Option<(usize, usize)> {
        self.groups.iter().rev().find_map(|group| {
            let index = group.keys.iter().position(|key| key == identity)?;
            Some((group.level, index))
        })
    }

    /// Returns whether a variable may differ between the rows of a group in sight. The service says so of the row around it too.
    pub(super) fn varies_in_group(&self, level: usize) -> bool {
        // Names that are given within the select list have later levels.
        self.groups.iter().any(|group| !group.is_one_row && level < group.level)
    }

    /// Returns whether a LET stands outside of a group in sight.
    pub(super) fn is_let_outside_group(&self, place: usize) -> bool {
        self.groups.iter().any(|group| !group.is_one_row && place < group.n_outer)
    }
}
