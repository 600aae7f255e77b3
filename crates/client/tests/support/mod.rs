//! A service in memory, which can be killed and interrupted at any call.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "a module of several test files, each of which uses a part"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use orrery_client::{
    BoxFuture, ChangeFeed, ChangePage, ContainerHost, ContainerLink, ContainerTemplate, Creation,
    Error, Fill, ItemPage, ItemStore, Key, PageRequest, Result, StateStore, StateVersion,
    Statement, Stored,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Runs a future whose parts are always ready.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = Box::pin(future);
    let mut ctx = Context::from_waker(Waker::noop());
    for _ in 0..1_000_000 {
        if let Poll::Ready(it) = future.as_mut().poll(&mut ctx) {
            return it;
        }
    }
    panic!("the future is never ready");
}

type Items = BTreeMap<(String, String), Value>;
type Interruption = Box<dyn FnOnce() + Send>;

/// All containers of a database, and the stores of state and job.
#[derive(Default)]
pub struct Fake {
    pub containers: Mutex<BTreeMap<String, Items>>,
    templates: Mutex<BTreeMap<String, ContainerTemplate>>,
    pub fills: Mutex<BTreeMap<String, u64>>,
    documents: Mutex<BTreeMap<&'static str, (Value, u64)>>,
    clock: AtomicU64,
    /// Calls until every further one fails; negative: never.
    calls_left: AtomicI64,
    interruption: Mutex<Option<(u64, Interruption)>>,
    /// Answers 429 this often before a container is created.
    pub n_busy: AtomicU64,
    pub paused: Mutex<Vec<Duration>>,
}

impl std::fmt::Debug for Fake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fake")
    }
}

impl Fake {
    pub fn new(containers: &[&str]) -> Arc<Fake> {
        let fake = Fake { calls_left: AtomicI64::new(-1), ..Fake::default() };
        for name in containers {
            fake.containers.lock().insert((*name).to_owned(), Items::new());
        }
        Arc::new(fake)
    }

    /// Lets `n_calls` succeed and fails all later ones, as if the process had died.
    pub fn kill_after(&self, n_calls: i64) {
        self.calls_left.store(n_calls, Ordering::SeqCst);
    }

    pub fn revive(&self) {
        self.calls_left.store(-1, Ordering::SeqCst);
    }

    /// Does something just before the call with this number.
    pub fn interrupt_at(&self, n_calls: u64, action: impl FnOnce() + Send + 'static) {
        *self.interruption.lock() = Some((n_calls, Box::new(action)));
    }

    /// Returns whether the interruption has happened.
    pub fn was_interrupted(&self) -> bool {
        self.interruption.lock().is_none()
    }

    fn call(&self) -> Result<()> {
        let action = {
            let mut interruption = self.interruption.lock();
            match interruption.take() {
                Some((0, action)) => Some(action),
                Some((n, action)) => {
                    *interruption = Some((n - 1, action));
                    None
                }
                None => None,
            }
        };
        if let Some(action) = action {
            action();
        }
        let left = self.calls_left.load(Ordering::SeqCst);
        match left {
            0 => return Err(Error::service(599, "killed")),
            1.. => self.calls_left.store(left - 1, Ordering::SeqCst),
            _ => {}
        }
        Ok(())
    }

    fn stamp(&self, item: &Value) -> Value {
        let now = self.clock.fetch_add(1, Ordering::SeqCst);
        let mut item = item.clone();
        item["_etag"] = json!(format!("e{now}"));
        item["_ts"] = json!(now / 4);
        item
    }

    fn with<T>(
        &self,
        link: &ContainerLink,
        work: impl FnOnce(&mut Items) -> Result<T>,
    ) -> Result<T> {
        self.call()?;
        let mut containers = self.containers.lock();
        let items = containers.get_mut(link.name());
        work(items.ok_or_else(|| Error::service(404, "no such container"))?)
    }

