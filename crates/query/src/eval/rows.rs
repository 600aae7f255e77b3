//! The rows of a query over one outer row: input sets, filter, groups, projection.

use std::collections::HashMap;
use std::collections::HashSet;

use model::Value;

use super::expression::{is_true, object};
use super::{Frame, Group, eval};
use crate::bind::tree::{Collection, Expr, Grouping, ITEM_LEVEL, Projection, Query, Source};
use crate::context::Run;
use crate::error::{Error, Result};
use crate::operators::aggregate::Accumulator;
use crate::value::{Datum, Maybe, is_finite, key_bytes_max, push_key, value_key};

/// Whether a visitor wants more rows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Flow {
    Continue,
    Stop,
}

/// Called with each row.
type Visit<'v> = dyn FnMut(&Frame<'_>) -> Result<Flow> + 'v;

/// Visits every combination of the input sets that passes the filter.
pub(crate) fn each_row(
    query: &Query,
    frame: &Frame<'_>,
    run: &Run<'_>,
    visit: &mut Visit<'_>,
) -> Result<Flow> {
    each_row_where(query, query.filter.as_ref(), frame, run, visit)
}

/// Visits the rows as [`each_row`] does, for a caller that knows that `filter` is all that is left to check.
pub(crate) fn each_row_where(
    query: &Query,
    filter: Option<&Expr>,
    frame: &Frame<'_>,
    run: &Run<'_>,
    visit: &mut Visit<'_>,
) -> Result<Flow> {
    each_source(filter, &query.sources, frame, run, visit)
}

fn each_source(
    filter: Option<&Expr>,
    sources: &[Source],
    frame: &Frame<'_>,
    run: &Run<'_>,
    visit: &mut Visit<'_>,
) -> Result<Flow> {
    let Some((source, rest)) = sources.split_first() else {
        run.step()?;
        let passes = match filter {
            None => true,
            Some(filter) => {
                let before = run.built();
                let passes = is_true(&eval(filter, frame, run)?);
                run.settle(before, 0);
                passes
            }
        };
        return if passes { visit(frame) } else { Ok(Flow::Continue) };
    };
    let mut enter = |value: &Value| {
        each_source(filter, rest, &frame.with_value(source.level, value), run, visit)
    };
    match &source.collection {
        Collection::Expr(expr) => {
            let before = run.built();
            let value = eval(expr, frame, run)?;
            let of_value = run.built().saturating_sub(before);
            let Some(value) = value.as_ref().and_then(Datum::value) else {
                return Ok(Flow::Continue);
            };
            let flow = each_value(source, value, &mut enter)?;
            // The rows may have left something, the collection is gone.
            run.settle(run.built().saturating_sub(of_value), 0);
            Ok(flow)
        }
        Collection::Subquery(inner) => {
            let mut flow = Flow::Continue;
            subquery_rows(inner, frame, run, &mut |row| {
                if let Some(value) = row.value() {
                    flow = each_value(source, value, &mut enter)?;
                }
                Ok(flow)
            })?;
            Ok(flow)
        }
    }
}

fn each_value(
    source: &Source,
    value: &Value,
    enter: &mut dyn FnMut(&Value) -> Result<Flow>,
) -> Result<Flow> {
    if !source.iterates {
        return enter(value);
    }
    for element in value.as_array().unwrap_or_default() {
        if enter(element)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Computes what a row becomes; undefined drops the row.
pub(crate) fn project<'e>(
    query: &'e Query,
    frame: &'e Frame<'e>,
    run: &'e Run<'e>,
) -> Result<Maybe<'e>> {
    match &query.projection {
        Projection::Value(expr) => eval(expr, frame, run),
        Projection::List(members) => object(members, frame, run),
    }
}

/// Computes the row of an answer: numbers have the spelling of the service, but for items that are returned whole.
/// Undefined drops the row.
///
/// # Errors
/// As evaluation; or the row has a number that JSON lacks.
pub(crate) fn answer(query: &Query, frame: &Frame<'_>, run: &Run<'_>) -> Result<Option<Value>> {
    let Some(row) = project(query, frame, run)? else { return Ok(None) };
    let mut row = run.own(row)?.filter(is_finite).ok_or(Error::NotFinite)?;
    match (&query.projection, &mut row) {
        (Projection::Value(expr), row) => {
            if !is_whole_item(expr) {
                row.respell_numbers();
            }
        }
        (Projection::List(members), Value::Object(object)) => {
            for (name, _) in members.iter().filter(|(_, expr)| !is_whole_item(expr)) {
                if let Some(value) = object.get_mut(name) {
                    value.respell_numbers();
                }
            }
        }
        (Projection::List(_), _) => {}
    }
    Ok(Some(row))
}

/// Says whether an expression is the item, which keeps the spelling of its numbers.
pub(super) fn is_whole_item(expr: &Expr) -> bool {
    matches!(expr, Expr::Variable(ITEM_LEVEL))
}

