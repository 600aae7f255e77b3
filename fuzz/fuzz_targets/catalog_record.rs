//! Records of the account's catalog.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| account::fuzz::catalog_record(bytes));
