//! Planning: how this engine reaches items (`access`), and which parts of an item a query reads (`reads`).
//!
//! The query plan document for SDKs is made in `sdk_plan`.

mod access;
mod reads;

pub use access::IndexUsage;
pub(crate) use access::{
    Access, Need, OrderAccess, Ranked, access, explain, group_from_index, n_lookups,
    order_to_follow, ranked, texts_with, usage, words_index,
};
pub(crate) use reads::Reads;
