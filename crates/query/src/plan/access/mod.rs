//! How a query reaches its items: conditions that an index can answer, and the choice among the ways.
//!
//! `filter` and `declared` take from the filter what an index can tell, as a `condition`; `choose` asks the index how much that is and decides.
//! The filter itself is evaluated again on each item, so a wrong choice costs time and
//! never rows. Only where one seek is the whole filter and its terms stand for one value each, the entries have answered
//! it already (`Condition::is_answered`): pages of plain and of ordered rows then leave it out.

mod aggregate;
mod choose;
mod condition;
mod declared;
mod filter;
mod lookups;
mod order;
mod ranked;
mod terms;
mod usage;

pub(crate) use aggregate::group_from_index;
pub(super) use aggregate::{entries_told, is_from_index};
pub(crate) use choose::Access;
pub(super) use choose::{Need, choose, push_indented, seek_text};
pub(crate) use filter::Purpose;
pub(crate) use lookups::n_lookups;
pub(crate) use order::OrderAccess;
pub(super) use order::order_access;
pub(super) use ranked::ranked;
pub(crate) use ranked::{Ranked, texts_with, words_index};
pub use usage::IndexUsage;
pub(crate) use usage::usage;
