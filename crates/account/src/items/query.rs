//! Queries over items: one logical partition, one range, or all ranges one after another.
//!
//! Wire: Filters and projections over several ranges are served whole, in range order, with
//! one continuation. What needs merging (ORDER BY, TOP, aggregates, …) is refused with 400/1004 and the plan,
//! unless a key or a range is named: then the client merges, or there is nothing to merge. A client that asks the
//! server to merge (`query_merge`) is served.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::{Charge, EpkRange, Failure, PartitionKeyDefinition, Status, Value};
use partition::PartitionSource;
use partition::charge::{self, Asked};
use query::{
    Features, ItemSource, MeteredSource, PageRequest, PrepareOptions, ResumeFilter, Statement,
};

use super::ItemRequest;
use super::analysis::AnalysisTimes;
use super::feed::Page;
use super::query_facts::{self, Totals};
use super::scope::FeedScope;
use crate::account::Inner;
use crate::container::Container;
use crate::continuation::Kind;
use crate::error::{Error, Result};
use crate::operation::{IndexMetrics, QueryText};
use crate::outcome::{Body, Facts, Failed, Outcome, Scan};
use crate::range_map::Range;
use crate::threads::run_blocking;
use crate::walk::{Cursor, Walk};

/// Limit: time after which a page ends with what it has.
pub(super) const PAGE_TIME: Duration = Duration::from_secs(4);
/// Limit: bytes of a text, and number of parameters, that a request thread plans.
pub(super) const LONG_TEXT_BYTES: usize = 4096;
const LONG_PARAMETERS: usize = 256;
/// Bytes of a continuation around the position that the query engine makes: its scope, its cursor, its seal, the text that
/// names the range.
const AROUND_POSITION: usize = 400;
const PLAN_CHARGE: Charge = Charge::from_hundredths(100);

/// What else a query response tells, and what is known of the text without parsing it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extras {
    pub(super) may_call_udfs: bool,
    pub(super) wants_query_metrics: bool,
    pub(super) wants_index_metrics: IndexMetrics,
}

/// Where a query runs.
pub(super) struct Target {
    pub(super) scope: FeedScope,
    /// The parts of the scope that can hold results; `None` if all can.
    spans: Option<Vec<EpkRange>>,
    /// How many ranges to read at once when the server merges them; `None` when they follow each other.
    merge: Option<usize>,
}

impl Target {
    /// A scope, less what the filter says can hold no results. Ranges follow each other.
    pub(super) fn new(
        scope: FeedScope,
        statement: &Statement,
        definition: &PartitionKeyDefinition,
    ) -> Target {
        let is_several = scope.logical.is_none();
        let spans = is_several.then(|| spans_of(statement, definition, &scope.epks));
        Target { scope, spans, merge: None }
    }

    /// Says whether a span can hold results.
    fn can_hold(&self, epks: &EpkRange) -> bool {
        self.spans.as_ref().is_none_or(|spans| spans.iter().any(|span| span.overlaps(epks)))
    }

    /// What of a range, within a span, can hold results; `None` if nothing can.
    pub(super) fn source(&self, range: &Range, epks: &EpkRange) -> Option<PartitionSource> {
        // Nearly always: all of it can, and nothing has to be cut.
        let spans = self.spans.as_deref().unwrap_or_default();
        if self.spans.is_none() || spans.iter().any(|span| span.covers(epks)) {
            return Some(range.partition.source(&self.scope.within(range, epks)));
        }
        let parts = spans.iter().filter_map(|span| span.intersect(epks));
        match parts.collect::<Vec<_>>().as_slice() {
            [] => None,
            [part] => Some(range.partition.source(&self.scope.within(range, part))),
            parts => Some(range.partition.source_in(parts)),
        }
    }
}

/// Wire: clients of API versions before this one send a rewritten query as they got it.
const RESUMABLE_SINCE: &str = "2017-01-19";
/// Wire: for clients of API versions before this one, aggregates of one key may have names.
const VALUES_REQUIRED_SINCE: &str = "2018-12-31";

