//! Frames of direct mode (RNTBD).
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gateway::fuzz::rntbd(bytes));
