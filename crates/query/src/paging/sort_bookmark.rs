//! Bookmarks of truncated sort keys: how far an ordered query came, where its keys are too long for a token.

use std::cmp::Ordering;

use model::Value;

use crate::paging::sort_key::{CHAR_BYTES_MAX, QUOTES, RowPosition, SortKey, SortOrder};
use crate::value::digest;

/// The beginning of some sort keys: whole ones, then perhaps the beginning of a longer text. Many rows may begin so.
///
/// Invariant: of keys that begin as a mark says, [`SortBookmark::of`] takes that mark again, so that marks part rows into classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SortBookmark {
    pub(crate) keys: Vec<SortKey>,
    pub(crate) beginning: Option<String>,
}

impl SortBookmark {
    /// Takes as much of the keys as so many bytes surely hold.
    pub(crate) fn of(keys: &[SortKey], bytes_max: usize) -> SortBookmark {
        let mut mark = SortBookmark::default();
        let mut room = bytes_max;
        for key in keys {
            let bytes = key.wire_bytes_max();
            if let (SortKey::Primitive(Value::String(text)), true) = (key, bytes > room) {
                let n_chars = room.saturating_sub(QUOTES) / CHAR_BYTES_MAX;
                mark.beginning = Some(text.chars().take(n_chars).collect());
            }
            if bytes > room {
                break;
            }
            room -= bytes;
            mark.keys.push(key.clone());
        }
        mark
    }

    /// Returns whether a mark of so many bytes has keys whole.
    pub(crate) fn is_whole(keys: &[SortKey], bytes_max: usize) -> bool {
        keys.iter().map(SortKey::wire_bytes_max).sum::<usize>() <= bytes_max
    }

    /// Compares keys with the mark, in an order; those that begin as it says are equal to it.
    pub(crate) fn compare(&self, order: &SortOrder, keys: &[SortKey]) -> Ordering {
        let by_keys = order.compare_keys(keys, &self.keys);
        let next = self.keys.len();
        let (Some(beginning), Some(key), true) = (&self.beginning, keys.get(next), by_keys.is_eq())
        else {
            return by_keys;
        };
        match key {
            SortKey::Primitive(Value::String(text))
                if text.len() > beginning.len() && text.starts_with(beginning.as_str()) =>
            {
                Ordering::Equal
            }
            key => {
                // The lowest text that begins so and is longer.
                let own = SortKey::Primitive(Value::from(format!("{beginning}\0")));
                order.compare_key(next, key, &own)
            }
        }
    }
}

/// How far a query came among rows that begin alike: rows with the very keys of the last one up to its item, and a
/// number of the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Among {
    pub(crate) mark: SortBookmark,
    /// Of the keys of the last row.
    pub(crate) digest: u64,
    pub(crate) number: u64,
    pub(crate) row: u64,
    pub(crate) n_others: u64,
    /// All rows up to the last one that begin so.
    pub(crate) n_rows: u64,
}

impl Among {
    /// Returns whether a row that begins so, the next one in order, is among those that were passed; `n_others` are
    /// still to pass.
    pub(crate) fn has_passed(
        &self,
        order: &SortOrder,
        place: &RowPosition,
        n_others: &mut u64,
    ) -> bool {
        if self.mark.compare(order, &place.keys).is_ne() {
            return false;
        }
        if digest_of(&place.keys) == self.digest {
            let by_number = order.compare_numbers(place.number, self.number);
            return by_number.then(place.row.cmp(&self.row)).is_le();
        }
        let is_passed = *n_others > 0;
        *n_others = n_others.saturating_sub(1);
        is_passed
    }
}

/// Counts the rows that begin as the last one does, as they pass in order.
#[derive(Debug, Default)]
pub(crate) struct Passing {
    mark: Option<SortBookmark>,
    digest: u64,
    n_same: u64,
    n_rows: u64,
}

