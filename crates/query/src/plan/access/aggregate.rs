//! COUNT, MIN and MAX that the index answers without looking at items.
//!
//! Only where the answer is exact: the filter is absent or says exactly which terms of one path count, and each entry
//! stands for one item of the source.

use std::cmp::Ordering;

use bytes::Bytes;
use model::Value;
use model::json::Picks;

use super::choose::estimate;
use super::condition::item_path;
use super::filter::{Purpose, condition};
use super::ranked::words_index;
use crate::bind::tree::{Aggregate, Base, Expr, Query};
use crate::error::Result;
use crate::eval::Group;
use crate::full_text::language::Language;
use crate::functions::AggregateKind;
use crate::index::{
    IndexPath, PathStep, Tag, Term, TermSpan, intersect, is_exact_word, length_of, length_span,
    successor, word_span,
};
use crate::source::{Direction, ItemIndex, ItemSource};
use crate::value::{Datum, Maybe, integer};

/// Returns the only group of a query if the index knows all about it, and how many entries tell it.
pub(crate) fn group_from_index(
    query: &Query,
    source: &dyn ItemSource,
) -> Result<Option<(Group, u64)>> {
    let Some(counter) = Counter::new(query, source) else { return Ok(None) };
    let Some(grouping) = &query.grouping else { return Ok(None) };
    let mut aggregates = Vec::with_capacity(grouping.aggregates.len());
    let mut n_entries = 0;
    for aggregate in &grouping.aggregates {
        let Some(result) = counter.aggregate(aggregate)? else { return Ok(None) };
        // What is counted is an entry each; the least and the greatest stand at an end of the index.
        n_entries += match aggregate.kind {
            AggregateKind::Count | AggregateKind::CountIf => {
                let count = result.as_ref().and_then(Datum::as_integer);
                count.and_then(|count| u64::try_from(count).ok()).unwrap_or(1)
            }
            _ => 1,
        };
        aggregates.push(result);
    }
    Ok(Some((Group { keys: Vec::new(), aggregates }, n_entries)))
}

/// Returns whether the index may answer the query, without reading it.
pub(crate) fn is_from_index(query: &Query, source: &dyn ItemSource) -> bool {
    Counter::new(query, source).is_some_and(|counter| {
        let mut list = query.grouping.iter().flat_map(|grouping| &grouping.aggregates);
        list.all(|aggregate| counter.target(aggregate).is_some())
    })
}

/// Returns how many entries are read at most to answer the query from the index.
pub(crate) fn entries_told(query: &Query, source: &dyn ItemSource) -> Result<u64> {
    let Some(counter) = Counter::new(query, source) else { return Ok(0) };
    let all = counter.index.n_items().unwrap_or(u64::MAX);
    let list = query.grouping.iter().flat_map(|grouping| &grouping.aggregates);
    let is_told_at_once = |aggregate: &Aggregate| match counter.target(aggregate) {
        None | Some(Target::Items) => true,
        Some(Target::Terms { .. }) => aggregate.kind != AggregateKind::Count,
        Some(Target::Words { .. } | Target::Texts { .. }) => false,
    };
    let n_long = list.filter(|aggregate| !is_told_at_once(aggregate)).count();
    if n_long == 0 {
        return Ok(0);
    }
    let found = estimate(&condition(query, source, Purpose::Run), counter.index)?;
    let each =
        found.and_then(|found| u64::try_from(found).ok()).map_or(all, |found| found.min(all));
    Ok(each.saturating_mul(u64::try_from(n_long).unwrap_or(u64::MAX)))
}

struct Counter<'i> {
    index: &'i dyn ItemIndex,
    /// The terms that the filter leaves; `None` without a filter.
    filter: Option<(IndexPath, Vec<TermSpan>)>,
}

/// What an aggregate is about.
enum Target {
    Items,
    Terms {
        path: IndexPath,
        spans: Vec<TermSpan>,
    },
    /// The words of all texts of a full-text index.
    Words {
        name: String,
    },
    /// The texts of a full-text index that have a word.
    Texts {
        name: String,
        word: String,
    },
}

