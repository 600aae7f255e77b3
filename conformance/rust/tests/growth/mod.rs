//! What the growth tests share: a container's ranges moved over the management API, and work that keeps a ledger.
//!
//! Every worker checks what it sees as it goes. A worker that gets an error ends the test: the SDK's own retries
//! are all the help an application has while its container grows.

mod ranges;
mod readers;
mod writers;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::options::SessionToken;
use conformance_rust::Result;
use serde_json::json;

pub use ranges::{RANGES_MAX, RANGES_MIN, Ranges};

const KEYS: u64 = 48;
const FIXED_ITEMS: u64 = 240;
/// Items that are created at a time; they must divide the fixed ones.
const FILLERS: usize = 8;

/// What the service said of an item that must exist.
#[derive(Debug, Clone)]
struct Acknowledged {
    key: String,
    version: u64,
    token: Option<SessionToken>,
}

/// Everything that goes on while the ranges move.
pub struct Work {
    container: ContainerClient,
    live: Mutex<BTreeMap<String, Acknowledged>>,
    /// The last version of each item that the change feed showed.
    seen: Mutex<BTreeMap<String, u64>>,
    is_over: AtomicBool,
    pub n_written: AtomicU64,
    pub n_reads: AtomicU64,
    pub n_pages: AtomicU64,
    pub n_changes: AtomicU64,
}

impl Work {
    pub fn new(container: ContainerClient) -> Work {
        Work {
            container,
            live: Mutex::default(),
            seen: Mutex::default(),
            is_over: AtomicBool::new(false),
            n_written: AtomicU64::new(0),
            n_reads: AtomicU64::new(0),
            n_pages: AtomicU64::new(0),
            n_changes: AtomicU64::new(0),
        }
    }

    /// Items that nobody changes, for the queries.
    pub async fn fill(&self) -> Result {
        for first in (0..FIXED_ITEMS).step_by(FILLERS) {
            let creates = (first..).take(FILLERS).map(async |rank| -> Result {
                let (id, key) = (format!("f{rank}"), key(rank));
                let item = json!({"id": id, "pk": key, "fixed": true, "rank": rank});
                self.container.create_item(key, &id, item, None).await?;
                Ok(())
            });
            futures::future::try_join_all(creates).await?;
        }
        Ok(())
    }

    pub fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

fn key(n: u64) -> String {
    format!("k{}", n % KEYS)
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
