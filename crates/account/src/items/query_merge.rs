//! Queries over several ranges that the server merges itself, for clients that ask for it.
//!
//! All ranges are one source to the operators, so rows, order and pages are those of one range. A continuation holds
//! one position; item numbers and sort keys mean the same in every range, so that it survives splits and merges.

use std::collections::VecDeque;

use partition::charge::{self, Asked};
use query::{Metrics, PageRequest, Statement, UnionSource};

use super::ItemRequest;
use super::analysis::Analysis;
use super::feed::Page;
use super::query::{Extras, PAGE_TIME, Target, account_error};
use super::query_facts::Totals;
use crate::operation::IndexMetrics;
use crate::outcome::Failed;
use crate::range_map::Range;
use crate::walk::{Cursor, Walk};

impl ItemRequest<'_> {
    /// Computes a page over all ranges of the target, reading up to `degree` of them at once.
    pub(super) fn merged_rows(
        &self,
        statement: &Statement,
        target: &Target,
        mut walk: Walk<Option<String>>,
        degree: usize,
        extras: Extras,
    ) -> Result<(Page<'_>, Walk<Option<String>>, Totals), Failed> {
        let started = self.inner.env().monotonic();
        let mut page = Page::new(self.items_max());
        let mut totals = Totals::default();
        let position = walk.cursors.pop_front().and_then(|cursor| cursor.position);
        let n_ranges = self.container.ranges.len();
        let (mut ranges, mut sources) =
            (Vec::with_capacity(n_ranges), Vec::with_capacity(n_ranges));
        let epks = &target.scope.epks;
        for range in self.container.ranges.overlapping(epks) {
            let part = epks.part_of(&range.entry.epks);
            let Some(source) = part.and_then(|part| target.source(range, &part)) else { continue };
            let is_fit = self.check_session(range).and_then(|()| self.admit(range));
            is_fit.map_err(|error| self.fail_at(range, error))?;
            ranges.push(range);
            sources.push(source);
        }
        // Several ranges at once: no position of one of them says what was seen.
        if let [range] = ranges.as_slice() {
            page.serve(range);
        }
        let source = UnionSource::new(sources, degree);
        let wants_usage = extras.wants_index_metrics != IndexMetrics::No;
        totals.index_usage = wants_usage.then(|| statement.index_usage(&source));
        let limits = page.limits();
        let request = PageRequest {
            items_max: limits.items_max,
            bytes_max: limits.bytes_max,
            deadline: Some(started.saturating_add(PAGE_TIME)),
            may_wait: true,
            continuation: position.as_deref(),
        };
        let rows = self
            .run_statement(statement, &source, &request, extras, &mut totals)
            .map_err(|error| self.fail(account_error(error)))?;
        let analysis = self.options.wants_analysis.then_some(&mut totals.analysis);
        charge(&mut page, &ranges, &rows.metrics, self.asked(extras), analysis);
        page.rows = self.texts(&rows, extras, &mut totals);
        totals.elapsed = self.time_for(extras).saturating_sub(started);
        walk.cursors = VecDeque::new();
        if let Some(next) = rows.continuation {
            walk.cursors.push_back(Cursor { epks: epks.clone(), position: Some(next) });
        }
        Ok((page, walk, totals))
    }
}

/// Charges what the rows took to the ranges alike; each of them costs a visit, as it would cost a request.
fn charge<'r>(
    page: &mut Page<'r>,
    ranges: &[&'r Range],
    metrics: &Metrics,
    asked: Asked,
    mut analysis: Option<&mut Analysis>,
) {
    let visit = charge::query_visit_parts(metrics, asked);
    let n_ranges = u64::try_from(ranges.len()).unwrap_or(u64::MAX);
    let rows = charge::query_rows_parts(metrics, asked);
    for (index, range) in ranges.iter().enumerate() {
        let shares = rows.map(|part| part.share(n_ranges, index == 0));
        let parts = || visit.into_iter().chain(shares);
        page.add(range, Vec::new(), parts().map(|part| part.charge).sum());
        if let Some(analysis) = analysis.as_deref_mut() {
            analysis.add_share(range.id(), parts());
        }
    }
    debug_assert!(
        ranges.is_empty()
            || page.charge
                == charge::query_visit(metrics, asked) * n_ranges
                    + charge::query_rows(metrics, asked),
        "the parts of a charge are the whole"
    );
    // A query that no range can answer still costs a look at the plan.
    page.charge = page.charge.max(charge::query(&Metrics::default(), Asked::default()));
}
