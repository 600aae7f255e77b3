//! The range index of a partition: `path number · term · item number`, written in the batch of the item.
//!
//! `terms` derives the terms of an item and what a write changes of them; `path_dictionary` is what the writer knows: the rules in
//! force, the numbers of paths and declared indexes, and (`absent`) for some paths the few items that lack them; `rebuild` moves the index from one
//! policy to the next; `access` offers it to queries, together with `times`; `check` proves it against the items.
//!
//! Invariants:
//! - The entries of an item are its terms under the policy, in every snapshot. While a policy takes over from others,
//!   they are at least its terms under all of these policies at once and at most those under any of them; a path is
//!   offered to queries only if all of them include it.
//! - Path numbers are never reused.

mod absent;
mod access;
mod check;
mod count;
mod listed;
mod path_dictionary;
mod rebuild;
mod rules;
mod terms;
mod times;

pub(crate) use absent::ABSENT_MAX;
pub(crate) use access::{IndexSnapshotCache, IndexView};
pub use listed::IndexedPath;
pub(crate) use path_dictionary::{PATHS_MAX, PathDictionary, PathDictionaryView};
pub(crate) use rules::IndexState;
pub(crate) use terms::{Held, TermChange, Wanted};
