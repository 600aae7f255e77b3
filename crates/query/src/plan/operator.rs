//! The plan of a query on one source: the operator that computes its pages, and where the operator's items come from.
//!
//! A plan is made once. Running a page and explaining are two matches over the same value, so that they cannot disagree.
//! Making one looks into the index, with bounds: how many entries a condition has decides whether they are used.

use super::access::{
    Access, Need, OrderAccess, Purpose, Ranked, choose, is_from_index, order_access, ranked,
};
use crate::bind::tree::{Base, Query};
use crate::error::Result;
use crate::source::ItemSource;

/// Limit: rows that a page may want of an index that puts the best first; with more, a pass over all items is as good.
const BEST_ROWS_MAX: u64 = 16 * 1024;

/// How the pages of a query are computed.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Rows as their items come; `None` without a FROM clause.
    Stream(Option<Access>),
    /// ORDER BY keys that an index has.
    IndexOrder(OrderAccess),
    /// Other ORDER BY: each page is one pass over each of these, in parallel when there are several.
    Sort(Vec<SortInput>),
    /// DISTINCT: the same, ordered by the rows themselves.
    Distinct(Vec<SortInput>),
    /// All rows before the first page: groups, aggregates, DISTINCT with ORDER BY, whole queries in FROM.
    Collect(Rows),
    /// ORDER BY RANK.
    Rank(Input),
}

/// What one pass of a sort goes over.
#[derive(Debug)]
pub(crate) enum SortInput {
    /// No FROM clause: one row without an item.
    NoItem,
    Items(Access),
    /// The items that an index puts first. If they do not fill the page, the pass goes over all items.
    Best(Ranked),
}

/// How all rows of a query are computed.
#[derive(Debug)]
pub(crate) enum Rows {
    Each(Input),
    /// Groups of the rows of each of these, in parallel when there are several.
    Groups(Vec<Input>),
    /// The only group, as the entries of the index tell it. If they do not tell all, the group is made of the items.
    FromIndex,
}

/// Where rows start from.
#[derive(Debug)]
pub(crate) enum Input {
    /// No FROM clause: one row without an item.
    NoItem,
    Items(Access),
    /// The rows of a whole query in FROM.
    Rows(Box<Rows>),
}

/// What a plan depends on beside query and source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanOptions {
    /// Most rows of a page.
    pub(crate) items_max: usize,
    /// Whether sources in parts may be read in parallel; user-defined functions run on one thread.
    pub(crate) may_parallel: bool,
    pub(crate) purpose: Purpose,
}

impl Plan {
    /// Decides how a query is run on a source now.
    pub(crate) fn new(
        query: &Query,
        source: &dyn ItemSource,
        options: PlanOptions,
    ) -> Result<Plan> {
        let planner = Planner { query, options };
        let is_ordered = !query.order.is_empty();
        if query.rank.is_some() {
            return Ok(Plan::Rank(planner.input(source)?));
        }
        if query.grouping.is_some() || query.has_row_base() || (query.distinct && is_ordered) {
            return Ok(Plan::Collect(planner.rows(source)?));
        }
        if is_ordered {
            return Ok(match order_access(query, source, options.purpose)? {
                Some(order) => Plan::IndexOrder(order),
                None => Plan::Sort(planner.each_part(source, Planner::sort_input)?),
            });
        }
        if query.distinct {
            return Ok(Plan::Distinct(planner.each_part(source, Planner::sort_input)?));
        }
        Ok(Plan::Stream(match query.base {
            Base::Nothing => None,
            Base::Item | Base::Rows(..) => {
                Some(choose(query, source, Need::First, options.purpose)?)
            }
        }))
    }
}

/// Plans again where an index did not have enough: over all items that the filter leaves.
pub(crate) fn all_items(query: &Query, source: &dyn ItemSource) -> Result<Access> {
    choose(query, source, Need::All, Purpose::Run)
}

/// Plans again where the index did not tell a group after all: from the items.
pub(crate) fn grouped_inputs(
    query: &Query,
    source: &dyn ItemSource,
    may_parallel: bool,
) -> Result<Vec<Input>> {
    let options = PlanOptions { items_max: 0, may_parallel, purpose: Purpose::Run };
    Planner { query, options }.each_part(source, Planner::input)
}

struct Planner<'q> {
    query: &'q Query,
    options: PlanOptions,
}

impl Planner<'_> {
    /// Plans each part of a source that is read in parallel, or the source as a whole.
    fn each_part<T>(
        &self,
        source: &dyn ItemSource,
        plan: impl Fn(&Self, &dyn ItemSource) -> Result<T>,
    ) -> Result<Vec<T>> {
        let may_part = matches!(self.query.base, Base::Item) && self.options.may_parallel;
        match source.parts().filter(|parts| may_part && parts.degree > 1) {
            Some(parts) => parts.sources.iter().map(|part| plan(self, *part)).collect(),
            None => Ok(vec![plan(self, source)?]),
        }
    }

    fn access(&self, source: &dyn ItemSource) -> Result<Access> {
        choose(self.query, source, Need::All, self.options.purpose)
    }

    fn sort_input(&self, source: &dyn ItemSource) -> Result<SortInput> {
        if matches!(self.query.base, Base::Nothing) {
            return Ok(SortInput::NoItem);
        }
        let n_page = u64::try_from(self.options.items_max).unwrap_or(u64::MAX);
        let n_page = self.query.take.map_or(n_page, |take| take.min(n_page));
        let is_small = self.query.offset.saturating_add(n_page) <= BEST_ROWS_MAX;
        let best = if is_small { ranked(self.query, source)? } else { None };
        Ok(match best {
            Some(best) => SortInput::Best(best),
            None => SortInput::Items(self.access(source)?),
        })
    }

    fn rows(&self, source: &dyn ItemSource) -> Result<Rows> {
        if self.query.grouping.is_none() {
            return Ok(Rows::Each(self.input(source)?));
        }
        if is_from_index(self.query, source) {
            return Ok(Rows::FromIndex);
        }
        Ok(Rows::Groups(self.each_part(source, Planner::input)?))
    }

    fn input(&self, source: &dyn ItemSource) -> Result<Input> {
        Ok(match &self.query.base {
            Base::Nothing => Input::NoItem,
            Base::Item => Input::Items(self.access(source)?),
            Base::Rows(inner, _) => {
                let inner = Planner { query: inner, options: self.options };
                Input::Rows(Box::new(inner.rows(source)?))
            }
        })
    }
}
