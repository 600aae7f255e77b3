//! One life of the account: it opens what the last crash left, serves for a while, and crashes or comes to its end.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use account::{
    Account, AccountOptions, Enforcement, FeedMode, ItemAction, Link, Operation, Options, Pace,
    RelocationOptions, RelocationStep, ResourceKind,
};
use model::Value;
use tokio::task::JoinSet;

use crate::calls::{Caller, container, named, rows};
use crate::clients::{client, pager, still_body};
use crate::disk::Disk;
use crate::feeds::{catch_up, check, follower};
use crate::history::{Ask, Told};
use crate::relocator::Relocator;
use crate::world::{N_STILL, World};

const N_CLIENTS: u64 = 5;
const N_CALLS: u64 = 30;

/// How a life is to end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ending {
    /// The power goes after this many commits, if not before.
    Commits(u64),
    /// The power goes when a relocation gets to this step.
    Step(RelocationStep),
    /// Nothing happens, and everything is checked.
    Peace,
}

const CONTAINER: &str = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
    "changeFeedPolicy":{"retentionDuration":600}}"#;

fn options(seed: u64) -> AccountOptions {
    let relocation = RelocationOptions {
        pace: Pace { items_max: 5, bytes_max: 300 },
        copy_bytes_per_second: (seed % 5 == 1).then_some(NonZeroU64::MIN.saturating_add(100_000)),
        ..RelocationOptions::default()
    };
    let enforcement = if seed % 4 == 2 { Enforcement::On } else { Enforcement::Off };
    AccountOptions { relocation, enforcement, ..AccountOptions::default() }
}

/// Runs a life. Fails on a problem that has nothing to do with the power.
pub(crate) async fn live(world: &World, number: u64, ending: Ending) -> Result<(), String> {
    let mut random = world.random(1000 * number);
    let commits = match ending {
        Ending::Commits(commits) => commits,
        Ending::Step(_) | Ending::Peace => u64::MAX,
    };
    let disk = Disk::new(&world.platter, commits, random.clone());
    let work = {
        let disk = Arc::clone(&disk);
        tokio::spawn(async move { disk.run().await })
    };
    random.next();
    let outcome = tokio::select! {
        biased;
        () = disk.until_off() => Ok(()),
        outcome = serve(world, number, ending, &disk) => outcome,
    };
    work.abort();
    world.trace(&format!("life {number} ends"));
    outcome
}

