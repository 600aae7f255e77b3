//! What a query response says about the query: charge, metrics, index use.

use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::Value;
use query::ast::{Expr, ExprKind, Query, Selection};
use query::{IndexUsage, MeteredSource, Metrics};

use super::analysis::Analysis;
use crate::operation::IndexMetrics;

/// Sums over the ranges of a page.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) metrics: Metrics,
    /// By ranges, if somebody wanted to know.
    pub(super) analysis: Analysis,
    /// The length of the rows' texts, if somebody wanted to know.
    pub(super) row_bytes: u64,
    pub(super) elapsed: Duration,
    pub(super) times: Times,
    /// As the first range sees it.
    pub(super) index_usage: Option<IndexUsage>,
}

/// Where the time of a query went, as far as somebody wanted to know.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    pub(super) compile: Duration,
    pub(super) index: Duration,
    pub(super) load: Duration,
    pub(super) write: Duration,
}

impl Times {
    /// What came after an earlier look.
    pub(super) fn since(self, before: Times) -> Times {
        Times {
            compile: self.compile.saturating_sub(before.compile),
            index: self.index.saturating_sub(before.index),
            load: self.load.saturating_sub(before.load),
            write: self.write.saturating_sub(before.write),
        }
    }

    pub(super) fn add(&mut self, source: &MeteredSource<'_>) {
        self.index += source.index_time();
        self.load += source.load_time();
    }
}

impl Totals {
    pub(super) fn add(&mut self, metrics: &Metrics) {
        self.metrics.add(metrics);
    }
}

/// Wire: `x-ms-documentdb-query-metrics`. The JavaScript SDK needs every key.
pub(super) fn metrics_text(totals: &Totals) -> String {
    let Metrics { n_items_read, bytes_read, n_rows, .. } = totals.metrics;
    let answer_bytes = answer_bytes(totals.row_bytes, n_rows);
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let Times { compile, index, load, write } = totals.times;
    // Wire: what was done took some time, and clients check that it did.
    let some_ms = |time: Duration, was_done: bool| {
        if was_done { ms(time).max(SHOWN_MS_MIN) } else { ms(time) }
    };
    let (index_ms, write_ms) = (ms(index), ms(write));
    let (compile_ms, load_ms) = (some_ms(compile, true), some_ms(load, n_items_read > 0));
    let run_ms = ms(totals.elapsed);
    let total_ms = compile_ms + run_ms;
    let ratio = utilization(n_items_read, n_rows);
    format!(
        "totalExecutionTimeInMs={total_ms:.2};queryCompileTimeInMs={compile_ms:.2};\
         queryLogicalPlanBuildTimeInMs=0.00;queryPhysicalPlanBuildTimeInMs=0.00;\
         queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs={run_ms:.2};indexLookupTimeInMs={index_ms:.2};\
         instructionCount=0;documentLoadTimeInMs={load_ms:.2};systemFunctionExecuteTimeInMs=0.00;\
         userFunctionExecuteTimeInMs=0.00;retrievedDocumentCount={n_items_read};\
         retrievedDocumentSize={bytes_read};outputDocumentCount={n_rows};\
         outputDocumentSize={answer_bytes};writeOutputTimeInMs={write_ms:.2};indexUtilizationRatio={ratio:.2}"
    )
}

/// The least time that two digits can show.
const SHOWN_MS_MIN: f64 = 0.01;

/// Wire: the bytes of the answer are those of its rows and of what is around them.
fn answer_bytes(row_bytes: u64, n_rows: u64) -> u64 {
    const AROUND: &str = r#"{"_rid":"AAAAAAAAAAA=","Documents":[],"_count":}"#;
    let count_digits = u64::from(n_rows.checked_ilog10().unwrap_or_default()) + 1;
    AROUND.len() as u64 + row_bytes + n_rows.saturating_sub(1) + count_digits
}

/// The share of the items read that became rows.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn utilization(n_items_read: u64, n_rows: u64) -> f64 {
    match (n_items_read, n_rows) {
        (_, 0) => 0.0,
        (0, _) => 1.0,
        _ => (n_rows as f64 / n_items_read as f64).min(1.0),
    }
}

/// Which of the service's rules a query meets. Wire: a percent-encoded list of ids with their parameters.
pub(super) fn advice_text(text: &str) -> Option<String> {
    let ids = query::advice(&query::parse(text).ok()?);
    let entry = |id: &str| model::object! { "Id" => id, "Params" => Value::Array(Vec::new()) };
    let list = Value::Array(ids.into_iter().map(entry).collect()).to_text();
    Some(percent_encoded(&list))
}