    pub fn create_container<'a>(
        &'a self,
        name: &'a str,
        template: &'a ContainerTemplate,
    ) -> BoxFuture<'a, Result<Creation>> {
        ContainerHost::create(self, name, template)
    }

    pub async fn delete_item(&self, name: &str, partition: &Key, id: &str) -> Result<bool> {
        ItemStore::delete(self, &name.into(), partition, id, None).await
    }

    /// All items with the container of each, without system properties.
    pub fn dump(&self) -> Vec<(String, Value)> {
        let containers = self.containers.lock();
        let all =
            containers.iter().flat_map(|(name, items)| items.values().map(move |it| (name, it)));
        all.map(|(name, item)| {
            let mut item = item.clone();
            item.as_object_mut().unwrap().retain(|name, _| !name.starts_with('_'));
            (name.clone(), item)
        })
        .collect()
    }
}

fn place(partition: &Key, item: &Value) -> (String, String) {
    (partition.to_string(), item["id"].as_str().unwrap().to_owned())
}

fn check(found: &Value, if_match: Option<&str>) -> Result<()> {
    match if_match {
        Some(etag) if found["_etag"] != etag => Err(Error::service(412, "changed")),
        _ => Ok(()),
    }
}

/// The one condition that statements of the tests have: `text` is the value of the parameter `@text`.
fn matches(statement: &Statement, item: &Value) -> bool {
    let mut wanted = statement.parameters.iter().filter(|(name, _)| name == "@text");
    wanted.all(|(_, it)| item["text"] == *it)
}

fn etag(item: &Value) -> String {
    item["_etag"].as_str().unwrap().to_owned()
}

impl ItemStore for Fake {
    fn create<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let stamped = self.stamp(item);
            self.with(container, |items| {
                if items.contains_key(&place(partition, item)) {
                    return Err(Error::service(409, "exists"));
                }
                let etag = etag(&stamped);
                items.insert(place(partition, item), stamped);
                Ok(etag)
            })
        })
    }

    fn upsert<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let stamped = self.stamp(item);
            self.with(container, |items| {
                let etag = etag(&stamped);
                items.insert(place(partition, item), stamped);
                Ok(etag)
            })
        })
    }

    fn read<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Stored>>> {
        Box::pin(async move {
            self.with(container, |items| {
                let found = items.get(&(partition.to_string(), id.to_owned())).cloned();
                Ok(found.map(|item| Stored { etag: etag(&item), item }))
            })
        })
    }

    fn replace<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        item: &'a Value,
        if_match: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move {
            let stamped = self.stamp(item);
            self.with(container, |items| {
                let Some(found) = items.get_mut(&place(partition, item)) else { return Ok(None) };
                check(found, if_match)?;
                let etag = etag(&stamped);
                *found = stamped;
                Ok(Some(etag))
            })
        })
    }

    fn delete<'a>(
        &'a self,
        container: &'a ContainerLink,
        partition: &'a Key,
        id: &'a str,
        if_match: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            self.with(container, |items| {
                let place = (partition.to_string(), id.to_owned());
                let Some(found) = items.get(&place) else { return Ok(false) };
                check(found, if_match)?;
                items.remove(&place);
                Ok(true)
            })
        })
    }

    fn page<'a>(&'a self, request: PageRequest<'a>) -> BoxFuture<'a, Result<ItemPage>> {
        Box::pin(async move {
            self.with(request.container, |items| {
                let partition = request.partition.map(ToString::to_string);
                let from: (String, String) = match request.continuation {
                    Some(text) => serde_json::from_str(text)
                        .map_err(|_| Error::service(400, "bad continuation"))?,
                    None => Default::default(),
                };
                let all = items.range(from..);
                let mut all = all
                    .filter(|((it, _), _)| partition.as_ref().is_none_or(|p| p == it))
                    .filter(|(_, it)| matches(request.statement, it));
                let n_rows = request.rows_max.map_or(usize::MAX, |it| it as usize);
                let rows = all.by_ref().take(n_rows).map(|(_, it)| it.clone()).collect();
                let continuation = all.next().map(|(at, _)| serde_json::to_string(at).unwrap());
                Ok(ItemPage { rows, continuation })
            })
        })
    }
}

