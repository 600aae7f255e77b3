//! Planning: which operator computes the pages of a query (`operator`), how that reaches items (`access`), and which
//! parts of an item the query reads (`reads`). `estimate` tells how much a plan reads, `explain` prints it.
//!
//! The query plan document for SDKs is made in `sdk_plan`.

mod access;
mod estimate;
mod explain;
mod operator;
mod reads;

pub use access::IndexUsage;
pub(crate) use access::{
    Access, OrderAccess, Purpose, Ranked, group_from_index, n_lookups, texts_with, usage,
    words_index,
};
pub(crate) use operator::{Input, Plan, PlanOptions, Rows, SortInput, all_items, grouped_inputs};
pub(crate) use reads::Reads;
