//! Where to cut a partition in two.

use model::Epk;

use crate::Result;
use crate::keys::{Family, place_of, split_epk};
use crate::partition::Partition;
use crate::reader::Reader;
use crate::record::LogicalRecord;

/// The heavier half may have this many times the bytes of the lighter one before the middle is given up.
const SKEW_MAX: u64 = 2;

/// The answer to where a partition is best cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitPoint {
    /// The middle of the hash range: the bytes on both sides are about the same, or there are none.
    Middle(Epk),
    /// The first key of a logical partition: the middle would leave one side with too much.
    Balanced(Epk),
    /// All items are in one logical partition, which is never divided.
    OneLogical,
    /// The range cannot be halved any more.
    TooNarrow,
}

/// Bytes on both sides of a key.
#[derive(Debug, Clone, Copy, Default)]
struct Sides {
    left: u64,
    right: u64,
}

impl Sides {
    fn is_skewed(self) -> bool {
        self.left.max(self.right) > SKEW_MAX.saturating_mul(self.left.min(self.right))
    }
}

impl Partition {
    /// Looks for the best place to cut. Reads the counters of every logical partition.
    pub fn split_point(&self) -> Result<SplitPoint> {
        let reader = self.reader();
        let middle = reader.settings.definition.split_point(self.epks());
        let middle = middle.filter(|middle| self.epks().split_at(middle).is_some());
        let mut sides = Sides::default();
        let (mut first, mut n_keys) = (None, 0_u64);
        for entry in reader.weights() {
            let (epk, bytes) = entry?;
            if middle.as_ref().is_some_and(|middle| epk < *middle) {
                sides.left += bytes;
            } else {
                sides.right += bytes;
            }
            if first.as_ref() != Some(&epk) {
                n_keys += 1;
                first = Some(epk);
            }
        }
        Ok(match middle {
            _ if n_keys == 1 => SplitPoint::OneLogical,
            Some(middle) if n_keys == 0 || !sides.is_skewed() => SplitPoint::Middle(middle),
            None if n_keys == 0 => SplitPoint::TooNarrow,
            _ => reader.balanced(sides.left + sides.right)?,
        })
    }
}

impl Reader {
    /// The effective partition key and the bytes of each logical partition, in order. Empty items weigh something.
    fn weights(&self) -> impl Iterator<Item = Result<(Epk, u64)>> + '_ {
        self.scan(self.keys.family(Family::Logical)).map(|entry| {
            let (key, value) = entry?;
            let (epk, _) = split_epk(place_of(&key).as_bytes())?;
            let record = LogicalRecord::decode(&value)?;
            Ok((epk, record.bytes.max(record.n_items)))
        })
    }

    /// The key between two logical partitions that divides `total` bytes best.
    fn balanced(&self, total: u64) -> Result<SplitPoint> {
        let mut best: Option<(u64, Epk)> = None;
        let (mut left, mut last) = (0_u64, None);
        for entry in self.weights() {
            let (epk, bytes) = entry?;
            if last.as_ref().is_some_and(|last| *last != epk) {
                let difference = left.abs_diff(total.saturating_sub(left));
                if best.as_ref().is_none_or(|(least, _)| difference < *least) {
                    best = Some((difference, epk.clone()));
                }
            }
            left += bytes;
            last = Some(epk);
        }
        Ok(best.map_or(SplitPoint::OneLogical, |(_, epk)| SplitPoint::Balanced(epk)))
    }
}
