//! What evaluation knows beside the row: clock and randomness, container settings, the UDF host.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use model::{Env, Value};

use crate::error::{Error, Result};
use crate::language::FullTextPolicy;

/// Limit: rows visited for one item, so that a cross product of long arrays ends.
const STEPS_PER_ITEM_MAX: u64 = 5_000_000;

/// Limit: how long after the deadline of a page one item may still be computed.
const GRACE: Duration = Duration::from_secs(5);

/// Rows between two looks at the clock; a power of two.
const STEPS_PER_LOOK: u64 = 4096;

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

/// One evaluation of rows: the context and the budgets of the current item.
#[derive(Debug)]
pub(crate) struct Run<'c> {
    pub(crate) context: &'c Context,
    deadline: Option<Duration>,
    n_steps: Cell<u64>,
    built_bytes: Cell<usize>,
}

impl<'c> Run<'c> {
    /// Starts without a time limit.
    pub(crate) fn new(context: &'c Context) -> Run<'c> {
        Run::until(context, None)
    }

    /// Starts with the deadline of a page: an item that takes much longer is given up.
    pub(crate) fn until(context: &'c Context, deadline: Option<Duration>) -> Run<'c> {
        Run { context, deadline, n_steps: Cell::new(0), built_bytes: Cell::new(0) }
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Starts the budgets again, for the next item.
    pub(crate) fn next_item(&self) {
        self.n_steps.set(0);
        self.built_bytes.set(0);
    }

    /// Counts one visited row.
    pub(crate) fn step(&self) -> Result<()> {
        let n_steps = self.n_steps.get() + 1;
        self.n_steps.set(n_steps);
        if n_steps > STEPS_PER_ITEM_MAX {
            let limit = usize::try_from(STEPS_PER_ITEM_MAX).unwrap_or(usize::MAX);
            return Err(Error::Limit { what: "the number of rows computed for one item", limit });
        }
        if n_steps.is_multiple_of(STEPS_PER_LOOK)
            && self.deadline.is_some_and(|deadline| self.context.env.monotonic() > deadline + GRACE)
        {
            return Err(Error::Timeout);
        }
        Ok(())
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

/// Estimates the memory of a value, close to the length of its JSON text.
pub(crate) fn estimated_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 12,
        Value::String(text) => text.len() + 2,
        Value::Array(list) => {
            2 + list.iter().map(|element| 1 + estimated_bytes(element)).sum::<usize>()
        }
        Value::Object(object) => {
            let members =
                object.iter().map(|(name, value)| name.len() + 4 + estimated_bytes(value));
            2 + members.sum::<usize>()
        }
    }
}
