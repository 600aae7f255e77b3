//! Writers, readers and feed readers work while a container goes from one range to sixteen and back to two. Nothing is
//! lost, doubled or out of order, and nobody sees an error.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use account::{AccountOptions, FeedStart, RelocationEnd};
use model::{Env, RangeId, Value};
use store::Store;

use crate::support::{Client, link};

const C: &str = "dbs/d/colls/c";
const N_WRITERS: u64 = 6;
const N_KEYS: u64 = 40;

#[derive(Debug, Default)]
struct Stop(AtomicBool);

impl Stop {
    fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

fn number(row: &Value, name: &str) -> i64 {
    row.get(name).and_then(Value::as_i64).unwrap_or_else(|| panic!("no {name}: {}", row.to_text()))
}

fn id(row: &Value) -> String {
    row.get("id").unwrap().as_str().unwrap().to_owned()
}

/// Each writer owns its items: what it was told last is what must be there.
async fn writer(
    client: Client,
    number: u64,
    stop: Arc<Stop>,
    writes: Arc<AtomicU64>,
) -> BTreeMap<String, i64> {
    let random = Env::fixed(number, 0);
    let mut mine = BTreeMap::new();
    let mut version = 0;
    while !stop.is_set() {
        let pk = random.random_u64() % N_KEYS;
        let id = format!("w{number}-{}", random.random_u64() % 60);
        let full = format!("{pk}/{id}");
        let key = format!(r#"["{pk}"]"#);
        version += 1;
        let body =
            format!(r#"{{"id":"{id}","pk":"{pk}","v":{version},"pad":"{}"}}"#, "x".repeat(100));
        let items = client.items().key(&key);
        match random.random_u64() % 10 {
            0 => {
                let answer = items.delete(&id).await;
                let expected = if mine.remove(&full).is_some() { 204 } else { 404 };
                answer.expect(expected);
            }
            1 => {
                let expected = if mine.contains_key(&full) { 409 } else { 201 };
                items.create(&body).await.expect(expected);
                if expected == 201 {
                    mine.insert(full, version);
                }
            }
            2 => {
                let other = body.replace(&format!("\"id\":\"{id}\""), &format!("\"id\":\"{id}b\""));
                let calls =
                    vec![crate::support::upsert_call(&body), crate::support::upsert_call(&other)];
                items.batch(calls).await.expect(200);
                mine.insert(full.clone(), version);
                mine.insert(format!("{full}b"), version);
            }
            _ => {
                items.upsert(&body).await;
                let read = items.read(&id).await.expect(200);
                assert_eq!(self::number(&read.value, "v"), version, "a writer reads its write");
                mine.insert(full, version);
            }
        }
        writes.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
    }
    mine
}

/// Follows the feed of the whole container; versions of an item never go back, and the last ones are complete.
async fn follower(client: Client, stop: Arc<Stop>) -> BTreeMap<String, i64> {
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    let mut after = None;
    loop {
        // Read before the page: what is written before the stop is in a page after it.
        let is_last_round = stop.is_set();
        let page = client
            .items()
            .changes(FeedStart { after: after.clone(), ..FeedStart::default() })
            .await;
        after = Some(page.facts.etag.clone().unwrap().as_str().to_owned());
        if page.status.code == 304 {
            if is_last_round {
                return last;
            }
            tokio::task::yield_now().await;
            continue;
        }
        for row in &page.expect(200).rows {
            let full = format!("{}/{}", row.get("pk").unwrap().as_str().unwrap(), id(row));
            let version = number(row, "v");
            let before = last.insert(full.clone(), version);
            assert!(
                before.is_none_or(|before| before < version),
                "{full}: {before:?} then {version}"
            );
        }
    }
}

/// Reads the container page by page. An item that nobody touches must be in every reading, once.
async fn pager(client: Client, stop: Arc<Stop>, still: BTreeSet<String>) -> usize {
    let mut n_readings = 0;
    while !stop.is_set() {
        for text in [None, Some("SELECT c.id FROM c WHERE c.still = true")] {
            let mut found = Vec::new();
            let mut continuation = None;
            loop {
                let page = client.with_options(|options| {
                    options.items_max = Some(7);
                    options.continuation.clone_from(&continuation);
                });
                let answer = match text {
                    None => page.items().feed().await,
                    Some(text) => page.items().query(text).await,
                };
                let answer = answer.expect(200);
                found.extend(answer.ids().into_iter().filter(|id| id.starts_with("still")));
                continuation = answer.facts.continuation;
                tokio::task::yield_now().await;
                if continuation.is_none() {
                    break;
                }
            }
            let unique: BTreeSet<String> = found.iter().cloned().collect();
            assert_eq!(found.len(), unique.len(), "doubled");
            assert_eq!(unique, still, "lost");
        }
        n_readings += 1;
    }
    n_readings
}

async fn done(client: &Client, id: u64) {
    let status = client.account.wait_for_relocation(id).await.unwrap();
    assert_eq!(status.end, Some(RelocationEnd::Done), "{status:?}");
}

fn ids(client: &Client) -> Vec<RangeId> {
    client.account.describe_ranges(&link(C)).unwrap().iter().map(|range| range.id).collect()
}

/// Up to sixteen and back to two; every round splits or merges all at once.
async fn relocate(client: &Client, writes: &AtomicU64) {
    let (account, c) = (&client.account, link(C));
    while ids(client).len() < 16 {
        let before = writes.load(Ordering::SeqCst);
        let jobs: Vec<u64> =
            ids(client).into_iter().map(|id| account.start_split(&c, id, None).unwrap()).collect();
        for job in jobs {
            done(client, job).await;
        }
        while writes.load(Ordering::SeqCst) < before + 100 {
            tokio::task::yield_now().await;
        }
    }
    while ids(client).len() > 2 {
        let before = writes.load(Ordering::SeqCst);
        let pairs: Vec<[RangeId; 2]> =
            ids(client).chunks(2).map(|pair| [pair[0], pair[1]]).collect();
        let jobs: Vec<u64> =
            pairs.into_iter().map(|pair| account.start_merge(&c, pair).unwrap()).collect();
        for job in jobs {
            done(client, job).await;
        }
        while writes.load(Ordering::SeqCst) < before + 100 {
            tokio::task::yield_now().await;
        }
    }
}

async fn run(store: Arc<dyn Store>) {
    let client = Client::at(store, AccountOptions::default(), Env::system()).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    let mut still = BTreeSet::new();
    for n in 0..60 {
        let (key, pk) = (format!(r#"["{}"]"#, n % N_KEYS), n % N_KEYS);
        let body = format!(r#"{{"id":"still{n}","pk":"{pk}","v":0,"still":true}}"#);
        client.items().key(&key).create(&body).await.expect(201);
        still.insert(format!("still{n}"));
    }
    let (stop, writes) = (Arc::new(Stop::default()), Arc::new(AtomicU64::new(0)));
    let feed_stop = Arc::new(Stop::default());
    let tasks: Vec<_> = (0..N_WRITERS)
        .map(|n| tokio::spawn(writer(client.clone(), n, Arc::clone(&stop), Arc::clone(&writes))))
        .collect();
    let reader = tokio::spawn(follower(client.clone(), Arc::clone(&feed_stop)));
    let pager = tokio::spawn(pager(client.clone(), Arc::clone(&stop), still.clone()));
    relocate(&client, &writes).await;
    stop.0.store(true, Ordering::SeqCst);
    let mut expected = BTreeMap::new();
    for task in tasks {
        expected.extend(task.await.unwrap());
    }
    let n_readings = pager.await.unwrap();
    feed_stop.0.store(true, Ordering::SeqCst);
    let followed = reader.await.unwrap();
    let rows = client.items().feed_all(1000).await;
    let found: Vec<(String, i64)> = rows
        .iter()
        .filter(|row| row.get("still").is_none())
        .map(|row| {
            (format!("{}/{}", row.get("pk").unwrap().as_str().unwrap(), id(row)), number(row, "v"))
        })
        .collect();
    assert_eq!(found.len(), expected.len(), "nothing doubled");
    assert_eq!(found.iter().cloned().collect::<BTreeMap<_, _>>(), expected, "nothing lost");
    for (full, version) in &expected {
        assert_eq!(followed.get(full), Some(version), "the feed has the last write of {full}");
    }
    client.account.run_jobs_once().await.unwrap();
    client.account.check_partitions().unwrap();
    assert_eq!(client.account.metrics().n_partitions_to_reclaim, 0);
    assert!(n_readings > 0 && expected.len() > 50);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_memory() {
    run(store::open_memory()).await;
}

fn embedded(folder: &Path) -> Arc<dyn Store> {
    let options = store::EmbeddedOptions {
        durability: store::Durability::Fsync,
        cache_bytes: 8 << 20,
        direct_reads: store::DirectReads::Compared,
        env: Env::system(),
    };
    store::open_embedded(folder, &options).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_disk() {
    let folder = tempfile::tempdir().unwrap();
    run(embedded(folder.path())).await;
}
