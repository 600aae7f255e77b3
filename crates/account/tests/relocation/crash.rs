//! A crash at every commit of a split, a merge and a move: the account opens in exactly the old or the new layout, with
//! everything acknowledged, and no bytes stay behind.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use account::{
    AccountOptions, AttachmentAction, AttachmentInput, Body, ItemAction, MediaAction, Operation,
    RangeDescription, RelocationStep,
};
use bytes::Bytes;
use model::{Env, RangeId};
use store::{Direction, KeyRange, Store};

use crate::support::faulty::{FaultyStore, Last};
use crate::support::{Client, START_MS, link};

const C: &str = "dbs/d/colls/c";

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Split,
    Merge,
    Move,
}

impl What {
    fn layouts(self) -> [&'static [u32]; 2] {
        match self {
            What::Split => [&[0, 1], &[2, 3, 1]],
            What::Merge => [&[0, 1], &[2]],
            What::Move => [&[0, 1], &[0, 1]],
        }
    }

    fn start(self, client: &Client) -> u64 {
        let (account, c) = (&client.account, link(C));
        match self {
            What::Split => account.start_split(&c, RangeId(0), None),
            What::Merge => account.start_merge(&c, [RangeId(0), RangeId(1)]),
            What::Move => account.start_move(&c, RangeId(0), None),
        }
        .unwrap()
    }
}

async fn open(store: Arc<dyn Store>) -> Client {
    let options = AccountOptions { min_partitions: 2, ..AccountOptions::default() };
    Client::at(store, options, Env::fixed(7, START_MS)).await
}

const CONTAINER: &str = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
    "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]},"defaultTtl":-1,
    "changeFeedPolicy":{"retentionDuration":10}}"#;

/// Ids that were acknowledged as there and as gone.
#[derive(Default)]
struct Known {
    there: BTreeSet<String>,
    gone: BTreeSet<String>,
    /// Items whose attachment was acknowledged.
    attached: BTreeSet<String>,
}

/// Media of more than one piece, whose bytes tell whose it is.
fn media(n: u32) -> Bytes {
    Bytes::from(vec![u8::try_from(n % 251).unwrap(); 70_000])
}

fn attach(n: u32) -> ItemAction {
    let content = AttachmentInput::Media {
        slug: Some("m".to_owned()),
        content_type: "image/png".to_owned(),
        bytes: media(n),
    };
    let action = AttachmentAction::Create { content, is_upsert: true };
    ItemAction::Attachment { item: n.to_string(), action }
}

