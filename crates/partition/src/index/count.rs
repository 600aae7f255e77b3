//! Counts index terms as the service does when it charges for a write (`docs/charges.md`).
//!
//! A path with scalars is one term, however many stand there, and each different value is one more. Arrays and objects
//! with content count by themselves.

use std::cmp::Ordering;
use std::collections::HashMap;

use query::index::Counted;

use super::terms::{Held, Terms, Wanted};

/// `_ts`, which every indexed item has.
const TIME: usize = 1;

impl Held {
    /// Counts the terms of a stored item.
    pub(crate) fn n_counted(&self) -> usize {
        TIME + sum(&self.perhaps)
    }

    /// Counts the terms that go and those that come when the item becomes another version, `_ts` left out.
    pub(crate) fn n_changed(&self, new: &Wanted) -> usize {
        changed(&self.perhaps, &new.terms) + new.unnumbered_counts().values().sum::<usize>()
    }
}

impl Wanted {
    /// Counts the terms of a new version.
    pub(crate) fn n_counted(&self) -> usize {
        TIME + sum(&self.terms) + self.unnumbered_counts().values().sum::<usize>()
    }

    /// The same as [`Held::n_changed`], from a version that is not stored yet.
    pub(crate) fn n_changed(&self, new: &Wanted) -> usize {
        let (own, theirs) = (self.unnumbered_counts(), new.unnumbered_counts());
        let only = |one: &HashMap<_, usize>, other: &HashMap<_, usize>| -> usize {
            one.iter().filter(|(key, _)| !other.contains_key(*key)).map(|(_, count)| *count).sum()
        };
        changed(&self.terms, &new.terms) + only(&own, &theirs) + only(&theirs, &own)
    }

    /// What is counted at paths without a number: a path by itself, and a path with a term.
    fn unnumbered_counts(&self) -> HashMap<(&str, Option<&[u8]>), usize> {
        let mut counts = HashMap::new();
        for (path, term, counted) in &self.unnumbered {
            counts.insert((path.as_str(), Some(term.as_slice())), weight(*counted));
            if *counted == Counted::PathAndValue {
                counts.insert((path.as_str(), None), 1);
            }
        }
        counts
    }
}

/// What an entry counts, its path left out.
fn weight(counted: Counted) -> usize {
    match counted {
        Counted::PathAndValue | Counted::Once => 1,
        Counted::Twice => 2,
        Counted::Never => 0,
    }
}

fn sum(terms: &Terms) -> usize {
    paths(terms).len() + terms.counted().map(|(_, _, counted)| weight(counted)).sum::<usize>()
}

/// The paths that count, ascending.
fn paths(terms: &Terms) -> Vec<u16> {
    let with_path = terms.counted().filter(|(_, _, counted)| *counted == Counted::PathAndValue);
    let mut paths: Vec<u16> = with_path.map(|(path, _, _)| path).collect();
    paths.dedup();
    paths
}

/// Counts what only one of two versions has. Both lists are in order.
fn changed(old: &Terms, new: &Terms) -> usize {
    let (mut left, mut right) = (old.counted().peekable(), new.counted().peekable());
    let mut total = n_other_paths(&paths(old), &paths(new));
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some(one), Some(two)) => (one.0, one.1).cmp(&(two.0, two.1)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return total,
        };
        let one = left.next_if(|_| order.is_le()).map_or(0, |entry| weight(entry.2));
        let two = right.next_if(|_| order.is_ge()).map_or(0, |entry| weight(entry.2));
        total += one.abs_diff(two);
    }
}

fn n_other_paths(old: &[u16], new: &[u16]) -> usize {
    let n_missing = |list: &[u16], other: &[u16]| {
        list.iter().filter(|path| other.binary_search(path).is_err()).count()
    };
    n_missing(old, new) + n_missing(new, old)
}

#[cfg(test)]
mod tests {
    use query::index::IndexPolicy;

    use super::*;
    use crate::index::PathDictionary;

    fn wanted(dictionary: &mut PathDictionary, text: &str, is_numbered: bool) -> Wanted {
        let wanted = Wanted::of(text.as_bytes(), &dictionary.view()).unwrap();
        if !is_numbered {
            return wanted;
        }
        for (path, _, _) in &wanted.unnumbered {
            dictionary.number_of(path);
        }
        Wanted::of(text.as_bytes(), &dictionary.view()).unwrap()
    }

    /// Items of recorded creates, and the terms that their charges tell.
    #[test]
    fn terms_are_those_of_recorded_creates() {
        #[rustfmt::skip]
        let table = [
            (r#"{"id":"a","pk":"b"}"#, 5),
            (r#"{"id":"a","pk":"b","s":"c"}"#, 7),
            (r#"{"id":"a","pk":"b","n":1,"s":"c"}"#, 9),
            (r#"{"obj":{"a":{"b":1}}}"#, 1 + 5),
            (r#"{"arr":[1,"a",null,[2]]}"#, 1 + 9),
            (r#"{"e":[],"o":{}}"#, 1 + 4),
            (r#"{"arr":[1,1,1]}"#, 1 + 3),
            (r#"{"arr":[{"a":1},{"a":2}]}"#, 1 + 1 + 2 + 3),
        ];
        for (text, expected) in table {
            for is_numbered in [false, true] {
                let mut dictionary = PathDictionary::for_tests(&IndexPolicy::all());
                let wanted = wanted(&mut dictionary, text, is_numbered);
                assert_eq!(wanted.n_counted(), expected, "{text}, numbered: {is_numbered}");
            }
        }
    }

    #[test]
    fn a_replace_counts_what_goes_and_what_comes() {
        #[rustfmt::skip]
        let table = [
            (r#"{"a":1,"b":2}"#,  r#"{"a":1,"b":2}"#,  0),
            (r#"{"a":1,"b":2}"#,  r#"{"b":2.0,"a":1}"#, 0),
            (r#"{"a":1,"b":2}"#,  r#"{"a":1,"b":3}"#,  2),
            (r#"{"a":1}"#,        r#"{"a":1,"b":3}"#,  2),
            (r#"{"a":[]}"#,       r#"{"a":[1]}"#,      1 + 2),
            (r#"{"a":[1]}"#,      r#"{"a":[1,2]}"#,    1),
            (r#"{"a":{"b":1}}"#,  "{}",                1 + 2),
        ];
        for (old, new, expected) in table {
            for is_numbered in [false, true] {
                let mut dictionary = PathDictionary::for_tests(&IndexPolicy::all());
                wanted(&mut dictionary, old, true);
                let after = wanted(&mut dictionary, new, is_numbered);
                let stored = Held::stored(old.as_bytes(), &dictionary.view()).unwrap();
                assert_eq!(stored.n_changed(&after), expected, "{old} {new}");
                let before = wanted(&mut dictionary, old, true);
                assert_eq!(before.n_changed(&after), expected, "{old} {new}, in one transaction");
            }
        }
    }
}
