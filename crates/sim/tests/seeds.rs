//! Twenty seeds, and the promise that a seed repeats itself. More: `cargo xtask sim --seeds 1000`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

#[test]
fn twenty_seeds_pass() {
    let mut n_relocations = 0;
    for seed in 1..=20 {
        let summary = sim::run(seed).unwrap_or_else(|problem| panic!("seed {seed}: {problem}"));
        n_relocations += summary.n_relocations;
    }
    assert!(n_relocations > 100, "the runs are about relocations: {n_relocations}");
}

#[test]
fn a_seed_repeats_itself() {
    for seed in [3, 4] {
        assert_eq!(sim::run(seed), sim::run(seed), "seed {seed}");
    }
    assert_ne!(sim::run(3).unwrap().digest, sim::run(4).unwrap().digest);
}
