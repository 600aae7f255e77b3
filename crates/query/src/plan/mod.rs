//! Plans: how this engine reaches items (`access`), and the query plan document: what an SDK must know to run a query over all ranges by itself.
//!
//! Wire: the shape is that of the service's gateway; `facts` are pinned by `cases/query/plan.case`.

mod access;
mod document;
mod features;
mod hybrid;
mod possible;
mod reads;
mod refusal;
mod rewrite;
mod target;

pub use access::IndexUsage;
pub(crate) use access::{
    Access, Need, OrderAccess, Ranked, access, explain, group_from_index, n_lookups,
    order_to_follow, ranked, texts_with, usage, words_index,
};
pub use document::query_plan;
pub use features::Features;
pub(crate) use reads::Reads;
pub use refusal::{Refusal, needs_gateway_refusal, requires_distribution};
pub use target::epk_ranges;
