//! How much a page of a plan has to read, told before its first row is computed.
//!
//! A short page takes less time than a change of threads, so it runs on the thread of its request. The estimate is an upper
//! bound on items, and the mean on their length: one item may be much longer than the others, at most 2 MB.

use super::access::{Access, entries_told};
use super::operator::{Input, Plan, PlanOptions, Rows, SortInput};
use crate::bind::tree::{Base, Expr, Projection, Query};
use crate::error::{Error, Result};
use crate::source::metered_source::MeteredSource;
use crate::source::{ItemIndex, ItemSource};

/// Limit: the work of a short page in entries of an index, about a millisecond; planning it may read as many.
const SHORT_ENTRIES: u64 = 4096;

/// What an item costs, in entries of an index, and how many of its bytes, or of the parts of expressions that are computed
/// for it, cost as much as one.
const ENTRIES_PER_ITEM: u64 = 16;
const BYTES_PER_ENTRY: u64 = 256;
const PARTS_PER_ENTRY: u64 = 8;

impl Plan {
    /// Plans a page that is short; `None` for any other, and where nothing is known of the items.
    pub(crate) fn short(
        query: &Query,
        source: &dyn ItemSource,
        options: PlanOptions,
    ) -> Result<Option<Plan>> {
        let Some(n_parts) = parts_of_query(query) else { return Ok(None) };
        let look =
            MeteredSource::bounded(source, usize::try_from(SHORT_ENTRIES).unwrap_or(usize::MAX));
        let planned = Plan::new(query, &look, options).and_then(|plan| {
            let work = Estimate::new(query, &look, options).plan(&plan)?;
            Ok((plan, work))
        });
        let (plan, work) = match planned {
            Ok(planned) => planned,
            Err(Error::Timeout) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Work { n_items, n_entries } = work;
        let item_bytes = look.index().map_or(0, ItemIndex::item_bytes);
        let per_item = ENTRIES_PER_ITEM + item_bytes / BYTES_PER_ENTRY + n_parts / PARTS_PER_ENTRY;
        let total = n_items.saturating_mul(per_item).saturating_add(n_entries);
        Ok((total <= SHORT_ENTRIES).then_some(plan))
    }
}

/// What a page reads at most.
#[derive(Clone, Copy, Default)]
struct Work {
    n_items: u64,
    n_entries: u64,
}

impl Work {
    fn items(n_items: u64) -> Work {
        Work { n_items, n_entries: 0 }
    }

    fn add(self, other: Work) -> Work {
        Work {
            n_items: self.n_items.saturating_add(other.n_items),
            n_entries: self.n_entries.saturating_add(other.n_entries),
        }
    }
}

struct Estimate<'q> {
    query: &'q Query,
    source: &'q dyn ItemSource,
    /// All items of the source; as many as there can be, if nobody knows.
    n_items: u64,
    /// Rows that the page wants, with those that OFFSET skips.
    n_rows: u64,
}