async fn serve(world: &World, number: u64, ending: Ending, disk: &Arc<Disk>) -> Result<(), String> {
    let store: Arc<dyn store::Store> = Arc::<Disk>::clone(disk);
    let account = loop {
        match Account::open(Arc::clone(&store), options(world.seed), world.env.clone()).await {
            Ok(account) => break account,
            Err(account::Error::Store(store::Error::Unavailable(_))) => {}
            Err(error) => return Err(format!("the account does not open: {error}")),
        }
    };
    let mut caller = Caller::new(&account, &world.env);
    if number == 0 {
        fill(world, &mut caller).await?;
    } else {
        check_layout(world, &account).await?;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let relocator = Relocator {
        world: world.clone(),
        account: Arc::clone(&account),
        disk: Arc::clone(disk),
        random: world.random(1000 * number + 900),
        crash_before: match ending {
            Ending::Step(step) => Some(step),
            Ending::Commits(_) | Ending::Peace => None,
        },
        is_over: Arc::clone(&is_over),
    };
    let relocator = tokio::spawn(relocator.run());
    let mut actors = JoinSet::new();
    for n in 0..N_CLIENTS {
        let random = world.random(1000 * number + 100 + n);
        actors.spawn(client(world.clone(), caller.clone(), random, N_CALLS));
    }
    for (n, mode) in [(0, FeedMode::LatestVersion), (1, FeedMode::AllVersionsAndDeletes)] {
        let random = world.random(1000 * number + 200 + n);
        actors.spawn(follower(world.clone(), caller.clone(), random, mode, 6));
    }
    actors.spawn(pager(world.clone(), caller.clone(), world.random(1000 * number + 300), 3));
    while actors.join_next().await.is_some() {}
    is_over.store(true, Ordering::SeqCst);
    relocator.await.map_err(|error| format!("the relocator died: {error}"))?;
    for step in RelocationStep::ALL {
        let _ = account.release_relocations(&container(), step);
    }
    check_layout(world, &account).await?;
    match ending {
        Ending::Peace => check_all(world, &account).await,
        Ending::Commits(_) | Ending::Step(_) => {
            disk.cut_power(None);
            Ok(())
        }
    }
}

/// A database, a container, and the items that stay. The feeds start before the first write of a client.
async fn fill(world: &World, caller: &mut Caller) -> Result<(), String> {
    let database = Link { segments: vec![(ResourceKind::Database, "d".to_owned())] };
    let create = |owner: &Link, kind, body: &str| Operation::Create {
        owner: owner.clone(),
        kind,
        body: body.to_owned().into(),
        is_upsert: false,
    };
    insist(caller, create(&Link::default(), ResourceKind::Database, r#"{"id":"d"}"#)).await?;
    insist(caller, create(&database, ResourceKind::Container, CONTAINER)).await?;
    for n in 0..N_STILL {
        let (pk, body) = still_body(n);
        let action = ItemAction::Create { body: body.into(), is_upsert: true };
        while let Err(refusal) = caller.item(pk, action.clone()).await {
            if !refusal.is_harmless() {
                return Err(format!("an item cannot be made: {refusal:?}"));
            }
        }
    }
    catch_up(world, caller, FeedMode::AllVersionsAndDeletes).await;
    Ok(())
}

/// Tries again while the store says no.
async fn insist(caller: &mut Caller, operation: Operation) -> Result<(), String> {
    loop {
        match caller.execute(operation.clone(), Options::default()).await {
            Ok(_) => return Ok(()),
            Err(refusal) if refusal.is_harmless() => {}
            Err(refusal) => return Err(format!("{operation:?} is refused: {refusal:?}")),
        }
    }
}

/// Ranges tile the hash space, partitions agree with themselves, and nothing is left of what failed.
async fn check_layout(world: &World, account: &Account) -> Result<(), String> {
    for _ in 0..20 {
        // The store says no at times.
        if account.run_jobs_once().await.is_ok() {
            break;
        }
    }
    let ranges = account.describe_ranges(&container()).map_err(|error| error.to_string())?;
    let full = model::EpkRange::full();
    let tiles = ranges.windows(2).all(|pair| pair[0].epks.max() == pair[1].epks.min())
        && ranges.first().is_some_and(|range| range.epks.min() == full.min())
        && ranges.last().is_some_and(|range| range.epks.max() == full.max());
    if !tiles {
        return Err(format!("the ranges do not tile the hash space: {ranges:?}"));
    }
    let n_partitions = world.platter.incarnations().len();
    if n_partitions != ranges.len() {
        return Err(format!("{n_partitions} partitions for {} ranges", ranges.len()));
    }
    account.check_partitions().map_err(|error| error.to_string())
}

async fn check_all(world: &World, account: &Arc<Account>) -> Result<(), String> {
    let mut caller = Caller::new(account, &world.env);
    let mut present: BTreeMap<String, u64> = BTreeMap::new();
    let mut continuation = None;
    loop {
        let page = caller.page(None, 100, continuation).await;
        let page = page.map_err(|refusal| format!("the last reading: {refusal:?}"))?;
        for (name, version) in rows(&page).iter().filter_map(|row: &Value| named(row)) {
            if present.insert(name.clone(), version).is_some() {
                return Err(format!("{name} is there twice"));
            }
        }
        continuation = page.facts.continuation;
        if continuation.is_none() {
            break;
        }
    }
    if present.keys().filter(|name| name.contains("still")).count() as u64 != N_STILL {
        return Err(format!("items that nobody touched are gone: {present:?}"));
    }
    present.retain(|name, _| !name.contains("still"));
    world.with(|known| {
        // The last reading is one more read of every item.
        for (pk, id) in (0..crate::world::N_KEYS).flat_map(|pk| (0..3).map(move |id| (pk, id))) {
            let name = format!("{pk}/{id}");
            let begun = known.history.begin(&name, Ask::Read);
            let told = present.get(&name).map_or(Told::Missing, |version| Told::Found(*version));
            known.history.end(&begun, told);
        }
        known.history.check()
    })?;
    for mode in [FeedMode::LatestVersion, FeedMode::AllVersionsAndDeletes] {
        if !catch_up(world, &mut caller, mode).await {
            return Err("a feed does not come to its end".to_owned());
        }
    }
    check(world, &present)
}
