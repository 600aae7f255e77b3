//! The default engine: fjall, a log-structured merge tree with a write-ahead log.
//!
//! What is known about it, and why it was chosen, is in `docs/decisions/0002-embedded-store.md`.
//! Only this folder names the engine.

mod direct_reads;
mod engine;
mod files;
mod idle_compaction;
mod ledger;
mod log_repair;
mod manifest;
mod reopen;
mod table_ingest;
#[cfg(test)]
mod tests;
mod value_cache;

pub(crate) use log_repair::fuzz as fuzz_log;
pub(super) use reopen::{Refusing, ReopenableEngine};
