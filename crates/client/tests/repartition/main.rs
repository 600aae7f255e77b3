//! Repartitioning: killed at every call, and interrupted by the application at every call.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

mod deletes;
mod moves;
mod queries;
mod scene;
#[path = "../support/mod.rs"]
mod support;
