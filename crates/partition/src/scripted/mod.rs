//! Transactions that scripts drive: stored procedures, and writes with triggers.
//!
//! A run reads one view of its logical partition and its own writes over it ([`overlay`]), one call at a time
//! ([`transaction`]), through the seam of the script engine ([`host`]). At the end everything it wrote is one commit,
//! on the condition that the logical partition is as the run saw it; otherwise the answer is 449.
//!
//! Invariant: nothing of a run is visible or kept before that commit, and its answer is given only when the commit,
//! or whatever else it read, is durable.

mod attached;
mod attached_host;
mod execute;
mod host;
mod overlay;
mod transaction;

pub use execute::{
    Executed, ExecutionFailed, OnDemand, Procedure, Surroundings, Triggered, TriggeredCall,
};
