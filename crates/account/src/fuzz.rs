//! Entry point of a fuzz target: foreign bytes as a record of the catalog. Not part of the public interface.

use crate::catalog;

/// Reads a record and the head of the catalog.
///
/// # Panics
/// What was read is not what is read again after it was written.
pub fn catalog_record(bytes: &[u8]) {
    catalog::fuzz(bytes);
}
