//! Clients that read bit by bit while everything changes, and must still see what they were promised.

use std::collections::{BTreeMap, BTreeSet};

use model::{Lsn, Value};
use partition::{PageLimits, Scope};

use crate::reference::Reference;
use crate::support::*;

const SMALL: PageLimits = PageLimits { items_max: 2, bytes_max: 1 << 20 };

/// An item without system properties, in one spelling.
pub(crate) fn user_part(item: &Value) -> String {
    let mut object = item.as_object().unwrap().clone();
    object.retain(|name, _| !name.starts_with('_'));
    let mut members: Vec<_> =
        object.iter().map(|(name, value)| format!("{name}={}", value.to_text())).collect();
    members.sort();
    members.join(" ")
}

pub(crate) fn normal(text: &str) -> String {
    user_part(&json(text.as_bytes()))
}

fn rid(item: &Value) -> String {
    text(item, "_rid")
}

/// Walks the read feed page by page: sees nothing twice, and everything that was there all the time.
#[derive(Default)]
pub(crate) struct Walker {
    after: Option<u64>,
    at_start: BTreeSet<String>,
    seen: BTreeSet<String>,
}

impl Walker {
    pub(crate) fn step(&mut self, world: &World) {
        if self.after.is_none() {
            self.at_start = all_rids(world);
            self.seen.clear();
        }
        let page = world.partition.page(&Scope::All, self.after, SMALL).unwrap();
        for item in &page.items {
            assert!(self.seen.insert(rid(&json(item))), "seen twice");
        }
        self.after = page.next;
        if page.next.is_none() {
            let still = all_rids(world);
            let missed: Vec<_> = self
                .at_start
                .intersection(&still)
                .filter(|rid| !self.seen.contains(*rid))
                .collect();
            assert!(missed.is_empty(), "there all the time and not seen: {missed:?}");
        }
    }
}

fn all_rids(world: &World) -> BTreeSet<String> {
    let everything = PageLimits { items_max: 10_000, bytes_max: 1 << 30 };
    let page = world.partition.page(&Scope::All, None, everything).unwrap();
    page.items.iter().map(|item| rid(&json(item))).collect()
}

/// Keeps a copy from the change feed.
pub(crate) struct Follower {
    after: Lsn,
    copy: BTreeMap<String, String>,
}

impl Default for Follower {
    fn default() -> Follower {
        Follower { after: Lsn(0), copy: BTreeMap::new() }
    }
}

impl Follower {
    pub(crate) fn step(&mut self, world: &World) -> bool {
        let page = world.partition.changes(&Scope::All, Some(self.after), None, SMALL).unwrap();
        for item in &page.items {
            let item = json(item);
            assert!(
                item.get("_lsn").unwrap().as_i64().unwrap() > i64::try_from(self.after.0).unwrap()
            );
            self.copy.insert(rid(&item), user_part(&item));
        }
        self.after = page.lsn;
        page.has_more
    }

    /// Catches up: the copy holds every living item as it is now.
    pub(crate) fn finish(&mut self, world: &World, reference: &Reference) {
        while self.step(world) {}
        let everything = PageLimits { items_max: 10_000, bytes_max: 1 << 30 };
        let page = world.partition.page(&Scope::All, None, everything).unwrap();
        assert_eq!(page.items.len(), reference.n_items());
        for item in &page.items {
            let item = json(item);
            assert_eq!(self.copy.get(&rid(&item)), Some(&user_part(&item)), "copy is current");
        }
    }
}

/// Replays the all-versions feed from nothing: the image before a delete is what the replay holds, and the end is the
/// present.
pub(crate) fn replay_versions(world: &World, reference: &Reference) {
    let mut copy: BTreeMap<String, String> = BTreeMap::new();
    let mut last_lsn = 0;
    for entry in world.versions(Lsn(0)) {
        let metadata = entry.get("metadata").unwrap();
        let lsn = metadata.get("lsn").unwrap().as_i64().unwrap();
        assert!(lsn >= last_lsn, "in order");
        last_lsn = lsn;
        let image = |name: &str| entry.get(name).filter(|image| image.get("id").is_some());
        let (current, previous) = (image("current"), image("previous"));
        let rid = rid(current.or(previous).unwrap());
        let before = copy.get(&rid);
        match (text(metadata, "operationType").as_str(), current, previous) {
            ("create", Some(item), None) if before.is_none() => copy.insert(rid, user_part(item)),
            ("replace", Some(item), None) if before.is_some() => copy.insert(rid, user_part(item)),
            ("delete", None, Some(last)) if before == Some(&user_part(last)) => copy.remove(&rid),
            _ => panic!("{}", entry.to_text()),
        };
    }
    let mut replayed: Vec<_> = copy.into_values().collect();
    let mut present: Vec<_> = crate::plan::KEYS
        .iter()
        .flat_map(|key| crate::plan::IDS.iter().filter_map(|id| reference.text(key, id)))
        .collect();
    replayed.sort();
    present.sort();
    assert_eq!(replayed, present);
}
