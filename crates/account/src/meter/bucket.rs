//! A budget of request units that fills with time.
//!
//! A request is let in while anything is left and charged when its price is known, so a budget can go into debt by
//! what was let in together. Debt is paid before the next request is let in: an operation dearer than a second's
//! share is served and delays the ones behind it, and none is refused for ever.

use std::collections::VecDeque;
use std::time::Duration;

use model::Charge;

/// Seconds of the provisioned rate that an idle budget keeps. Wire: a budget is per second and not carried over.
const KEPT_SECONDS: f64 = 1.0;

/// Wire: burst. A slow partition saves idle budget and spends it at a bounded rate.
const BURST_SAVED_SECONDS: f64 = 300.0;
const BURST_UNITS: f64 = 3000.0;

// Limit: how long a request may be sent away. More would outlast the patience of every client; those beyond it all come
// back then, without a promise.
const PROMISED_MAX: Duration = Duration::from_secs(10);

/// How long a promise waits for who got it.
const GIVEN_UP: Duration = Duration::from_secs(1);

/// How quickly the expected price of a request follows what requests cost.
const PRICE_WEIGHT: f64 = 1.0 / 16.0;

/// Request units per second, and whether idle budget is saved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub(crate) units: f64,
    pub(crate) has_burst: bool,
}

/// How long to wait before the budget has something left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) ms: u64,
}

impl Wait {
    fn between(now: Duration, then: Duration) -> Wait {
        let ms = u64::try_from(then.saturating_sub(now).as_millis()).unwrap_or(u64::MAX);
        // One more: at the very moment there would be exactly nothing left.
        Wait { ms: ms.saturating_add(1) }
    }
}

/// All amounts are request units.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bucket {
    /// What is left; below zero is debt.
    left: f64,
    /// When the requests that were sent away are to come back, soonest first, and which they are.
    promises: VecDeque<(Duration, u64)>,
    saved: f64,
    /// What a request costs lately.
    price: f64,
    filled_at: Option<Duration>,
}

impl Bucket {
    /// Lets a request in, or says when to come back. `who` is the same number when it comes again.
    ///
    /// Those who were sent away come first: each got a time of its own, and a newcomer is let in only if there is enough
    /// for all of them too.
    pub(crate) fn admit(&mut self, now: Duration, rate: Rate, who: u64) -> Result<(), Wait> {
        self.fill(now, rate);
        while self.promises.front().is_some_and(|(due, _)| *due + GIVEN_UP < now) {
            self.promises.pop_front();
        }
        let own = self.promises.iter().position(|(_, other)| *other == who);
        let own = own.and_then(|at| Some((at, self.promises.get(at)?.0)));
        let is_due = own.is_some_and(|(_, due)| due <= now);
        if self.left > 0.0 && (is_due || self.left >= self.promised()) {
            if let Some((at, _)) = own {
                self.promises.remove(at);
            }
            return Ok(());
        }
        let speed = if self.saved > 0.0 { BURST_UNITS } else { rate.units };
        let seconds =
            |units: f64| Duration::from_secs_f64((units / speed.max(1.0)).clamp(0.0, 3600.0));
        let paid = now + seconds(-self.left);
        let price = self.price.max(1.0);
        if let Some((n_before, due)) = own {
            // Requests cost more than was thought: the queue is longer, its order stays.
            let n_before = f64::from(u32::try_from(n_before).unwrap_or(u32::MAX));
            return Err(Wait::between(now, due.max(paid + seconds(n_before * price))));
        }
        let last = self.promises.back().map(|(due, _)| *due + seconds(price));
        let due = last.map_or(paid, |last| last.max(paid));
        let latest = now + PROMISED_MAX;
        debug_assert!(last.is_none_or(|last| last <= due), "promises are kept soonest first");
        if due < latest {
            self.promises.push_back((due, who));
        }
        Err(Wait::between(now, due.min(latest)))
    }

    /// What those who were sent away will cost.
    fn promised(&self) -> f64 {
        let n_promises = u32::try_from(self.promises.len()).unwrap_or(u32::MAX);
        f64::from(n_promises) * self.price.max(1.0)
    }

    pub(crate) fn charge(&mut self, now: Duration, rate: Rate, charge: Charge) {
        self.fill(now, rate);
        let units = units(charge);
        self.left -= units;
        let weight = if self.price > 0.0 { PRICE_WEIGHT } else { 1.0 };
        self.price += (units - self.price) * weight;
    }

    /// What is left now; below zero is debt.
    pub(crate) fn left(&mut self, now: Duration, rate: Rate) -> f64 {
        self.fill(now, rate);
        self.left
    }

