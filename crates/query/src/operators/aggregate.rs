//! Folds the values of one group.
//!
//! Undefined values are skipped everywhere; what a wrong type does differs by aggregate.

use std::cmp::Ordering;
use std::collections::HashSet;

use model::Value;
use model::json::ELEMENT_BYTES;

use crate::context::Run;
use crate::error::Result;
use crate::eval::SEEN_BYTES;
use crate::functions::AggregateKind;
use crate::value::{Datum, Maybe, integer, key_bytes_max, number, value_key};

/// Bytes of a value in a list that may be twice as long as its content.
const VALUE_BYTES: usize = 2 * ELEMENT_BYTES;

/// An aggregate under construction.
#[derive(Debug)]
pub(crate) enum Accumulator {
    Count(i64),
    CountIf(i64),
    Sum(Sum),
    Average(Sum),
    /// The best value so far; poisoned by an array or object.
    Extreme {
        wanted: Ordering,
        best: Option<Value>,
        is_poisoned: bool,
    },
    List(Vec<Value>),
    Set {
        seen: HashSet<Vec<u8>>,
        values: Vec<Value>,
    },
}

/// A sum that stays an integer as long as it can. Poisoned by a value that is no number.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    double: f64,
    exact: Option<i64>,
    count: i64,
    is_poisoned: bool,
}

impl Sum {
    fn new() -> Sum {
        Sum { exact: Some(0), ..Sum::default() }
    }

    fn add(&mut self, value: &Datum<'_>) {
        let Some(double) = value.as_f64() else {
            self.is_poisoned = true;
            return;
        };
        self.double += double;
        self.count += 1;
        self.exact = self.exact.zip(value.as_integer()).and_then(|(sum, own)| sum.checked_add(own));
    }

    fn merge(&mut self, other: &Sum) {
        self.double += other.double;
        self.count += other.count;
        self.is_poisoned |= other.is_poisoned;
        self.exact = self.exact.zip(other.exact).and_then(|(sum, own)| sum.checked_add(own));
    }

    fn total(&self) -> Maybe<'static> {
        match (self.is_poisoned, self.exact) {
            (true, _) => None,
            (false, Some(exact)) => integer(exact),
            (false, None) => number(self.double),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    fn mean(&self) -> Maybe<'static> {
        if self.is_poisoned || self.count == 0 {
            return None;
        }
        number(self.double / self.count as f64)
    }
}

impl Accumulator {
    pub(crate) fn new(kind: AggregateKind) -> Accumulator {
        let extreme = |wanted| Accumulator::Extreme { wanted, best: None, is_poisoned: false };
        match kind {
            AggregateKind::Count => Accumulator::Count(0),
            AggregateKind::CountIf => Accumulator::CountIf(0),
            AggregateKind::Sum => Accumulator::Sum(Sum::new()),
            AggregateKind::Average => Accumulator::Average(Sum::new()),
            AggregateKind::Min => extreme(Ordering::Less),
            AggregateKind::Max => extreme(Ordering::Greater),
            AggregateKind::MakeList => Accumulator::List(Vec::new()),
            AggregateKind::MakeSet => Accumulator::Set { seen: HashSet::new(), values: Vec::new() },
        }
    }

    /// Adds a value; returns the bytes by which the accumulator grew, for which the run has taken memory.
    pub(crate) fn add(&mut self, value: Maybe<'_>, run: &Run<'_>) -> Result<usize> {
        let Some(datum) = value else { return Ok(0) };
        match self {
            Accumulator::Count(count) => *count += 1,
            Accumulator::CountIf(count) => *count += i64::from(datum.as_bool() == Some(true)),
            Accumulator::Sum(sum) | Accumulator::Average(sum) => sum.add(&datum),
            Accumulator::Extreme { wanted, best, is_poisoned } => {
                let Some(value) = datum.value() else { return Ok(0) };
                if !value.is_scalar() {
                    *is_poisoned = true;
                } else if best
                    .as_ref()
                    .is_none_or(|best| model::order(Some(value), Some(best)) == *wanted)
                {
                    let before = best.as_ref().map_or(0, Value::heap_bytes);
                    *best = run.own(datum)?;
                    let after = best.as_ref().map_or(0, Value::heap_bytes);
                    return Ok(after.saturating_sub(before));
                }
            }
            Accumulator::List(list) => {
                let Some(value) = run.own(datum)? else { return Ok(0) };
                let bytes = VALUE_BYTES + value.heap_bytes();
                list.push(value);
                return Ok(bytes);
            }
            Accumulator::Set { seen, values } => {
                let Some(value) = datum.value() else { return Ok(0) };
                let key_bytes = key_bytes_max(value) + SEEN_BYTES;
                run.reserve(key_bytes)?;
                if seen.insert(value_key(Some(value)))
                    && let Some(value) = run.own(datum)?
                {
                    let bytes = key_bytes + VALUE_BYTES + value.heap_bytes();
                    values.push(value);
                    return Ok(bytes);
                }
            }
        }
        Ok(0)
    }

    /// Takes in what later items added up to.
    pub(crate) fn merge(&mut self, other: Accumulator, run: &Run<'_>) -> Result<()> {
        match (self, other) {
            (Accumulator::Count(own), Accumulator::Count(count))
            | (Accumulator::CountIf(own), Accumulator::CountIf(count)) => *own += count,
            (Accumulator::Sum(own), Accumulator::Sum(sum))
            | (Accumulator::Average(own), Accumulator::Average(sum)) => own.merge(&sum),
            (own @ Accumulator::Extreme { .. }, Accumulator::Extreme { best, is_poisoned, .. }) => {
                own.add(best.map(Datum::Owned), run)?;
                if let Accumulator::Extreme { is_poisoned: own, .. } = own {
                    *own |= is_poisoned;
                }
            }
            (Accumulator::List(own), Accumulator::List(list)) => own.extend(list),
            (own @ Accumulator::Set { .. }, Accumulator::Set { values, .. }) => {
                for value in values {
                    own.add(Some(Datum::Owned(value)), run)?;
                }
            }
            // Invariant: both were made for the same aggregate.
            (_, other) => debug_assert!(false, "{other:?} is another aggregate"),
        }
        Ok(())
    }

    /// Returns the result.
    pub(crate) fn finish(self) -> Maybe<'static> {
        match self {
            Accumulator::Count(count) | Accumulator::CountIf(count) => integer(count),
            Accumulator::Sum(sum) => sum.total(),
            Accumulator::Average(sum) => sum.mean(),
            Accumulator::Extreme { best, is_poisoned, .. } => {
                best.filter(|_| !is_poisoned).map(Datum::Owned)
            }
            Accumulator::List(values) | Accumulator::Set { values, .. } => {
                Some(Datum::Owned(Value::Array(values)))
            }
        }
    }
}
