//! A hint cache: which source of a union is likely to have an item, so that a fetch asks that one first.

use std::collections::BTreeMap;

/// The numbers of items that one source wrote are close to each other. A source that was split shares its upper bits with
/// others.
const LOCALITY_BITS: u32 = 40;

// Limit: places of single items, 6 KB. Queries that read more entries before they fetch the first item are not short.
const RECENT_BITS: u32 = 8;

/// Which of some sources an item is likely to be in. Whoever reads an index entry is about to look for its item.
#[derive(Debug, Default)]
pub(crate) struct SourceHint {
    /// Numbers with the source that had their last index entry; each has one place here, which later ones take over.
    recent: Vec<Option<(u64, usize)>>,
    /// By the upper bits of a number: the source that had the last such entry or item.
    localities: BTreeMap<u64, usize>,
}

impl SourceHint {
    /// Notes the source of an index entry or an item.
    pub(crate) fn note(&mut self, number: u64, source: usize) {
        if self.recent.is_empty() {
            self.recent.resize(1 << RECENT_BITS, None);
        }
        if let Some(recent) = self.recent.get_mut(recent_place(number)) {
            *recent = Some((number, source));
        }
        self.localities.insert(number >> LOCALITY_BITS, source);
    }

    /// Returns the source to look into first.
    pub(crate) fn likely(&self, number: u64) -> Option<usize> {
        match self.recent.get(recent_place(number)) {
            Some(Some((own, source))) if *own == number => Some(*source),
            _ => self.localities.get(&(number >> LOCALITY_BITS)).copied(),
        }
    }
}

/// Spreads numbers that differ in their upper or in their lower bits alone.
fn recent_place(number: u64) -> usize {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    (number.wrapping_mul(GOLDEN) >> (u64::BITS - RECENT_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_where_their_entries_were() {
        let mut places = SourceHint::default();
        assert_eq!(places.likely(7), None);
        // Two halves of a source that was split, and one with numbers of its own.
        let other = 3 << LOCALITY_BITS;
        let entries: Vec<(u64, usize)> = (0..20).map(|n| (n, usize::from(n % 3 == 0))).collect();
        for (number, source) in &entries {
            places.note(*number, *source);
            places.note(other + number, 2);
        }
        let n_right = entries.iter().filter(|(n, source)| places.likely(*n) == Some(*source));
        assert!(n_right.count() > 15, "few places are taken over");
        assert_eq!(places.likely(other + 1_000_000), Some(2), "nothing else has such numbers");
        assert_eq!(places.likely(1_000_000), Some(0), "the last entry of such numbers was there");
        assert_eq!(places.likely(5 << LOCALITY_BITS), None);
    }
}
