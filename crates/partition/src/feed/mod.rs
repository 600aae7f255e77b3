//! The change feeds: latest version ([`latest`]) and all versions and deletes ([`versions`]).
//!
//! Invariant: a page ends between two LSNs, so the items of one transaction are never torn apart, and the LSN of a
//! page says exactly what has been delivered.

mod latest;
mod versions;
