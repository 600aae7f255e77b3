//! What an account does, claim by claim; one file per behaviour.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

#[path = "../support/mod.rs"]
mod support;

mod attachments;
mod batch;
mod changes;
mod container_policies;
mod container_replace;
mod containers_without_key;
mod databases;
mod errors;
mod feeds;
mod indexing_directive;
mod items;
mod jobs;
mod offers;
mod permissions;
mod queries;
mod random;
mod ranges;
mod reopen;
mod script_examples;
mod script_races;
mod script_runs;
mod scripts;
mod throughput;
