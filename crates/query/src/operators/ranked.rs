//! The window of an ORDER BY a score, filled from the items that an index puts first.

use model::Value;

use super::page::{Metrics, to_u64};
use super::sort::{Wanted, Window};
use crate::context::Run;
use crate::error::Result;
use crate::index::length_span;
use crate::paging::sort_key::{RowPosition, SortKey};
use crate::plan::Ranked;
use crate::source::{Direction, ItemIndex, ItemSource};

/// Limit: items fetched in vain, because the filter drops them, before all items are gone over instead.
const FETCHES_MAX: usize = 64 * 1024;

/// Returns the window; `None` when the items that the index finds do not fill it.
pub(super) fn window<'p, 'm: 'p>(
    wanted: &Wanted<'p>,
    best: &Ranked,
    source: &dyn ItemSource,
    metrics: &mut Metrics,
    run: &Run<'m>,
) -> Result<Option<Window<'p>>> {
    let Some(index) = source.index() else { return Ok(None) };
    let mut filling =
        Filling { wanted, index, run, window: Window::new(wanted, run), n_fetched: 0 };
    let is_full = match best {
        // Each vector was compared, and each entry of a word was read, whatever comes of it.
        Ranked::Vectors { numbers } => {
            metrics.n_entries_read += to_u64(numbers.len());
            filling.in_order(numbers, metrics)?
        }
        Ranked::Words { name, numbers } => {
            metrics.n_entries_read += to_u64(numbers.len());
            filling.texts(name, numbers, metrics)?
        }
    };
    if is_full {
        filling.window.dropped = true;
    }
    Ok(is_full.then_some(filling.window))
}

struct Filling<'f, 'p> {
    wanted: &'f Wanted<'p>,
    index: &'f dyn ItemIndex,
    run: &'f Run<'f>,
    window: Window<'p>,
    n_fetched: usize,
}

impl Filling<'_, '_> {
    fn visit(&mut self, number: u64, metrics: &mut Metrics) -> Result<()> {
        self.n_fetched += 1;
        if let Some(item) = self.index.fetch(number)? {
            metrics.read(item.bytes);
            self.wanted.visit(&item, self.run, &mut self.window)?;
        }
        Ok(())
    }

    fn is_full(&mut self) -> bool {
        self.window.is_full()
    }

    /// Takes items that come in the order of the query. Returns whether the window is full.
    fn in_order(&mut self, numbers: &[u64], metrics: &mut Metrics) -> Result<bool> {
        for number in numbers {
            if self.is_full() {
                return Ok(true);
            }
            if self.n_fetched > FETCHES_MAX {
                return Ok(false);
            }
            self.visit(*number, metrics)?;
        }
        Ok(self.is_full())
    }

    /// Takes the texts that have a word, then others. Returns whether the window is full.
    fn texts(&mut self, name: &str, numbers: &[u64], metrics: &mut Metrics) -> Result<bool> {
        for number in numbers {
            self.visit(*number, metrics)?;
        }
        let zero = |number| RowPosition {
            keys: vec![SortKey::new(Some(&Value::from(0)))],
            number,
            row: 0,
        };
        // Texts without any of the words score zero, and ties descend by number.
        let highest = zero(u64::MAX);
        if self.is_full() && self.window.ends_before(&highest) {
            return Ok(true);
        }
        let mut others = Vec::new();
        for entry in self.index.seek_in(name, &length_span(), None, Direction::Forward) {
            others.push(entry?.number);
        }
        others.sort_unstable_by(|left, right| right.cmp(left));
        for number in others {
            if self.is_full() && self.window.ends_before(&zero(number)) {
                return Ok(true);
            }
            if self.n_fetched > FETCHES_MAX.saturating_add(numbers.len()) {
                return Ok(false);
            }
            if numbers.binary_search(&number).is_err() {
                self.visit(number, metrics)?;
            }
        }
        // What has no text comes after all that have one.
        Ok(self.is_full())
    }
}
