//! Scripts of the whole account: the engine that runs them, and turns within a logical partition.
//!
//! A script's commit fails when another write to its logical partition comes between (449). Scripts therefore take
//! turns: the next one begins when the commit before it is on its way. A turn is a courtesy and no promise: who waits
//! too long goes on without, so that one slow script holds up its own kind only for a moment.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use model::{Env, Rid, Value};
use partition::Logical;
use partition::scripts::{Limits, Runtime, Script};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::catalog::record::Record;

// Limit: turns are kept per slot of a hash, not per logical partition.
const LANES: usize = 256;
// Limit: how long a script waits for its turn.
const TURN_WAIT_MAX: Duration = Duration::from_millis(250);

#[derive(Debug, Clone)]
pub(crate) struct Scripts {
    pub(crate) runtime: Runtime,
    lanes: Arc<[Arc<Mutex<()>>]>,
}

impl Scripts {
    pub(crate) fn new(env: Env, bytes_max: usize) -> Scripts {
        let lanes = (0..LANES).map(|_| Arc::default()).collect();
        let limits = Limits { memory_of_all_bytes_max: bytes_max, ..Limits::service() };
        Scripts { runtime: Runtime::new(env, limits), lanes }
    }

    /// Waits for the turn of a script in a logical partition; `None` when it must go on without.
    pub(crate) async fn turn(&self, container: &Rid, at: &Logical) -> Option<OwnedMutexGuard<()>> {
        let mut hasher = DefaultHasher::new();
        container.hash(&mut hasher);
        at.epk.hash(&mut hasher);
        let n_lanes = u64::try_from(self.lanes.len()).unwrap_or(1).max(1);
        let lane = usize::try_from(hasher.finish() % n_lanes).unwrap_or(0);
        let lane = Arc::clone(self.lanes.get(lane)?);
        if let Ok(turn) = Arc::clone(&lane).try_lock_owned() {
            return Some(turn);
        }
        tokio::time::timeout(TURN_WAIT_MAX, lane.lock_owned()).await.ok()
    }
}

/// The script that a record holds.
pub(crate) fn script_of(record: &Record) -> Script {
    let body = record.body.get("body").and_then(Value::as_str).unwrap_or_default();
    Script {
        id: record.id.as_str().into(),
        version: format!("{} {}", record.rid, record.etag.as_str()).into(),
        body: body.into(),
    }
}
