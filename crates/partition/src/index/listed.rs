//! The paths that the index has entries for, and what kinds of values stand there: for completion in editors.
//!
//! One scan of the path dictionary, and for each path a look at where each kind of value begins.

use query::index::TermSpan;

use crate::keys::{Family, path_of};
use crate::partition::Partition;
use crate::record::PathRecord;
use crate::{Result, keys::Keys, reader::Reader};

/// A path with values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedPath {
    /// Such as `/tags/[]`.
    pub path: String,
    /// Some of `null`, `boolean`, `number`, `string`, `array`, `object`, in this order.
    pub kinds: Vec<&'static str>,
}

impl Partition {
    /// The first `n_max` paths, in the order of their bytes, that have values in the index.
    pub fn indexed_paths(&self, n_max: usize) -> Result<Vec<IndexedPath>> {
        let reader = self.reader();
        let kinds = TermSpan::kinds();
        let mut found = Vec::new();
        for entry in reader.scan(reader.keys.family(Family::Path)) {
            let (key, value) = entry?;
            let path = path_of(&key)?;
            // Declared indexes have names of their own.
            if !path.starts_with('/') {
                continue;
            }
            let number = PathRecord::decode(&value)?.number;
            let mut here = Vec::new();
            for (kind, span) in &kinds {
                if has_entry(&reader, reader.keys, number, span)? {
                    here.push(*kind);
                }
            }
            if !here.is_empty() {
                found.push(IndexedPath { path: path.to_owned(), kinds: here });
            }
            if found.len() >= n_max {
                break;
            }
        }
        Ok(found)
    }
}

fn has_entry(reader: &Reader, keys: Keys, path: u16, span: &TermSpan) -> Result<bool> {
    let first = reader.scan(keys.terms(path, &span.start, &span.end)).next();
    Ok(first.transpose()?.is_some())
}
