//! All of an account: catalog, range map, routing, throughput rules, background jobs.
//!
//! Door: [`Account::execute`]. It takes a [`Call`] (who asks, what, with which options) and answers an
//! [`Outcome`] or a [`Failed`]: facts, not headers.
//!
//! Invariants:
//! - A catalog change is one store commit; it is visible to calls only after that commit is durable.
//! - The ranges of a container tile the hash space without gap or overlap.
//! - Names of deleted resources are free at once; their rids and incarnations are never used again.
//!
//! Deliberately absent: HTTP, signatures, store keys of items (those belong to `partition`).

mod access;
mod account;
mod body;
mod catalog;
mod container;
mod container_usage;
mod continuation;
mod error;
pub mod fuzz;
mod grant;
mod indexed_paths;
mod items;
mod jobs;
mod logical;
mod media;
mod metadata_query;
mod meter;
mod metrics;
pub mod operation;
pub mod outcome;
mod performance_level;
mod policy_error;
mod range_map;
mod ranges;
mod relocate;
mod reset;
mod resources;
mod scripts;
mod seal;
mod session;
mod shares;
mod threads;
mod throughput;
mod usage;
mod walk;

pub use account::{Account, AccountOptions, MEDIA_BYTES_DEFAULT};
pub use error::{Error, Refuser, Result};
pub use grant::{Grant, GrantMode};
pub use indexed_paths::INDEXED_PATHS_MAX;
pub use items::{Analysis, AnalysisTimes, Explanation, RangeAnalysis, RangePlan};
pub use logical::{
    LOGICAL_ROWS_MAX, LogicalMeasure, LogicalQuery, LogicalReport, LogicalRow, Spread,
};
pub use media::MediaUsage;
pub use meter::{ContainerHeat, Enforcement, HeatCell, HeatColumn, HotKey, MinuteUse, RangeHeat};
pub use metrics::{AccountMetrics, OperationCount, RangeMetrics};
pub use operation::*;
pub use outcome::*;
pub use partition::{IndexedPath, MEDIA_BYTES_MAX, charge::QueryPart};
pub use policy_error::PolicyError;
pub use relocate::{
    Pace, RangeDescription, RelocationEnd, RelocationError, RelocationKind, RelocationOptions,
    RelocationReason, RelocationStatus, RelocationStep,
};
pub use throughput::ThroughputError;
pub use usage::{ContainerUse, HeatMap, RangeUse};
