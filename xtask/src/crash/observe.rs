//! What a server shows after a restart: its items with their attachments, its change feed, its counter.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::CONTAINER;
use super::attached;
use super::ledger::ItemName;
use super::writer::padding;
use crate::client::{Account, Connection, Request};

/// Everything seen in one look. Nobody writes meanwhile, so all parts describe one state.
#[derive(Debug)]
pub(crate) struct Seen {
    /// With their attachments.
    pub(crate) items: BTreeMap<ItemName, u64>,
    /// Change feed from the beginning.
    pub(crate) feed: BTreeMap<ItemName, u64>,
    /// Newest version that a reader of the feed has, who went on from where it was before the kill.
    pub(crate) followed: BTreeMap<ItemName, u64>,
    pub(crate) n_counted: u64,
}

/// A reader of the change feed that remembers its place over kills.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    places: BTreeMap<String, String>,
    newest: BTreeMap<ItemName, u64>,
}

impl Follower {
    /// Where to go on in a range: where it was there, or in the one that it comes from. With several of them it begins
    /// again, because their places are not one.
    fn place(&self, range: &str, parents: &[String]) -> Option<String> {
        let mut known = parents.iter().filter_map(|parent| self.places.get(parent));
        let own = self.places.get(range);
        own.or_else(|| known.next().filter(|_| known.next().is_none())).cloned()
    }
}

/// As the container lists it.
#[derive(Debug)]
struct Range {
    id: String,
    parents: Vec<String>,
}

impl Range {
    fn parse(listed: &Value) -> Option<Range> {
        let id = listed["id"].as_str()?.to_owned();
        let parents = listed["parents"].as_array()?.iter();
        Some(Range {
            id,
            parents: parents.map(|it| it.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        })
    }
}

pub(crate) async fn observe(account: &Account, follower: &mut Follower) -> Result<Seen> {
    let mut connection = Connection::open(&account.authority).await?;
    let mut look = Observation { account, connection: &mut connection };
    let mut items = look.items().await.context("read feed")?;
    let attachments = attached::observe(account, look.connection, items.keys()).await;
    let ranges = look.ranges().await.context("ranges")?;
    let mut feed = BTreeMap::new();
    for Range { id: range, parents } in &ranges {
        let (changes, _) =
            look.changes(range, None).await.context("change feed from the beginning")?;
        for (name, version) in changes {
            if feed.insert(name.clone(), version).is_some() {
                bail!("the change feed holds {name:?} twice");
            }
        }
        let place = follower.place(range, parents);
        let (changes, place) = look.changes(range, place).await.context("change feed, going on")?;
        follower.newest.extend(changes);
        follower.places.insert(range.clone(), place);
    }
    let is_there = |id: &String| ranges.iter().any(|range| range.id == *id);
    follower.places.retain(|range, _| is_there(range));
    let n_counted = look.counter().await.context("counter")?;
    items.extend(attachments.context("attachments")?);
    Ok(Seen { items, feed, followed: follower.newest.clone(), n_counted })
}

struct Observation<'a> {
    account: &'a Account,
    connection: &'a mut Connection,
}

impl Observation<'_> {
    async fn items(&mut self) -> Result<BTreeMap<ItemName, u64>> {
        let mut items = BTreeMap::new();
        let mut continuation = None;
        loop {
            let mut request = Request::new("GET", format!("{CONTAINER}/docs"))
                .header("x-ms-max-item-count", "500");
            if let Some(place) = continuation.take() {
                request = request.header("x-ms-continuation", place);
            }
            let response =
                self.connection.call(self.account, &request).await?.expect_success("page")?;
            for item in documents(&response.json()?)? {
                let (name, version) = checked(item)?;
                ensure!(items.insert(name.clone(), version).is_none(), "{name:?} is there twice");
            }
            match response.header("x-ms-continuation") {
                Some(place) => continuation = Some(place.to_owned()),
                None => return Ok(items),
            }
        }
    }

    async fn ranges(&mut self) -> Result<Vec<Range>> {
        let request = Request::new("GET", format!("{CONTAINER}/pkranges"));
        let response =
            self.connection.call(self.account, &request).await?.expect_success("ranges")?;
        let body = response.json()?;
        let ranges = body["PartitionKeyRanges"].as_array().context("no ranges")?;
        let parse = |it: &Value| Range::parse(it).with_context(|| format!("odd range: {it}"));
        ranges.iter().map(parse).collect()
    }

    /// Reads one range's feed to its end; returns the changes and the place to go on from.
    async fn changes(
        &mut self,
        range: &str,
        mut place: Option<String>,
    ) -> Result<(Vec<(ItemName, u64)>, String)> {
        let mut changes = Vec::new();
        let mut last_lsn = 0;
        loop {
            let mut request = Request::new("GET", format!("{CONTAINER}/docs"))
                .header("a-im", "Incremental Feed")
                .header("x-ms-documentdb-partitionkeyrangeid", range)
                .header("x-ms-max-item-count", "300");
            if let Some(place) = &place {
                request = request.header("if-none-match", place);
            }
            let response = self.connection.call(self.account, &request).await?;
            let next = response.header("etag").context("change feed without etag")?.to_owned();
            if response.status == 304 {
                return Ok((changes, next));
            }
            let response = response.expect_success("change feed")?;
            for item in documents(&response.json()?)? {
                let lsn = item["_lsn"].as_u64().context("change without _lsn")?;
                ensure!(lsn >= last_lsn, "the change feed goes back from {last_lsn} to {lsn}");
                last_lsn = lsn;
                changes.push(checked(item)?);
            }
            ensure!(place.as_ref() != Some(&next), "the change feed stands still at {next}");
            place = Some(next);
        }
    }

    /// `documentsCount` of the usage header.
    async fn counter(&mut self) -> Result<u64> {
        let request =
            Request::new("GET", CONTAINER).header("x-ms-documentdb-populatequotainfo", "true");
        let response =
            self.connection.call(self.account, &request).await?.expect_success("quota")?;
        let usage = response.header("x-ms-resource-usage").context("no usage header")?;
        usage
            .split(';')
            .find_map(|it| it.strip_prefix("documentsCount="))
            .and_then(|it| it.parse().ok())
            .with_context(|| format!("no documentsCount in {usage}"))
    }
}

fn documents(page: &Value) -> Result<&Vec<Value>> {
    page["Documents"].as_array().with_context(|| format!("no Documents in {page}"))
}

/// Name and version of an item whose content is what its writer sent.
fn checked(item: &Value) -> Result<(ItemName, u64)> {
    let text = |name: &str| item[name].as_str().with_context(|| format!("no {name} in {item}"));
    let name = ItemName::new(text("pk")?, text("id")?);
    let version = item["version"].as_u64().context("item without version")?;
    ensure!(text("padding")? == padding(&name.id, version), "{name:?} has foreign content: {item}");
    Ok((name, version))
}
