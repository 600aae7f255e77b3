//! Queries over metadata resources: the same language over the resources as they are shown.

use std::sync::Arc;
use std::time::Duration;

use model::Value;
use query::{ItemSource, PageRequest, PrepareOptions, ResumeFilter, SourceItem, Statement};

use crate::account::Inner;
use crate::error::Result;
use crate::operation::QueryText;

/// Limit: rows per step; steps follow each other until the query ends.
const STEP_ROWS: usize = 1000;
const STEP_BYTES: usize = 4 << 20;

/// Limit: time for all steps.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Resources as items, numbered in their order.
struct Resources(Vec<Value>);

impl ItemSource for Resources {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = query::Result<SourceItem>> + '_> {
        let numbered =
            (1..).zip(&self.0).filter(move |(number, _)| after.is_none_or(|a| *number > a));
        Box::new(numbered.map(|(number, value)| Ok(SourceItem::new(number, value.clone(), 0))))
    }

    fn index(&self) -> Option<&dyn query::ItemIndex> {
        None
    }

    fn shared(&self) -> Option<&(dyn ItemSource + Sync)> {
        None
    }

    fn parts(&self) -> Option<query::Parts<'_>> {
        None
    }
}

/// Runs a query over all resources of a feed.
pub(crate) fn run(inner: &Inner, query: &QueryText, resources: Vec<Value>) -> Result<Vec<Value>> {
    let env = inner.env();
    let deadline = env.monotonic().saturating_add(TIME_MAX);
    let mut options = PrepareOptions::new(env.clone());
    options.memory = Some(Arc::clone(&inner.query_memory));
    options.resume_filter =
        query.resume_filter.as_ref().map(ResumeFilter::from_wire).transpose()?;
    let statement = Statement::prepare(&query.text, &query.parameters, &options)?;
    let source = Resources(resources);
    let mut rows = Vec::new();
    let mut continuation: Option<String> = None;
    loop {
        let request = PageRequest {
            items_max: STEP_ROWS,
            bytes_max: STEP_BYTES,
            deadline: Some(deadline),
            may_wait: true,
            continuation: continuation.as_deref(),
        };
        let page = statement.run(&source, &request)?;
        rows.extend(page.rows.into_iter().map(query::Row::into_value));
        continuation = page.continuation;
        if continuation.is_some() && env.monotonic() > deadline {
            return Err(query::Error::Timeout.into());
        }
        if continuation.is_none() {
            return Ok(rows);
        }
    }
}
