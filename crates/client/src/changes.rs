//! What this crate needs from a service to follow the changes of a container.

use std::fmt::Debug;

use serde_json::Value;

use crate::{BoxFuture, ContainerLink, Result};

/// Some changes of a container.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePage {
    /// Changed items in their latest version; the changes of one logical partition are in order.
    pub items: Vec<Value>,
    /// Where to go on, now or later.
    pub continuation: String,
    /// Whether every range has been read to its end of now since the last page that said so.
    pub is_caught_up: bool,
}

/// The change feeds of a database: creates and replaces, not deletes.
pub trait ChangeFeed: Debug + Send + Sync {
    /// Returns changes after a continuation; without one, from the beginning, which shows every item once.
    fn changes<'a>(
        &'a self,
        container: &'a ContainerLink,
        continuation: Option<&'a str>,
    ) -> BoxFuture<'a, Result<ChangePage>>;
}
