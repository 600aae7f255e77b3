//! The log of the store, as it is read at a start.
#![no_main]

use std::sync::LazyLock;

static FOLDER: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir().expect("a folder for the log"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| store::fuzz::log(FOLDER.path(), bytes));
