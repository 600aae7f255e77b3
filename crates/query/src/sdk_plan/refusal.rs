//! When a query over several ranges goes back to the client, and with which words.

use model::Status;

use crate::bind::tree::Query;
use crate::statement::Statement;

/// Why a query over several ranges is not served as it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// The client did not allow queries over several ranges.
    CrossPartitionDisabled,
    /// The client must merge the ranges itself; the answer carries the plan as `additionalErrorInfo`.
    CrossPartitionUnservable,
}

impl Refusal {
    /// Returns the status of the answer.
    pub fn status(self) -> Status {
        match self {
            Refusal::CrossPartitionDisabled => Status::BAD_REQUEST,
            Refusal::CrossPartitionUnservable => Status::CROSS_PARTITION_UNSERVABLE,
        }
    }

    /// Returns the message of the service; SDKs look for parts of it.
    pub fn message(self) -> &'static str {
        match self {
            Refusal::CrossPartitionDisabled => {
                "Cross partition query is required but disabled. Please set \
                 x-ms-documentdb-query-enablecrosspartition to true, specify \
                 x-ms-documentdb-partitionkey, or revise your query to avoid this exception."
            }
            Refusal::CrossPartitionUnservable => {
                "The provided cross partition query can not be directly served by the gateway. This \
                 is a first chance (internal) exception that all newer clients will know how to \
                 handle gracefully. This exception is traced, but unless you see it bubble up as an \
                 exception (which only happens on older SDK clients), then you can safely ignore \
                 this message."
            }
        }
    }
}

/// Returns the refusal of a query whose rows from several ranges must be merged with care: TOP, ORDER BY,
/// aggregates, DISTINCT, OFFSET, GROUP BY. `None` for filters and projections, which concatenate.
///
/// Ask only when the query has to visit more than one range.
pub fn needs_gateway_refusal(statement: &Statement) -> Option<Refusal> {
    needs_merge(statement.bound()).then_some(Refusal::CrossPartitionUnservable)
}

/// Says whether the rows of one range, in pages, are only a part of the answer: DISTINCT, aggregates, groups, ranks. What
/// is only filtered, sorted and cut goes on page by page with the token of the page before.
pub fn requires_distribution(statement: &Statement) -> bool {
    let query = statement.bound();
    query.needs_all_items() || query.rank.is_some()
}

fn needs_merge(query: &Query) -> bool {
    query.needs_all_items()
        || !query.order.is_empty()
        || query.rank.is_some()
        || query.take.is_some()
        || query.offset > 0
}
