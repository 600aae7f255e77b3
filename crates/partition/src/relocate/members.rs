//! Which item goes where: one bit for each item number and lane beyond the first.

/// Numbers of one block.
const BLOCK: u64 = 1 << 15;
const WORDS: usize = (BLOCK / 64) as usize;

/// Item numbers by lane. Numbers are given out one after the other, so blocks of them are dense.
// Limit: a bit for each number that was given out in a block with an item, 4 KiB for a block.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// For lanes 1, 2, …; who is in none of them is in lane 0.
    lanes: Vec<Blocks>,
}

/// Blocks by their number. Few, and looked up for every entry, so that a search is faster than a hash.
type Blocks = Vec<(u64, Box<[u64; WORDS]>)>;

impl Members {
    pub(super) fn add(&mut self, number: u64, lane: usize) {
        let Some(index) = lane.checked_sub(1) else { return };
        if self.lanes.len() <= index {
            self.lanes.resize_with(index + 1, Blocks::new);
        }
        let (block, word, bit) = place_of(number);
        if let Some(lane) = self.lanes.get_mut(index) {
            let at = lane.binary_search_by_key(&block, |(own, _)| *own).unwrap_or_else(|at| {
                lane.insert(at, (block, Box::new([0; WORDS])));
                at
            });
            let words = lane.get_mut(at).and_then(|(_, words)| words.get_mut(word));
            if let Some(word) = words {
                *word |= bit;
            }
        }
    }

    pub(super) fn lane_of(&self, number: u64) -> usize {
        let (block, word, bit) = place_of(number);
        let has = |lane: &Blocks| {
            let at = lane.binary_search_by_key(&block, |(own, _)| *own).ok();
            let words = at.and_then(|at| lane.get(at)).map(|(_, words)| words);
            words.and_then(|words| words.get(word)).is_some_and(|word| word & bit != 0)
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
