//! The hottest logical partitions of a range, found in bounded memory.
//!
//! A fixed number of places; a key without a place takes over the coldest one together with its charge, which is then
//! the most by which the newcomer is over-counted. Every key that used more than one part in [`PLACES`] of the
//! charge is found. Charges fade, so that yesterday's heat does not hide today's.

use std::collections::HashMap;
use std::time::Duration;

use model::{Charge, Epk, PartitionKey};

// Limit: keys that are watched in each range.
const PLACES: usize = 64;

/// Charges are halved this often.
const HALF_LIFE: Duration = Duration::from_secs(60);

/// A logical partition and what it used lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotKey {
    pub key: PartitionKey,
    pub charge: Charge,
    /// What of the charge may be others'.
    pub uncertain: Charge,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Sketch {
    places: HashMap<Epk, HotKey>,
    total: Charge,
    faded_at: Duration,
}

impl Sketch {
    pub(crate) fn add(&mut self, now: Duration, epk: &Epk, key: &PartitionKey, charge: Charge) {
        self.fade(now);
        self.total += charge;
        if let Some(place) = self.places.get_mut(epk) {
            place.charge += charge;
            return;
        }
        let mut uncertain = Charge::ZERO;
        if self.places.len() >= PLACES {
            // Ties are broken by the key: a run is the same every time.
            let coldest = self.places.iter().min_by_key(|(epk, place)| (place.charge, *epk));
            if let Some(coldest) = coldest.map(|(epk, _)| epk.clone())
                && let Some(place) = self.places.remove(&coldest)
            {
                uncertain = place.charge;
            }
        }
        let place = HotKey { key: key.clone(), charge: uncertain + charge, uncertain };
        self.places.insert(epk.clone(), place);
    }

    fn fade(&mut self, now: Duration) {
        let mut n_halves = 0;
        while now.saturating_sub(self.faded_at) >= HALF_LIFE && n_halves < 64 {
            self.faded_at += HALF_LIFE;
            n_halves += 1;
        }
        if n_halves == 0 {
            return;
        }
        if n_halves == 64 {
            self.faded_at = now;
        }
        let halve =
            |charge: Charge| Charge::from_parts(charge.parts().checked_shr(n_halves).unwrap_or(0));
        self.total = halve(self.total);
        for place in self.places.values_mut() {
            place.charge = halve(place.charge);
            place.uncertain = halve(place.uncertain);
        }
        self.places.retain(|_, place| place.charge > Charge::ZERO);
    }

    /// The hottest first, and what all keys used together.
    pub(crate) fn hottest(&mut self, now: Duration, n_max: usize) -> (Vec<HotKey>, Charge) {
        self.fade(now);
        let mut hottest: Vec<(&Epk, &HotKey)> = self.places.iter().collect();
        hottest.sort_by_key(|(epk, place)| (std::cmp::Reverse(place.charge), *epk));
        let hottest = hottest.into_iter().take(n_max).map(|(_, place)| place.clone()).collect();
        (hottest, self.total)
    }
}

#[cfg(test)]
mod tests {
    use model::Component;

    use super::*;

    fn add(sketch: &mut Sketch, now: Duration, key: usize, units: u64) {
        let epk = Epk::from_bytes(key.to_be_bytes().to_vec());
        let key = PartitionKey::new(vec![Component::String(format!("k{key}"))]);
        sketch.add(now, &epk, &key, Charge::from_hundredths(units * 100));
    }

    fn name(hot: &HotKey) -> String {
        hot.key.to_header()
    }

    #[test]
    fn heavy_keys_are_found_among_many_light_ones() {
        let mut sketch = Sketch::default();
        for round in 0..20_000 {
            add(&mut sketch, Duration::ZERO, 1000 + round % 5000, 1);
            if round % 10 == 0 {
                add(&mut sketch, Duration::ZERO, 7, 3);
            }
            if round % 20 == 0 {
                add(&mut sketch, Duration::ZERO, 8, 3);
            }
        }
        let (hottest, total) = sketch.hottest(Duration::ZERO, 2);
        assert_eq!(hottest.iter().map(name).collect::<Vec<_>>(), [r#"["k7"]"#, r#"["k8"]"#]);
        let used = Charge::from_hundredths(6000 * 100);
        assert!(hottest[0].charge >= used, "never under-counted: {hottest:?}");
        assert!(hottest[0].charge.saturating_sub(hottest[0].uncertain) <= used);
        assert_eq!(total, Charge::from_hundredths((20_000 + 6000 + 3000) * 100));
        assert!(sketch.places.len() <= PLACES);
    }

    #[test]
    fn old_heat_fades() {
        let mut sketch = Sketch::default();
        add(&mut sketch, Duration::ZERO, 1, 100);
        add(&mut sketch, Duration::from_secs(240), 2, 10);
        let (hottest, _) = sketch.hottest(Duration::from_secs(240), 9);
        assert_eq!(hottest.iter().map(name).collect::<Vec<_>>(), [r#"["k2"]"#, r#"["k1"]"#]);
        let (hottest, total) = sketch.hottest(Duration::from_secs(100_000), 9);
        assert_eq!((hottest.len(), total), (0, Charge::ZERO));
    }
}
