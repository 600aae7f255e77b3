//! ORDER BY RANK by one score: a row stands where its score and its item put it, and a continuation names that place.
//!
//! The score of a text depends on statistics of all texts, which every write changes. Those of the first page travel in
//! the continuation, so that all pages score alike.

use model::{Number, Value};

use super::page::{Metrics, Page, PageBuilder, PageRequest, to_u64};
use super::score::{Input, Scorer};
use super::sort::{After, Start, fill_rows};
use crate::bind::tree::{Component, ITEM_LEVEL, Projection, Query, Score};
use crate::context::{Context, Run};
use crate::error::{Error, Result};
use crate::eval::{Flow, Frame, answer, each_row};
use crate::functions::Statistics;
use crate::index::{length_of, length_span};
use crate::memory::Held;
use crate::paging::continuation::Position;
use crate::paging::sort_key::{RowPosition, SortKey, SortOrder};
use crate::plan::{Input as PlanInput, Reads, texts_with, words_index};
use crate::source::{Direction, ItemIndex, ItemSource};

/// Limit: search terms whose statistics a continuation holds; rows of a query with more are counted.
const TERMS_MAX: usize = 64;

/// Returns the component if it is the only one and its rows have places.
pub(super) fn only<'q>(query: &Query, components: &'q [Component]) -> Option<&'q Component> {
    let [component] = components else { return None };
    let is_short = match &component.score {
        Score::FullText { terms, .. } => terms.len() <= TERMS_MAX,
        Score::Vector { .. } => true,
    };
    (is_short && !query.has_row_base()).then_some(component)
}

pub(super) fn page(
    query: &Query,
    component: &Component,
    context: &Context,
    input: &PlanInput,
    source: &dyn ItemSource,
    request: &PageRequest<'_>,
    position: Option<Position>,
) -> Result<Page> {
    let order = SortOrder::best_first();
    let scorer = Scorer::new(component);
    let (start, known) = started(&scorer, position)?;
    let mut builder = PageBuilder::new(context, request);
    let end = query.take.map_or(u64::MAX, |take| query.offset.saturating_add(take));
    if start.passed >= end {
        return Ok(builder.finish(None));
    }
    // One row more than the page can hold, so that it is known whether there are more.
    let n_page = to_u64(request.items_max.max(1)).saturating_add(1);
    let n_skipped = query.offset.saturating_sub(start.passed);
    let n_rows = n_skipped.saturating_add(n_page).min(end - start.passed);
    let run = Run::of(context, request);
    let wanted = Wanted {
        query,
        component,
        scorer: &scorer,
        order: &order,
        start: &start,
        known,
        n_rows: usize::try_from(n_rows).unwrap_or(usize::MAX),
        run: &run,
    };
    let (rows, statistics) = match wanted.by_index(source, &mut builder.metrics)? {
        Some(found) => found,
        None => wanted.by_items(input, source, &mut builder.metrics)?,
    };
    let (builder, last) = fill_rows(builder, query, &order, &start, rows.into_iter(), false);
    let position = last.map(|(place, passed, _)| Position::Ranked {
        place,
        statistics: written(&statistics, &scorer),
        passed,
    });
    Ok(builder.finish(position.as_ref()))
}

/// Reads where a page starts, and the statistics of the pages before.
fn started(scorer: &Scorer<'_>, position: Option<Position>) -> Result<(Start, Option<Statistics>)> {
    match position {
        None => Ok((Start { after: After::Nothing, passed: 0 }, None)),
        Some(Position::Ranked { place, statistics, passed }) if place.keys.len() == 1 => {
            let known = read(&statistics, scorer).ok_or(Error::Continuation)?;
            Ok((Start { after: After::RowPosition(place), passed }, Some(known)))
        }
        Some(
            Position::Ranked { .. }
            | Position::Item { .. }
            | Position::Sorted { .. }
            | Position::Near { .. },
        ) => Err(Error::Continuation),
    }
}

fn written(statistics: &Statistics, scorer: &Scorer<'_>) -> Vec<f64> {
    if scorer.n_terms() == 0 {
        return Vec::new();
    }
    let Statistics { n_items, n_words, hits } = statistics;
    [*n_items, *n_words].iter().chain(hits).copied().collect()
}

fn read(numbers: &[f64], scorer: &Scorer<'_>) -> Option<Statistics> {
    match numbers {
        [] if scorer.n_terms() == 0 => Some(Statistics::default()),
        [n_items, n_words, hits @ ..] if hits.len() == scorer.n_terms() && !hits.is_empty() => {
            Some(Statistics { n_items: *n_items, n_words: *n_words, hits: hits.to_vec() })
        }
        _ => None,
    }
}

type Rows = Vec<(RowPosition, Value)>;

/// What a page needs.
struct Wanted<'p> {
    query: &'p Query,
    component: &'p Component,
    scorer: &'p Scorer<'p>,
    order: &'p SortOrder,
    start: &'p Start,
    /// The statistics of the first page.
    known: Option<Statistics>,
    /// Rows after the start that the page can need.
    n_rows: usize,
    run: &'p Run<'p>,
}

