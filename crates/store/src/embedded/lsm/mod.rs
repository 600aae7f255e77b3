//! The default engine: fjall, a log-structured merge tree with a write-ahead log.
//!
//! What is known about it, and why it was chosen, is in `docs/decisions/0002-embedded-store.md`.
//! Only this folder names the engine.

mod engine;
mod log;
mod merged;
mod moment;
mod rest;
mod scan;
mod sweep;
mod tables;
#[cfg(test)]
mod tests;
mod values;

pub(super) use engine::LsmEngine;
