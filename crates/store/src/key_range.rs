//! Half-open spans of keys, and the two ways to walk them.

use std::ops::Bound;

use bytes::Bytes;

/// The order of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the lowest key to the highest.
    Forward,
    /// From the highest key to the lowest.
    Backward,
}

/// The half-open span `[start, end)` of keys in byte order; without an end it runs to the last key.
///
/// A range with `start >= end` is legal and empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    start: Bytes,
    end: Option<Bytes>,
}

impl KeyRange {
    /// Spans `[start, end)`.
    pub fn new(start: impl Into<Bytes>, end: impl Into<Bytes>) -> KeyRange {
        KeyRange { start: start.into(), end: Some(end.into()) }
    }

    /// Spans every key.
    pub fn all() -> KeyRange {
        KeyRange { start: Bytes::new(), end: None }
    }

    /// Spans `start` and every key above it.
    pub fn from(start: impl Into<Bytes>) -> KeyRange {
        KeyRange { start: start.into(), end: None }
    }

    /// Spans every key that begins with `prefix`, the prefix itself included.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        KeyRange { start: Bytes::copy_from_slice(prefix), end: successor(prefix) }
    }

    /// Narrows the range to keys above `key`: how a forward scan goes on after its last key.
    #[must_use]
    pub fn after(mut self, key: &[u8]) -> KeyRange {
        let mut next = Vec::with_capacity(key.len() + 1);
        next.extend_from_slice(key);
        next.push(0);
        self.start = self.start.max(Bytes::from(next));
        self
    }

    /// Narrows the range to keys below `key`: how a backward scan goes on after its last key.
    #[must_use]
    pub fn before(mut self, key: &[u8]) -> KeyRange {
        let key = Bytes::copy_from_slice(key);
        self.end = Some(match self.end.take() {
            Some(end) => end.min(key),
            None => key,
        });
        self
    }

    /// Returns the lowest key that may be inside.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// Returns the lowest key above the range, or `None` when it runs to the last key.
    pub fn end(&self) -> Option<&[u8]> {
        self.end.as_deref()
    }

    /// Returns true when no key can be inside.
    pub fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }

    /// Returns true when `key` is inside.
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start() && self.end().is_none_or(|end| key < end)
    }

    /// Returns true when every key of `other` is inside.
    pub(crate) fn covers(&self, other: &KeyRange) -> bool {
        let ends_within = match (self.end(), other.end()) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(other)) => other <= own,
        };
        other.is_empty() || (self.start() <= other.start() && ends_within)
    }

    /// Returns the bounds in the form that ordered maps take.
    pub(crate) fn as_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Included(self.start()), self.end().map_or(Bound::Unbounded, Bound::Excluded))
    }
}

/// The lowest key above all keys that begin with `prefix`; none when every byte is `FF`.
fn successor(prefix: &[u8]) -> Option<Bytes> {
    let kept = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix.get(..=kept)?.to_vec();
    if let Some(last) = next.last_mut() {
        *last += 1;
    }
    Some(next.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_where_the_next_one_starts() {
        #[rustfmt::skip]
        let table: [(&[u8], Option<&[u8]>); 5] = [
            (b"a",              Some(b"b")),
            (b"a\xff",          Some(b"b")),
            (b"a\x00",          Some(b"a\x01")),
            (b"\xff\xff",       None),
            (b"",               None),
        ];
        for (prefix, end) in table {
            assert_eq!(KeyRange::prefix(prefix).end(), end, "{prefix:?}");
        }
    }

    #[test]
    fn a_range_holds_its_start_and_not_its_end() {
        let range = KeyRange::new("b", "d");
        for (key, inside) in [("a", false), ("b", true), ("c\u{7f}", true), ("d", false)] {
            assert_eq!(range.contains(key.as_bytes()), inside, "{key}");
        }
        assert!(!range.is_empty());
        assert!(KeyRange::new("d", "d").is_empty());
        assert!(KeyRange::new("d", "b").is_empty());
        assert!(!KeyRange::all().is_empty());
    }

    #[test]
    fn resuming_never_widens_a_range() {
        let range = KeyRange::new("b", "d");
        assert_eq!(range.clone().after(b"c").start(), b"c\0");
        assert_eq!(range.clone().after(b"a").start(), b"b");
        assert_eq!(range.clone().before(b"c").end(), Some(&b"c"[..]));
        assert_eq!(range.before(b"z").end(), Some(&b"d"[..]));
        assert_eq!(KeyRange::all().before(b"z").end(), Some(&b"z"[..]));
    }
}