impl Wanted<'_> {
    fn place(&self, score: Option<f64>, number: u64) -> RowPosition {
        // Subtracted from zero, because a negative zero would be another number.
        let key =
            score.map(|score| if self.scorer.is_larger_first() { 0.0 - score } else { score });
        let key = key.and_then(Number::from_f64).map(Value::Number);
        RowPosition { keys: vec![SortKey::new(key.as_ref())], number, row: 0 }
    }

    /// Scores all items, and returns the rows from the start on.
    fn by_items(
        &self,
        input: &PlanInput,
        source: &dyn ItemSource,
        metrics: &mut Metrics,
    ) -> Result<(Rows, Statistics)> {
        let mut found = ScoredItem { rows: Vec::new(), held: self.run.held() };
        if let PlanInput::Items(access) = input {
            let picks = Reads::all(self.query);
            for item in access.items(source, None) {
                let item = item?;
                metrics.read(item.bytes);
                self.run.next_item()?;
                let value = item.read(&picks)?;
                self.visit(item.number, &Frame::root(ITEM_LEVEL, &value), &mut found)?;
            }
        } else {
            self.visit(0, &Frame::EMPTY, &mut found)?;
        }
        let inputs = || found.rows.iter().map(|(_, input, _)| input);
        let statistics = self.known.clone().unwrap_or_else(|| self.scorer.statistics(inputs()));
        let mut rows = Vec::new();
        for (number, input, row) in found.rows {
            let place = self.place(Scorer::score(&input, &statistics), number);
            if self.start.admits(self.order, &place) {
                rows.push((place, row));
            }
        }
        rows.sort_by(|(left, _), (right, _)| self.order.compare(left, right));
        Ok((rows, statistics))
    }

    fn visit(&self, number: u64, frame: &Frame<'_>, found: &mut ScoredItem<'_>) -> Result<()> {
        each_row(self.query, frame, self.run, &mut |row| {
            let before = self.run.built();
            if let Some(value) = answer(self.query, row, self.run)? {
                found.push(number, self.scorer.input(row, self.run)?, value)?;
                self.run.settle(before, 0);
            }
            Ok(Flow::Continue)
        })?;
        Ok(())
    }

    /// Returns the rows of the page by a full-text index; `None` when the index does not tell, or too few texts have
    /// one of the words.
    fn by_index(
        &self,
        source: &dyn ItemSource,
        metrics: &mut Metrics,
    ) -> Result<Option<(Rows, Statistics)>> {
        let Some(index) = source.index() else { return Ok(None) };
        let Some((name, numbers)) = self.texts(index)? else { return Ok(None) };
        let picks = Reads::all(self.query);
        let mut inputs = Vec::with_capacity(numbers.len());
        for number in numbers {
            let Some(item) = index.fetch(number)? else { continue };
            metrics.read(item.bytes);
            self.run.next_item()?;
            let value = item.read(&picks)?;
            let frame = Frame::root(ITEM_LEVEL, &value);
            inputs.push((number, self.scorer.input(&frame, self.run)?));
        }
        let statistics = match &self.known {
            Some(known) => known.clone(),
            None => self.statistics(index, &name, &inputs)?,
        };
        let mut rows = Vec::new();
        for place in self.best(&inputs, &statistics) {
            if rows.len() >= self.n_rows {
                break;
            }
            let Some(item) = index.fetch(place.number)? else { continue };
            self.run.next_item()?;
            let value = item.read(&picks)?;
            let frame = Frame::root(ITEM_LEVEL, &value);
            let row = answer(self.query, &frame, self.run)?;
            rows.extend(row.map(|row| (place, row)));
        }
        // A projection can drop rows, and then later ones move up.
        Ok((rows.len() >= self.n_rows).then_some((rows, statistics)))
    }

    /// Returns the full-text index and the items that it has one of the words for.
    fn texts(&self, index: &dyn ItemIndex) -> Result<Option<(String, Vec<u64>)>> {
        let Score::FullText { text, terms, language } = &self.component.score else {
            return Ok(None);
        };
        if !self.is_plain() || !index.is_exact() || index.n_items().is_none() {
            return Ok(None);
        }
        let Some(name) = words_index(text, *language, index) else { return Ok(None) };
        let numbers = texts_with(&name, terms, *language, index)?;
        let numbers = numbers.filter(|numbers| numbers.len() >= self.n_rows);
        Ok(numbers.map(|numbers| (name, numbers)))
    }

    /// Returns the statistics of all texts, given those that have one of the words.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    fn statistics(
        &self,
        index: &dyn ItemIndex,
        name: &str,
        inputs: &[(u64, Input)],
    ) -> Result<Statistics> {
        let mut n_words = 0.0;
        for entry in index.seek_in(name, &length_span(), None, Direction::Forward) {
            n_words += f64::from(length_of(&entry?.term).unwrap_or_default());
        }
        let n_items = (index.n_items().unwrap_or_default() as f64).max(1.0);
        let of_words = self.scorer.statistics(inputs.iter().map(|(_, input)| input));
        Ok(Statistics { n_items, n_words, hits: of_words.hits })
    }

    /// Returns the places from the start on, in order, of texts that have one of the words: all others score zero.
    fn best(&self, inputs: &[(u64, Input)], statistics: &Statistics) -> Vec<RowPosition> {
        let mut places = Vec::new();
        for (number, input) in inputs {
            let score = Scorer::score(input, statistics).filter(|score| *score > 0.0);
            let place = self.place(score, *number);
            if score.is_some() && self.start.admits(self.order, &place) {
                places.push(place);
            }
        }
        places.sort_by(|left, right| self.order.compare(left, right));
        places
    }

    /// Returns whether every item is a row, and counts in the statistics.
    fn is_plain(&self) -> bool {
        let query = self.query;
        let is_whole = query.returns_item() || matches!(query.projection, Projection::List(_));
        is_whole
            && query.filter.is_none()
            && query.sources.is_empty()
            && !query.distinct
            && self.scorer.is_larger_first()
    }
}

