//! The `authorization` header.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gateway::fuzz::auth_header(bytes));
