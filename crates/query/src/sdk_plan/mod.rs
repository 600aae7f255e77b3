//! The query plan document: what an SDK must know to run a query over all ranges by itself.
//!
//! Wire: the shape is that of the service's gateway; `facts` are pinned by `cases/query/plan.case`.

mod document;
mod features;
mod hybrid;
mod possible;
mod refusal;
mod rewrite;
mod target;
mod text_scores;

pub use document::query_plan;
pub use features::Features;
pub use refusal::{Refusal, needs_gateway_refusal, requires_distribution};
pub use rewrite::FILTER_PLACEHOLDER;
pub use target::epk_ranges;
