//! The denylist: scripts that overran their limits, and for how long they are refused.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::error::Error;
use crate::limits::{DENYLIST_MAX, REFUSED_FOR, STRIKES_MAX, STRIKES_OF_OVERRUN};

#[derive(Debug, Default)]
pub(crate) struct Denylist(Mutex<HashMap<Arc<str>, Record>>);

#[derive(Debug, Clone, Copy, Default)]
struct Record {
    n_strikes: u32,
    refused_until: Duration,
    is_refused_for_good: bool,
}

impl Denylist {
    pub(crate) fn is_refused(&self, version: &str, now: Duration) -> bool {
        let records = self.0.lock();
        records.get(version).is_some_and(|it| it.is_refused_for_good || now < it.refused_until)
    }

    /// Notes how a run ended, and whether it took longer than a run should.
    pub(crate) fn judge(
        &self,
        version: &Arc<str>,
        error: Option<&Error>,
        is_long: bool,
        now: Duration,
    ) {
        match error {
            Some(Error::TimedOut { .. }) => self.overran(version, now),
            Some(Error::Threw { text, .. }) if text.ends_with("out of memory") => {
                self.overran(version, now);
            }
            _ if is_long => self.strike(version, 1, now),
            Some(_) => {}
            None => self.behaved(version),
        }
    }

    /// Notes that a run took too much time or memory.
    pub(crate) fn overran(&self, version: &Arc<str>, now: Duration) {
        self.strike(version, STRIKES_OF_OVERRUN, now);
    }

    fn strike(&self, version: &Arc<str>, n_strikes: u32, now: Duration) {
        self.note(version, |record| {
            record.n_strikes += n_strikes;
            if record.n_strikes >= STRIKES_MAX {
                *record =
                    Record { refused_until: now.saturating_add(REFUSED_FOR), ..Record::default() };
            }
        });
    }

    /// Notes that a run could not be stopped. Only another version of the script helps.
    pub(crate) fn lost(&self, version: &Arc<str>) {
        self.note(version, |record| record.is_refused_for_good = true);
    }

    /// Notes that a run stayed within its limits.
    fn behaved(&self, version: &str) {
        let mut records = self.0.lock();
        if !records.is_empty() {
            records.remove(version);
        }
    }

    fn note(&self, version: &Arc<str>, change: impl FnOnce(&mut Record)) {
        let mut records = self.0.lock();
        if records.len() >= DENYLIST_MAX && !records.contains_key(version) {
            records.retain(|_, record| record.is_refused_for_good);
            if records.len() >= DENYLIST_MAX {
                records.clear();
            }
        }
        change(records.entry(Arc::clone(version)).or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    #[test]
    fn a_script_is_refused_after_overruns_in_a_row_and_only_for_a_while() {
        let (denylist, version) = (Denylist::default(), Arc::from("v"));
        for _ in 1..STRIKES_MAX / STRIKES_OF_OVERRUN {
            denylist.overran(&version, NOW);
            assert!(!denylist.is_refused(&version, NOW));
        }
        denylist.overran(&version, NOW);
        assert!(denylist.is_refused(&version, NOW));
        assert!(!denylist.is_refused("w", NOW));
        assert!(!denylist.is_refused(&version, NOW + REFUSED_FOR));
    }

    #[test]
    fn a_good_run_forgives_overruns() {
        let (denylist, version) = (Denylist::default(), Arc::from("v"));
        for _ in 0..2 * STRIKES_MAX {
            denylist.overran(&version, NOW);
            denylist.behaved(&version);
        }
        assert!(!denylist.is_refused(&version, NOW));
    }

    #[test]
    fn runs_that_end_late_by_themselves_count_less() {
        let (denylist, version) = (Denylist::default(), Arc::from("v"));
        for _ in 0..STRIKES_MAX {
            assert!(!denylist.is_refused(&version, NOW));
            denylist.judge(&version, None, true, NOW);
        }
        assert!(denylist.is_refused(&version, NOW));
    }

    #[test]
    fn a_script_that_could_not_be_stopped_stays_refused() {
        let (denylist, version) = (Denylist::default(), Arc::from("v"));
        denylist.lost(&version);
        assert!(denylist.is_refused(&version, NOW + 100 * REFUSED_FOR));
    }
}
