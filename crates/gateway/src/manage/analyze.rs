//! Runs a query as a client would, page by page, and tells what it took: by range, and in each by the parts of its price.
//!
//! Invariant: charges are whole numbers of the least part of a request unit (`docs/charges.md`), and the parts of all
//! ranges are those of all pages, whose charge each rounds to what a client reads in its header.

use std::sync::Arc;
use std::time::Duration;

use account::{
    Analysis, AnalysisTimes, Call, IndexMetrics, ItemAction, ItemOperation, Link, Operation,
    Options, Outcome, Principal, QueryPart, QueryText, RangeAnalysis,
};
use model::{Charge, Object, PartitionKey, RangeId, Value};

use super::{Failed, invalid, number, object};
use crate::error::Error;
use crate::gateway::State;

// Limit: pages of one run.
const PAGES_MAX: usize = 1000;
// Limit: how long it goes on before its last page.
const TIME_MAX: Duration = Duration::from_secs(30);
// Limit: request units that a run uses before its last page, if nobody says otherwise.
const UNITS_DEFAULT: f64 = 1000.0;
const UNITS_MAX: f64 = 1_000_000.0;
/// Rows of a page, as clients ask for when they do not say.
const ITEMS_DEFAULT: u32 = 100;
// Limit: rows of a page.
const ITEMS_MAX: u32 = 10_000;
/// Ranges that are read at once where the server merges them.
const MERGE_DEGREE: usize = 4;

/// How far a run goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    items_max: u32,
    charge_max: Charge,
}

impl Limits {
    pub(super) fn parse(body: &Object) -> Result<Limits, Error> {
        let items_max = match body.get("maxItemCount") {
            None => ITEMS_DEFAULT,
            Some(value) => {
                let items = value.as_i64().and_then(|n| u32::try_from(n).ok());
                let items = items.filter(|n| (1..=ITEMS_MAX).contains(n));
                items.ok_or_else(|| invalid("maxItemCount must be a number from 1 to 10000"))?
            }
        };
        let units = match body.get("maxCharge") {
            None => UNITS_DEFAULT,
            Some(value) => {
                let units = value.as_f64().filter(|units| (0.0..=UNITS_MAX).contains(units));
                units.ok_or_else(|| invalid("maxCharge must be a number from 0 to 1000000"))?
            }
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it lies between 0 and a million"
        )]
        let charge_max = Charge::from_hundredths((units * 100.0) as u64);
        Ok(Limits { items_max, charge_max })
    }
}

/// The query that is run.
pub(super) struct Analyzed<'a> {
    pub(super) container: &'a Link,
    pub(super) query: QueryText,
    pub(super) key: Option<PartitionKey>,
    /// Its rows have to be merged where several ranges have some.
    pub(super) is_for_merging: bool,
}

/// Runs a query to its end, or as far as the limits let it.
pub(super) async fn run(
    state: &Arc<State>,
    analyzed: Analyzed<'_>,
    limits: Limits,
) -> Result<Value, Failed> {
    let Analyzed { container, query, key, is_for_merging } = analyzed;
    let merge = is_for_merging.then_some(MERGE_DEGREE);
    let env = &state.options.env;
    let begin = env.monotonic();
    let mut sum = Sum::default();
    let mut continuation = None;
    let is_complete = loop {
        let options = Options {
            items_max: Some(limits.items_max),
            continuation,
            wants_analysis: true,
            ..Options::default()
        };
        let action = ItemAction::Query {
            query: QueryText { merge, ..query.clone() },
            cross_partition: true,
            wants_query_metrics: true,
            wants_index_metrics: IndexMetrics::No,
        };
        let container = container.clone();
        let operation =
            ItemOperation { container, key: key.clone(), range: None, epks: None, action };
        let operation = Operation::Item(operation);
        let call = Call { principal: Principal::ReadOnly, operation, options };
        let outcome = state.account.execute(call).await;
        let mut outcome = outcome.map_err(|failed| Failed::Account(failed.error))?;
        continuation = outcome.facts.continuation.take();
        sum.add(&outcome);
        if continuation.is_none() {
            break true;
        }
        let is_enough = sum.pages.len() >= PAGES_MAX
            || sum.charge >= limits.charge_max
            || env.monotonic().saturating_sub(begin) >= TIME_MAX;
        if is_enough {
            break false;
        }
    };
    Ok(sum.show(is_complete, env.monotonic().saturating_sub(begin)))
}

/// All pages together.
#[derive(Default)]
struct Sum {
    charge: Charge,
    pages: Vec<Value>,
    is_merged: bool,
    took: Took,
    ranges: Vec<(Option<RangeId>, Took)>,
}

