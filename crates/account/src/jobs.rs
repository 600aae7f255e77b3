//! Background work: removal of expired items, trimming of the all-versions feed, rebuild of indexes under a new
//! policy, reclaim of deleted containers. None of it is visible except in space: expired items are dead before they are removed.

use std::time::Duration;

use partition::Partition;

use crate::account::Inner;
use crate::error::Result;

/// How often the jobs look for work.
const INTERVAL: Duration = Duration::from_secs(1);
/// Limit: work of one step, so that requests wait for one small commit at most.
const STEP_ITEMS: usize = 200;
const STEP_ENTRIES: usize = 2000;
/// Limit: steps per partition and round, so that one partition does not keep the others waiting.
const STEPS_MAX: usize = 50;

pub(crate) async fn run(inner: &Inner, shutdown: impl Future<Output = ()> + Send) {
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
        tokio::select! {
            () = &mut shutdown => return,
            done = run_once(inner) => {
                if let Err(error) = done {
                    tracing::warn!(%error, "a background job failed; it will be tried again");
                }
            }
        }
    }
}

/// One round over everything.
pub(crate) async fn run_once(inner: &Inner) -> Result<()> {
    let partitions: Vec<Partition> = {
        let tables = inner.catalog.tables();
        let ranges = tables.containers().flat_map(|container| container.ranges.iter());
        ranges.map(|range| range.partition.clone()).collect()
    };
    let mut first_failure = Ok(());
    for partition in partitions {
        match sweep(&partition).await {
            // Deleted since the list was made.
            Ok(()) | Err(partition::Error::Forgotten) => {}
            // One partition in trouble must not keep the others from their work.
            Err(error) => first_failure = first_failure.and(Err(error.into())),
        }
    }
    reclaim(inner).await.and(first_failure)
}

async fn sweep(partition: &Partition) -> partition::Result<()> {
    for _ in 0..STEPS_MAX {
        if partition.expire(STEP_ITEMS).await? == 0 {
            break;
        }
    }
    for _ in 0..STEPS_MAX {
        if partition.trim_versions().await? == 0 {
            break;
        }
    }
    for _ in 0..STEPS_MAX {
        if !partition.rebuild_index(STEP_ITEMS).await? {
            break;
        }
    }
    Ok(())
}

/// Removes the bytes of deleted containers. The list is in the catalog: a restart goes on.
async fn reclaim(inner: &Inner) -> Result<()> {
    for incarnation in inner.catalog.garbage() {
        while Partition::destroy_step(&inner.catalog.store, incarnation, STEP_ENTRIES).await? {}
        inner.catalog.reclaimed(incarnation).await?;
    }
    Ok(())
}
