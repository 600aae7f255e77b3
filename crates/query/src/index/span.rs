//! Spans of terms and lists of them.

use super::term::{Tag, Term, successor};

/// The terms from `start` on and before `end`. Both bounds also bound `term · item number`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TermSpan {
    /// The first bytes that belong to the span.
    pub start: Vec<u8>,
    /// The first bytes after it.
    pub end: Vec<u8>,
}

impl TermSpan {
    /// The span of one term.
    pub fn point(term: &Term) -> TermSpan {
        TermSpan { start: term.as_bytes().to_vec(), end: successor(term.as_bytes()) }
    }

    /// Every defined value.
    pub fn defined() -> TermSpan {
        TermSpan::of_tags(Tag::Null, Tag::Object)
    }

    /// The kinds of values, each with its name and its span.
    pub fn kinds() -> [(&'static str, TermSpan); 6] {
        [
            ("null", TermSpan::of_tags(Tag::Null, Tag::Null)),
            ("boolean", TermSpan::of_tags(Tag::False, Tag::True)),
            ("number", TermSpan::of_tags(Tag::Negative, Tag::Positive)),
            ("string", TermSpan::of_tags(Tag::Text, Tag::Text)),
            ("array", TermSpan::of_tags(Tag::Array, Tag::Array)),
            ("object", TermSpan::of_tags(Tag::Object, Tag::Object)),
        ]
    }

    /// The values of some types, which must follow each other in the order of values.
    pub(crate) fn of_tags(first: Tag, last: Tag) -> TermSpan {
        TermSpan { start: vec![first as u8], end: vec![last as u8 + 1] }
    }

    /// Returns whether no term can lie in the span.
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// Returns the term if the span holds only one.
    pub(crate) fn as_point(&self) -> Option<&[u8]> {
        (Term::is_whole(&self.start) && successor(&self.start) == self.end)
            .then_some(self.start.as_slice())
    }

    /// Returns whether a term lies in the span.
    pub fn contains(&self, term: &[u8]) -> bool {
        self.start.as_slice() <= term && term < self.end.as_slice()
    }
}

/// Puts spans in order and joins those that touch.
pub(crate) fn unite(mut spans: Vec<TermSpan>) -> Vec<TermSpan> {
    spans.retain(|span| !span.is_empty());
    if spans.len() < 2 {
        return spans;
    }
    spans.sort_by(|left, right| left.start.cmp(&right.start));
    let mut united: Vec<TermSpan> = Vec::with_capacity(spans.len());
    for span in spans {
        match united.last_mut() {
            // Spans that only touch stay apart: two points are cheaper to read than what lies between.
            Some(last) if span.start < last.end => {
                if span.end > last.end {
                    last.end = span.end;
                }
            }
            _ => united.push(span),
        }
    }
    united
}

/// Returns what lies in both lists; both are in order and without overlap.
pub(crate) fn intersect(left: &[TermSpan], right: &[TermSpan]) -> Vec<TermSpan> {
    let mut common = Vec::new();
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
        let span = TermSpan {
            start: one.start.clone().max(two.start.clone()),
            end: one.end.clone().min(two.end.clone()),
        };
        if one.end <= two.end {
            left.next();
        } else {
            right.next();
        }
        if !span.is_empty() {
            common.push(span);
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: &[u8], end: &[u8]) -> TermSpan {
        TermSpan { start: start.to_vec(), end: end.to_vec() }
    }

    #[test]
    fn lists_of_spans_behave_as_sets() {
        let left =
            unite(vec![span(b"f", b"h"), span(b"a", b"c"), span(b"b", b"d"), span(b"z", b"x")]);
        assert_eq!(left, [span(b"a", b"d"), span(b"f", b"h")]);
        let right = [span(b"c", b"g"), span(b"gg", b"k")];
        let both = [span(b"c", b"d"), span(b"f", b"g"), span(b"gg", b"h")];
        assert_eq!(intersect(&left, &right), both);
        assert_eq!(intersect(&right, &left), both);
        assert!(intersect(&left, &[]).is_empty());
    }
}