/// What was read and returned, how long it took, what it cost.
#[derive(Default)]
struct Took {
    counts: Option<[u64; 6]>,
    times: AnalysisTimes,
    parts: Vec<QueryPart>,
}

/// The counts of metrics, in the order of [`COUNTS`]. A macro, because the type of metrics has no name here.
macro_rules! counts {
    ($metrics:expr) => {{
        let it = $metrics;
        [it.n_items_read, it.bytes_read, it.n_rows, it.row_bytes, it.n_entries_read, it.n_lookups]
    }};
}

const COUNTS: [&str; 6] = ["items", "bytes", "rows", "rowBytes", "entries", "lookUps"];

impl Took {
    fn count(&mut self, counts: [u64; 6]) {
        let old = self.counts.unwrap_or_default();
        let mut sums = old;
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        // Look-ups are those of the text, not of the pages.
        sums[5] = old[5].max(counts[5]);
        self.counts = Some(sums);
    }

    fn time(&mut self, times: AnalysisTimes) {
        self.times.elapsed += times.elapsed;
        self.times.index += times.index;
        self.times.load += times.load;
    }

    fn pay(&mut self, parts: &[QueryPart]) {
        for part in parts {
            match self.parts.iter_mut().find(|own| own.name == part.name) {
                Some(own) => {
                    own.count = own.count.saturating_add(part.count);
                    own.charge += part.charge;
                }
                None => self.parts.push(*part),
            }
        }
    }

    fn show(&self, shown: &mut Object) {
        let charge: Charge = self.parts.iter().map(|part| part.charge).sum();
        put_charge(shown, charge);
        for (index, name) in COUNTS.into_iter().enumerate() {
            let count = self.counts.and_then(|counts| counts.get(index).copied());
            shown.insert(name, count.map_or(Value::Null, number));
        }
        let AnalysisTimes { elapsed, index, load } = self.times;
        for (name, time) in [("ms", elapsed), ("indexMs", index), ("loadMs", load)] {
            shown.insert(name, time.as_secs_f64() * 1000.0);
        }
        let is_some = |part: &&QueryPart| part.count > 0 || part.charge > Charge::ZERO;
        let parts = self.parts.iter().filter(is_some).map(|part| {
            let mut shown = Object::new();
            shown.insert("name", part.name);
            shown.insert("count", number(part.count));
            put_charge(&mut shown, part.charge);
            Value::Object(shown)
        });
        shown.insert("parts", Value::Array(parts.collect()));
    }
}

/// As a person reads it, and exactly.
fn put_charge(shown: &mut Object, charge: Charge) {
    shown.insert("charge", charge.as_f64());
    shown.insert("chargeParts", number(charge.parts()));
}

impl Sum {
    fn add(&mut self, outcome: &Outcome) {
        let facts = &outcome.facts;
        self.charge += facts.charge;
        self.pages.push(object([
            ("charge", facts.charge.to_string().into()),
            ("chargeParts", number(facts.charge.parts())),
            ("rows", number(facts.n_items.unwrap_or_default())),
        ]));
        let Some(analysis) = &facts.analysis else { return };
        let Analysis { ranges, is_merged, metrics, times } = &**analysis;
        self.is_merged |= is_merged;
        self.took.count(counts!(metrics));
        self.took.time(*times);
        for RangeAnalysis { range, metrics, times, parts } in ranges {
            self.took.pay(parts);
            let at = self.ranges.iter().position(|(own, _)| own == range);
            let at = at.unwrap_or_else(|| {
                self.ranges.push((*range, Took::default()));
                self.ranges.len() - 1
            });
            if let Some((_, took)) = self.ranges.get_mut(at) {
                took.pay(parts);
                took.time(*times);
                if let Some(metrics) = metrics {
                    took.count(counts!(metrics));
                }
            }
        }
    }

    fn show(&self, is_complete: bool, took: Duration) -> Value {
        let mut shown = Object::new();
        shown.insert("partsPerUnit", number(Charge::from_units(1).parts()));
        shown.insert("isComplete", is_complete);
        shown.insert("isMerged", self.is_merged);
        shown.insert("totalMs", took.as_secs_f64() * 1000.0);
        self.took.show(&mut shown);
        let ranges = self.ranges.iter().map(|(id, took)| {
            let mut shown = Object::new();
            shown.insert("id", id.map_or(Value::Null, |id| id.to_string().into()));
            took.show(&mut shown);
            Value::Object(shown)
        });
        shown.insert("ranges", Value::Array(ranges.collect()));
        shown.insert("pages", Value::Array(self.pages.clone()));
        debug_assert_eq!(
            self.took.parts.iter().map(|part| part.charge).sum::<Charge>(),
            self.charge,
            "the parts are the whole"
        );
        Value::Object(shown)
    }
}