impl Passing {
    pub(crate) fn pass(&mut self, keys: &[SortKey], bytes_max: usize) {
        if SortBookmark::is_whole(keys, bytes_max) {
            self.mark = None;
            return;
        }
        let mark = Some(SortBookmark::of(keys, bytes_max));
        if self.mark != mark {
            *self = Passing { mark, ..Passing::default() };
        }
        let digest = digest_of(keys);
        if self.digest != digest {
            self.n_same = 0;
        }
        self.digest = digest;
        self.n_same += 1;
        self.n_rows += 1;
    }

    /// Returns how far it came with the last row, or the last item; `None` when its keys can be named whole.
    pub(crate) fn among(&self, last: &RowPosition, bytes_max: usize) -> Option<Among> {
        if SortBookmark::is_whole(&last.keys, bytes_max) {
            return None;
        }
        let (mark, digest) = (SortBookmark::of(&last.keys, bytes_max), digest_of(&last.keys));
        let n_rows = if self.mark.as_ref() == Some(&mark) { self.n_rows } else { 0 };
        let n_same = if self.digest == digest { self.n_same } else { 0 };
        let n_others = n_rows.saturating_sub(n_same);
        Some(Among { mark, digest, number: last.number, row: last.row, n_others, n_rows })
    }
}

fn digest_of(keys: &[SortKey]) -> u64 {
    let text: String = keys.iter().map(|key| key.to_wire().to_text()).collect();
    digest(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> SortKey {
        SortKey::new(Some(&Value::from(text)))
    }

    #[test]
    fn a_mark_tells_rows_before_it_from_rows_after_it() {
        let long = format!("m{}", "ä".repeat(500));
        let mark = SortBookmark::of(&[text("a"), text(&long), text("z")], 200);
        assert_eq!(mark.keys, [text("a")]);
        assert!(long.starts_with(mark.beginning.as_deref().unwrap()));
        for (descending, expected) in [
            (false, [Ordering::Less, Ordering::Less, Ordering::Equal, Ordering::Greater]),
            (true, [Ordering::Less, Ordering::Greater, Ordering::Equal, Ordering::Less]),
        ] {
            let order = SortOrder::of(&[false, descending, false]);
            let rows = [("0", "z"), ("a", "m"), ("a", long.as_str()), ("a", "n")];
            let found = rows.map(|(first, second)| {
                mark.compare(&order, &[text(first), text(second), text("y")])
            });
            assert_eq!(found, expected, "descending: {descending}");
        }
        let order = SortOrder::of(&[false, false, false]);
        let number = SortKey::new(Some(&Value::from(1)));
        assert_eq!(mark.compare(&order, &[text("a"), number, text("y")]), Ordering::Less);
        assert_eq!(mark.compare(&order, &[text("b"), text("a"), text("y")]), Ordering::Greater);
    }

    #[test]
    fn keys_that_fit_are_whole() {
        let keys = [SortKey::Undefined, text("x")];
        assert_eq!(
            SortBookmark::of(&keys, 100),
            SortBookmark { keys: keys.to_vec(), beginning: None }
        );
        assert_eq!(SortBookmark::of(&keys, 0), SortBookmark::default());
    }

    #[test]
    fn rows_that_begin_as_a_mark_says_have_that_mark() {
        let order = SortOrder::of(&[false, false]);
        let texts = ["", "ä", "ää", "äää", "äääx", "ääääää", "ääz", "b", "x"];
        for one in texts {
            for other in texts {
                let keys = [text("k"), text(one)];
                // Room for the first key and two characters of the second.
                let mark = SortBookmark::of(&keys, 8 + 2 + 12);
                let other = [text("k"), text(other)];
                let is_same = SortBookmark::of(&other, 8 + 2 + 12) == mark;
                assert_eq!(mark.compare(&order, &other).is_eq(), is_same, "{mark:?} {other:?}");
            }
        }
    }
}
