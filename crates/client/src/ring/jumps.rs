//! Where to look for a point: a table over the first bits of places, so that a search meets one or two points.

/// Entries of the table for each point, about.
const FINENESS: usize = 2;

/// For each beginning of a place, where the points that begin so start.
#[derive(Clone, Debug)]
pub(super) struct Jumps {
    shift: u32,
    /// One entry more than there are beginnings, so that each has an end.
    starts: Vec<u32>,
}

impl Jumps {
    /// Makes the table of sorted points.
    #[expect(clippy::cast_possible_truncation, reason = "a ring has fewer points than 2^32")]
    pub(super) fn over(points: &[u128]) -> Jumps {
        let last = points.last().copied().unwrap_or_default();
        let bits = u128::BITS - last.leading_zeros();
        let bits_wanted = (points.len() * FINENESS).next_power_of_two().ilog2();
        let shift = bits.saturating_sub(bits_wanted);
        let n_starts = (last >> shift) as usize + 2;
        let mut starts = Vec::with_capacity(n_starts);
        let mut index = 0;
        for beginning in 0..n_starts as u128 {
            while points.get(index).is_some_and(|point| point >> shift < beginning) {
                index += 1;
            }
            starts.push(index as u32);
        }
        Jumps { shift, starts }
    }

    /// As that of a slice, for predicates that compare a point with `place`.
    pub(super) fn partition_point(
        &self,
        points: &[u128],
        place: u128,
        is_before: impl Fn(u128) -> bool,
    ) -> usize {
        // Invariant: points that begin otherwise are on one side of the place, whatever the predicate says of equals.
        let beginning = usize::try_from(place >> self.shift).unwrap_or(usize::MAX);
        let Some([start, end]) = self.starts.get(beginning..).and_then(|rest| rest.first_chunk())
        else {
            return points.len();
        };
        let (start, end) = (*start as usize, *end as usize);
        start + points[start..end].partition_point(|point| is_before(*point))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_ends_where_a_search_ends() {
        let mut state = 7_u128;
        let mut random = || {
            state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
            state
        };
        for n_points in [1, 2, 3, 50, 1000] {
            for shift in [0, 64, 96, 120, 127] {
                let mut points: Vec<u128> = (0..n_points).map(|_| random() >> shift).collect();
                points.sort_unstable();
                let jumps = Jumps::over(&points);
                let near = points.iter().flat_map(|it| [it.wrapping_sub(1), *it, it + 1]);
                let places: Vec<u128> =
                    near.chain([0, u128::MAX]).chain((0..50).map(|_| random())).collect();
                for place in places {
                    let below = points.partition_point(|it| *it < place);
                    let through = points.partition_point(|it| *it <= place);
                    assert_eq!(jumps.partition_point(&points, place, |it| it < place), below);
                    assert_eq!(jumps.partition_point(&points, place, |it| it <= place), through);
                }
            }
        }
    }
}
