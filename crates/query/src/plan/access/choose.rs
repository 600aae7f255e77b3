//! The choice between a scan and the index, made by looking into the index with a bound.

use super::condition::{Condition, Seek};
use super::filter::{Purpose, condition};
use crate::bind::tree::{Expr, Query};
use crate::error::Result;
use crate::index::TermSpan;
use crate::source::prefetch::{Prefetched, fetched};
use crate::source::{ItemIndex, ItemSource, SourceItem};

/// Limit: entries counted to compare two conditions.
const ESTIMATE_MAX: usize = 1024;

/// Limit: entries collected for one page of a query that can stop early; with more, the items that match are close
/// to each other and a scan finds the next page soon.
const PAGE_ENTRIES_MAX: usize = 64 * 1024;

/// Limit: entries collected for a query that needs all its items; bounds memory to 32 MiB.
const ALL_ENTRIES_MAX: usize = 4 * 1024 * 1024;

/// Fewer candidates than this are fetched without asking another index.
const INTERSECT_MIN: usize = 16;

/// Reading this many entries costs about as much as fetching one item.
const ENTRIES_PER_FETCH: usize = 16;

/// Sources below this size are never scanned for the share of items that match.
const SMALL_SOURCE: u64 = 4096;

/// What a query needs of its items.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Need {
    /// The first ones: it can stop after a page.
    First,
    /// All of them.
    All,
}

/// How items are reached. The numbers ascend.
#[derive(Debug)]
pub(crate) enum Access {
    Scan,
    /// No item can match.
    Nothing,
    /// These items, found by the seeks named in the text.
    Numbers {
        numbers: Vec<u64>,
        text: String,
        /// Whether the items of the source among them are exactly those that pass the filter.
        is_answer: bool,
    },
    /// The items with one term, as they come.
    Point {
        seek: Seek,
        term: Vec<u8>,
        /// As with [`Access::Numbers`].
        is_answer: bool,
    },
}

/// Decides how the items of a query are reached.
pub(crate) fn choose(
    query: &Query,
    source: &dyn ItemSource,
    need: Need,
    purpose: Purpose,
) -> Result<Access> {
    let condition = condition(query, source, purpose);
    match &condition {
        Condition::Nothing => return Ok(Access::Nothing),
        Condition::Anything => return Ok(Access::Scan),
        Condition::Seek(_) | Condition::All(_) | Condition::Any(_) => {}
    }
    let Some(index) = source.index() else { return Ok(Access::Scan) };
    let entries_max = match need {
        Need::First => PAGE_ENTRIES_MAX,
        Need::All => ALL_ENTRIES_MAX,
    };
    // The index may be about many more items than the source has, as for one logical partition.
    let of_source = index.n_items().and_then(|n_items| usize::try_from(n_items).ok());
    let of_source = of_source.map_or(usize::MAX, |n| n.saturating_mul(ENTRIES_PER_FETCH));
    let is_narrow = of_source.max(ESTIMATE_MAX) < entries_max;
    let entries_max = entries_max.min(of_source.max(ESTIMATE_MAX));
    let chooser = Chooser { index, entries_max, purpose };
    let is_answer = condition.is_answered(query);
    let is_too_many = |n: usize| {
        let n = u64::try_from(n).unwrap_or(u64::MAX);
        index.n_items().is_some_and(|n_items| n_items > SMALL_SOURCE && n > n_items / 4)
    };
    if let Some(found) = chooser.candidates(&condition)? {
        if is_too_many(found.numbers.len()) {
            return Ok(Access::Scan);
        }
        return Ok(Access::Numbers { numbers: found.numbers, text: found.text, is_answer });
    }
    if need == Need::First && !is_narrow && !is_too_many(entries_max) {
        return Ok(chooser.point(condition).map_or(Access::Scan, |(seek, term)| Access::Point {
            seek,
            term,
            is_answer,
        }));
    }
    Ok(Access::Scan)
}

/// Estimates how many items a condition leaves, up to the limit of estimates.
pub(super) fn estimate(condition: &Condition, index: &dyn ItemIndex) -> Result<Option<usize>> {
    let chooser = Chooser { index, entries_max: ESTIMATE_MAX, purpose: Purpose::Run };
    let estimate = chooser.estimate(condition)?;
    Ok((estimate < ESTIMATE_MAX).then_some(estimate))
}

impl Access {
    /// Returns what of the filter of the query is still to be checked on each item.
    pub(crate) fn filter_left<'q>(&self, query: &'q Query) -> Option<&'q Expr> {
        match self {
            Access::Numbers { is_answer: true, .. } | Access::Point { is_answer: true, .. } => None,
            Access::Scan | Access::Nothing | Access::Numbers { .. } | Access::Point { .. } => {
                query.filter.as_ref()
            }
        }
    }

    /// Returns the items with numbers above `after`, by ascending number.
    pub(crate) fn items<'s>(
        &'s self,
        source: &'s dyn ItemSource,
        after: Option<u64>,
    ) -> Box<dyn Iterator<Item = Result<SourceItem>> + 's> {
        let Some(index) = source.index() else {
            return match self {
                Access::Nothing => Box::new(std::iter::empty()),
                Access::Scan | Access::Numbers { .. } | Access::Point { .. } => source.scan(after),
            };
        };
        match self {
            Access::Scan => source.scan(after),
            Access::Nothing => Box::new(std::iter::empty()),
            Access::Numbers { numbers, .. } => {
                let start = after.map_or(0, |after| numbers.partition_point(|own| *own <= after));
                Box::new(fetched(index, numbers.get(start..).unwrap_or_default()))
            }
            Access::Point { seek, term, .. } => {
                let span = TermSpan { start: term.clone(), end: crate::index::successor(term) };
                let after = after.map(|number| (term.as_slice(), number));
                let entries = seek.entries(index, &span, after);
                let entries = Prefetched::new(index, entries, u64::MAX);
                Box::new(entries.filter_map(|entry| match entry {
                    Ok(entry) => index.fetch(entry.number).transpose(),
                    Err(error) => Some(Err(error)),
                }))
            }
        }
    }
}