impl ContainerHost for Fake {
    fn list(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(async move {
            self.call()?;
            Ok(self.containers.lock().keys().cloned().collect())
        })
    }

    fn create<'a>(
        &'a self,
        name: &'a str,
        template: &'a ContainerTemplate,
    ) -> BoxFuture<'a, Result<Creation>> {
        Box::pin(async move {
            self.call()?;
            let busy = self.n_busy.load(Ordering::SeqCst);
            if busy > 0 {
                self.n_busy.store(busy - 1, Ordering::SeqCst);
                return Err(Error::service(429, "slow down"));
            }
            let mut containers = self.containers.lock();
            let is_there = containers.contains_key(name);
            containers.entry(name.to_owned()).or_default();
            self.templates.lock().entry(name.to_owned()).or_insert_with(|| template.clone());
            Ok(if is_there { Creation::Existed } else { Creation::Created })
        })
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.call()?;
            let gone = self.containers.lock().remove(name);
            assert!(gone.is_none_or(|it| it.is_empty()), "container {name} was dropped with items");
            Ok(())
        })
    }

    fn fill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Fill>> {
        Box::pin(async move {
            self.call()?;
            let used_bytes = self.fills.lock().get(name).copied().unwrap_or(0);
            Ok(Fill { used_bytes, quota_bytes: 100 })
        })
    }

    fn template<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<ContainerTemplate>>> {
        Box::pin(async move {
            self.call()?;
            Ok(self.templates.lock().get(name).cloned())
        })
    }

    fn pause(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.paused.lock().push(time) })
    }
}

impl ChangeFeed for Fake {
    /// The etags of the fake grow, so they are positions in the feed.
    fn changes<'a>(
        &'a self,
        container: &'a ContainerLink,
        continuation: Option<&'a str>,
    ) -> BoxFuture<'a, Result<ChangePage>> {
        Box::pin(async move {
            self.with(container, |items| {
                let position = |it: &Value| etag(it)[1..].parse::<u64>().unwrap();
                let after: u64 = continuation.map_or(0, |it| it.parse().unwrap());
                let mut items: Vec<Value> =
                    items.values().filter(|it| position(it) >= after).cloned().collect();
                items.sort_by_key(position);
                items.truncate(5);
                let next = items.last().map_or(after, |it| position(it) + 1);
                let is_caught_up = items.is_empty();
                Ok(ChangePage { items, continuation: next.to_string(), is_caught_up })
            })
        })
    }
}

/// One of the two documents of a fake: the state or the job.
#[derive(Debug)]
pub struct Document {
    fake: Arc<Fake>,
    name: &'static str,
}

impl Fake {
    pub fn document(self: &Arc<Fake>, name: &'static str) -> Arc<Document> {
        Arc::new(Document { fake: self.clone(), name })
    }
}

impl StateStore for Document {
    fn load(&self) -> BoxFuture<'_, Result<Option<(Value, StateVersion)>>> {
        Box::pin(async move {
            self.fake.call()?;
            let found = self.fake.documents.lock().get(self.name).cloned();
            Ok(found.map(|(document, version)| (document, StateVersion(version.to_string()))))
        })
    }

    fn save<'a>(
        &'a self,
        document: &'a Value,
        expected: Option<&'a StateVersion>,
    ) -> BoxFuture<'a, Result<StateVersion>> {
        Box::pin(async move {
            self.fake.call()?;
            let mut documents = self.fake.documents.lock();
            let before = documents.get(self.name).map(|(_, version)| *version);
            if before.map(|it| StateVersion(it.to_string())).as_ref() != expected {
                return Err(Error::StateChanged);
            }
            let version = before.map_or(0, |it| it + 1);
            documents.insert(self.name, (document.clone(), version));
            Ok(StateVersion(version.to_string()))
        })
    }
}
