//! The property names of the objects that are open while a text is read, to notice duplicates.
//!
//! Hot path: most objects have a dozen names, which are compared by an eight-byte fingerprint as
//! they arrive. Larger objects are sorted once at their end instead, so that a hostile object with
//! a hundred thousand names costs n·log n and not n².

#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;

use super::text::Text;

/// Objects up to this size are checked name by name.
const PAIRWISE_MAX: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    /// Names of all open objects, the innermost last.
    names: Vec<Name<'a>>,
    /// Where the names of each open object begin.
    starts: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Name<'a> {
    fingerprint: u64,
    text: Text<'a>,
}

impl<'a> Names<'a> {
    #[inline]
    pub(super) fn open(&mut self) {
        const ROOM: usize = 16;
        if self.names.capacity() == 0 {
            self.names.reserve(2 * ROOM);
            self.starts.reserve(ROOM);
        }
        self.starts.push(self.names.len());
    }

    /// Adds a name to the innermost object. Returns false if it is a duplicate.
    #[inline]
    pub(super) fn push(&mut self, text: Text<'a>) -> bool {
        let name = Name { fingerprint: fingerprint(text.decode().as_bytes()), text };
        let start = self.starts.last().copied().unwrap_or_default();
        let siblings = self.names.get(start..).unwrap_or_default();
        let is_new = siblings.len() >= PAIRWISE_MAX || !siblings.iter().any(|one| one.is(&name));
        self.names.push(name);
        is_new
    }

    /// Forgets the innermost object. Returns false if it had a duplicate not yet noticed.
    #[inline]
    pub(super) fn close(&mut self) -> bool {
        let start = self.starts.pop().unwrap_or_default();
        let siblings = self.names.get(start..).unwrap_or_default();
        let is_distinct = siblings.len() <= PAIRWISE_MAX || are_distinct(siblings);
        self.names.truncate(start);
        is_distinct
    }
}

impl Name<'_> {
    #[inline]
    fn is(&self, other: &Name<'_>) -> bool {
        self.fingerprint == other.fingerprint && self.text.decode() == other.text.decode()
    }
}

fn are_distinct(names: &[Name<'_>]) -> bool {
    let mut decoded: Vec<Cow<'_, str>> = names.iter().map(|name| name.text.decode()).collect();
    decoded.sort_unstable();
    decoded.windows(2).all(|pair| pair.first() != pair.last())
}

/// Mixes the length and the outer sixteen bytes: enough to tell ordinary names apart.
#[inline]
fn fingerprint(bytes: &[u8]) -> u64 {
    let length = (bytes.len() as u64).rotate_left(56);
    let (head, tail) = match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
        _ => short_ends(bytes),
    };
    head ^ tail.rotate_left(29) ^ length
}

/// The first and last four bytes of fewer than eight, or all of fewer than four.
#[inline]
fn short_ends(bytes: &[u8]) -> (u64, u64) {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(head), Some(tail)) => {
            (u32::from_le_bytes(*head).into(), u32::from_le_bytes(*tail).into())
        }
        _ => (bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says whether the names, all in one object, are found to be distinct.
    fn is_distinct(names: &[&str]) -> bool {
        let mut open = Names::default();
        open.open();
        let all_new = names.iter().all(|raw| open.push(Text::new(raw, raw.contains('\\'))));
        all_new && open.close()
    }

    #[test]
    fn duplicates_are_found_in_small_and_large_objects() {
        let many: Vec<String> = (0..1000).map(|n| format!("name_{n}")).collect();
        for n_names in [1, 2, PAIRWISE_MAX - 1, PAIRWISE_MAX, PAIRWISE_MAX + 1, 1000] {
            let mut names: Vec<&str> = many[..n_names].iter().map(String::as_str).collect();
            assert!(is_distinct(&names), "{n_names}");
            for duplicate in [0, n_names / 2, n_names - 1] {
                names.push(&many[duplicate]);
                assert!(!is_distinct(&names), "{n_names} and {duplicate}");
                names.pop();
            }
        }
    }

    #[test]
    fn an_escape_does_not_hide_a_duplicate() {
        assert!(!is_distinct(&["a", r"\u0061"]));
        assert!(!is_distinct(&[r"\u0062", "a", "b"]));
        assert!(is_distinct(&["a", r"\u0041"]));
    }

    #[test]
    fn the_same_name_may_stand_in_two_objects() {
        let mut open = Names::default();
        open.open();
        assert!(open.push(Text::new("a", false)));
        open.open();
        assert!(open.push(Text::new("a", false)));
        assert!(open.close());
        assert!(open.push(Text::new("b", false)));
        assert!(!open.push(Text::new("a", false)));
    }

    #[test]
    fn equal_fingerprints_of_different_names_are_no_duplicates() {
        let (one, two) = ("aaaaaaaa--1--bbbbbbbb", "aaaaaaaa--2--bbbbbbbb");
        assert_eq!(fingerprint(one.as_bytes()), fingerprint(two.as_bytes()));
        assert!(is_distinct(&[one, two]));
    }
}
