//! The baseline of creates: the store alone, in this process, committing what a create commits.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use model::Env;
use store::{Batch, Durability, EmbeddedOptions, Store};
use tokio::task::JoinSet;

use super::load::{self, Rate};
use super::setup;
use crate::workspace;

/// Runs `n_writers` that commit one batch after the other for `duration`.
pub(crate) async fn run(n_writers: usize, duration: Duration, env: &Env) -> Result<Rate> {
    let folder = workspace::scratch("raw-store")?;
    let options = EmbeddedOptions {
        durability: Durability::Fsync,
        cache_bytes: store::CACHE_BYTES_DEFAULT,
        env: env.clone(),
    };
    let store = store::open_embedded(&folder.path().join("store"), &options)?;
    let begin = env.monotonic();
    let mut tasks = JoinSet::new();
    for writer in 0..n_writers {
        tasks.spawn(one(Arc::clone(&store), writer as u64, begin + duration, env.clone()));
    }
    let mut latencies = Vec::new();
    while let Some(done) = tasks.join_next().await {
        latencies.extend(done??);
    }
    let elapsed = env.monotonic().saturating_sub(begin);
    store.close()?;
    Ok(load::summary(latencies, elapsed))
}

async fn one(store: Arc<dyn Store>, writer: u64, end: Duration, env: Env) -> Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    let mut now = env.monotonic();
    while now < end {
        store.commit(create(writer, latencies.len() as u64)).await?;
        let then = env.monotonic();
        latencies.push(then.saturating_sub(now));
        now = then;
    }
    Ok(latencies)
}

/// The keys and values of one create: item, id, membership, change, counters, head. Sizes as in
/// `docs/storage-format.md`.
fn create(writer: u64, n: u64) -> Batch {
    let number = (writer << 40) | n;
    let id = format!("c{writer}-{n}");
    let key = format!("p{writer}-{}", n % 50);
    let family = |family: u8, rest: &[u8]| {
        let mut bytes = 7_u64.to_be_bytes().to_vec();
        bytes.push(family);
        bytes.extend_from_slice(rest);
        bytes
    };
    // Effective partition key of 16 bytes, then the encoded partition key.
    let mut place = [0_u8; 16].to_vec();
    place[..8].copy_from_slice(&(n % 50).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    place.extend_from_slice(key.as_bytes());
    let with = |tail: &[u8]| [place.as_slice(), tail].concat();
    let mut item = vec![0_u8; 40];
    item.extend_from_slice(setup::item_with_key(&id, &key, n).as_bytes());

    let mut batch = Batch::with_capacity(6);
    batch.put(family(0, &[]), vec![0_u8; 48]);
    batch.put(family(1, &with(id.as_bytes())), number.to_be_bytes().to_vec());
    batch.put(family(2, &with(&number.to_be_bytes())), Vec::new());
    batch.put(family(3, &number.to_be_bytes()), item);
    batch.put(
        family(4, &[&number.to_be_bytes()[..], &[0, 0]].concat()),
        number.to_be_bytes().to_vec(),
    );
    batch.put(family(8, &place), vec![0_u8; 32]);
    batch
}
