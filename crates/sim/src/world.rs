//! What outlives a crash: the platter, the clock, and what clients know.

use std::sync::Arc;

use model::Env;
use parking_lot::Mutex;

use crate::disk::Platter;
use crate::feeds::Follow;
use crate::history::History;
use crate::random::Random;

/// Items that are written once, at the start, and must be in every reading.
pub(crate) const N_STILL: u64 = 24;

/// Partition keys; items of one key are one logical partition.
pub(crate) const N_KEYS: u64 = 12;

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) platter: Platter,
    pub(crate) env: Env,
    known: Arc<Mutex<Known>>,
}

/// What clients and observers know.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) history: History,
    pub(crate) latest: Follow,
    pub(crate) versions: Follow,
    last_version: u64,
    pub(crate) n_relocations: u64,
    pub(crate) n_readings: u64,
    problems: Vec<String>,
    /// A digest of everything that happened, in order: equal for equal runs.
    trace: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> World {
        World {
            seed,
            platter: Platter::new(),
            env: Env::fixed(seed, 1_700_000_000_000),
            known: Arc::default(),
        }
    }

    pub(crate) fn random(&self, actor: u64) -> Random {
        Random::new(self.seed, actor)
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.known.lock())
    }

    /// A version that nobody wrote yet.
    pub(crate) fn next_version(&self) -> u64 {
        self.with(|known| {
            known.last_version += 1;
            known.last_version
        })
    }

    /// Notes something that must not be.
    pub(crate) fn fail(&self, problem: impl Into<String>) {
        self.with(|known| known.problems.push(problem.into()));
    }

    /// Adds to the digest of the run.
    pub(crate) fn trace(&self, words: &str) {
        self.with(|known| {
            for byte in words.bytes() {
                known.trace = (known.trace ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        });
    }

    pub(crate) fn digest(&self) -> u64 {
        self.with(|known| known.trace)
    }

    pub(crate) fn problem(&self) -> Option<String> {
        self.with(|known| known.problems.first().cloned())
    }
}
