//! The index of `_ts`, which costs no entries: the latest-version feed has each live item once and is in time order.
//! A feed that was merged from several is not: such a partition has no index of times.

use std::ops::Range;

use bytes::Bytes;
use model::{Lsn, Value};
use query::index::{Term, TermSpan};
use query::{Direction, IndexEntry};

use crate::Result;
use crate::keys::CommitPosition;
use crate::reader::Reader;
use crate::record::Change;

/// The path of the time of the last write, as the index writes it.
pub(super) const TIME_PATH: &str = "/_ts";

fn term(ts: u32) -> Term {
    Term::of(&Value::from(i64::from(ts)))
}

/// Returns the first second whose term is not below `bound`; one more than the last second if there is none.
fn first_second(bound: &[u8]) -> u64 {
    let (mut low, mut high) = (0, u64::from(u32::MAX) + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let is_below = u32::try_from(middle).is_ok_and(|ts| term(ts).as_bytes() < bound);
        if is_below {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

impl Reader {
    /// Returns the items last written in a span of seconds, by time and number, after `after` in the direction.
    pub(super) fn times(
        &self,
        span: &TermSpan,
        after: Option<(&[u8], u64)>,
        direction: Direction,
    ) -> Result<impl Iterator<Item = Result<IndexEntry>> + use<'_>> {
        let mut seconds = first_second(&span.start)..first_second(&span.end);
        let after = after.map(|(term, number)| (first_second(term), number));
        match (after, direction) {
            (Some((second, _)), Direction::Forward) => seconds.start = seconds.start.max(second),
            (Some((second, _)), Direction::Backward) => seconds.end = seconds.end.min(second + 1),
            (None, _) => {}
        }
        let mut entries = self.changes_at(seconds, direction)?.peekable();
        Ok(std::iter::from_fn(move || {
            // Within a second the feed is in the order of commits; whoever follows an index wants that of numbers.
            let mut group: Vec<u64> = Vec::new();
            let second = match entries.peek()? {
                Ok(change) => change.ts,
                Err(_) => return entries.next()?.err().map(|error| vec![Err(error)]),
            };
            while let Some(Ok(change)) =
                entries.next_if(|entry| entry.as_ref().is_ok_and(|own| own.ts == second))
            {
                group.push(change.number);
            }
            group.sort_unstable();
            if let Some((_, number)) = after.filter(|(own, _)| *own == u64::from(second)) {
                match direction {
                    Direction::Forward => group.retain(|own| *own > number),
                    Direction::Backward => group.retain(|own| *own < number),
                }
            }
            if direction == Direction::Backward {
                group.reverse();
            }
            let term = term(second);
            let entry =
                |number| Ok(IndexEntry { term: Bytes::copy_from_slice(term.as_bytes()), number });
            Some(group.into_iter().map(entry).collect::<Vec<_>>())
        })
        .flatten())
    }

    fn changes_at(
        &self,
        seconds: Range<u64>,
        direction: Direction,
    ) -> Result<impl Iterator<Item = Result<Change>> + use<'_>> {
        let head = self.head()?;
        let before = |second: u64| match second.checked_sub(1) {
            None => Ok(Lsn::ZERO),
            Some(last) => self.last_not_later_than(last, &head),
        };
        let (first, last) = (before(seconds.start)?, before(seconds.end.max(seconds.start))?);
        let stop = self.keys.change(CommitPosition { lsn: last.next(), seq: 0 });
        let range = self.keys.changes(first).before(&stop);
        let direction = match direction {
            Direction::Forward => store::Direction::Forward,
            Direction::Backward => store::Direction::Backward,
        };
        Ok(self.snapshot.scan(range, direction).map(|entry| {
            let (_, value) = entry?;
            Change::decode(&value)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_found_by_their_terms() {
        for second in [0, 1, 7, 1_700_000_000, u32::MAX] {
            assert_eq!(first_second(term(second).as_bytes()), u64::from(second));
        }
        assert_eq!(first_second(&[0]), 0);
        assert_eq!(first_second(&TermSpan::defined().end), u64::from(u32::MAX) + 1);
        let half = Term::of(&Value::from(1.5));
        assert_eq!(first_second(half.as_bytes()), 2);
    }
}
