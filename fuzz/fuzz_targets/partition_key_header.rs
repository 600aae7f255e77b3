//! The partition-key header.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gateway::fuzz::partition_key_header(bytes));
