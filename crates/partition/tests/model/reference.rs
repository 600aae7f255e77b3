//! The model: a map of living items. What has expired is simply not there.

use std::collections::BTreeMap;

use model::Lsn;

use crate::plan::{Body, Call};

#[derive(Debug, Clone)]
struct Item {
    body: Body,
    /// Place in creation order.
    created: u64,
    /// Set to zero by a write until its LSN is known.
    lsn: u64,
    ts: u64,
}

type Items = BTreeMap<(String, String), Item>;

pub(crate) struct Reference {
    items: Items,
    n_created: u64,
    now: u64,
    default_ttl: Option<i32>,
    lsn: u64,
}

impl Reference {
    pub(crate) fn new(default_ttl: Option<i32>, now: u64) -> Reference {
        Reference { items: Items::new(), n_created: 0, now, default_ttl, lsn: 10 }
    }

    /// Carries out one call and returns the status that it must have.
    pub(crate) fn call(&mut self, key: &str, call: &Call) -> u16 {
        let before = self.items.clone();
        let status = self.attempt(key, call);
        if status >= 400 {
            self.items = before;
        }
        status
    }

    pub(crate) fn batch(&mut self, key: &str, calls: &[Call]) -> Vec<u16> {
        let before = self.items.clone();
        let mut statuses = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let status = self.attempt(key, call);
            if status >= 400 {
                self.items = before;
                let mut all = vec![424; calls.len()];
                all[index] = status;
                return all;
            }
            statuses.push(status);
        }
        statuses
    }

    /// Notes the LSN that the partition gave to the last call.
    pub(crate) fn confirm(&mut self, status: u16, lsn: Option<Lsn>) {
        let is_write = self.items.values().any(|item| item.lsn == 0) || status == 204;
        let Some(Lsn(lsn)) = lsn else { return };
        if is_write {
            assert!(lsn > self.lsn, "every write has a new lsn: {lsn} after {}", self.lsn);
            self.lsn = lsn;
        }
        self.items.values_mut().filter(|item| item.lsn == 0).for_each(|item| item.lsn = lsn);
    }

    pub(crate) fn confirm_batch(&mut self, committed: bool, lsn: Lsn) {
        if committed {
            assert!(lsn.0 >= self.lsn);
            self.lsn = lsn.0;
            self.items.values_mut().filter(|item| item.lsn == 0).for_each(|item| item.lsn = lsn.0);
        }
    }

    pub(crate) fn delete_logical(&mut self, key: &str) {
        self.items.retain(|(own, _), _| own != key);
    }

    pub(crate) fn advance(&mut self, seconds: u64) {
        self.now += seconds;
        let (now, default_ttl) = (self.now, self.default_ttl);
        self.items.retain(|_, item| {
            let Some(default) = default_ttl else { return true };
            match u64::try_from(item.body.ttl.unwrap_or(default)) {
                Ok(seconds) => item.ts + seconds > now,
                Err(_) => true,
            }
        });
    }

    pub(crate) fn n_items(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn text(&self, key: &str, id: &str) -> Option<String> {
        let item = self.items.get(&(key.to_owned(), id.to_owned()))?;
        Some(crate::observers::normal(&item.body.to_text(key)))
    }

    pub(crate) fn ids_in_creation_order(&self, key: Option<&str>) -> Vec<String> {
        let inside = |own: &str| key.is_none_or(|key| own == key);
        let mut found: Vec<_> = self.items.iter().filter(|((own, _), _)| inside(own)).collect();
        found.sort_by_key(|(_, item)| item.created);
        found.into_iter().map(|((_, id), _)| id.clone()).collect()
    }

    pub(crate) fn feed(&self) -> Vec<(String, i64)> {
        let entry = |(_, id): &(String, String), item: &Item| {
            (id.clone(), i64::try_from(item.lsn).unwrap())
        };
        self.items.iter().map(|(at, item)| entry(at, item)).collect()
    }

    fn attempt(&mut self, key: &str, call: &Call) -> u16 {
        match call {
            Call::Create(body) if self.get(key, &body.id).is_some() => 409,
            Call::Create(body) => self.put(key, None, body, 201),
            Call::Upsert(body) => {
                let exists = self.get(key, &body.id).is_some();
                let old = exists.then(|| body.id.clone());
                self.put(key, old.as_deref(), body, if exists { 200 } else { 201 })
            }
            Call::Replace { id, body } => {
                if self.get(key, id).is_none() {
                    return 404;
                }
                if *id != body.id && self.get(key, &body.id).is_some() {
                    return 409;
                }
                self.put(key, Some(id), body, 200)
            }
            Call::Patch { id, by, u, removes } => {
                let Some(old) = self.get(key, id) else { return 404 };
                let mut body = old.body.clone();
                body.v += by;
                body.u = u.or(body.u);
                if *removes {
                    if body.u.is_none() {
                        return 400;
                    }
                    body.u = None;
                }
                self.put(key, Some(id), &body, 200)
            }
            Call::Delete { id } => {
                let removed = self.items.remove(&(key.to_owned(), id.clone()));
                if removed.is_some() { 204 } else { 404 }
            }
            Call::Read { id } => {
                if self.get(key, id).is_some() {
                    200
                } else {
                    404
                }
            }
        }
    }

    fn get(&self, key: &str, id: &str) -> Option<&Item> {
        self.items.get(&(key.to_owned(), id.to_owned()))
    }

    /// Writes the body over the item `old`, or as a new item.
    fn put(&mut self, key: &str, old: Option<&str>, body: &Body, status: u16) -> u16 {
        let others =
            self.items.iter().filter(|((own, id), _)| own == key && Some(id.as_str()) != old);
        for (_, other) in others {
            let other = &other.body;
            if other.u == body.u || (other.x, other.w) == (body.x, body.w) {
                return 409;
            }
        }
        let replaced = old.and_then(|id| self.items.remove(&(key.to_owned(), id.to_owned())));
        let created = replaced.map_or_else(
            || {
                self.n_created += 1;
                self.n_created
            },
            |item| item.created,
        );
        let item = Item { body: body.clone(), created, lsn: 0, ts: self.now };
        self.items.insert((key.to_owned(), body.id.clone()), item);
        status
    }
}
