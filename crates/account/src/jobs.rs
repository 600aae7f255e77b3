//! Background work: removal of expired items, trimming of the all-versions feed, rebuild of indexes under a new
//! policy, splits that are due, reclaim of deleted containers. None of it is visible except in space: expired items are dead before they are removed.

use std::time::Duration;

use partition::Partition;

use crate::account::Inner;
use crate::error::Result;
use crate::relocate;
use crate::usage;

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
            () = inner.relocations.due.notified() => {}
        }
        tokio::select! {
            () = &mut shutdown => return,
            done = round(inner) => {
                if let Err(error) = done {
                    tracing::warn!(%error, "a background job failed; it will be tried again");
                }
            }
        }
    }
}

/// Limit: rounds of splits after which `run_once` leaves the rest to the next call.
const SPLIT_ROUNDS_MAX: usize = 64;

/// Everything to its end, due relocations included.
pub(crate) async fn run_once(inner: &Inner) -> Result<()> {
    relocate::until_idle(inner).await;
    for _ in 0..SPLIT_ROUNDS_MAX {
        if relocate::auto::start_due(inner)? == 0 {
            break;
        }
        relocate::until_idle(inner).await;
    }
    round(inner).await
}

/// One round over everything. Relocations that it starts go on by themselves.
async fn round(inner: &Inner) -> Result<()> {
    relocate::auto::start_due(inner)?;
    usage::collect_heat(inner);
    let partitions: Vec<Partition> = {
        let tables = inner.catalog.tables();
        let ranges = tables.containers().flat_map(|container| container.ranges.iter());
        ranges.map(|range| range.partition.clone()).collect()
    };
    let mut first_failure = Ok(());
    for partition in partitions {
        match sweep(&partition).await {
            // Deleted or relocated since the list was made.
            Ok(()) | Err(partition::Error::Forgotten | partition::Error::Relocating) => {}
            // One partition in trouble must not keep the others from their work.
            Err(error) => first_failure = first_failure.and(Err(error.into())),
        }
    }
    reclaim(inner).await.and(first_failure)
}

async fn sweep(partition: &Partition) -> partition::Result<()> {
    partition.find_near_full()?;
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

/// Removes the bytes of deleted containers and relocated partitions. The list is in the catalog: a restart goes on.
pub(crate) async fn reclaim(inner: &Inner) -> Result<()> {
    // One at a time: the jobs and the end of a relocation both come here.
    let _turn = inner.catalog.reclaiming.lock().await;
    for garbage in inner.catalog.garbage() {
        // A request that found the partition before it was discarded may still be reading.
        if garbage.is_open() {
            continue;
        }
        let incarnation = garbage.incarnation;
        let rest = async || tokio::task::yield_now().await;
        Partition::destroy(&inner.catalog.store, incarnation, STEP_ENTRIES, rest).await?;
        inner.catalog.reclaimed(incarnation).await?;
    }
    Ok(())
}
