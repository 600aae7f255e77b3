//! Item operations: find the container, check the principal, route by partition key, answer with facts.
//!
//! Every answer, failures included, names the owner and, where one range served, its session token: SDKs
//! record sessions from 404, 409 and 412 too.

mod analysis;
mod attachments;
mod batch;
mod bulk;
mod changes;
mod execute;
mod explain;
mod facts;
mod feed;
mod point;
mod purge;
mod query;
mod query_facts;
mod query_merge;
mod relocation_wait;
mod request;
mod route;
mod scope;
mod scripts;
mod span_position;
mod system_procedures;
mod udfs;

pub use analysis::{Analysis, AnalysisTimes, RangeAnalysis};
pub(crate) use execute::{execute, execute_media};
pub use explain::{Explanation, RangePlan};
use request::ItemRequest;
