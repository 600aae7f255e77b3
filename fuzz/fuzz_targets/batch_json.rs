//! A batch as JSON.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gateway::fuzz::batch_json(bytes));
