//! Ranges that split, merge and move: what clients see, crashes at every commit, and load meanwhile.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

#[path = "../support/mod.rs"]
mod support;

mod crash;
mod layouts;
mod load;
