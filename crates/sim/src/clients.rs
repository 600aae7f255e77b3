//! Clients that write and read items, and one that reads everything page by page.

use std::collections::BTreeSet;
use std::time::Duration;

use account::ItemAction;
use bytes::Bytes;

use crate::calls::{Caller, Refusal, named, rows};
use crate::history::{Ask, Told};
use crate::random::Random;
use crate::world::{N_KEYS, N_STILL, World};

/// Items per partition key.
const N_IDS: u64 = 3;

pub(crate) fn still_body(n: u64) -> (u64, String) {
    let pk = n % N_KEYS;
    (pk, format!(r#"{{"id":"still{n}","pk":"{pk}","v":0,"still":true}}"#))
}

fn body(pk: u64, id: u64, version: u64) -> Bytes {
    Bytes::from(format!(r#"{{"id":"{id}","pk":"{pk}","v":{version},"p{}":true}}"#, version % 7))
}

/// Does `n_calls` random calls, one after another.
pub(crate) async fn client(world: World, mut caller: Caller, mut random: Random, n_calls: u64) {
    for _ in 0..n_calls {
        random.rest(6).await;
        if random.one_in(8) {
            world.env.advance(Duration::from_millis(random.below(300)));
        }
        let (pk, id) = (random.below(N_KEYS), random.below(N_IDS));
        let version = world.next_version();
        let ask = match random.below(10) {
            0..=3 => Ask::Read,
            4 => Ask::Create(version),
            5..=7 => Ask::Upsert(version),
            _ => Ask::Delete,
        };
        let item = format!("{pk}/{id}");
        let begun = world.with(|known| known.history.begin(&item, ask));
        let action = match ask {
            Ask::Read => ItemAction::Read { id: id.to_string() },
            Ask::Delete => ItemAction::Delete { id: id.to_string() },
            Ask::Create(_) | Ask::Upsert(_) => ItemAction::Create {
                body: body(pk, id, version),
                is_upsert: matches!(ask, Ask::Upsert(_)),
            },
        };
        let answer = caller.item(pk, action).await;
        let told = match answer {
            Ok(outcome) => match (ask, outcome.status.code) {
                (Ask::Read, 200) => match rows(&outcome).first().and_then(named) {
                    Some((_, version)) => Told::Found(version),
                    None => return world.fail(format!("{item}: a read without an item")),
                },
                (_, 200) => Told::Replaced,
                (_, 201) => Told::Created,
                (_, 204) => Told::Deleted,
                (_, code) => return world.fail(format!("{item}: {ask:?} answered {code}")),
            },
            Err(refusal) => match told(&refusal) {
                Some(told) => told,
                None => return world.fail(format!("{item}: {ask:?} answered {refusal:?}")),
            },
        };
        world.trace(&format!("{item} {ask:?} {told:?}"));
        world.with(|known| known.history.end(&begun, told));
    }
}

fn told(refusal: &Refusal) -> Option<Told> {
    match (refusal.code, refusal.sub) {
        (404, 0) => Some(Told::Missing),
        (409, _) => Some(Told::Exists),
        _ if refusal.is_power() => Some(Told::Nothing),
        _ if refusal.is_harmless() => Some(Told::Refused),
        // 404/1002 above all: a session never runs ahead of what is served.
        _ => None,
    }
}

/// Reads everything again and again: an item that nobody touches is in every reading, once.
pub(crate) async fn pager(world: World, mut caller: Caller, mut random: Random, n_readings: u64) {
    let expected: BTreeSet<String> = (0..N_STILL).map(|n| format!("still{n}")).collect();
    for reading in 0..n_readings {
        let query = (reading % 2 == 1).then_some("SELECT * FROM c WHERE c.still = true");
        let (mut found, mut continuation) = (Vec::new(), None);
        loop {
            random.rest(8).await;
            let items_max = u32::try_from(1 + random.below(9)).unwrap_or(1);
            let page = match caller.page(query, items_max, continuation.clone()).await {
                Ok(page) => page,
                Err(refusal) if refusal.is_power() => return,
                Err(refusal) => return world.fail(format!("a page was refused: {refusal:?}")),
            };
            let names = rows(&page).iter().filter_map(named).collect::<Vec<_>>();
            let ids = names.iter().filter_map(|(name, _)| name.split_once('/'));
            found.extend(ids.map(|(_, id)| id.to_owned()).filter(|id| id.starts_with("still")));
            continuation = page.facts.continuation;
            if continuation.is_none() {
                break;
            }
        }
        let unique: BTreeSet<String> = found.iter().cloned().collect();
        if unique != expected || unique.len() != found.len() {
            return world.fail(format!("reading {reading} ({query:?}) found {found:?}"));
        }
        world.trace(&format!("reading {reading}"));
        world.with(|known| known.n_readings += 1);
    }
}