impl ItemRequest<'_> {
    /// A long text takes long to plan, and off the request threads.
    pub(super) fn query(
        &self,
        query: &QueryText,
        cross_partition: bool,
        extras: Extras,
    ) -> Result<Outcome, Failed> {
        if is_long(query) {
            return run_blocking(|| self.planned_query(query, cross_partition, extras));
        }
        self.planned_query(query, cross_partition, extras)
    }

    fn planned_query(
        &self,
        query: &QueryText,
        cross_partition: bool,
        extras: Extras,
    ) -> Result<Outcome, Failed> {
        let begin = self.time_for(extras);
        let statement = self
            .prepare_query(query, extras)
            .map_err(|error| self.fail(self.refused_before(query, cross_partition, error)))?;
        let compile = self.time_for(extras).saturating_sub(begin);
        let target =
            self.target(query, &statement, cross_partition).map_err(|error| self.fail(error))?;
        let key_bytes = target.scope.text.len();
        let tokens = || self.continuations(Kind::Query, scope_text(&target, query), key_bytes);
        let walk = self.resume(tokens, &target.scope).map_err(|error| self.fail(error))?;
        let (page, walk, mut totals) = match target.merge {
            Some(degree) => self.merged_rows(&statement, &target, walk, degree, extras)?,
            None => self.collect_rows(&statement, &target, walk, extras)?,
        };
        let continuation =
            self.write_continuation(tokens, &walk).map_err(|error| self.fail(error))?;
        let mut outcome = self.feed_answer(page, continuation);
        if self.options.wants_analysis {
            let times = AnalysisTimes::new(totals.elapsed, totals.times);
            totals.analysis.finish(totals.metrics, times, self.n_replicas_read());
            outcome.facts.analysis = Some(Box::new(std::mem::take(&mut totals.analysis)));
        }
        let is_reverse = statement.is_reverse_scan();
        outcome.facts.scan = Some(if is_reverse { Scan::Reverse } else { Scan::Forward });
        if query.is_optimistic {
            outcome.facts.requires_distribution = Some(query::requires_distribution(&statement));
        }
        if extras.wants_query_metrics {
            totals.times.compile = compile;
            outcome.facts.query_metrics = Some(query_facts::metrics_text(&totals));
        }
        let mut usage = totals.index_usage.unwrap_or_default();
        if target.scope.logical.is_some() && extras.wants_index_metrics != IndexMetrics::No {
            name_key(&self.container, &mut usage.utilized);
        }
        outcome.facts.index_metrics =
            query_facts::index_metrics(extras.wants_index_metrics, &usage);
        if self.options.wants_query_advice {
            outcome.facts.query_advice = query_facts::advice_text(&query.text);
        }
        Ok(outcome)
    }

    /// The time, for clients that want to know where it went. Others do without: reading the clock takes as long as many
    /// a step of a short query.
    pub(super) fn time_for(&self, extras: Extras) -> Duration {
        if extras.wants_query_metrics { self.inner.env().monotonic() } else { Duration::ZERO }
    }

    pub(super) fn query_plan(
        &self,
        query: &QueryText,
        supported_features: &str,
    ) -> Result<Outcome, Failed> {
        let features = Features::parse(supported_features);
        let make = || self.plan(query, &features).map_err(|error| self.fail(error));
        let plan = if is_long(query) { run_blocking(make)? } else { make()? };
        let facts = Facts { charge: PLAN_CHARGE, ..self.facts() };
        let body = Body::Resource(plan.to_text().into());
        Ok(Outcome { status: Status::OK, body, facts })
    }

    fn plan(&self, query: &QueryText, features: &Features) -> Result<Value> {
        let definition = &self.container.properties.definition;
        let options = self.prepare_options(super::udfs::may_call(&query.text));
        let (text, parameters) = (query.text.as_str(), query.parameters.as_slice());
        Ok(query::query_plan(text, parameters, &options, definition, features)?)
    }

    fn prepare_query(&self, query: &QueryText, extras: Extras) -> Result<Statement> {
        let mut options = self.prepare_options(extras.may_call_udfs);
        // Ours stands sealed inside another one, which has four bytes for three and some around.
        let kib_max = self.options.continuation_kib_max.and_then(|kib| usize::try_from(kib).ok());
        if let Some(kib) = kib_max {
            let bytes_max = (kib.saturating_mul(1024) / 4 * 3).saturating_sub(AROUND_POSITION);
            options.to_mut().continuation_bytes_max = Some(bytes_max);
        }
        if let Some(filter) = &query.resume_filter {
            options.to_mut().resume_filter = Some(ResumeFilter::from_wire(filter)?);
        }
        Ok(Statement::prepare(&query.text, &query.parameters, &options)?)
    }

    /// The mistake that the gateway of the service finds first. Wire: a query that it cannot serve is refused with its plan before
    /// a range looks for the indexes that an order needs, or at what it orders by.
    fn refused_before(&self, query: &QueryText, cross_partition: bool, found: Error) -> Error {
        let options = prepare_options(self.inner, &self.container);
        let (text, parameters) = (query.text.as_str(), query.parameters.as_slice());
        let Ok(statement) = Statement::prepare_for_plan(text, parameters, options) else {
            return found;
        };
        match self.target(query, &statement, cross_partition) {
            Err(
                error @ (Error::CrossPartitionUnservable { .. }
                | Error::CrossPartitionAggregate
                | Error::CrossPartitionDisabled),
            ) => error,
            _ => found,
        }
    }

    /// How a query is prepared, with the container's functions or without.
    fn prepare_options(&self, may_call_udfs: bool) -> Cow<'_, PrepareOptions> {
        let options = prepare_options(self.inner, &self.container);
        if may_call_udfs {
            let udf_host = Some(self.udf_host());
            Cow::Owned(PrepareOptions { udf_host, ..options.clone() })
        } else {
            Cow::Borrowed(options)
        }
    }

    /// Decides where the query runs, or refuses it.
    fn target(
        &self,
        query: &QueryText,
        statement: &Statement,
        cross_partition: bool,
    ) -> Result<Target> {
        let scope = self.scope()?;
        if scope.logical.is_some() {
            return Ok(Target { scope, spans: None, merge: None });
        }
        let definition = &self.container.properties.definition;
        let spans = spans_of(statement, definition, &scope.epks);
        let n_ranges = || self.container.ranges.overlapping(&scope.epks).take(2).count();
        if scope.is_single(self) || self.key.is_some() && n_ranges() == 1 {
            self.check_whole(statement, &scope, &spans)?;
            // An aggregate has a row even where no item can match.
            let spans = Some(spans).filter(|spans| !spans.is_empty());
            return Ok(Target { scope, spans, merge: None });
        }
        if !statement.reads_items() {
            // One row, and any range can compute it.
            let spans = vec![EpkRange::point(scope.epks.min().clone())];
            return Ok(Target { scope, spans: Some(spans), merge: None });
        }
        // One partition key: one logical partition holds all there is.
        let is_point =
            matches!(spans.as_slice(), [span] if *span == EpkRange::point(span.min().clone()));
        if is_point {
            // Wire: its aggregates have to be values all the same, unless the request names the key.
            let wants_values =
                query.merge.is_none() && !self.options.is_before(VALUES_REQUIRED_SINCE);
            if wants_values && query_facts::is_bare_aggregate(statement.ast()) {
                return Err(Error::CrossPartitionAggregate);
            }
            return Ok(Target { scope, spans: Some(spans), merge: None });
        }
        if let Some(degree) = query.merge {
            return Ok(Target { scope, spans: Some(spans), merge: Some(degree) });
        }
        // A part of a key that one range had when the query began: the pages go on, whatever the ranges are now.
        if self.key.is_some() && self.options.continuation.is_some() {
            let merge = query::needs_gateway_refusal(statement).is_some().then_some(1);
            return Ok(Target { scope, spans: Some(spans), merge });
        }
        if !cross_partition && self.epks.is_none() {
            return Err(Error::CrossPartitionDisabled);
        }
        let has_several = query.wants_plan && self.epks.is_none() && n_ranges() > 1;
        if has_several || query::needs_gateway_refusal(statement).is_some() {
            return Err(self.refusal(query, statement)?);
        }
        Ok(Target { scope, spans: Some(spans), merge: None })
    }

    /// Refuses one range of several a query over rows that all items make: no client merges such rows, and what one range
    /// knows is part of the answer.
    fn check_whole(
        &self,
        statement: &Statement,
        scope: &FeedScope,
        spans: &[EpkRange],
    ) -> Result<()> {
        let is_point = matches!(spans, [span] if *span == EpkRange::point(span.min().clone()));
        let is_part = scope.epks != EpkRange::full() && self.key.is_none() && !is_point;
        if is_part && statement.needs_all_rows_of_a_subquery() {
            let message = "A subquery in FROM with aggregates, DISTINCT or GROUP BY needs all items, and this \
                           container has several ranges. Ask for one partition key, or without the subquery.";
            return Err(query::Error::Unplannable(message.to_owned()).into());
        }
        Ok(())
    }

    /// Wire: the answer that makes SDKs fetch the plan and fan out themselves.
    fn refusal(&self, query: &QueryText, statement: &Statement) -> Result<Error> {
        if query_facts::is_bare_aggregate(statement.ast()) {
            return Ok(Error::CrossPartitionAggregate);
        }
        let mut plan = self.plan(query, &Features::all())?.to_text();
        if self.options.is_before(RESUMABLE_SINCE) {
            plan = plan.replace(query::FILTER_PLACEHOLDER, "true");
        }
        Ok(Error::CrossPartitionUnservable { plan })
    }

    fn collect_rows(
        &self,
        statement: &Statement,
        target: &Target,
        mut walk: Walk<Option<String>>,
        extras: Extras,
    ) -> Result<(Page<'_>, Walk<Option<String>>, Totals), Failed> {
        let started = self.inner.env().monotonic();
        let deadline = started.saturating_add(PAGE_TIME);
        let mut page = self.new_page(&target.scope);
        let mut totals = Totals::default();
        while let Some((cursor, range)) = walk.next(&self.container.ranges) {
            let Some(source) = target.source(range, &cursor.epks) else { continue };
            self.check_session(range).map_err(|error| self.fail_at(range, error))?;
            if self.is_throttled(range, &page)? {
                walk.cursors.push_front(cursor);
                break;
            }
            page.serve(range);
            if extras.wants_index_metrics != IndexMetrics::No {
                totals.index_usage.get_or_insert_with(|| statement.index_usage(&source));
            }
            let limits = page.limits();
            let request = PageRequest {
                items_max: limits.items_max,
                bytes_max: limits.bytes_max,
                deadline: Some(deadline),
                may_wait: true,
                continuation: cursor.position.as_deref(),
            };
            let (begin, before) = (self.time_for(extras), totals.times);
            let rows = self
                .run_statement(statement, &source, &request, extras, &mut totals)
                .map_err(|error| self.fail_query(range, error))?;
            let texts = self.texts(&rows, extras, &mut totals);
            if self.options.wants_analysis {
                let elapsed = self.time_for(extras).saturating_sub(begin);
                let times = AnalysisTimes::new(elapsed, totals.times.since(before));
                totals.analysis.add(range.id(), rows.metrics, self.asked(extras), times);
            }
            page.add(range, texts, charge::query(&rows.metrics, self.asked(extras)));
            if let Some(next) = rows.continuation {
                walk.cursors.push_front(Cursor { epks: cursor.epks, position: Some(next) });
                break;
            }
            if !page.rows.is_empty() || self.inner.env().monotonic() >= deadline {
                break;
            }
        }
        // What can hold nothing is not worth a page of its own.
        walk.cursors.retain(|cursor| target.can_hold(&cursor.epks));
        // A query that no range can answer still costs a look at the plan.
        page.charge = page.charge.max(charge::query(&query::Metrics::default(), Asked::default()));
        totals.elapsed = self.time_for(extras).saturating_sub(started);
        Ok((page, walk, totals))
    }

    /// What of the request its charge depends on.
    pub(super) fn asked(&self, extras: Extras) -> Asked {
        Asked { has_key: self.key.is_some(), calls_functions: extras.may_call_udfs }
    }

    /// Runs a statement, with a stopwatch if somebody wants to know.
    pub(super) fn run_statement(
        &self,
        statement: &Statement,
        source: &dyn ItemSource,
        request: &PageRequest<'_>,
        extras: Extras,
        totals: &mut Totals,
    ) -> query::Result<query::Page> {
        let page = if extras.wants_query_metrics {
            let source = MeteredSource::timed(source, self.inner.env());
            let page = run_where_it_fits(statement, &source, request)?;
            totals.times.add(&source);
            page
        } else {
            run_where_it_fits(statement, source, request)?
        };
        totals.add(&page.metrics);
        Ok(page)
    }

    /// The rows as they are sent.
    pub(super) fn texts(
        &self,
        page: &query::Page,
        extras: Extras,
        totals: &mut Totals,
    ) -> Vec<Bytes> {
        let start = self.time_for(extras);
        let texts = query::Row::texts(&page.rows);
        totals.times.write += self.time_for(extras).saturating_sub(start);
        if extras.wants_query_metrics {
            totals.row_bytes += texts.iter().map(|text| text.len() as u64).sum::<u64>();
        }
        texts
    }

    fn fail_query(&self, range: &Range, error: query::Error) -> Failed {
        let error = account_error(error);
        let is_ours = error.is_our_fault();
        let mut failed = self.fail_at(range, error);
        if !is_ours {
            failed.facts.charge = charge::query(&query::Metrics::default(), Asked::default());
        }
        failed
    }
}

