//! Queries read page by page while ranges split and merge: clients that page as SDKs do get every row once, in order.
//!
//! A failure prints its seed; `ORRERY_SEED=<seed> cargo test -p orrery-account --test paging` repeats it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

#[path = "../../../query/tests/client/mod.rs"]
mod client;
mod fan_out;
mod prefix;
mod queries;
mod resumed;
mod single;
#[path = "../support/mod.rs"]
mod support;
mod world;

use queries::{CLASSES, RANKED};
use world::World;

/// More of them with `ORRERY_SEEDS`.
const SEEDS: u64 = 1;

fn seeds() -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    match number("ORRERY_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("ORRERY_SEEDS").unwrap_or(SEEDS),
    }
}

/// Runs every class of queries with a client, on a world of its own for each seed.
macro_rules! each_class {
    ($world:ident, $class:ident, $read:expr) => {
        each_class!(CLASSES.iter(), $world, $class, $read)
    };
    ($classes:expr, $world:ident, $class:ident, $read:expr) => {
        for seed in seeds() {
            let mut $world = World::new(seed).await;
            for $class in $classes {
                let Some(expected) = $class.expected(&$world.client, None).await else { continue };
                let label = format!("ORRERY_SEED={seed} {} {:?}", $class.text, $world.ids());
                let Some(found) = $read.await else { continue };
                $class.check(&expected, &found, &label);
            }
            assert!($world.n_relocations > 3, "seed {seed}: {}", $world.n_relocations);
        }
    };
}

#[tokio::test]
async fn by_one_logical_partition() {
    for seed in seeds() {
        let mut world = World::new(seed).await;
        for class in CLASSES.iter().chain(RANKED) {
            let key = world.key();
            let expected = class.expected(&world.client, Some(&key)).await.unwrap();
            let found = single::by_key(&mut world, class, &key).await;
            class.check(&expected, &found, &format!("ORRERY_SEED={seed} {key} {}", class.text));
            let about = format!("ORRERY_SEED={seed} {key} in {}", class.text);
            match single::by_filter(&mut world, class, &key).await {
                Some(found) => class.check(&expected, &found, &about),
                None => assert!(class.has_bare_aggregate(), "{about} is refused"),
            }
        }
        assert!(world.n_relocations > 3, "seed {seed}: {}", world.n_relocations);
    }
}

/// As Java does: the plan says which range has the key; when it is gone, all that took its place are asked for it.
#[tokio::test]
async fn by_one_logical_partition_and_its_range() {
    for seed in seeds() {
        let mut world = World::new(seed).await;
        for class in CLASSES {
            let key = world.key();
            let expected = class.expected(&world.client, Some(&key)).await.unwrap();
            let found = fan_out::by_tokens(&mut world, class, Some(&key)).await;
            class.check(&expected, &found, &format!("ORRERY_SEED={seed} {key} {}", class.text));
        }
        assert!(world.n_relocations > 3, "seed {seed}: {}", world.n_relocations);
    }
}

#[tokio::test]
async fn over_all_ranges_by_the_gateway() {
    each_class!(world, class, single::whole(&mut world, class));
}

#[tokio::test]
async fn over_all_ranges_merged_by_the_server() {
    each_class!(CLASSES.iter().chain(RANKED), world, class, single::merged(&mut world, class));
}

#[tokio::test]
async fn over_all_ranges_with_a_token_for_each() {
    each_class!(world, class, async { Some(fan_out::by_tokens(&mut world, class, None).await) });
}

#[tokio::test]
async fn over_all_ranges_resumed_by_a_filter_in_the_body() {
    each_class!(world, class, resumed::by_body(&mut world, class));
}

#[tokio::test]
async fn over_all_ranges_resumed_by_a_filter_in_the_text() {
    each_class!(world, class, resumed::by_text(&mut world, class));
}
