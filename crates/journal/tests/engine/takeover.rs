//! Schedule 3: opens while appends are under way. No opener misses an entry that was or will be acknowledged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use journal::memory::MemoryEngine;
use journal::{Chain, Engine, Epoch, JournalId, Last, Open, Outcome, SessionId};
use model::Env;

use crate::parts::{entry, read};
use crate::server;

/// What the servers of one journal were told.
#[derive(Default)]
struct Told {
    /// Acknowledged entries: number, chain and epoch.
    acknowledged: BTreeMap<u64, (Chain, Epoch)>,
    /// What each epoch began with.
    opened: BTreeMap<Epoch, Last>,
}

#[test]
fn takeover_under_load_misses_no_entry_in_memory() {
    server::run(async {
        let engine = MemoryEngine::new(&Env::fixed(1, 0));
        takeovers(Arc::new(engine.clone()), 2_000).await;
        engine.check().unwrap();
    });
}

#[test]
fn takeover_under_load_misses_no_entry() {
    let Some(server) = server::shared() else { return };
    server::run(async {
        let url = server::database(server, &[]).await;
        takeovers(server::engine(&url, Duration::from_secs(30)).await, 400).await;
    });
}

async fn takeovers(engine: Arc<dyn Engine>, takeovers: u32) {
    let left = Arc::new(AtomicU32::new(takeovers));
    let mut journals = Vec::new();
    for number in 1..=4 {
        let journal = JournalId::new(number);
        engine.create(journal).await.unwrap();
        let told = Arc::new(Mutex::new(Told::default()));
        let servers: Vec<_> = (1..=3)
            .map(|session| {
                let (engine, told) = (Arc::clone(&engine), Arc::clone(&told));
                let left = Arc::clone(&left);
                tokio::spawn(compete(engine, journal, SessionId::new(session), told, left))
            })
            .collect();
        journals.push((journal, told, servers));
    }
    for (journal, told, servers) in journals {
        for server in servers {
            server.await.unwrap();
        }
        let told = std::mem::take(&mut *told.lock().unwrap());
        check(&*engine, journal, &told).await;
    }
}

/// A server that takes the journal, writes until it loses it, and takes it again.
async fn compete(
    engine: Arc<dyn Engine>,
    journal: JournalId,
    me: SessionId,
    told: Arc<Mutex<Told>>,
    left: Arc<AtomicU32>,
) {
    let take = |left: &AtomicU32| {
        left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    };
    while take(&left) {
        let row = engine.row(journal).await.unwrap().unwrap();
        let open = Open { journal, seen: row.epoch, holder: me };
        let Some(opened) = engine.open(open).await.unwrap() else { continue };
        told.lock().unwrap().opened.insert(opened.epoch, opened.last);
        let mut position = opened.last.position;
        loop {
            let append = entry(journal, opened.epoch, position, &format!("{me}"));
            position = append.position();
            match engine.append(append).await {
                Outcome::Appended => {
                    let entry = (position.chain, opened.epoch);
                    let before = told.lock().unwrap().acknowledged.insert(position.number, entry);
                    assert_eq!(before, None, "two entries of one number");
                }
                Outcome::InDoubt(_) => break,
                Outcome::NotAppended(why) => panic!("{why}"),
            }
            // In memory nothing else gives way.
            tokio::task::yield_now().await;
            if left.load(Ordering::SeqCst) == 0 {
                return;
            }
        }
    }
}

async fn check(engine: &dyn Engine, journal: JournalId, told: &Told) {
    assert!(told.opened.len() > 10, "{} opens", told.opened.len());
    assert!(told.acknowledged.len() > 20, "{} entries", told.acknowledged.len());
    let mut entries = Vec::new();
    loop {
        let page = read(engine, journal, 1 + entries.len() as u64).await;
        if page.is_empty() {
            break;
        }
        entries.extend(page);
    }
    for (number, (chain, epoch)) in &told.acknowledged {
        let found = &entries[usize::try_from(number - 1).unwrap()];
        assert_eq!((found.position.chain, found.epoch), (*chain, *epoch));
        // Each later opener had it.
        for (later, last) in told.opened.range(Epoch::new(epoch.get() + 1)..) {
            assert!(last.position.number >= *number, "epoch {later} missed {number} of {epoch}");
        }
    }
}
