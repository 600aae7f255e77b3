//! The logical partitions of a container, ranked: who is large, who is hot, how even all of them are.
//!
//! One scan over the counters that every write keeps, in bounded memory: a heap of the rows asked for, and 3,776 classes of
//! size for what is said of all. A page deeper in the ranking is another scan that leaves out what stands above it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use model::{Charge, Epk, Lsn, PartitionKey, PartitionKeyDefinition, RangeId};
use partition::Logical;

use crate::account::Account;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::operation::Link;
use crate::range_map::Range;
use crate::threads::run_blocking;

/// Limit: rows of one answer.
pub const LOGICAL_ROWS_MAX: usize = 1000;
/// Limit: logical partitions that one look into a range reads.
const SCAN_STEP: usize = 1000;
/// The hash space as heat shows it.
const SLICES: usize = 256;
/// How often a scan begins anew because ranges were replaced under it.
const ATTEMPTS: usize = 4;

/// What logical partitions are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicalMeasure {
    Bytes,
    Items,
    /// What they used lately, as far as it is known ([`crate::HotKey`]).
    Charge,
}

/// Which logical partitions are asked for.
#[derive(Debug, Clone)]
pub struct LogicalQuery {
    pub by: LogicalMeasure,
    pub n_rows: usize,
    /// Only keys whose first value begins so.
    pub prefix: Option<String>,
    /// Only what stands below this row in the ranking.
    pub after: Option<(u64, PartitionKey)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LogicalRow {
    pub key: PartitionKey,
    pub epk: Epk,
    /// Where it lies in the hash space, from 0 to 1.
    pub place: f64,
    pub range: RangeId,
    pub n_items: u64,
    pub bytes: u64,
    pub lsn: Lsn,
    /// Lately; `None` if it is not among the hottest of its range.
    pub charge: Option<Charge>,
    /// What it is ranked by; charges in hundredths.
    pub measure: u64,
}

/// How a measure is spread over logical partitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    pub n_logical: u64,
    pub total: u64,
    /// How many have a measure of 0, 1, 2–3, 4–7, …; ends with the largest.
    pub histogram: Vec<u64>,
    /// 0: all have the same; 1: one has everything.
    pub gini: f64,
    /// Shares of the largest one, of the largest hundredth and of the largest tenth.
    pub top_shares: [f64; 3],
    /// Points of the Lorenz curve: so many of the smallest have so much of all.
    pub lorenz: Vec<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LogicalReport {
    /// Largest first.
    pub rows: Vec<LogicalRow>,
    pub has_more: bool,
    /// Of all that match.
    pub spread: Spread,
    /// The measures of all that match, by the 256 slices of the hash space.
    pub slices: Vec<u64>,
}

impl Account {
    /// Ranks the logical partitions of a container. Reads the counters of all of them.
    pub fn logical_partitions(&self, link: &Link, query: &LogicalQuery) -> Result<LogicalReport> {
        run_blocking(|| {
            let mut last = Err(Error::OwnerNotFound);
            for _ in 0..ATTEMPTS {
                let container = self.container(link)?;
                last = rank(&container, query);
                // Ranges that were replaced meanwhile are found again under their new ids.
                if !matches!(last, Err(Error::Partition(partition::Error::Forgotten))) {
                    return last;
                }
            }
            last
        })
    }
}

fn rank(container: &Container, query: &LogicalQuery) -> Result<LogicalReport> {
    let definition = &container.properties.definition;
    let after = query
        .after
        .as_ref()
        .map(|(measure, key)| Rank { measure: *measure, epk: Reverse(definition.epk(key)) });
    let n_rows = query.n_rows.clamp(1, LOGICAL_ROWS_MAX);
    let mut ranking = Ranking { rows: BinaryHeap::new(), n_rows, after, has_more: false };
    let mut classes = Classes::new();
    let mut slices = vec![0_u64; SLICES];
    for range in container.ranges.iter() {
        let charges = charges(definition, range);
        each_logical(definition, range, |row| {
            let charge = charges.get(&row.epk).copied();
            let measure = match query.by {
                LogicalMeasure::Bytes => row.bytes,
                LogicalMeasure::Items => row.n_items,
                LogicalMeasure::Charge => charge.map_or(0, Charge::hundredths),
            };
            if query.prefix.as_deref().is_none_or(|prefix| begins_with(&row.key, prefix)) {
                classes.add(measure);
                if let Some(slice) = slices.get_mut(usize::from(definition.slice(&row.epk))) {
                    *slice = slice.saturating_add(measure);
                }
                ranking.offer(LogicalRow { charge, measure, ..row });
            }
        })?;
    }
    let has_more = ranking.has_more;
    Ok(LogicalReport { rows: ranking.into_rows(), has_more, spread: classes.spread(), slices })
}

fn charges(definition: &PartitionKeyDefinition, range: &Range) -> HashMap<Epk, Charge> {
    let keys = range.meter.watched_keys().into_iter();
    keys.map(|hot| (definition.epk(&hot.key), hot.charge)).collect()
}

fn each_logical(
    definition: &PartitionKeyDefinition,
    range: &Range,
    mut see: impl FnMut(LogicalRow),
) -> Result<()> {
    let mut after: Option<Logical> = None;
    loop {
        let found = range.partition.logical_partitions(after.as_ref(), SCAN_STEP)?;
        let is_last = found.len() < SCAN_STEP;
        let mut last = None;
        for logical in found {
            let at = Logical::new(definition, logical.key);
            last = Some(at.clone());
            let (n_items, bytes, lsn) = (logical.n_items, logical.bytes, logical.lsn);
            let (key, epk, range) = (at.key, at.epk, range.id());
            let place = definition.place(&epk);
            let (charge, measure) = (None, 0);
            see(LogicalRow { key, epk, place, range, n_items, bytes, lsn, charge, measure });
        }
        if is_last || last.is_none() {
            return Ok(());
        }
        after = last;
    }
}

/// Text is compared without its quotes, everything else as JSON.
fn begins_with(key: &PartitionKey, prefix: &str) -> bool {
    let Some(first) = key.components().first() else { return prefix.is_empty() };
    match first.as_str() {
        Some(text) => text.starts_with(prefix),
        None => key.to_header().trim_start_matches('[').starts_with(prefix),
    }
}

/// The order of rows: larger measures are greater, of equal ones the lower hash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    measure: u64,
    epk: Reverse<Epk>,
}

