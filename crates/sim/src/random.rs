//! Random choices: a stream of its own for every actor, so that one actor's choices do not move another's.

/// A `SplitMix64` sequence.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of an actor under a seed.
    pub(crate) fn new(seed: u64, actor: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ actor.rotate_left(32));
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number below `n`, which is not zero.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.below(from.len() as u64)).unwrap_or(0);
        from.get(index)
    }

    /// Lets others run for a while.
    pub(crate) async fn rest(&mut self, turns_max: u64) {
        for _ in 0..self.below(turns_max + 1) {
            tokio::task::yield_now().await;
        }
    }
}