    fn fill(&mut self, now: Duration, rate: Rate) {
        let kept = KEPT_SECONDS * rate.units;
        let Some(filled_at) = self.filled_at.replace(now) else {
            self.left = kept;
            return;
        };
        let seconds = now.saturating_sub(filled_at).as_secs_f64();
        let gain = seconds * rate.units;
        self.left += gain;
        let can_burst = rate.has_burst && rate.units < BURST_UNITS;
        if !can_burst {
            self.saved = 0.0;
        } else if self.left > kept {
            self.saved = (self.saved + self.left - kept).min(BURST_SAVED_SECONDS * rate.units);
        } else {
            let most = (BURST_UNITS - rate.units) * seconds;
            let drawn = most.min(self.saved).min(kept - self.left);
            self.saved -= drawn;
            self.left += drawn;
        }
        self.left = self.left.min(kept);
        debug_assert!(self.saved >= 0.0, "no more than what was saved is drawn");
    }
}

pub(crate) fn units(charge: Charge) -> f64 {
    charge.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { units: 400.0, has_burst: false };

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Clients that obey retry-after, each as late as clients are, run writes of `price` units until `end`; returns
    /// what was charged, and the most times that one request was sent away.
    fn run(rate: Rate, n_clients: usize, price: u64, end: Duration) -> (f64, u32) {
        let mut bucket = Bucket::default();
        let mut clients = vec![(Duration::ZERO, 0_u32); n_clients];
        let (mut charged, mut worst) = (0.0, 0);
        let mut random = 7_u64;
        loop {
            let next = (0..n_clients).min_by_key(|&at| clients[at].0).unwrap();
            let (now, n_refused) = clients[next];
            if now >= end {
                return (charged, worst);
            }
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let late = Duration::from_micros((random >> 33) % 8000);
            match bucket.admit(now, rate, next as u64) {
                Ok(()) => {
                    bucket.charge(now, rate, Charge::from_hundredths(price * 100));
                    charged += f64::from(u32::try_from(price).unwrap());
                    worst = worst.max(n_refused);
                    clients[next] = (now + Duration::from_micros(500) + late / 4, 0);
                }
                Err(wait) => clients[next] = (now + ms(wait.ms) + late, n_refused + 1),
            }
        }
    }

    #[test]
    fn clients_that_obey_get_the_provisioned_rate_and_are_rarely_refused_twice() {
        for (n_clients, price) in [(1, 6), (16, 6), (64, 10), (200, 6)] {
            let (charged, worst) = run(RATE, n_clients, price, Duration::from_secs(30));
            let expected = 400.0 * 30.0;
            assert!((charged / expected - 1.0).abs() < 0.1, "{n_clients} clients: {charged}");
            assert!(worst <= 3, "{n_clients} clients: a request was refused {worst} times");
        }
    }

    #[test]
    fn an_operation_dearer_than_a_second_is_served_and_delays_the_next() {
        let mut bucket = Bucket::default();
        assert_eq!(bucket.admit(ms(0), RATE, 1), Ok(()));
        bucket.charge(ms(0), RATE, Charge::from_hundredths(2000 * 100));
        let wait = bucket.admit(ms(10), RATE, 2).unwrap_err();
        assert!((3900..4100).contains(&wait.ms), "{wait:?}");
        assert_eq!(bucket.admit(ms(10 + wait.ms), RATE, 2), Ok(()));
    }

    #[test]
    fn idle_seconds_are_not_carried_over_without_burst() {
        let (idle, busy) = (Duration::from_secs(600), Duration::from_secs(601));
        for (has_burst, expected) in [(false, 100.0), (true, 3000.0)] {
            let rate = Rate { units: 100.0, has_burst };
            let mut bucket = Bucket::default();
            assert_eq!(bucket.admit(ms(0), rate, 1), Ok(()));
            let (mut now, mut charged) = (idle, 0.0);
            while now < busy {
                match bucket.admit(now, rate, 2) {
                    Ok(()) => {
                        bucket.charge(now, rate, Charge::from_hundredths(500));
                        charged += 5.0;
                    }
                    Err(wait) => now += ms(wait.ms),
                }
            }
            let (least, most) = (expected * 0.95, expected + 200.0);
            assert!(charged >= least && charged <= most, "burst {has_burst}: {charged}");
        }
    }

    #[test]
    fn burst_ends_when_what_was_saved_is_spent() {
        let rate = Rate { units: 100.0, has_burst: true };
        let mut bucket = Bucket::default();
        assert_eq!(bucket.admit(ms(0), rate, 1), Ok(()));
        let (mut now, mut charged) = (Duration::from_secs(10_000), 0.0);
        let end = now + Duration::from_secs(60);
        while now < end {
            match bucket.admit(now, rate, 2) {
                Ok(()) => {
                    bucket.charge(now, rate, Charge::from_hundredths(1000));
                    charged += 10.0;
                }
                Err(wait) => now += ms(wait.ms),
            }
        }
        // 300 seconds saved, and 60 that passed.
        assert!((35_000.0..37_000.0).contains(&charged), "{charged}");
    }
}
