//! The id of a range inside one container.

use std::{fmt, str::FromStr};

/// The id of a range: unique in its container, never used again after a split or merge.
///
/// Wire: a decimal string (`"0"`, `"17"`) in range feeds, `x-ms-documentdb-partitionkeyrangeid` and
/// session tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RangeId(pub u32);

impl RangeId {
    /// Parses the decimal form; `None` for anything else, signs and leading zeros included.
    pub fn parse(text: &str) -> Option<RangeId> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let is_shortest = text == "0" || !text.starts_with('0');
        if is_plain && is_shortest { text.parse().ok().map(RangeId) } else { None }
    }
}

/// Why a text is not a range id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a range id is a decimal number below 2^32")]
pub struct RangeIdError;

impl FromStr for RangeId {
    type Err = RangeIdError;

    fn from_str(text: &str) -> Result<RangeId, RangeIdError> {
        RangeId::parse(text).ok_or(RangeIdError)
    }
}

impl fmt::Display for RangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shortest_decimal_form_is_a_range_id() {
        assert_eq!(RangeId::parse("0"), Some(RangeId(0)));
        assert_eq!(RangeId::parse("4294967295"), Some(RangeId(u32::MAX)));
        for bad in ["", "+1", "-1", "01", "1 ", "4294967296", "M", "1.0", "٣"] {
            assert_eq!(RangeId::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_text_form_reads_back() {
        assert_eq!(RangeId(17).to_string().parse(), Ok(RangeId(17)));
    }
}