struct Ranked(Rank, LogicalRow);

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.0 == other.0
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// The highest rows below a given one.
struct Ranking {
    rows: BinaryHeap<Reverse<Ranked>>,
    n_rows: usize,
    after: Option<Rank>,
    has_more: bool,
}

impl Ranking {
    fn offer(&mut self, row: LogicalRow) {
        let rank = Rank { measure: row.measure, epk: Reverse(row.epk.clone()) };
        if self.after.as_ref().is_some_and(|after| rank >= *after) {
            return;
        }
        if self.rows.len() >= self.n_rows {
            self.has_more = true;
            if self.rows.peek().is_some_and(|Reverse(lowest)| rank <= lowest.0) {
                return;
            }
            self.rows.pop();
        }
        self.rows.push(Reverse(Ranked(rank, row)));
    }

    fn into_rows(self) -> Vec<LogicalRow> {
        // Sorted by the reverse of the order: largest first.
        self.rows.into_sorted_vec().into_iter().map(|Reverse(Ranked(_, row))| row).collect()
    }
}

/// Counts and sums by size, exact below 64 and within 1.6 % above.
struct Classes(Vec<(u64, u64)>);

const EXACT_BITS: u32 = 6;
const N_CLASSES: usize = 64 * 59;
/// Points of the curve that are handed out.
const LORENZ_POINTS: usize = 64;

impl Classes {
    fn new() -> Classes {
        Classes(vec![(0, 0); N_CLASSES])
    }

    fn index(measure: u64) -> usize {
        if measure < 1 << EXACT_BITS {
            return usize::try_from(measure).unwrap_or_default();
        }
        let exponent = measure.ilog2();
        let mantissa = (measure >> (exponent - EXACT_BITS)) & ((1 << EXACT_BITS) - 1);
        let class = u64::from(exponent - EXACT_BITS + 1) << EXACT_BITS | mantissa;
        usize::try_from(class).unwrap_or_default()
    }