/// Rows whose scores are not known yet, with the numbers of their items.
struct ScoredItem<'m> {
    rows: Vec<(u64, Input, Value)>,
    held: Held<'m>,
}

impl ScoredItem<'_> {
    fn push(&mut self, number: u64, input: Input, row: Value) -> Result<()> {
        // The row stands in a list that may be twice as long as its content, and in another one when it has a score.
        self.held
            .grow(row.heap_bytes() + input.n_bytes() + 4 * size_of::<(RowPosition, Value)>())?;
        self.rows.push((number, input, row));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paging::sort_bookmark::Among;
    use crate::source::SourceItem;
    use crate::{PrepareOptions, Statement};

    struct Items(Vec<SourceItem>);

    impl ItemSource for Items {
        fn scan(&self, _: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem>> + '_> {
            Box::new(self.0.iter().cloned().map(Ok))
        }

        fn index(&self) -> Option<&dyn crate::source::ItemIndex> {
            None
        }

        fn shared(&self) -> Option<&(dyn ItemSource + Sync)> {
            None
        }

        fn parts(&self) -> Option<crate::source::Parts<'_>> {
            None
        }
    }

    fn run(text: &str, continuation: Option<&str>) -> Result<Page> {
        let item = |(number, text): (u64, &str)| {
            let value = model::json::parse(text.as_bytes()).unwrap();
            SourceItem::new(number, value, text.len())
        };
        let items = [r#"{"id":"1","t":"a b"}"#, r#"{"id":"2","t":"a"}"#, r#"{"id":"3","t":"a"}"#];
        let source = Items((1..).zip(items).map(item).collect());
        let options = PrepareOptions::new(model::Env::fixed(1, 1));
        let request = PageRequest {
            items_max: 1,
            bytes_max: 1000,
            deadline: None,
            may_wait: true,
            continuation,
        };
        Statement::prepare(text, &[], &options)?.run(&source, &request)
    }

    fn ranked(statistics: Vec<f64>) -> Position {
        let place = RowPosition { keys: vec![SortKey::Undefined], number: 1, row: 0 };
        Position::Ranked { place, statistics, passed: 1 }
    }

    #[test]
    fn a_continuation_of_another_form_is_refused() {
        let one = "SELECT VALUE c.id FROM c ORDER BY RANK FullTextScore(c.t, 'a', 'b')";
        let fused = "SELECT VALUE c.id FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'a'), FullTextScore(c.t, 'b'))";
        let plain = "SELECT VALUE c.id FROM c";
        let counted = Position::Near { among: Among::default(), passed: 1 };
        let own = ranked(vec![3.0, 4.0, 3.0, 1.0]);
        for (text, position, is_own) in [
            (one, &own, true),
            // What earlier versions wrote.
            (one, &counted, false),
            (one, &ranked(vec![3.0, 4.0, 3.0]), false),
            (one, &ranked(vec![]), false),
            (fused, &counted, true),
            (fused, &own, false),
            (plain, &own, false),
        ] {
            let page = run(text, Some(&position.encode()));
            assert_eq!(page.is_ok(), is_own, "{text} {position:?}");
            if let Err(error) = page {
                assert!(matches!(error, Error::Continuation), "{text} {position:?}: {error}");
            }
        }
    }

    #[test]
    fn forged_statistics_do_no_harm() {
        let text = "SELECT VALUE c.id FROM c ORDER BY RANK FullTextScore(c.t, 'a', 'b')";
        for number in [0.0, -0.5, 1e308, -1e308] {
            let position = ranked(vec![number; 4]);
            assert!(run(text, Some(&position.encode())).unwrap().rows.len() <= 1);
        }
    }
}
