//! The body of a patch.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = partition::Patch::parse(bytes);
});
