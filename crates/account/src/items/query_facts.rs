//! What a query response says about the query: charge, metrics, index use.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::Charge;
use query::Metrics;
use query::ast::{Expr, ExprKind, Query, Selection};

use crate::operation::IndexMetrics;

/// The price of a query on one range.
pub(super) fn charge(metrics: &Metrics) -> Charge {
    partition::charge::query(metrics)
}

/// Sums over the ranges of a page.
#[derive(Debug, Default)]
pub(super) struct Totals {
    metrics: Metrics,
    pub(super) elapsed: Duration,
}

impl Totals {
    pub(super) fn add(&mut self, metrics: &Metrics) {
        self.metrics.n_items_read += metrics.n_items_read;
        self.metrics.bytes_read += metrics.bytes_read;
        self.metrics.n_rows += metrics.n_rows;
        self.metrics.row_bytes += metrics.row_bytes;
    }
}

/// Wire: `x-ms-documentdb-query-metrics`. The JavaScript SDK needs every key.
pub(super) fn metrics_text(totals: &Totals) -> String {
    let Metrics { n_items_read, bytes_read, n_rows, row_bytes } = totals.metrics;
    let total_ms = totals.elapsed.as_secs_f64() * 1000.0;
    format!(
        "totalExecutionTimeInMs={total_ms:.2};queryCompileTimeInMs=0.00;\
         queryLogicalPlanBuildTimeInMs=0.00;queryPhysicalPlanBuildTimeInMs=0.00;\
         queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs={total_ms:.2};indexLookupTimeInMs=0.00;\
         instructionCount=0;documentLoadTimeInMs=0.00;systemFunctionExecuteTimeInMs=0.00;\
         userFunctionExecuteTimeInMs=0.00;retrievedDocumentCount={n_items_read};\
         retrievedDocumentSize={bytes_read};outputDocumentCount={n_rows};\
         outputDocumentSize={row_bytes};writeOutputTimeInMs=0.00;indexUtilizationRatio=0.00"
    )
}

/// Wire: protocol.md §8.6. Queries scan, so no index is used and none is recommended.
pub(super) fn index_metrics(wanted: IndexMetrics) -> Option<String> {
    const V1: &str = r#"{"UtilizedSingleIndexes":[],"PotentialSingleIndexes":[],"UtilizedCompositeIndexes":[],"PotentialCompositeIndexes":[]}"#;
    // {"Utilized":{"SingleIndexes":[],"CompositeIndexes":[]},"Potential":{"SingleIndexes":[],"CompositeIndexes":[]}}
    const V2: &str = "%7B%22Utilized%22%3A%7B%22SingleIndexes%22%3A%5B%5D%2C%22CompositeIndexes%22%3A%5B%5D%7D%2C%22Potential%22%3A%7B%22SingleIndexes%22%3A%5B%5D%2C%22CompositeIndexes%22%3A%5B%5D%7D%7D";
    match wanted {
        IndexMetrics::No => None,
        IndexMetrics::V1 => Some(STANDARD.encode(V1)),
        IndexMetrics::V2 => Some(V2.to_owned()),
    }
}

/// Wire: GROUP BY, and aggregates without VALUE, are refused over several ranges with a text of their own.
pub(super) fn is_bare_aggregate(query: &Query) -> bool {
    const AGGREGATES: [&str; 8] =
        ["COUNT", "SUM", "AVG", "MIN", "MAX", "COUNTIF", "MAKELIST", "MAKESET"];
    let is_aggregate = |expr: &Expr| match &expr.kind {
        ExprKind::Call { name, udf: false, .. } => {
            AGGREGATES.iter().any(|aggregate| aggregate.eq_ignore_ascii_case(name))
        }
        _ => false,
    };
    let has_bare = match &query.select.selection {
        Selection::List(list) => list.iter().any(|item| is_aggregate(&item.expr)),
        Selection::All(_) | Selection::Value(_) => false,
    };
    has_bare || !query.group_by.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_aggregates_are_told_apart() {
        #[rustfmt::skip]
        let table = [
            ("SELECT COUNT(1) FROM c", true), ("SELECT c.a, COUNT(1) FROM c GROUP BY c.a", true),
            ("SELECT VALUE COUNT(1) FROM c", false), ("SELECT TOP 1 * FROM c", false),
            ("SELECT udf.count(c) FROM c", false),
        ];
        for (text, expected) in table {
            assert_eq!(is_bare_aggregate(&query::parse(text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn charges_grow_with_the_answer() {
        let one = charge(&Metrics { n_items_read: 1, row_bytes: 10 << 10, ..Metrics::default() });
        assert_eq!(one.to_string(), "3.11");
        assert_eq!(charge(&Metrics::default()).to_string(), "2.5");
    }
}
