//! Entry point of a fuzz target: foreign bytes as the newest log of a store. Not part of the public interface.

use std::path::Path;

/// Checks and repairs a log with these bytes in `dir`, which must be empty.
///
/// # Panics
/// What was kept is not the beginning of what was there, or a second look says otherwise than the first.
pub fn log(dir: &Path, bytes: &[u8]) {
    crate::embedded::fuzz_log(dir, bytes);
}
