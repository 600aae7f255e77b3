//! What a page of a query took: by range, and in each by the parts of its price.
//!
//! Invariant: the charges of all parts are the charge of the page. They are the very numbers that it was added up from.

use std::time::Duration;

use model::{Charge, RangeId};
use partition::charge::{self, Asked, QueryPart};
use query::Metrics;

use super::query_facts::Times;

/// What a page of a query took.
#[derive(Debug, Clone, Default)]
pub struct Analysis {
    pub ranges: Vec<RangeAnalysis>,
    /// The ranges were one source: what was read is told for all of them, and paid for by them alike.
    pub is_merged: bool,
    /// What was read and returned, all ranges together.
    pub metrics: Metrics,
    pub times: AnalysisTimes,
}

/// What a page took of one range.
#[derive(Debug, Clone)]
pub struct RangeAnalysis {
    /// `None` when no range could hold anything: the look at the plan was charged.
    pub range: Option<RangeId>,
    /// `None` where the ranges were one source.
    pub metrics: Option<Metrics>,
    pub times: AnalysisTimes,
    pub parts: Vec<QueryPart>,
}

/// How long it took, and what of it looked into the index and loaded items.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnalysisTimes {
    pub elapsed: Duration,
    pub index: Duration,
    pub load: Duration,
}

impl AnalysisTimes {
    pub(super) fn new(elapsed: Duration, times: Times) -> AnalysisTimes {
        AnalysisTimes { elapsed, index: times.index, load: times.load }
    }
}

impl Analysis {
    /// Notes what one range took.
    pub(super) fn add(
        &mut self,
        range: RangeId,
        metrics: Metrics,
        asked: Asked,
        times: AnalysisTimes,
    ) {
        let visit = charge::query_visit_parts(&metrics, asked);
        let rows = charge::query_rows_parts(&metrics, asked);
        let parts = visit.into_iter().chain(rows).collect();
        let metrics = Some(metrics);
        self.ranges.push(RangeAnalysis { range: Some(range), metrics, times, parts });
    }

    /// Notes what one of several ranges pays that were read as one.
    pub(super) fn add_share(&mut self, range: RangeId, parts: impl Iterator<Item = QueryPart>) {
        self.is_merged = true;
        self.ranges.push(RangeAnalysis {
            range: Some(range),
            metrics: None,
            times: AnalysisTimes::default(),
            parts: parts.collect(),
        });
    }

    /// Completes what is known: a query that no range can answer still costs a look, and reads may count several times.
    pub(super) fn finish(&mut self, metrics: Metrics, times: AnalysisTimes, n_replicas: u64) {
        (self.metrics, self.times) = (metrics, times);
        if self.ranges.is_empty() {
            let parts = charge::query_visit_parts(&Metrics::default(), Asked::default()).to_vec();
            let times = AnalysisTimes::default();
            self.ranges.push(RangeAnalysis { range: None, metrics: None, times, parts });
        }
        for part in self.ranges.iter_mut().flat_map(|range| &mut range.parts) {
            part.charge = part.charge * n_replicas;
        }
    }
}

impl RangeAnalysis {
    /// What the range was charged.
    pub fn charge(&self) -> Charge {
        self.parts.iter().map(|part| part.charge).sum()
    }
}
