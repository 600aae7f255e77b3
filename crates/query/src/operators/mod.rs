//! From items to pages.
//!
//! | file | queries | holds at most |
//! |---|---|---|
//! | `stream` | filter, projection, JOIN, TOP, OFFSET | a page |
//! | `index_order` | ORDER BY keys that an index has | a page |
//! | `sort` | other ORDER BY, by `ranked` where an index has the scores; DISTINCT | a page, and the rows skipped by OFFSET |
//! | `collect` | GROUP BY, aggregates, DISTINCT with ORDER BY, whole queries in FROM | all rows |
//! | `scored` | ORDER BY RANK of one score | all rows |
//! | `rank` | ORDER BY RANK of several scores | all rows |

pub(crate) mod aggregate;
mod collect;
mod index_order;
mod page;
mod parallel;
mod rank;
mod ranked;
mod score;
mod scored;
mod sort;
mod stream;

pub use page::{Metrics, Page, PageRequest};

use crate::bind::tree::{Projection, Query};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::paging::continuation::Position;
use crate::paging::resume_filter::ResumeFilter;
use crate::plan::{self, Access, Plan, PlanOptions, Purpose, SortInput};
use crate::source::ItemSource;

/// Computes one page.
pub(crate) fn run(
    query: &Query,
    context: &Context,
    resume: Option<&ResumeFilter>,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
) -> Result<Page> {
    check_resume(query, resume)?;
    let options = PlanOptions {
        items_max: request.items_max,
        may_parallel: context.udf_host.is_none(),
        purpose: Purpose::Run,
    };
    let plan = Plan::new(query, source, options)?;
    run_plan(query, plan, context, resume, source, request)
}

/// Computes one page if that takes about a millisecond at most; `None` if it takes longer.
pub(crate) fn run_short(
    query: &Query,
    context: &Context,
    resume: Option<&ResumeFilter>,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
) -> Result<Option<Page>> {
    check_resume(query, resume)?;
    if context.udf_host.is_some() {
        return Ok(None);
    }
    let options =
        PlanOptions { items_max: request.items_max, may_parallel: false, purpose: Purpose::Run };
    let Some(plan) = Plan::short(query, source, options)? else { return Ok(None) };
    let request = PageRequest { may_wait: false, ..*request };
    run_plan(query, plan, context, resume, source, &request).map(Some)
}

fn check_resume(query: &Query, resume: Option<&ResumeFilter>) -> Result<()> {
    if resume.is_some() && query.order.is_empty() {
        return Err(Error::ResumeFilter("the query has no ORDER BY"));
    }
    Ok(())
}

fn run_plan(
    query: &Query,
    plan: Plan,
    context: &Context,
    resume: Option<&ResumeFilter>,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
) -> Result<Page> {
    let mut page = rows(query, plan, context, resume, source, request)?;
    page.metrics.n_lookups = plan::n_lookups(query, source);
    page.metrics.n_properties = match &query.projection {
        Projection::List(list) => page::to_u64(list.len()),
        Projection::Value(_) => 0,
    };
    Ok(page)
}

fn rows(
    query: &Query,
    plan: Plan,
    context: &Context,
    resume: Option<&ResumeFilter>,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
) -> Result<Page> {
    let position = request.continuation.map(Position::decode).transpose()?;
    match plan {
        Plan::Stream(access) => {
            stream::page(query, context, access.as_ref(), source, request, position.as_ref())
        }
        Plan::IndexOrder(order) => {
            let Some(index) = source.index() else {
                let scan = [SortInput::Items(Access::Scan)];
                return sort::page(query, context, resume, &scan, source, request, position);
            };
            index_order::page(query, context, resume, index, &order, request, position)
        }
        Plan::Sort(inputs) | Plan::Distinct(inputs) => {
            sort::page(query, context, resume, &inputs, source, request, position)
        }
        Plan::Collect(rows) => collect::page(query, context, &rows, source, request, position),
        Plan::Rank(input) => rank::page(query, context, &input, source, request, position),
    }
}