impl<'q> Estimate<'q> {
    fn new(query: &'q Query, source: &'q dyn ItemSource, options: PlanOptions) -> Estimate<'q> {
        let n_items = source.index().and_then(ItemIndex::n_items).unwrap_or(u64::MAX);
        let n_page = u64::try_from(options.items_max).unwrap_or(u64::MAX);
        let n_page = query.take.map_or(n_page, |take| take.min(n_page));
        Estimate { query, source, n_items, n_rows: query.offset.saturating_add(n_page) }
    }

    fn plan(&self, plan: &Plan) -> Result<Work> {
        Ok(match plan {
            Plan::Stream(None) => Work::default(),
            Plan::Stream(Some(access)) => {
                let is_filtered = access.filter_left(self.query).is_some();
                Work::items(self.first(self.reached(access), is_filtered))
            }
            Plan::IndexOrder(order) => {
                let is_filtered = order.filter_left(self.query).is_some();
                Work::items(self.first(self.n_items, is_filtered))
            }
            Plan::Sort(inputs) | Plan::Distinct(inputs) => {
                inputs.iter().fold(Work::default(), |work, input| work.add(self.sort_input(input)))
            }
            Plan::Collect(rows) => self.rows(self.query, rows)?,
            Plan::Rank(input) => self.input(self.query, input)?,
        })
    }

    /// How many of the items that are reached fill a page.
    fn first(&self, n_reached: u64, is_filtered: bool) -> u64 {
        if is_filtered { n_reached } else { n_reached.min(self.n_rows) }
    }

    fn reached(&self, access: &Access) -> u64 {
        match access {
            Access::Scan | Access::Point { .. } => self.n_items,
            Access::Nothing => 0,
            Access::Numbers { numbers, .. } => u64::try_from(numbers.len()).unwrap_or(u64::MAX),
        }
    }

    fn sort_input(&self, input: &SortInput) -> Work {
        match input {
            SortInput::NoItem => Work::default(),
            SortInput::Items(access) => Work::items(self.reached(access)),
            SortInput::Best(_) => Work::items(self.n_items),
        }
    }

    fn rows(&self, query: &Query, rows: &Rows) -> Result<Work> {
        match rows {
            Rows::Each(input) => self.input(query, input),
            Rows::Groups(inputs) => inputs
                .iter()
                .try_fold(Work::default(), |work, input| Ok(work.add(self.input(query, input)?))),
            Rows::FromIndex => {
                Ok(Work { n_items: 0, n_entries: entries_told(query, self.source)? })
            }
        }
    }

    fn input(&self, query: &Query, input: &Input) -> Result<Work> {
        match (input, &query.base) {
            (Input::NoItem, _) => Ok(Work::default()),
            (Input::Items(access), _) => Ok(Work::items(self.reached(access))),
            (Input::Rows(rows), Base::Rows(inner, _)) => self.rows(inner, rows),
            (Input::Rows(_), Base::Nothing | Base::Item) => Ok(Work::items(self.n_items)),
        }
    }
}

/// Counts the parts of the expressions that are computed for each item. `None` when an item can have many rows, or when a
/// call can take long.
fn parts_of_query(query: &Query) -> Option<u64> {
    let inner = match &query.base {
        Base::Rows(inner, _) => parts_of_query(inner)?,
        Base::Nothing | Base::Item => 0,
    };
    if !query.sources.is_empty() || query.rank.is_some() {
        return None;
    }
    let of_rows = match &query.projection {
        Projection::Value(expr) => parts(expr)?,
        Projection::List(list) => sum(list.iter().map(|(_, expr)| expr))?,
    };
    let grouping = query.grouping.as_ref();
    let of_keys = sum(grouping.iter().flat_map(|grouping| &grouping.keys))?;
    let aggregates = grouping.iter().flat_map(|grouping| &grouping.aggregates);
    let of_aggregates = sum(aggregates.map(|aggregate| &aggregate.argument))?;
    let of_order = sum(query.order.iter().map(|key| &key.expr))?;
    Some(inner + of_rows + of_keys + of_aggregates + of_order + sum(&query.filter)?)
}

fn sum<'e>(list: impl IntoIterator<Item = &'e Expr>) -> Option<u64> {
    list.into_iter().map(parts).sum()
}

fn parts(expr: &Expr) -> Option<u64> {
    let below = match expr {
        Expr::Constant(_)
        | Expr::Variable(_)
        | Expr::VariablePath(..)
        | Expr::GroupKey { .. }
        | Expr::Aggregate { .. } => 0,
        Expr::Path(operand, _)
        | Expr::Not(operand)
        | Expr::Minus(operand)
        | Expr::Plus(operand)
        | Expr::BitNot(operand)
        | Expr::Like(operand, _)
        | Expr::InSet { needle: operand, .. } => parts(operand)?,
        Expr::Array(list) | Expr::And(list) | Expr::Or(list) | Expr::Coalesce(list) => sum(list)?,
        Expr::Object(members) => sum(members.iter().map(|(_, expr)| expr))?,
        Expr::Chain(first, rest) => parts(first)? + sum(rest.iter().map(|(_, operand)| operand))?,
        Expr::In(needle, list) => parts(needle)? + sum(list)?,
        Expr::LikeComputed { text, pattern, .. } => parts(text)? + parts(pattern)?,
        Expr::Between(operands) | Expr::Conditional(operands) => sum(operands.as_slice())?,
        Expr::Let { operands, .. } => sum(operands.as_slice())?,
        Expr::Call { function, arguments, prepared } => {
            if !function.is_cheap(prepared) {
                return None;
            }
            sum(arguments)?
        }
        Expr::Udf(..) | Expr::Subquery(..) => return None,
    };
    Some(below + 1)
}
