//! Whoever splits, merges and moves ranges all the time, and pulls the plug at a step of choice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use account::{Account, RangeDescription, RelocationStep};

use crate::calls::container;
use crate::disk::Disk;
use crate::random::Random;
use crate::world::World;

/// Ranges stay between these.
const RANGES_MIN: usize = 1;
const RANGES_MAX: usize = 8;

pub(crate) struct Relocator {
    pub(crate) world: World,
    pub(crate) account: Arc<Account>,
    pub(crate) disk: Arc<Disk>,
    pub(crate) random: Random,
    /// The power goes when a relocation gets here.
    pub(crate) crash_before: Option<RelocationStep>,
    pub(crate) is_over: Arc<AtomicBool>,
}

impl Relocator {
    pub(crate) async fn run(mut self) {
        while !self.is_over.load(Ordering::SeqCst) {
            self.random.rest(40).await;
            let Some(id) = self.start() else { continue };
            self.world.with(|known| known.n_relocations += 1);
            if let Some(step) = self.crash_before.filter(|_| self.random.one_in(3)) {
                self.hold(id, step).await;
                self.world.trace(&format!("power off before {}", step.name()));
                self.disk.cut_power(None);
                return;
            }
            if self.random.one_in(3) {
                let step = *self.random.pick(&RelocationStep::ALL).unwrap_or(&RelocationStep::Copy);
                self.hold(id, step).await;
                self.random.rest(60).await;
                let _ = self.account.release_relocations(&container(), step);
            }
            if self.random.one_in(5) {
                let _ = self.account.cancel_relocation(id);
            }
            // Sometimes the next one starts beside it.
            if !self.random.one_in(3) {
                let _ = self.account.wait_for_relocation(id).await;
            }
        }
    }

    async fn hold(&self, id: u64, step: RelocationStep) {
        let _ = self.account.hold_relocations(&container(), step);
        let _ = self.account.wait_for_hold(id, step).await;
    }

    fn start(&mut self) -> Option<u64> {
        let ranges = self.account.describe_ranges(&container()).ok()?;
        let index = usize::try_from(self.random.below(ranges.len() as u64)).ok()?;
        let range = ranges.get(index)?;
        let choice = self.random.below(10);
        let started = match choice {
            0 => self.account.start_move(&container(), range.id, None),
            1..=5 if ranges.len() < RANGES_MAX => self.split(range),
            _ if ranges.len() > RANGES_MIN => {
                let other = ranges.get(index + 1).or_else(|| ranges.get(index.checked_sub(1)?))?;
                self.account.start_merge(&container(), [range.id, other.id])
            }
            _ => self.split(range),
        };
        // Busy ranges and single logical partitions are refused; that is fine.
        let id = started.ok()?;
        self.world.trace(&format!("relocation {id}: {choice} of {}", range.id));
        Some(id)
    }

    fn split(&self, range: &RangeDescription) -> account::Result<u64> {
        self.account.start_split(&container(), range.id, None)
    }
}
