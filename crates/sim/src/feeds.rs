//! Readers of both change feeds, whose position outlives crashes, and what they must have seen in the end.

use std::collections::{BTreeMap, HashSet};

use account::{FeedMode, FeedStart};
use model::Value;

use crate::calls::{Caller, named, rows};
use crate::random::Random;
use crate::world::World;

/// What a reader of a feed knows.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    position: Option<String>,
    /// Of each item, in the order of the feed: LSN and version, `None` for a delete.
    items: BTreeMap<String, Vec<(i64, Option<u64>)>>,
}

impl Follow {
    /// Says what is wrong with the order of an item's entries.
    fn add(&mut self, name: &str, lsn: i64, version: Option<u64>) -> Result<(), String> {
        let entries = self.items.entry(name.to_owned()).or_default();
        if let Some((last, _)) = entries.last().filter(|(last, _)| *last >= lsn) {
            return Err(format!("{name}: {lsn} after {last} in a feed"));
        }
        entries.push((lsn, version));
        Ok(())
    }

    pub(crate) fn last(&self, name: &str) -> Option<u64> {
        self.items.get(name)?.last()?.1
    }

    /// All versions of all items, in order.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (&String, Vec<Option<u64>>)> {
        let versions = |entries: &Vec<(i64, Option<u64>)>| entries.iter().map(|it| it.1).collect();
        self.items.iter().map(move |(name, entries)| (name, versions(entries)))
    }
}

fn follow_of(mode: FeedMode, known: &mut crate::world::Known) -> &mut Follow {
    match mode {
        FeedMode::LatestVersion => &mut known.latest,
        FeedMode::AllVersionsAndDeletes => &mut known.versions,
    }
}

/// Reads on until there is nothing new; true if the power stayed on.
pub(crate) async fn catch_up(world: &World, caller: &mut Caller, mode: FeedMode) -> bool {
    loop {
        let after = world.with(|known| follow_of(mode, known).position.clone());
        let is_now = after.is_none() && mode == FeedMode::AllVersionsAndDeletes;
        let start = FeedStart { after, is_now, ..FeedStart::default() };
        let page = match caller.feed(mode, start).await {
            Ok(page) => page,
            Err(refusal) if refusal.is_power() => return false,
            Err(refusal) => {
                world.fail(format!("a page of a feed was refused: {refusal:?}"));
                return false;
            }
        };
        let Some(position) = page.facts.etag.as_ref().map(|etag| etag.as_str().to_owned()) else {
            world.fail("a feed without a position");
            return false;
        };
        let read = rows(&page).iter().map(|row| entry(mode, row)).collect::<Vec<_>>();
        for entry in read {
            let added = match entry {
                Some((name, lsn, version)) => {
                    world.trace(&format!("{mode:?} {name} {version:?}"));
                    world.with(|known| follow_of(mode, known).add(&name, lsn, version))
                }
                None => Err("an entry of a feed cannot be read".to_owned()),
            };
            if let Err(problem) = added {
                world.fail(format!("{mode:?}: {problem}"));
                return false;
            }
        }
        world.with(|known| follow_of(mode, known).position = Some(position));
        if page.status.code == 304 {
            return true;
        }
    }
}

fn entry(mode: FeedMode, row: &Value) -> Option<(String, i64, Option<u64>)> {
    match mode {
        FeedMode::LatestVersion => {
            let (name, version) = named(row)?;
            Some((name, row.get("_lsn")?.as_i64()?, Some(version)))
        }
        FeedMode::AllVersionsAndDeletes => {
            let metadata = row.get("metadata")?;
            let lsn = metadata.get("lsn")?.as_i64()?;
            if metadata.get("operationType")?.as_str()? == "delete" {
                let (name, _) = named(row.get("previous")?)?;
                return Some((name, lsn, None));
            }
            let (name, version) = named(row.get("current")?)?;
            Some((name, lsn, Some(version)))
        }
    }
}

/// Follows a feed for a while.
pub(crate) async fn follower(
    world: World,
    mut caller: Caller,
    mut random: Random,
    mode: FeedMode,
    n_rounds: u64,
) {
    for _ in 0..n_rounds {
        random.rest(30).await;
        if !catch_up(&world, &mut caller, mode).await {
            return;
        }
    }
}

/// Compares both feeds, read to their ends, with each other, with what was acknowledged and with what is there.
pub(crate) fn check(world: &World, present: &BTreeMap<String, u64>) -> Result<(), String> {
    world.with(|known| {
        for (name, version) in present.iter().filter(|(_, version)| **version > 0) {
            if known.latest.last(name) != Some(*version) {
                return Err(format!("the feed does not end with {name} at {version}"));
            }
        }
        let mut written = HashSet::new();
        for (name, versions) in known.versions.versions() {
            let mut state = None;
            for version in versions {
                match (state, version) {
                    (None, None) => return Err(format!("{name} is deleted twice in a feed")),
                    (_, Some(version)) if !known.history.was_sent(name, version) => {
                        return Err(format!("nobody wrote {version} to {name}"));
                    }
                    (_, Some(version)) if !written.insert(version) => {
                        return Err(format!("{name}: {version} is in a feed twice"));
                    }
                    _ => state = version,
                }
            }
            if state != present.get(name).copied() {
                let there = present.get(name);
                return Err(format!("all versions of {name} end with {state:?}, not {there:?}"));
            }
        }
        let lost = known.history.acknowledged().find(|(_, version)| !written.contains(version));
        lost.map_or(Ok(()), |(name, version)| {
            Err(format!("{name}: {version} was acknowledged and is not in the feed"))
        })
    })
}