/// Wire: the names and units are those that SDKs parse.
pub(super) fn index_metrics(wanted: IndexMetrics, usage: &IndexUsage) -> Option<String> {
    let list = |paths: &[String], entry: &dyn Fn(&str) -> Value| {
        Value::Array(paths.iter().map(|path| entry(path)).collect())
    };
    let specs = |composite: &Vec<String>| {
        Value::Array(composite.iter().map(|spec| Value::from(spec.as_str())).collect())
    };
    match wanted {
        IndexMetrics::No => None,
        IndexMetrics::V1 => {
            let entry = |path: &str| {
                model::object! {
                    "FilterExpression" => "",
                    "IndexSpec" => path,
                    "FilterPreciseSet" => true,
                    "IndexPreciseSet" => true,
                    "IndexImpactScore" => "High"
                }
            };
            let composites = |list: &[Vec<String>]| {
                let entry = |composite: &Vec<String>| {
                    model::object! {
                        "IndexSpecs" => specs(composite),
                        "IndexPreciseSet" => false,
                        "IndexImpactScore" => "High"
                    }
                };
                Value::Array(list.iter().map(entry).collect())
            };
            let metrics = model::object! {
                "UtilizedSingleIndexes" => list(&usage.utilized, &entry),
                "PotentialSingleIndexes" => list(&usage.potential, &entry),
                "UtilizedCompositeIndexes" => composites(&usage.utilized_composites),
                "PotentialCompositeIndexes" => composites(&usage.potential_composites)
            };
            Some(STANDARD.encode(metrics.to_text()))
        }
        IndexMetrics::V2 => {
            let side = |paths: &[String], composites: &[Vec<String>]| {
                // Wire: the last filter comes first.
                let singles =
                    paths.iter().rev().map(|path| model::object! { "IndexSpec" => path.as_str() });
                let singles = Value::Array(singles.collect());
                let composite = |own| model::object! { "IndexSpecs" => specs(own), "IndexImpactScore" => "High" };
                let composites = Value::Array(composites.iter().map(composite).collect());
                model::object! { "SingleIndexes" => singles, "CompositeIndexes" => composites }
            };
            let metrics = model::object! {
                "UtilizedIndexes" => side(&usage.utilized, &usage.utilized_composites),
                "PotentialIndexes" => side(&usage.potential, &usage.potential_composites)
            };
            Some(percent_encoded(&metrics.to_text()))
        }
    }
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Wire: GROUP BY, and aggregates without VALUE, are refused over several ranges with a text of their own.
pub(super) fn is_bare_aggregate(query: &Query) -> bool {
    let is_aggregate = |expr: &Expr| match &expr.kind {
        ExprKind::Call { name, udf: false, .. } => query::is_aggregate(name),
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
    fn index_metrics_name_the_paths() {
        let usage = IndexUsage {
            utilized: vec!["/a/?".into()],
            potential: vec!["/b/?".into()],
            utilized_composites: vec![vec!["/a ASC".into(), "/b DESC".into()]],
            potential_composites: Vec::new(),
        };
        let first = index_metrics(IndexMetrics::V1, &usage).unwrap();
        let first = String::from_utf8(STANDARD.decode(first).unwrap()).unwrap();
        assert!(
            first.starts_with(
                r#"{"UtilizedSingleIndexes":[{"FilterExpression":"","IndexSpec":"/a/?","#
            ),
            "{first}"
        );
        let composite = r#""UtilizedCompositeIndexes":[{"IndexSpecs":["/a ASC","/b DESC"],"#;
        assert!(first.contains(composite), "{first}");
        let second = index_metrics(IndexMetrics::V2, &usage).unwrap();
        let start = "%7B%22UtilizedIndexes%22%3A%7B%22SingleIndexes%22%3A%5B%7B%22IndexSpec%22%3A%22%2Fa%2F%3F%22";
        assert!(second.starts_with(start), "{second}");
        assert_eq!(index_metrics(IndexMetrics::No, &usage), None);
    }

    #[test]
    fn metrics_say_where_the_time_went() {
        let ms = Duration::from_millis;
        let times = Times { compile: ms(1), index: ms(2), load: ms(3), write: ms(4) };
        let text = metrics_text(&Totals { elapsed: ms(10), times, ..Totals::default() });
        for part in [
            "totalExecutionTimeInMs=11.00;queryCompileTimeInMs=1.00;",
            "VMExecutionTimeInMs=10.00;indexLookupTimeInMs=2.00;",
            "documentLoadTimeInMs=3.00;",
            "writeOutputTimeInMs=4.00;",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
