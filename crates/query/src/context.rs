//! What evaluation knows beside the row: clock and randomness, container settings, the UDF host.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use model::{Env, Value};

use crate::error::{Error, Result};
use crate::language::FullTextPolicy;
use crate::operators::PageRequest;

/// Limit: rows visited for one item, so that a cross product of long arrays ends.
const STEPS_PER_ITEM_MAX: u64 = 5_000_000;

/// Limit: rows visited for a page that must be brief.
const STEPS_BRIEF: u64 = 4096;

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
const STEPS_PER_LOOK: u64 = 4096;

/// Bytes searched between two looks at the clock, and how many of them a search costs by itself.
const LOOK_BYTES: usize = 1 << 20;
const SEARCH_BYTES: usize = LOOK_BYTES / 16;

/// Bytes to search that count as one row of a page that must be brief.
const BYTES_PER_STEP: usize = 256;

/// Items between two looks at the clock.
const ITEMS_PER_LOOK: u64 = 64;

/// Limit: bytes of values that expressions build for one item.
pub(crate) const BUILT_BYTES_MAX: usize = 64 * 1024 * 1024;

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
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) env: Env,
    pub(crate) udf_host: Option<Arc<dyn UdfHost>>,
    pub(crate) is_geometry: bool,
    pub(crate) embeddings: Vec<VectorEmbedding>,
    pub(crate) full_text: FullTextPolicy,
    /// How long the sort keys in a continuation may be.
    pub(crate) keys_bytes_max: usize,
}

/// How long a page may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    deadline: Option<Duration>,
    /// How long after the deadline one item may still be computed.
    grace: Duration,
    /// When what is computed began; `None` when each item begins anew.
    since: Option<Duration>,
    /// Rows that may be visited in all, for what must be brief.
    brief_steps: Option<u64>,
}

impl Patience {
    /// Returns the patience for one value that no page asks for: so long from now.
    pub(crate) fn once(context: &Context, time_max: Duration) -> Patience {
        let now = Some(context.env.monotonic());
        Patience { deadline: now, grace: time_max, since: now, brief_steps: None }
    }

    /// Returns the patience for the constants of a query, from now on.
    pub(crate) fn for_constants(context: &Context) -> Patience {
        let once = Patience::once(context, CONSTANTS_TIME_MAX);
        Patience { brief_steps: Some(STEPS_CONSTANT), ..once }
    }
}

/// One evaluation of rows: the context and the budgets of the current item.
#[derive(Debug)]
pub(crate) struct Run<'c> {
    pub(crate) context: &'c Context,
    patience: Patience,
    n_items: Cell<u64>,
    n_steps: Cell<u64>,
    /// Bytes searched since the last look at the clock.
    searched_bytes: Cell<usize>,
    /// When the clock was looked at first for the current item.
    item_since: Cell<Option<Duration>>,
    built_bytes: Cell<usize>,
}

impl<'c> Run<'c> {
    /// Starts with the patience of a request: an item that takes much longer is given up.
    pub(crate) fn of(context: &'c Context, request: &PageRequest<'_>) -> Run<'c> {
        let PageRequest { deadline, is_brief, .. } = *request;
        let brief_steps = is_brief.then_some(STEPS_BRIEF);
        Run::within(context, Patience { deadline, grace: GRACE, since: None, brief_steps })
    }

    /// Starts with the patience of another run.
    pub(crate) fn within(context: &'c Context, patience: Patience) -> Run<'c> {
        Run {
            context,
            patience,
            n_items: Cell::new(0),
            n_steps: Cell::new(0),
            searched_bytes: Cell::new(if patience.since.is_some() { LOOK_BYTES } else { 0 }),
            item_since: Cell::new(patience.since),
            built_bytes: Cell::new(0),
        }
    }

    pub(crate) fn patience(&self) -> Patience {
        self.patience
    }

    /// Starts the budgets again, for the next item.
    pub(crate) fn next_item(&self) -> Result<()> {
        if self.patience.brief_steps.is_none() {
            self.n_steps.set(0);
        }
        self.item_since.set(self.patience.since);
        self.built_bytes.set(0);
        let n_items = self.n_items.get() + 1;
        self.n_items.set(n_items);
        if n_items.is_multiple_of(ITEMS_PER_LOOK) {
            self.look()?;
        }
        Ok(())
    }

    /// Looks at the clock between two items.
    fn look(&self) -> Result<()> {
        let is_over = |deadline| self.context.env.monotonic() > deadline + WHOLE_GRACE;
        if self.patience.deadline.is_some_and(is_over) { Err(Error::Timeout) } else { Ok(()) }
    }

    /// Looks at the clock within an item. One that begins late, because all items are needed, has its time too.
    fn look_within(&self) -> Result<()> {
        let Some(deadline) = self.patience.deadline else { return Ok(()) };
        let now = self.context.env.monotonic();
        let since = self.item_since.get().unwrap_or(now);
        self.item_since.set(Some(since));
        let is_over = now > deadline.max(since) + self.patience.grace;
        if is_over || now > deadline + WHOLE_GRACE { Err(Error::Timeout) } else { Ok(()) }
    }

    /// Counts one visited row.
    pub(crate) fn step(&self) -> Result<()> {
        let n_steps = self.n_steps.get().saturating_add(1);
        self.n_steps.set(n_steps);
        if self.patience.brief_steps.is_some_and(|steps_max| n_steps > steps_max) {
            return Err(Error::Timeout);
        }
        if n_steps > STEPS_PER_ITEM_MAX {
            let limit = usize::try_from(STEPS_PER_ITEM_MAX).unwrap_or(usize::MAX);
            return Err(Error::Limit { what: "the number of rows computed for one item", limit });
        }
        if n_steps.is_multiple_of(STEPS_PER_LOOK) {
            self.look_within()?;
        }
        Ok(())
    }

    /// Counts one search in so many bytes, or what takes as long.
    pub(crate) fn work(&self, bytes: usize) -> Result<()> {
        let searched = self.searched_bytes.get().saturating_add(SEARCH_BYTES).saturating_add(bytes);
        if searched >= LOOK_BYTES {
            self.searched_bytes.set(0);
            self.look_within()?;
        } else {
            self.searched_bytes.set(searched);
        }
        if self.patience.brief_steps.is_some() {
            let n_steps = u64::try_from(bytes / BYTES_PER_STEP).unwrap_or(u64::MAX);
            self.n_steps.set(self.n_steps.get().saturating_add(n_steps));
        }
        self.step()
    }

    /// Counts bytes of a value that is built.
    pub(crate) fn built(&self, bytes: usize) -> Result<()> {
        let built_bytes = self.built_bytes.get().saturating_add(bytes);
        self.built_bytes.set(built_bytes);
        if built_bytes > BUILT_BYTES_MAX {
            let limit = BUILT_BYTES_MAX;
            return Err(Error::Limit { what: "the bytes built for one item", limit });
        }
        Ok(())
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
