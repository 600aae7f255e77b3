//! What evaluation knows beside the row: clock and randomness, container settings, the UDF host.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use model::{Env, Value};

use crate::error::{Error, Result};
use crate::full_text::language::FullTextPolicy;
use crate::memory::{Held, QueryMemory};
use crate::operators::PageRequest;
use crate::value::Datum;

/// Limit: rows visited for one item, so that a cross product of long arrays ends.
const STEPS_PER_ITEM_MAX: u64 = 5_000_000;

/// Limit: rows visited for one constant, or as much work; it is computed with the rows then.
const STEPS_CONSTANT: u64 = 64 * 1024;

/// Limit: time for all constants of a query.
const CONSTANTS_TIME_MAX: Duration = Duration::from_millis(100);

/// Limit: how long after the deadline of a page one item may still be computed.
const GRACE: Duration = Duration::from_secs(5);

/// Limit: how long after the deadline of a page a query may go on that has no row before it has seen all items. With the
/// time of a page this stays below the minute after which clients give up.
const WHOLE_GRACE: Duration = Duration::from_secs(50);

/// Rows between two looks at the clock.
const STEPS_PER_CHECK: u64 = 4096;

/// Bytes searched between two looks at the clock, and how many of them a search costs by itself.
const BYTES_PER_CHECK: usize = 1 << 20;
const SEARCH_BYTES: usize = BYTES_PER_CHECK / 16;

/// Bytes to search that count as one row of a constant.
const BYTES_PER_STEP: usize = 256;

/// Parts of an expression that cost as much as a row.
const PARTS_PER_STEP: u64 = 8;

/// Items between two looks at the clock.
const ITEMS_PER_CHECK: u64 = 64;

/// Limit: memory of the values that expressions hold at once for one item.
pub(crate) const BUILT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Limit: memory of the values that a constant is made of; a larger one is computed with the rows.
const CONSTANT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes that values of an item take of the query's memory at a time.
const RESERVED_BYTES: usize = 32 * 1024;

/// Limit: bytes that stay reserved from one item to the next.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// Runs user-defined functions; `script` implements it for a container.
pub trait UdfHost: Send + Sync + std::fmt::Debug {
    /// Returns whether the container has the function.
    fn exists(&self, name: &str) -> bool;

    /// Calls the function; undefined arguments and results are `None`.
    ///
    /// # Errors
    /// The message of the exception that the function threw.
    fn call(&self, name: &str, arguments: &[Option<Value>]) -> Result<Option<Value>, String>;
}

/// How far apart two vectors are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DistanceFunction {
    /// Larger is closer.
    Cosine,
    /// Larger is closer.
    DotProduct,
    /// Smaller is closer.
    Euclidean,
}

impl DistanceFunction {
    /// Reads the name used in policies and options.
    pub fn parse(name: &str) -> Option<DistanceFunction> {
        if name.eq_ignore_ascii_case("cosine") {
            Some(DistanceFunction::Cosine)
        } else if name.eq_ignore_ascii_case("dotproduct") {
            Some(DistanceFunction::DotProduct)
        } else if name.eq_ignore_ascii_case("euclidean") {
            Some(DistanceFunction::Euclidean)
        } else {
            None
        }
    }

    /// Returns whether the most similar vectors have the largest score.
    pub fn is_larger_closer(self) -> bool {
        match self {
            DistanceFunction::Cosine | DistanceFunction::DotProduct => true,
            DistanceFunction::Euclidean => false,
        }
    }
}

/// One entry of a container's vector policy.
#[derive(Clone, Debug)]
pub struct VectorEmbedding {
    /// The path, as names.
    pub path: Vec<String>,
    /// The distance function of the path.
    pub distance: DistanceFunction,
    /// How many numbers its vectors have, if that is known.
    pub dimensions: Option<usize>,
}

/// Settings shared by all rows.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) env: Env,
    pub(crate) udf_host: Option<Arc<dyn UdfHost>>,
    pub(crate) is_geometry: bool,
    pub(crate) embeddings: Vec<VectorEmbedding>,
    pub(crate) full_text: FullTextPolicy,
    /// How long the sort keys in a continuation may be.
    pub(crate) keys_bytes_max: usize,
    /// What the statement holds.
    pub(crate) memory: QueryMemory,
}

/// Deadline and work budget of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    deadline: Option<Duration>,
    /// How long after the deadline one item may still be computed.
    grace: Duration,
    /// When what is computed began; `None` when each item begins anew.
    since: Option<Duration>,
    /// Rows that may be visited in all, for constants.
    steps_max: Option<u64>,
    /// Memory of the values of one item.
    built_max: usize,
    /// Whether the thread may wait for memory that other queries hold.
    may_wait: bool,
}

impl Budget {
    /// Returns the budget for one value that no page asks for: so long from now.
    pub(crate) fn once(context: &Context, time_max: Duration) -> Budget {
        let now = Some(context.env.monotonic());
        let (steps_max, built_max) = (None, BUILT_BYTES_MAX);
        let (deadline, grace, since) = (now, time_max, now);
        Budget { deadline, grace, since, steps_max, built_max, may_wait: true }
    }

