//! Random operations against a partition and against a simple model of it; they must always agree.
//!
//! A failure prints its seed: `ORRERY_SEED=… cargo test -p orrery-partition --test model` repeats it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may fail loudly")]

#[path = "../support/mod.rs"]
mod support;

mod observers;
mod plan;
mod reference;

use std::time::Duration;

use model::{Env, Lsn};
use partition::{Scope, Settings};

use observers::{Follower, Walker};
use plan::{Plan, Step};
use reference::Reference;
use support::*;

#[cfg(not(feature = "slow"))]
const N_RUNS: u64 = 16;
#[cfg(not(feature = "slow"))]
const N_STEPS: usize = 250;
#[cfg(feature = "slow")]
const N_RUNS: u64 = 400;
#[cfg(feature = "slow")]
const N_STEPS: usize = 2_000;

struct SayOnPanic(u64);

impl Drop for SayOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "repeat with: ORRERY_SEED={} cargo test -p orrery-partition --test model",
                self.0
            );
        }
    }
}

#[tokio::test]
async fn random_operations_agree_with_the_model() {
    if let Ok(seed) = std::env::var("ORRERY_SEED") {
        return run(seed.parse().unwrap()).await;
    }
    let first = Env::system().random_u64() >> 1;
    for seed in first..first + N_RUNS {
        run(seed).await;
    }
}

async fn run(seed: u64) {
    let _say = SayOnPanic(seed);
    let default_ttl = [None, Some(-1), Some(12)][usize::try_from(seed % 3).unwrap()];
    let unique = with_unique_keys(&[&["/u"], &["/n/x", "/w"]]);
    let settings =
        Settings { default_ttl, version_retention: Some(Duration::from_secs(1_000_000)), ..unique };
    let mut world = World::with(settings.clone());
    let mut reference = Reference::new(default_ttl, world.env.now_seconds());
    let mut plan = Plan::new(seed);
    let (mut walker, mut follower) = (Walker::default(), Follower::default());
    for _ in 0..N_STEPS {
        match plan.step() {
            Step::Call { key, call } => {
                let expected = reference.call(&key, &call);
                let result =
                    world.partition.apply(&world.at(&key), call.to_item_call(&world, &key)).await;
                assert_eq!(code(&result), expected, "{key} {call:?}");
                reference.confirm(expected, result.ok().map(|applied| applied.lsn));
            }
            Step::Batch { key, calls } => {
                let expected = reference.batch(&key, &calls);
                let calls = calls.iter().map(|call| call.to_item_call(&world, &key)).collect();
                let batch = world.partition.apply_batch(&world.at(&key), calls).await.unwrap();
                assert_eq!(codes(&batch), expected, "{key}");
                reference.confirm_batch(batch.committed, batch.lsn);
            }
            Step::DeleteLogical { key } => {
                reference.delete_logical(&key);
                world.partition.delete_logical(&world.at(&key)).await.unwrap();
            }
            Step::Advance { seconds } => {
                world.advance(seconds);
                reference.advance(seconds);
            }
            Step::Sweep { items_max } => {
                world.partition.expire(items_max).await.unwrap();
            }
            Step::Reopen => world = World::open(world.store, settings.clone(), world.env),
            Step::Walk => walker.step(&world),
            Step::Follow => drop(follower.step(&world)),
            Step::Check => compare(&world, &reference),
        }
    }
    compare(&world, &reference);
    follower.finish(&world, &reference);
    while world.partition.expire(1_000).await.unwrap() > 0 {}
    compare(&world, &reference);
    assert_eq!(world.check().n_items, reference.n_items() as u64, "sweeping leaves the living");
    observers::replay_versions(&world, &reference);
}

/// Everything that a client can see, compared with what the model says.
fn compare(world: &World, reference: &Reference) {
    world.check();
    assert_eq!(world.ids(&Scope::All), reference.ids_in_creation_order(None), "all");
    for key in plan::KEYS {
        let scope = Scope::Logical(world.at(key));
        assert_eq!(world.ids(&scope), reference.ids_in_creation_order(Some(key)), "{key}");
        for id in plan::IDS {
            let read = world.read(key, id).ok().map(|item| observers::user_part(&item));
            assert_eq!(read, reference.text(key, id), "{key} {id}");
        }
    }
    let mut feed = world.feed(Lsn(0));
    let mut expected = reference.feed();
    assert!(feed.is_sorted_by_key(|(_, lsn)| *lsn), "the feed is in order");
    feed.sort();
    expected.sort();
    assert_eq!(feed, expected, "feed");
}