/// Item numbers, ascending and each once, and the seeks that found them.
struct MatchedItems {
    numbers: Vec<u64>,
    text: String,
}

struct Chooser<'i> {
    index: &'i dyn ItemIndex,
    entries_max: usize,
    purpose: Purpose,
}

impl Chooser<'_> {
    /// Returns the items of a condition; `None` when the index cannot tell or they are too many.
    fn candidates(&self, condition: &Condition) -> Result<Option<MatchedItems>> {
        match condition {
            Condition::Anything => Ok(None),
            Condition::Nothing => {
                Ok(Some(MatchedItems { numbers: Vec::new(), text: "nothing\n".into() }))
            }
            Condition::Seek(seek) => self.collect(seek),
            Condition::All(parts) => self.intersection(parts),
            Condition::Any(parts) => {
                let mut numbers = Vec::new();
                let mut text = String::from("union\n");
                for part in parts {
                    let Some(found) = self.candidates(part)? else { return Ok(None) };
                    numbers.extend(found.numbers);
                    push_indented(&mut text, &found.text);
                    if numbers.len() > self.entries_max {
                        return Ok(None);
                    }
                }
                Ok(Some(MatchedItems { numbers: sorted(numbers), text }))
            }
        }
    }

    fn collect(&self, seek: &Seek) -> Result<Option<MatchedItems>> {
        if !seek.is_covered(self.index) {
            return Ok(None);
        }
        let mut numbers = Vec::new();
        for span in &seek.spans {
            for entry in seek.entries(self.index, span, None) {
                numbers.push(entry?.number);
                if numbers.len() > self.entries_max {
                    return Ok(None);
                }
            }
        }
        Ok(Some(MatchedItems {
            numbers: sorted(numbers),
            text: self.purpose.text(|| seek_text(seek)),
        }))
    }

    /// Starts with the smallest part and takes others in as long as that is cheaper than fetching items.
    fn intersection(&self, parts: &[Condition]) -> Result<Option<MatchedItems>> {
        let mut estimated = Vec::with_capacity(parts.len());
        for part in parts {
            estimated.push((self.estimate(part)?, part));
        }
        estimated.sort_by_key(|(estimate, _)| *estimate);
        let mut best: Option<MatchedItems> = None;
        for (estimate, part) in estimated {
            let Some(found) = &mut best else {
                best = self.candidates(part)?;
                continue;
            };
            let n = found.numbers.len();
            if n < INTERSECT_MIN || estimate > n.saturating_mul(ENTRIES_PER_FETCH) {
                break;
            }
            if let Some(other) = self.candidates(part)? {
                found.numbers.retain(|number| other.numbers.binary_search(number).is_ok());
                if !found.text.starts_with("intersection\n") {
                    let first = std::mem::replace(&mut found.text, "intersection\n".into());
                    push_indented(&mut found.text, &first);
                }
                push_indented(&mut found.text, &other.text);
            }
        }
        Ok(best)
    }

    /// Counts entries up to the limit; a condition that the index does not know counts as more.
    fn estimate(&self, condition: &Condition) -> Result<usize> {
        Ok(match condition {
            Condition::Anything => usize::MAX,
            Condition::Nothing => 0,
            Condition::Seek(seek) => self.count(seek)?,
            Condition::All(parts) => {
                let mut least = usize::MAX;
                for part in parts {
                    least = least.min(self.estimate(part)?);
                }
                least
            }
            Condition::Any(parts) => {
                let mut total = 0_usize;
                for part in parts {
                    total = total.saturating_add(self.estimate(part)?);
                }
                total
            }
        })
    }

    fn count(&self, seek: &Seek) -> Result<usize> {
        if !seek.is_covered(self.index) {
            return Ok(usize::MAX);
        }
        let mut n_entries = 0;
        for span in &seek.spans {
            for entry in seek.entries(self.index, span, None) {
                entry?;
                n_entries += 1;
                if n_entries >= ESTIMATE_MAX {
                    return Ok(n_entries);
                }
            }
        }
        Ok(n_entries)
    }

    /// Returns a seek of one term, whose entries are in the order of items already.
    fn point(&self, condition: Condition) -> Option<(Seek, Vec<u8>)> {
        let parts = match condition {
            Condition::All(parts) => parts,
            other => vec![other],
        };
        parts.into_iter().find_map(|part| match part {
            Condition::Seek(seek) if seek.is_covered(self.index) => {
                let [span] = seek.spans.as_slice() else { return None };
                let term = span.as_point()?.to_vec();
                Some((seek, term))
            }
            _ => None,
        })
    }
}

fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

pub(crate) fn seek_text(seek: &Seek) -> String {
    ["seek ", &seek.path.to_string(), " ", &seek.text, "\n"].concat()
}

pub(crate) fn push_indented(text: &mut String, inner: &str) {
    for line in inner.lines() {
        text.push_str("  ");
        text.push_str(line);
        text.push('\n');
    }
}
