//! The default engine: fjall, a log-structured merge tree with a write-ahead log.
//!
//! What is known about it, and why it was chosen, is in `docs/decisions/0002-embedded-store.md`.
//! Only this folder names the engine.

mod engine;
mod log;
mod rest;
mod sweep;
mod tables;

pub(super) use engine::LsmEngine;