    fn add(&mut self, measure: u64) {
        if let Some((n, sum)) = self.0.get_mut(Classes::index(measure)) {
            *n += 1;
            *sum = sum.saturating_add(measure);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "shares need no more than 52 bits")]
    fn spread(&self) -> Spread {
        let n_logical: u64 = self.0.iter().map(|(n, _)| n).sum();
        let total: u64 = self.0.iter().fold(0, |all, (_, sum)| all.saturating_add(*sum));
        let (n_all, sum_all) = (n_logical.max(1) as f64, total.max(1) as f64);
        let mut histogram = Vec::new();
        let mut points = vec![(0.0, 0.0)];
        let (mut n_below, mut sum_below, mut twice_area) = (0_u64, 0_u64, 0.0);
        for (class, (n, sum)) in self.0.iter().enumerate().filter(|(_, (n, _))| *n > 0) {
            let power = match class {
                0 => 0,
                1..64 => 1 + usize::try_from(class.ilog2()).unwrap_or_default(),
                _ => (class >> EXACT_BITS) + usize::try_from(EXACT_BITS).unwrap_or_default(),
            };
            histogram.resize(histogram.len().max(power + 1), 0);
            if let Some(count) = histogram.get_mut(power) {
                *count += n;
            }
            let before = sum_below as f64 / sum_all;
            (n_below, sum_below) = (n_below + n, sum_below.saturating_add(*sum));
            let share = sum_below as f64 / sum_all;
            twice_area += *n as f64 / n_all * (before + share);
            points.push((n_below as f64 / n_all, share));
        }
        let gini = if total == 0 { 0.0 } else { (1.0 - twice_area).clamp(0.0, 1.0) };
        let top = |n: u64| self.top_sum(n) as f64 / sum_all;
        let top_shares = [top(1), top(n_logical.div_ceil(100)), top(n_logical.div_ceil(10))];
        Spread { n_logical, total, histogram, gini, top_shares, lorenz: thin(&points) }
    }

    /// What the `n` largest have together; within one class all have the same.
    fn top_sum(&self, n: u64) -> u64 {
        let (mut left, mut top) = (n, 0_u64);
        for (count, sum) in self.0.iter().rev().filter(|(count, _)| *count > 0) {
            let taken = left.min(*count);
            let part = u128::from(*sum) * u128::from(taken) / u128::from(*count);
            top = top.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
            left -= taken;
        }
        top
    }
}

/// Leaves out points until few are left; the ends stay.
fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(LORENZ_POINTS).max(1);
    let mut kept: Vec<_> = points.iter().step_by(step).copied().collect();
    if kept.last() != points.last() {
        kept.extend(points.last());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(measures: &[u64]) -> Spread {
        let mut classes = Classes::new();
        for measure in measures {
            classes.add(*measure);
        }
        classes.spread()
    }

    fn is_close(found: [f64; 3], expected: [f64; 3]) -> bool {
        found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9)
    }

    #[test]
    fn evenness_is_between_none_and_all() {
        let even = spread(&[50; 100]);
        assert!(even.gini.abs() < 1e-9, "{}", even.gini);
        assert!(is_close(even.top_shares, [0.01, 0.01, 0.1]));
        let mut one = vec![0; 99];
        one.push(1_000_000);
        let one = spread(&one);
        assert!((one.gini - 0.99).abs() < 1e-9, "{}", one.gini);
        assert!(is_close(one.top_shares, [1.0; 3]));
        // 1, 2, …, n has a Gini of a third, less 1/(3n).
        let line: Vec<u64> = (1..=10_000).collect();
        let line = spread(&line);
        assert!((line.gini - 1.0 / 3.0).abs() < 0.001, "{}", line.gini);
        assert_eq!((line.n_logical, line.total), (10_000, 50_005_000));
        assert!(spread(&[]).gini.abs() < 1e-9);
    }

    #[test]
    fn the_histogram_counts_powers_of_two() {
        assert_eq!(spread(&[0, 1, 2, 3, 4, 7, 8]).histogram, [1, 1, 2, 2, 1]);
        let large = spread(&[1 << 20, (1 << 21) - 1, 1 << 21]).histogram;
        assert_eq!(large.len(), 23);
        assert_eq!(large[21..], [2, 1]);
        assert_eq!(spread(&[u64::MAX]).histogram.len(), 65);
    }

    #[test]
    fn the_curve_ends_in_the_corner_and_stays_short() {
        let many: Vec<u64> = (0..1_000_000).step_by(7).collect();
        let curve = spread(&many).lorenz;
        assert!(curve.len() <= LORENZ_POINTS + 2, "{}", curve.len());
        assert_eq!((curve[0], curve[curve.len() - 1]), ((0.0, 0.0), (1.0, 1.0)));
        assert!(curve.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
    }
}