    /// Returns the budget for the constants of a query, from now on.
    pub(crate) fn for_constants(context: &Context) -> Budget {
        let once = Budget::once(context, CONSTANTS_TIME_MAX);
        let built_max = CONSTANT_BYTES_MAX;
        Budget { steps_max: Some(STEPS_CONSTANT), built_max, may_wait: false, ..once }
    }
}

/// One evaluation of rows: the context and the budgets of the current item.
#[derive(Debug)]
pub(crate) struct Run<'c> {
    pub(crate) context: &'c Context,
    budget: Budget,
    n_items: Cell<u64>,
    n_steps: Cell<u64>,
    /// Parts of expressions that were computed; some of them cost as much as a row.
    n_parts: Cell<u64>,
    /// Bytes searched since the last look at the clock.
    searched_bytes: Cell<usize>,
    /// When the clock was looked at first for the current item.
    item_since: Cell<Option<Duration>>,
    /// Memory of the values that are alive.
    built_bytes: Cell<usize>,
    /// What of the query's memory is taken for them.
    reserved_bytes: Cell<usize>,
}

impl<'c> Run<'c> {
    /// Starts with the budget of a request: an item that takes much longer is given up.
    pub(crate) fn of(context: &'c Context, request: &PageRequest<'_>) -> Run<'c> {
        let PageRequest { deadline, may_wait, .. } = *request;
        let (steps_max, built_max) = (None, BUILT_BYTES_MAX);
        let (grace, since) = (GRACE, None);
        Run::within(context, Budget { deadline, grace, since, steps_max, built_max, may_wait })
    }

    /// Starts with the budget of another run.
    pub(crate) fn within(context: &'c Context, budget: Budget) -> Run<'c> {
        Run {
            context,
            budget,
            n_items: Cell::new(0),
            n_steps: Cell::new(0),
            n_parts: Cell::new(0),
            searched_bytes: Cell::new(if budget.since.is_some() { BYTES_PER_CHECK } else { 0 }),
            item_since: Cell::new(budget.since),
            built_bytes: Cell::new(0),
            reserved_bytes: Cell::new(0),
        }
    }

    pub(crate) fn budget(&self) -> Budget {
        self.budget
    }

    /// Starts the budgets again, for the next item.
    pub(crate) fn next_item(&self) -> Result<()> {
        if self.budget.steps_max.is_none() {
            self.n_steps.set(0);
        }
        self.item_since.set(self.budget.since);
        self.settle(0, 0);
        let n_items = self.n_items.get() + 1;
        self.n_items.set(n_items);
        if n_items.is_multiple_of(ITEMS_PER_CHECK) {
            self.check_deadline()?;
        }
        Ok(())
    }

    /// Checks the deadline between two items.
    fn check_deadline(&self) -> Result<()> {
        let is_over = |deadline| self.context.env.monotonic() > deadline + WHOLE_GRACE;
        if self.budget.deadline.is_some_and(is_over) { Err(Error::Timeout) } else { Ok(()) }
    }

    /// Checks the deadline within an item. One that begins late, because all items are needed, has its time too.
    fn check_deadline_within_item(&self) -> Result<()> {
        let Some(deadline) = self.budget.deadline else { return Ok(()) };
        let now = self.context.env.monotonic();
        let since = self.item_since.get().unwrap_or(now);
        self.item_since.set(Some(since));
        let is_over = now > deadline.max(since) + self.budget.grace;
        if is_over || now > deadline + WHOLE_GRACE { Err(Error::Timeout) } else { Ok(()) }
    }

    /// Counts one visited row.
    pub(crate) fn step(&self) -> Result<()> {
        let n_steps = self.n_steps.get().saturating_add(1);
        self.n_steps.set(n_steps);
        if self.budget.steps_max.is_some_and(|steps_max| n_steps > steps_max) {
            return Err(Error::Timeout);
        }
        if n_steps > STEPS_PER_ITEM_MAX {
            let limit = usize::try_from(STEPS_PER_ITEM_MAX).unwrap_or(usize::MAX);
            return Err(Error::Limit { what: "the number of rows computed for one item", limit });
        }
        if n_steps.is_multiple_of(STEPS_PER_CHECK) {
            self.check_deadline_within_item()?;
        }
        Ok(())
    }

    /// Counts one search in so many bytes, or what takes as long.
    pub(crate) fn work(&self, bytes: usize) -> Result<()> {
        let searched = self.searched_bytes.get().saturating_add(SEARCH_BYTES).saturating_add(bytes);
        if searched >= BYTES_PER_CHECK {
            self.searched_bytes.set(0);
            self.check_deadline_within_item()?;
        } else {
            self.searched_bytes.set(searched);
        }
        if self.budget.steps_max.is_some() {
            let n_steps = u64::try_from(bytes / BYTES_PER_STEP).unwrap_or(u64::MAX);
            self.n_steps.set(self.n_steps.get().saturating_add(n_steps));
        }
        self.step()
    }

    /// Takes memory for a value that is about to be built.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<()> {
        self.scratch(bytes)?;
        self.built_bytes.set(self.built_bytes.get().saturating_add(bytes));
        Ok(())
    }

    /// Makes sure that there is memory for what is dropped again before anything else is built.
    pub(crate) fn scratch(&self, bytes: usize) -> Result<()> {
        if bytes >= BYTES_PER_STEP {
            self.copied(bytes)?;
        }
        self.require(bytes)
    }

    /// Takes the query's memory for so many bytes beyond those that are alive.
    fn require(&self, bytes: usize) -> Result<()> {
        let total = self.built_bytes.get().saturating_add(bytes);
        if total > self.budget.built_max {
            let limit = self.budget.built_max;
            return Err(Error::Limit { what: "the bytes built for one item", limit });
        }
        let reserved = self.reserved_bytes.get();
        if total > reserved {
            let more = (total - reserved).next_multiple_of(RESERVED_BYTES);
            self.context.memory.take(more, self.budget.may_wait)?;
            self.reserved_bytes.set(reserved + more);
        }
        Ok(())
    }

    /// Counts bytes that are about to be copied as work.
    fn copied(&self, bytes: usize) -> Result<()> {
        if let Some(steps_max) = self.budget.steps_max {
            let n_steps = u64::try_from(bytes / BYTES_PER_STEP).unwrap_or(u64::MAX);
            self.n_steps.set(self.n_steps.get().saturating_add(n_steps));
            if self.n_steps.get() > steps_max {
                return Err(Error::Timeout);
            }
        }
        let searched = self.searched_bytes.get().saturating_add(bytes);
        if searched < BYTES_PER_CHECK {
            self.searched_bytes.set(searched);
            return Ok(());
        }
        self.searched_bytes.set(0);
        self.check_deadline_within_item()
    }

    /// Returns the memory of the values that are alive.
    pub(crate) fn built(&self) -> usize {
        self.built_bytes.get()
    }

    /// Says that of what was built since there were `before` bytes only `kept` are left.
    pub(crate) fn settle(&self, before: usize, kept: usize) {
        let built = before.saturating_add(kept).min(self.built_bytes.get());
        self.built_bytes.set(built);
        let reserved = self.reserved_bytes.get();
        if reserved > KEPT_BYTES_MAX && built <= KEPT_BYTES_MAX / 2 {
            self.context.memory.release(reserved - KEPT_BYTES_MAX);
            self.reserved_bytes.set(KEPT_BYTES_MAX);
        }
    }

    /// Does what [`Run::settle`] does for a value whose memory is known only now.
    pub(crate) fn settle_to(&self, before: usize, kept: usize) -> Result<()> {
        self.settle(before, 0);
        self.require(kept)?;
        self.built_bytes.set(self.built_bytes.get().saturating_add(kept));
        Ok(())
    }

    /// Counts one more part of an expression.
    pub(crate) fn part(&self) -> Result<()> {
        let n_parts = self.n_parts.get() + 1;
        self.n_parts.set(n_parts);
        if n_parts.is_multiple_of(PARTS_PER_STEP) { self.step() } else { Ok(()) }
    }

    /// Returns a value of its own, for which memory is taken before it is copied; `None` for numbers that JSON lacks.
    pub(crate) fn own(&self, datum: Datum<'_>) -> Result<Option<Value>> {
        self.copy(&datum)?;
        Ok(datum.into_value())
    }

    /// Returns a value as part of an array or object that the query computes with, as [`Run::own`] does.
    pub(crate) fn own_element(&self, datum: Datum<'_>) -> Result<Value> {
        self.copy(&datum)?;
        Ok(datum.into_element())
    }

    /// Takes memory for the copy of a value, unless whoever built it has.
    fn copy(&self, datum: &Datum<'_>) -> Result<()> {
        match datum {
            Datum::Borrowed(value) => self.reserve(value.heap_bytes()),
            Datum::Shared(value) => self.reserve(value.heap_bytes()),
            Datum::Owned(_) | Datum::Special(_) => Ok(()),
        }
    }

    /// Holds memory beyond the current item.
    pub(crate) fn held(&self) -> Held<'c> {
        Held::new(&self.context.memory, self.budget.may_wait)
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.context.memory.release(self.reserved_bytes.get());
    }
}

/// Bytes of a member beside its name and its value.
pub(crate) const MEMBER_BYTES: usize = 4;

/// Bytes of null, a boolean or a number.
pub(crate) const LITERAL_BYTES: usize = 5;
pub(crate) const NUMBER_BYTES: usize = 12;

/// Estimates the memory of a value, close to the length of its JSON text.
pub(crate) fn estimated_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => LITERAL_BYTES,
        Value::Number(_) => NUMBER_BYTES,
        Value::String(text) => text.len() + 2,
        Value::Array(list) => {
            2 + list.iter().map(|element| 1 + estimated_bytes(element)).sum::<usize>()
        }
        Value::Object(object) => {
            let members = object
                .iter()
                .map(|(name, value)| MEMBER_BYTES + name.len() + estimated_bytes(value));
            2 + members.sum::<usize>()
        }
    }
}
