//! A batch as rows (`HybridRow`).
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gateway::fuzz::hybrid_row(bytes));
