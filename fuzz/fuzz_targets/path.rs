//! The path of a request.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gateway::fuzz::path(bytes));
