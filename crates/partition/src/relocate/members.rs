//! Which item goes where: one bit for each item number and lane beyond the first.

use std::collections::HashMap;

/// Numbers of one block.
const BLOCK: u64 = 1 << 15;
const WORDS: usize = (BLOCK / 64) as usize;

/// Item numbers by lane. Numbers are given out one after the other, so blocks of them are dense.
// Limit: a bit for each number that was given out in a block with an item, 4 KiB for a block.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// For lanes 1, 2, …; who is in none of them is in lane 0.
    lanes: Vec<HashMap<u64, Box<[u64; WORDS]>>>,
}

impl Members {
    pub(super) fn add(&mut self, number: u64, lane: usize) {
        let Some(index) = lane.checked_sub(1) else { return };
        if self.lanes.len() <= index {
            self.lanes.resize_with(index + 1, HashMap::new);
        }
        let (block, word, bit) = place_of(number);
        if let Some(lane) = self.lanes.get_mut(index) {
            let words = lane.entry(block).or_insert_with(|| Box::new([0; WORDS]));
            if let Some(word) = words.get_mut(word) {
                *word |= bit;
            }
        }
    }

    pub(super) fn lane_of(&self, number: u64) -> usize {
        let (block, word, bit) = place_of(number);
        let has = |lane: &HashMap<u64, Box<[u64; WORDS]>>| {
            lane.get(&block).and_then(|words| words.get(word)).is_some_and(|word| word & bit != 0)
        };
        self.lanes.iter().position(has).map_or(0, |index| index + 1)
    }
}

fn place_of(number: u64) -> (u64, usize, u64) {
    let within = number % BLOCK;
    (number / BLOCK, usize::try_from(within / 64).unwrap_or(0), 1 << (within % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_the_lane_that_they_were_added_to() {
        let mut members = Members::default();
        let numbers = [0, 1, 63, 64, BLOCK - 1, BLOCK, (7 << 40) + 5, (1 << 56) - 1];
        for (index, number) in numbers.into_iter().enumerate() {
            members.add(number, index % 3);
        }
        for (index, number) in numbers.into_iter().enumerate() {
            assert_eq!(members.lane_of(number), index % 3, "{number}");
        }
        assert_eq!(members.lane_of(2), 0);
    }
}