/// Says whether planning a query may take longer than a request thread has: by its text, and by its parameters, which are
/// copied and searched.
pub(super) fn is_long(query: &QueryText) -> bool {
    query.text.len() > LONG_TEXT_BYTES
        || query.parameters.len() > LONG_PARAMETERS
        || query.parameters.iter().any(|(_, value)| is_large(value))
}

fn is_large(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > LONG_TEXT_BYTES,
        Value::Array(list) => list.len() > LONG_PARAMETERS || list.iter().any(is_large),
        Value::Object(object) => {
            object.len() > LONG_PARAMETERS || object.iter().any(|(_, value)| is_large(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Runs a short page on the thread of the request, because changing threads takes longer, and every other where it
/// keeps nobody waiting.
fn run_where_it_fits(
    statement: &Statement,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
) -> query::Result<query::Page> {
    match statement.run_short(source, request)? {
        Some(page) => Ok(page),
        None => run_blocking(|| statement.run(source, request)),
    }
}

/// The parts of a span that can hold results, by what the filter says of the partition key.
fn spans_of(
    statement: &Statement,
    definition: &PartitionKeyDefinition,
    epks: &EpkRange,
) -> Vec<EpkRange> {
    let spans = query::epk_ranges(statement, definition);
    spans.iter().filter_map(|span| span.intersect(epks)).collect()
}

/// Wire: a query of one logical partition uses the paths of the key.
pub(super) fn name_key(container: &Container, utilized: &mut Vec<String>) {
    for path in &container.properties.definition.path_texts {
        let spec = format!("{path}/?");
        if !utilized.contains(&spec) {
            utilized.push(spec);
        }
    }
}

/// What a query continuation belongs to: the scope, how ranges are merged, the text and its parameters.
fn scope_text(target: &Target, query: &QueryText) -> Vec<u8> {
    let mut text = target.scope.text.clone();
    // A merged query is at one position in all ranges, another one in each range at its own. One that is merged only
    // because its range split has one position too.
    text.push(u8::from(query.merge.is_some()));
    for part in without_resume_filter(&query.text) {
        text.extend_from_slice(part.as_bytes());
    }
    for (name, value) in &query.parameters {
        text.push(0);
        text.extend_from_slice(name.as_bytes());
        value.write_to(&mut text);
    }
    text
}

pub(super) fn account_error(error: query::Error) -> Error {
    match error {
        query::Error::Continuation => Error::ContinuationInvalid,
        other => Error::Query(other),
    }
}

/// A query text as our plan wrote it for a range, less its filter: clients put one that resumes into its place and go on
/// with the token of the text before. A position in an order means the same under both.
fn without_resume_filter(text: &str) -> [&str; 2] {
    let filter = text
        .contains("] AS orderByItems")
        .then(|| text.find("\nWHERE ").zip(text.rfind("\nORDER BY ")))
        .flatten();
    match filter {
        Some((from, to)) if from < to => [&text[..from], &text[to..]],
        _ => [text, ""],
    }
}

/// How queries over a container are prepared that call no functions; made for the first of them.
pub(super) fn prepare_options<'c>(inner: &Inner, container: &'c Container) -> &'c PrepareOptions {
    container.prepare_options.get_or_init(|| {
        let properties = &container.properties;
        PrepareOptions {
            computed_properties: properties.computed.clone(),
            is_geometry: properties.is_geometry,
            vector_embeddings: properties.embeddings.clone(),
            full_text: properties.full_text.clone(),
            order_policy: Some(properties.order_policy.clone()),
            parses: Some(Arc::clone(&inner.parses)),
            memory: Some(Arc::clone(&inner.query_memory)),
            ..PrepareOptions::new(inner.env().clone())
        }
    })
}
