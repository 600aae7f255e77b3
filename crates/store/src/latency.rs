//! A fixed histogram of durations, fine enough for p50, p99 and p99.9.
//!
//! Eight buckets per power of two of microseconds: a quantile is at most one eighth too high.
//! 1.6 KB whatever is recorded.

use std::fmt;
use std::time::Duration;

/// Buckets per power of two, as a power of two.
const STEP_BITS: u32 = 3;
const STEPS: usize = 1 << STEP_BITS;

/// Powers of two beyond the first eight microseconds.
// Limit: the last bucket begins at 125 s; longer waits count there.
const N_OCTAVES: usize = 24;
const N_BUCKETS: usize = STEPS * (N_OCTAVES + 1);

/// How long a kind of event took, as counts per bucket of duration.
#[derive(Clone, PartialEq, Eq)]
pub struct Latencies {
    counts: [u64; N_BUCKETS],
}

impl Latencies {
    /// Counts one event.
    pub fn record(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if let Some(count) = self.counts.get_mut(bucket_of(micros)) {
            *count += 1;
        }
    }

    /// Returns the number of events.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns a duration that the given share of events did not exceed: `quantile(0.99)` is p99.
    /// Zero when nothing was recorded.
    pub fn quantile(&self, share: f64) -> Duration {
        let count = self.count();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a rank needs no more than 52 bits, and is clamped below"
        )]
        let rank = ((count as f64 * share).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        for (bucket, n_events) in self.counts.iter().enumerate() {
            seen += n_events;
            if seen >= rank {
                return Duration::from_micros(upper_micros(bucket));
            }
        }
        Duration::ZERO
    }

    /// Returns what was recorded since `earlier`, an older copy of the same histogram.
    #[must_use]
    pub fn since(&self, earlier: &Latencies) -> Latencies {
        let mut counts = self.counts;
        for (count, before) in counts.iter_mut().zip(&earlier.counts) {
            *count = count.saturating_sub(*before);
        }
        Latencies { counts }
    }

    /// Returns the non-empty buckets as (upper bound, count), shortest first.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let counts = self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0);
        counts.map(|(bucket, count)| (Duration::from_micros(upper_micros(bucket)), count))
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies { counts: [0; N_BUCKETS] }
    }
}

impl fmt::Debug for Latencies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Latencies")
            .field("count", &self.count())
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("p999", &self.quantile(0.999))
            .finish()
    }
}

/// Below eight microseconds one bucket each; above, eight per power of two.
fn bucket_of(micros: u64) -> usize {
    let octave = micros.max(1).ilog2().saturating_sub(STEP_BITS);
    let step = usize::try_from(micros >> octave).unwrap_or(usize::MAX);
    (octave as usize * STEPS).saturating_add(step).min(N_BUCKETS - 1)
}

/// The highest duration that falls into the bucket.
fn upper_micros(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    if next <= 2 * STEPS as u64 {
        return next - 1;
    }
    let octave = (next / STEPS as u64) - 1;
    let step = next % STEPS as u64 + STEPS as u64;
    (step << octave) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_time_without_gap_or_overlap() {
        let mut lowest = 0;
        for bucket in 0..N_BUCKETS - 1 {
            let highest = upper_micros(bucket);
            assert_eq!(bucket_of(lowest), bucket, "lowest of {bucket}");
            assert_eq!(bucket_of(highest), bucket, "highest of {bucket}");
            lowest = highest + 1;
        }
        assert_eq!(bucket_of(u64::MAX), N_BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_at_most_an_eighth_too_high() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.quantile(0.5), Duration::ZERO);
        for micros in 1..=1_000_u64 {
            latencies.record(Duration::from_micros(micros));
        }
        for (share, exact) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1000.0)] {
            let found = latencies.quantile(share).as_secs_f64() * 1e6;
            assert!((exact..=exact * 1.125).contains(&found), "{share}: {found}");
        }
    }

    #[test]
    fn since_leaves_only_what_is_new() {
        let mut latencies = Latencies::default();
        latencies.record(Duration::from_secs(1));
        let before = latencies.clone();
        latencies.record(Duration::from_micros(5));
        let new = latencies.since(&before);
        assert_eq!((new.count(), new.quantile(1.0)), (1, Duration::from_micros(5)));
        assert_eq!(new.buckets().collect::<Vec<_>>(), [(Duration::from_micros(5), 1)]);
    }
}
