//! The commit number of one physical partition.

use std::fmt;

/// A commit number: grows by one with each commit of one physical partition and never goes back.
///
/// Numbers of different physical partitions say nothing about each other, except that the children
/// of a split start at or above their parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Before the first commit.
    pub const ZERO: Lsn = Lsn(0);

    /// Returns the number of the commit after this one.
    ///
    /// Saturates: at one commit per nanosecond the end is five centuries away.
    #[must_use]
    pub fn next(self) -> Lsn {
        Lsn(self.0.saturating_add(1))
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
