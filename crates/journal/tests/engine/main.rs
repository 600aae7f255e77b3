//! What every engine promises, on the one in memory and on a real PostgreSQL, and how each fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

mod contract;
mod faults;
mod parts;
mod postgres;
mod primary;
mod proxy;
mod server;
mod takeover;
