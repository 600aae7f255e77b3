//! Copying a container into one with another partition key, while the application writes to the old one.
//!
//! The partition key of a container cannot be changed; this makes a second container and keeps it in step by the
//! change feed of the first, until the application moves over. The new key is one property, several (a
//! hierarchical key), or a synthetic one that is written into the copies.
//!
//! ```text
//! Planned    the target is made like the source, with the new key; it must be empty
//! Copying    the change feed is read from the beginning: every item once, then what has changed meanwhile
//! Following  as long as the caller wants: changes are copied as they come
//! Verifying  every item of the source is compared with its copy, and every copy with its source
//! Done       the target belongs to the application; the job cannot be run again
//! ```
//!
//! Each step can be repeated, and the job is saved after each, so a run that was killed anywhere is continued by
//! the next one. Deletes are not in the feed: verifying finds them, and removes the copies.
//!
//! Invariants: the source is only read. Two items of the source never become one: if the new key and the id of
//! two are the same the job stops and names them. Nothing is deleted from a target that was not empty at the
//! beginning, or after the job is done.
//!
//! To move over without losing a write: stop the writers, let the job verify, start them on the target. An item
//! with a time to live of its own starts anew in the target.

mod copy;
mod job;
mod plan;
mod run;
mod spec;

use std::sync::Arc;
use std::time::Duration;

pub use job::{Job, Phase, Progress};
pub use plan::Plan;
pub use spec::{Spec, SyntheticScheme};

use crate::{ChangeFeed, ContainerHost, ItemStore, StateStore};

/// Why a re-key is refused or stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The source does not exist.
    #[error("container {0} does not exist")]
    NoSource(String),
    /// The job in the store is about other containers or another key.
    #[error("the job is about another copy: from {source_name} to {target_name}")]
    OtherJob {
        /// Its source.
        source_name: String,
        /// Its target.
        target_name: String,
    },
    /// The target has another partition key.
    #[error("container {name} exists and has the partition key {found}")]
    TargetKey {
        /// The target.
        name: String,
        /// Its paths.
        found: String,
    },
    /// The target has items that this job did not write.
    #[error("container {0} is not empty")]
    TargetNotEmpty(String),
    /// Source and target are one.
    #[error("source and target are the same container")]
    SameContainer,
    /// The synthetic key would overwrite what the source is partitioned by.
    #[error(
        "the property {0} is part of the source's partition key; write the new key to another one"
    )]
    PropertyTaken(String),
    /// Two items of the source would be one in the target.
    #[error("two items with id {id:?} have the same new key {key}")]
    Collision {
        /// Their id.
        id: String,
        /// Their new key.
        key: String,
    },
    /// An item has nothing to make the new key from.
    #[error("item {id:?} has no new key: {why}")]
    NoKey {
        /// Its id.
        id: String,
        /// What is missing.
        why: String,
    },
    /// The job is done; the target is the application's.
    #[error("the copy is finished, and the target belongs to the application")]
    Finished,
}

/// How a re-key is done.
#[derive(Clone, Debug)]
pub struct Options {
    /// Items read at once while verifying.
    pub page_items: u32,
    /// How long to wait before asking for changes again when there were none.
    pub poll: Duration,
    /// Copies written at once.
    pub parallelism: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { page_items: 100, poll: Duration::from_secs(1), parallelism: 16 }
    }
}

/// Copies one container into another with another partition key.
#[derive(Debug)]
pub struct Rekey {
    items: Arc<dyn ItemStore>,
    changes: Arc<dyn ChangeFeed>,
    host: Arc<dyn ContainerHost>,
    jobs: Arc<dyn StateStore>,
    spec: Spec,
    options: Options,
}

impl Rekey {
    /// Works on two containers of one database. `jobs` holds how far the copy is.
    pub fn new<S>(service: Arc<S>, jobs: Arc<dyn StateStore>, spec: Spec, options: Options) -> Rekey
    where
        S: ItemStore + ChangeFeed + ContainerHost + 'static,
    {
        Rekey {
            items: service.clone(),
            changes: service.clone(),
            host: service,
            jobs,
            spec,
            options,
        }
    }
}