impl<'i> Counter<'i> {
    fn new(query: &Query, source: &'i dyn ItemSource) -> Option<Counter<'i>> {
        let index = source.index().filter(|index| index.counts_exactly())?;
        if !index.is_exact() && query.filter.is_some() {
            return None;
        }
        let grouping = query.grouping.as_ref()?;
        let is_plain = matches!(query.base, Base::Item)
            && query.sources.is_empty()
            && grouping.keys.is_empty()
            && !grouping.aggregates.is_empty();
        if !is_plain {
            return None;
        }
        let filter = if query.filter.is_some() {
            let condition = condition(query, source, Purpose::Run);
            let seek = condition.as_whole_filter(query).filter(|seek| seek.is_covered(index))?;
            Some((seek.path.clone(), seek.spans.clone()))
        } else {
            None
        };
        Some(Counter { index, filter })
    }

    fn target(&self, aggregate: &Aggregate) -> Option<Target> {
        if !self.index.is_exact() {
            // Only how many items there are is known.
            let counts = aggregate.kind == AggregateKind::Count
                && matches!(aggregate.argument, Expr::Constant(Some(_)));
            return counts.then_some(Target::Items);
        }
        if let (Expr::Call { function, arguments, prepared }, None) =
            (&aggregate.argument, &self.filter)
        {
            let language = prepared.language()?;
            return self.text_target(aggregate.kind, function.name, arguments, language);
        }
        let is_known = matches!(
            aggregate.kind,
            AggregateKind::Count | AggregateKind::Min | AggregateKind::Max
        );
        if !is_known {
            return None;
        }
        if let Expr::Constant(Some(_)) = &aggregate.argument {
            let counts = aggregate.kind == AggregateKind::Count;
            return counts.then(|| match &self.filter {
                None => Target::Items,
                Some((path, spans)) => Target::Terms { path: path.clone(), spans: spans.clone() },
            });
        }
        let (_, path) = item_path(&aggregate.argument)?;
        if !self.index.covers(&path) {
            return None;
        }
        match &self.filter {
            None => Some(Target::Terms { path, spans: vec![TermSpan::defined()] }),
            Some((own, spans)) if *own == path => {
                Some(Target::Terms { path, spans: spans.clone() })
            }
            Some(_) => None,
        }
    }

    /// The statistics that a full-text index has.
    fn text_target(
        &self,
        kind: AggregateKind,
        function: &str,
        arguments: &[Expr],
        language: Language,
    ) -> Option<Target> {
        match (kind, function, arguments) {
            (AggregateKind::Sum, "_FULLTEXTWORDCOUNT", [text]) => {
                Some(Target::Words { name: words_index(text, language, self.index)? })
            }
            (AggregateKind::CountIf, "FULLTEXTCONTAINS", [text, Expr::Constant(term)]) => {
                let name = words_index(text, language, self.index)?;
                // A phrase has to be looked for in the texts themselves.
                let mut words = language.words(term.as_ref()?.as_text()?);
                let word = words.pop().filter(|word| words.is_empty() && is_exact_word(word))?;
                Some(Target::Texts { name, word })
            }
            _ => None,
        }
    }

    /// Returns the result, itself perhaps undefined; `None` when the index does not know it.
    fn aggregate(&self, aggregate: &Aggregate) -> Result<Option<Maybe<'static>>> {
        let Some(target) = self.target(aggregate) else { return Ok(None) };
        let (path, spans) = match target {
            Target::Items => {
                let count = self.index.n_items().and_then(|n| i64::try_from(n).ok());
                return Ok(count.map(integer));
            }
            Target::Terms { path, spans } => (path, spans),
            Target::Words { name } => {
                let mut total = 0_i64;
                for entry in self.index.seek_in(&name, &length_span(), None, Direction::Forward) {
                    total += i64::from(length_of(&entry?.term).unwrap_or_default());
                }
                return Ok(Some(integer(total)));
            }
            Target::Texts { name, word } => {
                let mut count = 0_i64;
                for entry in self.index.seek_in(&name, &word_span(&word), None, Direction::Forward)
                {
                    entry?;
                    count += 1;
                }
                return Ok(Some(integer(count)));
            }
        };
        match aggregate.kind {
            AggregateKind::Min => self.extreme(&path, &spans, Direction::Forward).map(Some),
            AggregateKind::Max => self.extreme(&path, &spans, Direction::Backward).map(Some),
            _ => {
                let mut count = 0_i64;
                for span in &spans {
                    for entry in self.index.seek(&path, span, None, Direction::Forward) {
                        entry?;
                        count += 1;
                    }
                }
                Ok(Some(integer(count)))
            }
        }
    }

    /// Returns the least or greatest value; undefined if there is none, or an array or object among them.
    fn extreme(
        &self,
        path: &IndexPath,
        spans: &[TermSpan],
        direction: Direction,
    ) -> Result<Maybe<'static>> {
        let composite = intersect(spans, &[TermSpan::of_tags(Tag::Array, Tag::Object)]);
        let is_poisoned = self.first(path, &composite, Direction::Forward)?.is_some();
        let Some(term) = self.first(path, spans, direction)?.filter(|_| !is_poisoned) else {
            return Ok(None);
        };
        // The entries of one term may stand for several values, and for several spellings of one; as in a scan, the
        // first item with the best value wins.
        let span = TermSpan { end: successor(&term), start: term.to_vec() };
        let wanted = match direction {
            Direction::Forward => Ordering::Less,
            Direction::Backward => Ordering::Greater,
        };
        let mut picks = Picks::NOTHING;
        picks.add(path.steps().iter().map_while(|step| match step {
            PathStep::Name(name) => Some(name.as_str()),
            PathStep::Element => None,
        }));
        let mut best: Option<Value> = None;
        for entry in self.index.seek(path, &span, None, Direction::Forward) {
            let Some(item) = self.index.fetch(entry?.number)? else { continue };
            let item = item.read(&picks)?;
            let Some(value) = value_at(&item, path) else { continue };
            let order = |best: &Value| model::order(Some(value), Some(best));
            if best.as_ref().is_none_or(|best| order(best) == wanted) {
                best = Some(value.clone());
            }
            if Term::is_exact(&term) {
                break;
            }
        }
        Ok(best.map(Datum::Owned))
    }

    fn first(
        &self,
        path: &IndexPath,
        spans: &[TermSpan],
        direction: Direction,
    ) -> Result<Option<Bytes>> {
        let mut spans: Vec<&TermSpan> = spans.iter().collect();
        if direction == Direction::Backward {
            spans.reverse();
        }
        for span in spans {
            if let Some(entry) = self.index.seek(path, span, None, direction).next() {
                return Ok(Some(entry?.term));
            }
        }
        Ok(None)
    }
}

fn value_at<'v>(item: &'v Value, path: &IndexPath) -> Option<&'v Value> {
    path.steps().iter().try_fold(item, |value, step| match step {
        PathStep::Name(name) => value.as_object()?.get(name),
        PathStep::Element => None,
    })
}