/// Visits the rows of a subquery. ORDER BY, TOP and OFFSET are refused in subqueries by the binder.
pub(crate) fn subquery_rows(
    query: &Query,
    frame: &Frame<'_>,
    run: &Run<'_>,
    visit: &mut dyn FnMut(Datum<'_>) -> Result<Flow>,
) -> Result<()> {
    let mut seen = HashSet::new();
    let mut emit = |row: &Frame<'_>| -> Result<Flow> {
        let Some(value) = project(query, row, run)? else { return Ok(Flow::Continue) };
        if query.distinct {
            run.reserve(value.value().map_or(0, key_bytes_max) + SEEN_BYTES)?;
            if !seen.insert(value_key(value.value())) {
                return Ok(Flow::Continue);
            }
        }
        visit(value)
    };
    let Some(grouping) = &query.grouping else {
        each_row(query, frame, run, &mut emit)?;
        return Ok(());
    };
    let mut groups = GroupSet::new(grouping);
    each_row(query, frame, run, &mut |row| {
        let before = run.built();
        let grown_bytes = groups.add(row, run)?;
        run.settle_to(before, grown_bytes)?;
        Ok(Flow::Continue)
    })?;
    for group in groups.finish() {
        if emit(&frame.with_group(grouping.level, &group))? == Flow::Stop {
            break;
        }
    }
    Ok(())
}

/// Bytes of a set for each of its values.
pub(crate) const SEEN_BYTES: usize = 80;

/// Bytes of a group beside its key, its values and its accumulators: its places in a list and in a map, both of which may be
/// twice as long as their content.
const GROUP_BYTES: usize = 240;
const KEY_BYTES: usize = size_of::<Option<Value>>();

/// Groups under construction, in the order of their first rows.
#[derive(Debug)]
pub(crate) struct GroupSet<'q> {
    grouping: &'q Grouping,
    indexes: HashMap<Vec<u8>, usize>,
    groups: Vec<(Vec<Option<Value>>, Vec<Accumulator>)>,
}

impl<'q> GroupSet<'q> {
    pub(crate) fn new(grouping: &'q Grouping) -> GroupSet<'q> {
        GroupSet { grouping, indexes: HashMap::new(), groups: Vec::new() }
    }

    fn accumulators(&self) -> Vec<Accumulator> {
        self.grouping.aggregates.iter().map(|aggregate| Accumulator::new(aggregate.kind)).collect()
    }

    /// Adds a row; returns the bytes by which the groups grew. The values of the row are taken from the memory of its item
    /// first: the caller says that they stay.
    pub(crate) fn add(&mut self, frame: &Frame<'_>, run: &Run<'_>) -> Result<usize> {
        let mut keys = Vec::with_capacity(self.grouping.keys.len());
        let mut name = Vec::new();
        for key in &self.grouping.keys {
            run.part()?;
            let key = eval(key, frame, run)?;
            let value = key.as_ref().and_then(Datum::value);
            // A continuation names keys, and is JSON.
            if value.is_some_and(|key| !is_finite(key)) {
                return Err(Error::NotFinite);
            }
            run.reserve(value.map_or(0, key_bytes_max))?;
            push_key(value, &mut name);
            keys.push(key);
        }
        let mut grown_bytes = 0;
        let index = if let Some(index) = self.indexes.get(&name) {
            *index
        } else {
            grown_bytes = 2 * name.len() + GROUP_BYTES;
            let mut own = Vec::with_capacity(keys.len());
            for key in keys {
                let key = key.map_or(Ok(None), |key| run.own(key))?;
                grown_bytes += KEY_BYTES + key.as_ref().map_or(0, Value::heap_bytes);
                own.push(key);
            }
            grown_bytes += self.grouping.aggregates.len() * size_of::<Accumulator>();
            run.reserve(grown_bytes)?;
            let index = self.groups.len();
            self.groups.push((own, self.accumulators()));
            self.indexes.insert(name, index);
            index
        };
        let Some((_, accumulators)) = self.groups.get_mut(index) else { return Ok(grown_bytes) };
        for (aggregate, accumulator) in self.grouping.aggregates.iter().zip(accumulators) {
            run.part()?;
            grown_bytes += accumulator.add(eval(&aggregate.argument, frame, run)?, run)?;
        }
        Ok(grown_bytes)
    }

    /// Takes in the groups of later items.
    pub(crate) fn merge(&mut self, other: GroupSet<'q>, run: &Run<'_>) -> Result<()> {
        let GroupSet { indexes, groups, .. } = other;
        let mut names: Vec<(Vec<u8>, usize)> = indexes.into_iter().collect();
        names.sort_by_key(|(_, index)| *index);
        for ((name, _), (keys, accumulators)) in names.into_iter().zip(groups) {
            let own = self.indexes.get(&name).and_then(|index| self.groups.get_mut(*index));
            if let Some((_, own)) = own {
                for (own, other) in own.iter_mut().zip(accumulators) {
                    own.merge(other, run)?;
                }
            } else {
                self.indexes.insert(name, self.groups.len());
                self.groups.push((keys, accumulators));
            }
        }
        Ok(())
    }

    /// Returns the groups. Without GROUP BY there is always exactly one.
    pub(crate) fn finish(mut self) -> impl Iterator<Item = Group> {
        if self.groups.is_empty() && self.grouping.keys.is_empty() {
            let accumulators = self.accumulators();
            self.groups.push((Vec::new(), accumulators));
        }
        self.groups.into_iter().map(|(keys, accumulators)| Group {
            keys,
            aggregates: accumulators.into_iter().map(Accumulator::finish).collect(),
        })
    }
}
