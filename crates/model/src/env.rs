//! Clock, randomness and ids, injected so that tests and simulations are deterministic.
//!
//! Every other file of the project takes time and randomness from here: `Env::system` in the
//! server, `Env::fixed` in tests. The standard clocks are disallowed by lint everywhere else.
//!
//! Invariant: neither clock of one `Env` is ever moved back by us. (The operating system may step
//! its wall clock; `monotonic` is the one to measure and wait with.)

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// The world outside of the process, as far as `model` and the crates above may see it.
///
/// Cheap to clone; clones share the clock and the random sequence.
#[derive(Clone)]
pub struct Env(Arc<Inner>);

struct Inner {
    source: EnvSource,
    /// How far `advance` has moved both clocks, in nanoseconds (enough for 584 years).
    advanced_ns: AtomicU64,
}

enum EnvSource {
    System { start: Instant, pool: Mutex<Box<Pool>> },
    Fixed { start_ms: u64, state: AtomicU64 },
}

impl Env {
    /// Returns the real world: the operating system's clocks and random numbers.
    pub fn system() -> Env {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the real clock")]
        let start = Instant::now();
        Env::new(EnvSource::System { start, pool: Mutex::new(Box::new(Pool::empty())) })
    }

    /// Returns a world that repeats: its clock stands at `start_ms` until `advance` moves it, and
    /// its random numbers depend on `seed` and the order of the calls only.
    pub fn fixed(seed: u64, start_ms: u64) -> Env {
        Env::new(EnvSource::Fixed { start_ms, state: AtomicU64::new(seed) })
    }

    fn new(source: EnvSource) -> Env {
        Env(Arc::new(Inner { source, advanced_ns: AtomicU64::new(0) }))
    }

    /// Returns the wall clock in milliseconds since 1970, UTC.
    pub fn now_ms(&self) -> u64 {
        let base_ms = match &self.0.source {
            EnvSource::System { .. } => system_ms(),
            EnvSource::Fixed { start_ms, .. } => *start_ms,
        };
        base_ms.saturating_add(self.advanced_ns() / 1_000_000)
    }

    /// Returns the wall clock in whole seconds since 1970, UTC. Wire: `_ts`.
    pub fn now_seconds(&self) -> u64 {
        self.now_ms() / 1_000
    }

    /// Returns the time since this world was made, for measuring and for deadlines.
    pub fn monotonic(&self) -> Duration {
        let base = match &self.0.source {
            EnvSource::System { start, .. } => start.elapsed(),
            EnvSource::Fixed { .. } => Duration::ZERO,
        };
        base.saturating_add(Duration::from_nanos(self.advanced_ns()))
    }

    /// Moves both clocks forward. Serves tests and the management API (time to live without the
    /// waiting); the clocks can't be moved back.
    pub fn advance(&self, by: Duration) {
        let by_ns = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        let add = |ns: u64| Some(ns.saturating_add(by_ns));
        // `add` never refuses, so this can't fail.
        let _ = self.0.advanced_ns.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
    }

    /// Returns 64 random bits.
    pub fn random_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_random(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Fills `bytes` with randomness: from the operating system, fit for keys, in the real world.
    pub fn fill_random(&self, bytes: &mut [u8]) {
        match &self.0.source {
            EnvSource::System { pool, .. } => {
                pool.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
            }
            EnvSource::Fixed { state, .. } => {
                for chunk in bytes.chunks_mut(8) {
                    let word = split_mix(state).to_le_bytes();
                    chunk.copy_from_slice(&word[..chunk.len()]);
                }
            }
        }
    }

    /// Returns a random (version 4) UUID in lower-case text.
    pub fn uuid(&self) -> String {
        let mut bytes = [0; 16];
        self.fill_random(&mut bytes);
        bytes[6] = bytes[6] & 0x0F | 0x40;
        bytes[8] = bytes[8] & 0x3F | 0x80;
        let hex = format!("{:032x}", u128::from_be_bytes(bytes));
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    fn advanced_ns(&self) -> u64 {
        self.0.advanced_ns.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0.source {
            EnvSource::System { .. } => "system",
            EnvSource::Fixed { .. } => "fixed",
        };
        f.debug_struct("Env").field("kind", &kind).finish_non_exhaustive()
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the real clock")]
fn system_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

/// One step of the `SplitMix64` sequence. The counter is atomic, so clones never see one value twice.
fn split_mix(state: &AtomicU64) -> u64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut word = state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// Random bytes fetched ahead, because a request wants an activity id and a system call for each
/// would cost more than the rest of its header work.
struct Pool {
    bytes: [u8; Pool::BYTES],
    used: usize,
}

impl Pool {
    const BYTES: usize = 1024;

    const fn empty() -> Pool {
        Pool { bytes: [0; Pool::BYTES], used: Pool::BYTES }
    }

    fn fill(&mut self, target: &mut [u8]) {
        if target.len() > Pool::BYTES {
            return fill_from_system(target);
        }
        if self.used + target.len() > Pool::BYTES {
            fill_from_system(&mut self.bytes);
            self.used = 0;
        }
        let taken = &mut self.bytes[self.used..self.used + target.len()];
        target.copy_from_slice(taken);
        // What was handed out may become a key: keep no copy.
        taken.fill(0);
        self.used += target.len();
    }
}

#[expect(clippy::expect_used, reason = "no honest id or key can be made without randomness")]
fn fill_from_system(target: &mut [u8]) {
    getrandom::fill(target).expect("the operating system always has random numbers");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_world_repeats_and_stands_still() {
        let (one, two) = (Env::fixed(7, 1_000), Env::fixed(7, 1_000));
        assert_eq!(one.uuid(), two.uuid());
        assert_eq!(one.random_u64(), two.random_u64());
        assert_ne!(one.random_u64(), Env::fixed(8, 1_000).random_u64());
        assert_eq!((one.now_ms(), one.monotonic()), (1_000, Duration::ZERO));
    }

    #[test]
    fn advance_moves_both_clocks_of_every_clone() {
        for env in [Env::fixed(1, 5_000), Env::system()] {
            let (before_ms, before) = (env.now_ms(), env.monotonic());
            env.clone().advance(Duration::from_secs(3_600));
            assert!(env.now_ms() >= before_ms + 3_600_000);
            assert!(env.monotonic() >= before + Duration::from_secs(3_600));
        }
    }

    #[test]
    fn advancing_for_ever_saturates() {
        let env = Env::fixed(1, u64::MAX - 5);
        env.advance(Duration::MAX);
        env.advance(Duration::MAX);
        assert_eq!(env.now_ms(), u64::MAX);
    }

    #[test]
    fn uuids_have_the_version_four_form() {
        let uuid = Env::fixed(3, 0).uuid();
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(uuid.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&uuid.as_bytes()[19]));
        assert_eq!(uuid, uuid.to_lowercase());
    }

    #[test]
    fn the_real_world_does_not_repeat() {
        let env = Env::system();
        let uuids: std::collections::HashSet<String> = (0..500).map(|_| env.uuid()).collect();
        assert_eq!(uuids.len(), 500);
        let mut long = vec![0; 3_000];
        env.fill_random(&mut long);
        assert!(long.chunks(100).all(|chunk| chunk.iter().any(|&byte| byte != 0)));
        assert!(env.now_ms() > 1_700_000_000_000, "the system clock is later than 2023");
    }
}
