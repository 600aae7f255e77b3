//! Membership of a cluster: heartbeats, leases, failure detection, placement.
//!
//! [`Membership`] keeps the own session alive and ends those of others that are dead; [`placement`] says who should serve
//! which journal, and [`orphans`] which ones nobody serves.
//!
//! Invariants:
//! - Nothing here decides whether a write is taken: the epochs of the journals do. A wrong view costs time, never data.
//! - A session is ended only on condition of the beat that was seen, and never comes back.
//! - The lease of the own session is over before anybody else may end it (`journal::lease`).
//!
//! Deliberately absent: entries and what they mean, requests between members, the election of anybody to anything.
#![warn(missing_docs)]

mod membership;
mod orphans;
pub mod placement;

pub use membership::{Health, JoinError, LeaseHandle, Membership, View};
pub use orphans::orphans;
