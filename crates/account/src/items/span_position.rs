//! The position of a range in a change feed, with the span of the hash space that it holds in.
//!
//! Wire: `LSN@MIN-MAX`, the bounds as hex, in the quotes of an etag. After a merge the positions of both parents are
//! still told apart by it, whichever range they are sent to.

use std::fmt;

use model::{Epk, EpkRange};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpanPosition {
    pub(super) lsn: u64,
    pub(super) epks: EpkRange,
}

impl SpanPosition {
    pub(super) fn parse(text: &str) -> Option<SpanPosition> {
        let (lsn, span) = text.split_once('@')?;
        let (min, max) = span.split_once('-')?;
        let epks = EpkRange::new(Epk::parse(min).ok()?, Epk::parse(max).ok()?)?;
        Some(SpanPosition { lsn: lsn.parse().ok()?, epks })
    }
}

impl fmt::Display for SpanPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}-{}", self.lsn, self.epks.min(), self.epks.max())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_reads_back_and_nothing_else_does() {
        let bound = |text| Epk::parse(text).unwrap();
        for (min, max) in [("", "3F"), ("3F", "FF"), ("05C1D7", "05C1D7A4")] {
            let epks = EpkRange::new(bound(min), bound(max)).unwrap();
            let position = SpanPosition { lsn: 77, epks };
            let text = position.to_string();
            assert_eq!(text, format!("77@{min}-{max}"));
            assert_eq!(SpanPosition::parse(&text), Some(position));
        }
        for text in [
            "", "77", "77@", "@-FF", "x@-FF", "77@FF", "77@FF-3F", "77@3F-3F", "77@3-FF", "-1@-FF",
            "77@-FF-",
        ] {
            assert_eq!(SpanPosition::parse(text), None, "{text}");
        }
    }
}
