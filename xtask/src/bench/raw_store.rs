//! The baseline of creates: the store alone, in this process, committing what a create commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use model::Env;
use query::index::{IndexPolicy, each_term};
use store::{Batch, Durability, EmbeddedOptions, Store};
use tokio::task::JoinSet;

use super::load::{self, Rate};
use super::setup;
use crate::workspace;

/// A store of its own, which grows over all rounds as the server's does.
#[derive(Debug)]
pub(crate) struct RawStore {
    store: Arc<dyn Store>,
    next: Arc<AtomicU64>,
    env: Env,
    // Removed when the store is closed and dropped.
    _folder: tempfile::TempDir,
}

impl RawStore {
    pub(crate) fn open(env: &Env) -> Result<RawStore> {
        let folder = workspace::scratch("raw-store")?;
        let options = EmbeddedOptions {
            durability: Durability::Fsync,
            cache_bytes: store::CACHE_BYTES_DEFAULT,
            direct_reads: store::DirectReads::On,
            env: env.clone(),
        };
        let store = store::open_embedded(&folder.path().join("store"), &options)?;
        let next = Arc::new(AtomicU64::new(0));
        Ok(RawStore { store, next, env: env.clone(), _folder: folder })
    }

    /// Runs `n_writers` that commit one batch after the other for `duration`.
    pub(crate) async fn run(&self, n_writers: usize, duration: Duration) -> Result<Rate> {
        let begin = self.env.monotonic();
        let mut tasks = JoinSet::new();
        for _ in 0..n_writers {
            let (store, next) = (Arc::clone(&self.store), Arc::clone(&self.next));
            tasks.spawn(one(store, next, begin + duration, self.env.clone()));
        }
        let mut latencies = Vec::new();
        while let Some(done) = tasks.join_next().await {
            latencies.extend(done??);
        }
        Ok(load::summary(latencies, self.env.monotonic().saturating_sub(begin)))
    }

    pub(crate) fn close(self) -> Result<()> {
        Ok(self.store.close()?)
    }
}

async fn one(
    store: Arc<dyn Store>,
    next: Arc<AtomicU64>,
    end: Duration,
    env: Env,
) -> Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    let mut now = env.monotonic();
    while now < end {
        store.commit(create(next.fetch_add(1, Ordering::Relaxed))).await?;
        let then = env.monotonic();
        latencies.push(then.saturating_sub(now));
        now = then;
    }
    Ok(latencies)
}

/// The keys and values of one create: item, id, membership, change, counters, head and the entries of the default
/// index. Sizes as in `docs/storage-format.md`.
fn create(number: u64) -> Batch {
    let n_keys = 50 * 16;
    let id = format!("c16-0-1-{number}");
    let key = format!("p7-{}", number % n_keys);
    // Effective partition key of 16 bytes, then the encoded partition key.
    let mut place = [0_u8; 16].to_vec();
    place[..8]
        .copy_from_slice(&(number % n_keys).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    place.extend_from_slice(key.as_bytes());
    let with = |tail: &[u8]| [place.as_slice(), tail].concat();
    let text = setup::item_with_key(&id, &key, number);
    let mut item = vec![0_u8; 40];
    item.extend_from_slice(text.as_bytes());

    let mut batch = Batch::with_capacity(40);
    batch.put(family(0, &[]), vec![0_u8; 48]);
    batch.put(family(1, &with(id.as_bytes())), number.to_be_bytes().to_vec());
    batch.put(family(2, &with(&number.to_be_bytes())), Vec::new());
    batch.put(family(3, &number.to_be_bytes()), item);
    batch.put(
        family(4, &[&number.to_be_bytes()[..], &[0, 0]].concat()),
        number.to_be_bytes().to_vec(),
    );
    batch.put(family(8, &place), vec![0_u8; 32]);
    for term in terms(&text) {
        batch.put(family(5, &[&term[..], &number.to_be_bytes()[1..]].concat()), Vec::new());
    }
    batch
}

/// Bytes of an index key around path and term: partition, family and item.
pub(crate) const TERM_KEY_BYTES: usize = 8 + 1 + 7;

fn family(family: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = 7_u64.to_be_bytes().to_vec();
    bytes.push(family);
    bytes.extend_from_slice(rest);
    bytes
}

/// What the default index holds of an item, each entry once: a number for the path, then the term.
pub(crate) fn terms(text: &str) -> BTreeSet<Vec<u8>> {
    let mut terms = BTreeSet::new();
    let mut paths = BTreeMap::new();
    let walked = each_term(text, &IndexPolicy::all(), |path, term, _| {
        let n_paths = paths.len() as u64;
        let number = *paths.entry(path.to_owned()).or_insert(n_paths);
        terms.insert([&number.to_be_bytes()[6..], term].concat());
    });
    debug_assert!(walked.is_ok(), "the items of the bench are JSON");
    terms
}
