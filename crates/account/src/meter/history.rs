//! What a range used of late: by second for a minute, by minute for an hour.

use std::collections::VecDeque;
use std::time::Duration;

use model::Charge;

// Limit: seconds and minutes kept of each range.
const SECONDS: usize = 60;
const MINUTES: usize = 60;

/// The use of one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MinuteUse {
    pub charge: Charge,
    /// The busiest second.
    pub peak: Charge,
    pub n_throttled: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// The running second is the last.
    seconds: VecDeque<Charge>,
    minutes: VecDeque<MinuteUse>,
    /// The running second, counted from the start of the clock.
    second: u64,
}

impl History {
    pub(crate) fn add(&mut self, now: Duration, charge: Charge) {
        self.advance(now);
        if let Some(second) = self.seconds.back_mut() {
            *second += charge;
            let peak = *second;
            if let Some(minute) = self.minutes.back_mut() {
                minute.charge += charge;
                minute.peak = minute.peak.max(peak);
            }
        }
    }

    pub(crate) fn throttled(&mut self, now: Duration) {
        self.advance(now);
        if let Some(minute) = self.minutes.back_mut() {
            minute.n_throttled += 1;
        }
    }

    /// Begins the seconds and minutes that have come since the last call.
    pub(crate) fn advance(&mut self, now: Duration) {
        let second = now.as_secs();
        if self.seconds.is_empty() {
            self.seconds.push_back(Charge::ZERO);
            self.minutes.push_back(MinuteUse::default());
            self.second = second;
        }
        let n_seconds = second.saturating_sub(self.second);
        let n_minutes = (second / 60).saturating_sub(self.second / 60);
        self.second = self.second.max(second);
        push(&mut self.seconds, n_seconds, SECONDS);
        push(&mut self.minutes, n_minutes, MINUTES);
    }

    /// Oldest first; the running second is the last.
    pub(crate) fn seconds(&self) -> impl DoubleEndedIterator<Item = Charge> {
        self.seconds.iter().copied()
    }

    pub(crate) fn minutes(&self) -> impl DoubleEndedIterator<Item = MinuteUse> {
        self.minutes.iter().copied()
    }

    /// The busiest second of the last minute.
    pub(crate) fn peak(&self) -> Charge {
        self.seconds.iter().copied().max().unwrap_or_default()
    }
}

fn push<T: Default>(list: &mut VecDeque<T>, n_new: u64, n_max: usize) {
    for _ in 0..n_new.min(n_max as u64) {
        list.push_back(T::default());
        if list.len() > n_max {
            list.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(units: u64) -> Charge {
        Charge::from_hundredths(units * 100)
    }

    #[test]
    fn use_is_kept_by_second_and_by_minute() {
        let mut history = History::default();
        let at = Duration::from_millis;
        history.add(at(59_100), units(3));
        history.add(at(59_900), units(4));
        history.add(at(60_000), units(5));
        history.throttled(at(61_000));
        assert_eq!(history.seconds().collect::<Vec<_>>(), [units(7), units(5), units(0)]);
        assert_eq!(history.peak(), units(7));
        let minutes: Vec<_> = history.minutes().collect();
        assert_eq!(minutes[0], MinuteUse { charge: units(7), peak: units(7), n_throttled: 0 });
        assert_eq!(minutes[1], MinuteUse { charge: units(5), peak: units(5), n_throttled: 1 });
    }

    #[test]
    fn a_long_pause_leaves_only_zeros() {
        let mut history = History::default();
        history.add(Duration::ZERO, units(9));
        history.advance(Duration::from_secs(1_000_000_000));
        assert_eq!(history.peak(), Charge::ZERO);
        assert_eq!((history.seconds().count(), history.minutes().count()), (SECONDS, MINUTES));
        assert!(history.minutes().all(|minute| minute == MinuteUse::default()));
    }
}
