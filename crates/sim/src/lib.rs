//! A whole account under one seed: clients with sessions, feed readers, somebody who splits, merges and moves ranges all
//! the time, a store that is slow and says no at times, and crashes at random commits and at every step of a relocation.
//!
//! Door: [`run`]. One thread, one clock that stands unless it is moved, and random choices from the seed only: the same
//! seed gives the same run, which [`Summary::digest`] shows.
//!
//! Checked after every start: the ranges tile the hash space, every partition agrees with itself, no bytes are left of
//! relocations that failed. Checked in the end: one order of effects per item explains every answer that clients got
//! (linearizability, crashes included); both feeds have every acknowledged write once and in order; readings page by page
//! lose and double nothing; no session was ever refused.

mod calls;
mod clients;
mod disk;
mod feeds;
mod history;
mod life;
mod random;
mod relocator;
mod world;

use account::RelocationStep;

use life::{Ending, live};
use world::World;

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    pub n_calls: usize,
    pub n_relocations: u64,
    pub n_readings: u64,
    /// Of everything that happened, in order.
    pub digest: u64,
}

/// Runs one seed. The error says what must not have happened.
pub fn run(seed: u64) -> Result<Summary, String> {
    let world = World::new(seed);
    let mut random = world.random(7);
    let n_lives = 2 + random.below(3);
    for number in 0..=n_lives {
        let ending = if number == n_lives {
            Ending::Peace
        } else if random.one_in(2) {
            let step = *random.pick(&RelocationStep::ALL).unwrap_or(&RelocationStep::Copy);
            Ending::Step(step)
        } else {
            // Enough for the first life to get its items.
            Ending::Commits(100 + random.below(400))
        };
        one_life(&world, number, ending).map_err(|problem| format!("life {number}: {problem}"))?;
        if let Some(problem) = world.problem() {
            return Err(format!("life {number}: {problem}"));
        }
    }
    Ok(world.with(|known| Summary {
        n_calls: known.history.n_events(),
        n_relocations: known.n_relocations,
        n_readings: known.n_readings,
        digest: 0,
    }))
    .map(|summary| Summary { digest: world.digest(), ..summary })
}

/// A runtime of its own: when it is dropped, everything that was under way is gone, as in a crash.
fn one_life(world: &World, number: u64, ending: Ending) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(live(world, number, ending))
}
