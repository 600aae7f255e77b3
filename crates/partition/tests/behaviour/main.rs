//! What one partition does, claim by claim; one file per behaviour.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may fail loudly")]

#[path = "../support/mod.rs"]
mod support;

mod attachments;
mod batch;
mod change_feed;
mod charges;
mod concurrency;
mod delete_logical;
mod faults;
mod index;
mod items;
mod paging;
mod patch;
mod preconditions;
mod script_attachments;
mod scripts;
mod ttl;
mod unique_keys;
mod versions;