impl Known {
    async fn write(&mut self, client: &Client, from: u32, to: u32) {
        for n in from..to {
            let body = format!(r#"{{"id":"{n}","pk":"{}","u":{n},"ttl":1000}}"#, n % 13);
            let items = client.items().key(&format!(r#"["{}"]"#, n % 13));
            if n % 5 == 4 {
                let id = (n - 4).to_string();
                let key = format!(r#"["{}"]"#, (n - 4) % 13);
                // Undecided until it is answered.
                self.there.remove(&id);
                if client.items().key(&key).delete(&id).await.status.code == 204 {
                    self.gone.insert(id);
                }
            } else if items.upsert(&body).await.status.code < 300 {
                self.there.insert(n.to_string());
                if n % 8 == 0 && items.run(attach(n)).await.status.code < 300 {
                    self.attached.insert(n.to_string());
                }
            }
        }
    }

    async fn check(&self, client: &Client) {
        let rows = client.items().feed_all(1000).await;
        let found: Vec<String> =
            rows.iter().map(|row| row.get("id").unwrap().as_str().unwrap().to_owned()).collect();
        let ids: BTreeSet<String> = found.iter().cloned().collect();
        assert_eq!(found.len(), ids.len(), "nothing twice");
        assert!(self.there.is_subset(&ids), "lost {:?}", self.there.difference(&ids));
        assert!(self.gone.is_disjoint(&ids), "back from the dead");
        for id in &self.there {
            let pk = id.parse::<u32>().unwrap() % 13;
            client.items().key(&format!(r#"["{pk}"]"#)).read(id).await.expect(200);
        }
        for id in self.attached.intersection(&self.there) {
            let n: u32 = id.parse().unwrap();
            let action = AttachmentAction::Read { id: "m".to_owned() };
            let read = ItemAction::Attachment { item: id.clone(), action };
            let items = client.items().key(&format!(r#"["{}"]"#, n % 13));
            let link = items.run(read).await.expect(200).text("media");
            let id = link.trim_start_matches("/media/").to_owned();
            let operation = Operation::Media { id, action: MediaAction::Read };
            let (principal, options) = (client.principal.clone(), client.options.clone());
            let call = account::Call { principal, operation, options };
            match client.account.execute(call).await.unwrap().body {
                Body::Media { bytes, .. } => assert!(bytes == media(n), "media of {n}"),
                other => panic!("no media: {other:?}"),
            }
        }
        client.account.check_partitions().unwrap();
    }
}

/// The partitions that have any bytes in the store, the catalog aside.
fn incarnations(store: &dyn Store) -> BTreeSet<u64> {
    let snapshot = store.snapshot();
    let entries = snapshot.scan(KeyRange::all(), Direction::Forward);
    let ids =
        entries.map(|entry| u64::from_be_bytes(*entry.unwrap().0.first_chunk::<8>().unwrap()));
    ids.filter(|id| *id != 0).collect()
}

/// Runs a relocation on a store that stops after `n` commits of it. Returns whether it stopped.
async fn crash_at(inside: Arc<dyn Store>, what: What, n: u64, last: Last) -> (bool, Known) {
    let faulty = FaultyStore::new(inside);
    let client = open(faulty.clone()).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", CONTAINER).await.expect(201);
    let mut known = Known::default();
    known.write(&client, 0, 40).await;
    let (account, c) = (&client.account, link(C));
    account.hold_relocations(&c, RelocationStep::CatchUp).unwrap();
    faulty.stop_after(n, last);
    let id = what.start(&client);
    account.wait_for_hold(id, RelocationStep::CatchUp).await.unwrap();
    known.write(&client, 40, 60).await;
    account.release_relocations(&c, RelocationStep::CatchUp).unwrap();
    account.wait_for_relocation(id).await.unwrap();
    known.write(&client, 60, 70).await;
    let _ = account.run_jobs_once().await;
    (faulty.has_stopped(), known)
}

async fn check(store: &Arc<dyn Store>, what: What, known: &Known) -> usize {
    let client = open(Arc::clone(store)).await;
    let ranges = client.account.describe_ranges(&link(C)).unwrap();
    let ids: Vec<u32> = ranges.iter().map(|range| range.id.0).collect();
    let layouts = what.layouts();
    let layout = layouts.iter().position(|layout| **layout == ids);
    let layout = layout.unwrap_or_else(|| panic!("neither old nor new: {ids:?}"));
    assert!(ranges.windows(2).all(|pair| pair[0].epks.max() == pair[1].epks.min()));
    known.check(&client).await;
    client.account.run_jobs_once().await.unwrap();
    assert_eq!(incarnations(&**store).len(), ids.len(), "no orphans");
    client.account.check_partitions().unwrap();
    known.check(&client).await;
    // Ranges can be relocated again, and ids are not used twice. A heavy logical partition may have a range of its own.
    let split =
        |range: &RangeDescription| client.account.start_split(&link(C), range.id, None).ok();
    let again = ranges.iter().find_map(split).expect("a range of several logical partitions");
    let again = client.account.wait_for_relocation(again).await.unwrap();
    assert!(again.targets.iter().all(|id| !ids.contains(&id.0)), "{again:?}");
    known.check(&client).await;
    layout
}

/// Crashes at commit after commit until the relocation gets through.
async fn every_commit(
    what: What,
    last: Last,
    mut store: impl FnMut(u64) -> Arc<dyn Store>,
    reopen: impl Fn(u64, Arc<dyn Store>) -> Arc<dyn Store>,
) {
    let mut layouts = [0, 0];
    for n in 0.. {
        assert!(n < 500, "it never gets through");
        let inside = store(n);
        let (has_stopped, known) = crash_at(Arc::clone(&inside), what, n, last).await;
        let inside = reopen(n, inside);
        layouts[check(&inside, what, &known).await] += 1;
        if !has_stopped {
            break;
        }
    }
    if what != What::Move {
        assert!(layouts[0] > 5 && layouts[1] > 3, "both ends of the cut-over: {layouts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn in_memory() {
    for what in [What::Split, What::Merge, What::Move] {
        for last in [Last::Lost, Last::Kept] {
            every_commit(what, last, |_| store::open_memory(), |_, store| store).await;
        }
    }
}

fn embedded(folder: &Path) -> Arc<dyn Store> {
    let options = store::EmbeddedOptions {
        durability: store::Durability::Relaxed { interval: std::time::Duration::from_secs(1) },
        cache_bytes: 8 << 20,
        direct_reads: store::DirectReads::Compared,
        env: Env::system(),
    };
    store::open_embedded(folder, &options).unwrap()
}

#[tokio::test(start_paused = true)]
async fn on_disk() {
    for what in [What::Split, What::Merge] {
        let root = tempfile::tempdir().unwrap();
        let folder = |n: u64| {
            let folder = root.path().join(n.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            folder
        };
        every_commit(
            what,
            Last::Kept,
            |n| embedded(&folder(n)),
            |n, store| {
                store.close().unwrap();
                drop(store);
                embedded(&folder(n))
            },
        )
        .await;
    }
}
