//! Signed requests to a running account: what the official SDK has no calls for, and a way without it.
//!
//! [`RestDatabase`] reaches items, containers, scripts and changes over plain HTTP/1.1 or TLS. It is small on
//! purpose: the command line of the server is built on it, and [`sdk`](crate::sdk) borrows its calls for
//! scripts. It retries what the service asks to retry, and keeps session tokens.
//!
//! Deliberately absent: queries that must be merged across ranges (the service refuses them with 400/1004),
//! several regions, identities other than the account key.

mod account;
mod changes;
mod host;
mod items;
mod manage;
mod request;
mod session;
mod sign;

use std::fmt;
use std::sync::Arc;

pub use account::Account;

use crate::{ContainerLink, Result};
use request::Request;
use session::Sessions;

/// One database of an account. Clones share connections and session tokens.
#[derive(Clone)]
pub struct RestDatabase {
    account: Account,
    name: Arc<str>,
    sessions: Arc<Sessions>,
}

impl fmt::Debug for RestDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestDatabase").field("name", &self.name).finish_non_exhaustive()
    }
}

impl RestDatabase {
    /// Uses a database of an account, without asking whether it is there.
    pub fn new(account: Account, name: impl Into<Arc<str>>) -> RestDatabase {
        RestDatabase { account, name: name.into(), sessions: Arc::default() }
    }

    /// Makes the database unless it is there.
    pub async fn ensure(&self) -> Result<()> {
        let request = Request::post("dbs", &serde_json::json!({"id": &*self.name}));
        match self.account.call(&request).await {
            Err(error) if error.is_service(409) => Ok(()),
            answer => answer.map(|_| ()),
        }
    }

    /// Returns the name of the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path of a container and what stands below it.
    fn path(&self, container: &str, below: &str) -> String {
        let slash = if below.is_empty() { "" } else { "/" };
        format!("dbs/{}/colls/{container}{slash}{below}", self.name)
    }

    fn items_path(&self, container: &ContainerLink) -> String {
        self.path(container.name(), "docs")
    }
}
