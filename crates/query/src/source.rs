//! The seam to the data: where items come from.

use model::{Failure, Value};

use crate::error::Error;

/// One item as a source hands it out.
#[derive(Clone, Debug)]
pub struct SourceItem {
    /// The item number; grows along a scan and never changes.
    pub number: u64,
    /// The whole item, system properties included.
    pub value: Value,
    /// The stored length, for metrics and charges.
    pub bytes: usize,
}

/// A set of items to query: a range, a logical partition, or several ranges merged.
pub trait ItemSource {
    /// Returns the items with numbers above `after`, by ascending number.
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = Result<SourceItem, Error>> + '_>;
}

impl Error {
    /// Wraps the error of a source, keeping its status.
    pub fn source(failure: &dyn Failure) -> Error {
        Error::Source { status: failure.status(), message: failure.to_string() }
    }
}
