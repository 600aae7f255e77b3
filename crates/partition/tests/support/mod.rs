//! A partition over a store of choice, and short words for what tests do with it.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod held;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::{
    Env, EpkRange, Failure, ItemBody, Lsn, PartitionKey, PartitionKeyDefinition, PropertyPath,
    RangeId, Rid, Value,
};
use partition::{
    Applied, AttachmentBody, AttachmentCall, AttachmentContent, AttachmentOp, BatchApplied,
    ChangePage, Error, ItemCall, ItemOp, LOGICAL_BYTES_MAX, Logical, PageLimits, Partition, Patch,
    Result, Scope, Settings,
};
use store::{Batch, Store};

pub(crate) const START_MS: u64 = 1_700_000_000_000;
pub(crate) const INCARNATION: u64 = 7;

pub(crate) struct World {
    pub(crate) partition: Partition,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) env: Env,
}

/// A container with the partition key `/pk` and nothing special.
pub(crate) fn settings() -> Settings {
    let container = Rid::container(1, 1);
    Settings {
        container_link: format!("dbs/{}/colls/{container}/", Rid::database(1)).into(),
        container,
        definition: PartitionKeyDefinition::new(&["/pk"]).unwrap(),
        unique_keys: Vec::new(),
        default_ttl: None,
        ttl_path: None,
        version_retention: None,
        logical_bytes_max: LOGICAL_BYTES_MAX,
        is_indexed: true,
        is_automatic: true,
        index_policy: query::index::IndexPolicy::all(),
    }
}

pub(crate) fn with_ttl(default_ttl: i32) -> Settings {
    Settings { default_ttl: Some(default_ttl), ..settings() }
}

pub(crate) fn with_versions() -> Settings {
    Settings { version_retention: Some(Duration::from_secs(600)), ..settings() }
}

pub(crate) fn with_unique_keys(keys: &[&[&str]]) -> Settings {
    let path = |text: &&str| PropertyPath::parse(text).unwrap();
    let unique_keys = keys.iter().map(|paths| paths.iter().map(path).collect()).collect();
    Settings { unique_keys, ..settings() }
}

impl World {
    pub(crate) fn new() -> World {
        World::with(settings())
    }

    pub(crate) fn with(settings: Settings) -> World {
        World::on(store::open_memory(), settings)
    }

    /// A new partition in the store.
    pub(crate) fn on(store: Arc<dyn Store>, settings: Settings) -> World {
        let mut batch = Batch::new();
        Partition::initialise(&mut batch, INCARNATION, 1, Lsn(10));
        store.commit(batch).wait().unwrap();
        World::open(store, settings, Env::fixed(1, START_MS))
    }

    /// The partition that the store already holds.
    pub(crate) fn open(store: Arc<dyn Store>, settings: Settings, env: Env) -> World {
        let partition = Partition::open(
            Arc::clone(&store),
            INCARNATION,
            RangeId(0),
            EpkRange::full(),
            Arc::new(settings),
            env.clone(),
        )
        .unwrap();
        World { partition, store, env }
    }

    pub(crate) fn at(&self, key: &str) -> Logical {
        let key = PartitionKey::from_header(key).unwrap();
        Logical::new(&self.partition.settings().definition, key)
    }

    /// The logical partition that the body belongs to.
    pub(crate) fn home(&self, body: &str) -> Logical {
        let definition = &self.partition.settings().definition;
        let key = item(body).partition_key(definition);
        Logical::new(definition, key)
    }

    pub(crate) async fn apply(&self, at: &Logical, op: ItemOp) -> Result<Applied> {
        self.partition.apply(at, ItemCall::new(op)).await
    }

    pub(crate) async fn create(&self, body: &str) -> Result<Applied> {
        self.apply(&self.home(body), ItemOp::Create(item(body))).await
    }

    pub(crate) async fn upsert(&self, body: &str) -> Result<Applied> {
        self.apply(&self.home(body), ItemOp::Upsert(item(body))).await
    }

    pub(crate) async fn replace(&self, id: &str, body: &str) -> Result<Applied> {
        let op = ItemOp::Replace { id: id.to_owned(), body: item(body) };
        self.apply(&self.home(body), op).await
    }

    pub(crate) async fn patch(&self, key: &str, id: &str, patch: &str) -> Result<Applied> {
        let patch = Patch::parse(patch.as_bytes())?;
        self.apply(&self.at(key), ItemOp::Patch { id: id.to_owned(), patch }).await
    }

    pub(crate) async fn delete(&self, key: &str, id: &str) -> Result<Applied> {
        self.apply(&self.at(key), ItemOp::Delete { id: id.to_owned() }).await
    }

    pub(crate) fn read(&self, key: &str, id: &str) -> Result<Value> {
        let outcome = self.partition.read(&self.at(key), id, None)?;
        Ok(json(&outcome.body.unwrap()))
    }

    pub(crate) async fn attach(&self, key: &str, item: &str, op: AttachmentOp) -> Result<Applied> {
        self.partition.apply_attachment(&self.at(key), AttachmentCall::new(item, op)).await
    }

    pub(crate) fn attachment(&self, key: &str, item: &str, id: &str) -> Result<Value> {
        let outcome = self.partition.read_attachment(&self.at(key), item, id, None)?;
        Ok(json(&outcome.body.unwrap()))
    }

    /// The ids of an item's attachments, through pages of two.
    pub(crate) fn attachments(&self, key: &str, item: &str) -> Vec<String> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self.partition.attachments(&self.at(key), item, after, limits(2)).unwrap();
            found.extend(page.attachments.iter().map(|text_of| text(&json(text_of), "id")));
            match page.next {
                Some(next) => after = Some(next),
                None => return found,
            }
        }
    }

    pub(crate) async fn batch(&self, key: &str, ops: Vec<ItemOp>) -> Result<BatchApplied> {
        let calls = ops.into_iter().map(ItemCall::new).collect();
        self.partition.apply_batch(&self.at(key), calls).await
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.env.advance(Duration::from_secs(seconds));
    }

    /// The ids of everything in the scope, through pages of two.
    pub(crate) fn ids(&self, scope: &Scope) -> Vec<String> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self.partition.page(scope, after, limits(2)).unwrap();
            found.extend(page.items.iter().map(|item| text(&json(item), "id")));
            match page.next {
                Some(next) => after = Some(next),
                None => return found,
            }
        }
    }

    /// The whole latest-version feed after `after`: (id, lsn) pairs.
    pub(crate) fn feed(&self, after: Lsn) -> Vec<(String, i64)> {
        let entry = |item: &Bytes| {
            let item = json(item);
            (text(&item, "id"), item.get("_lsn").unwrap().as_i64().unwrap())
        };
        let read =
            |after| self.partition.changes(&Scope::All, Some(after), None, limits(2)).unwrap();
        drain(after, read).iter().map(entry).collect()
    }

    /// The whole all-versions feed after `after`.
    pub(crate) fn versions(&self, after: Lsn) -> Vec<Value> {
        let read = |after| self.partition.versions(&Scope::All, after, limits(2)).unwrap();
        drain(after, read).iter().map(|entry| json(entry)).collect()
    }

    #[track_caller]
    pub(crate) fn check(&self) -> partition::Report {
        let report = self.partition.check_consistency().unwrap();
        assert!(report.is_consistent(), "{:#?}", report.problems);
        report
    }
}

/// The embedded store as the server opens it, with a small cache.
pub(crate) fn embedded(folder: &std::path::Path) -> Arc<dyn Store> {
    let options = store::EmbeddedOptions {
        durability: store::Durability::Fsync,
        cache_bytes: 8 << 20,
        direct_reads: store::DirectReads::Compared,
        env: Env::system(),
    };
    store::open_embedded(folder, &options).unwrap()
}

fn drain(mut after: Lsn, read: impl Fn(Lsn) -> ChangePage) -> Vec<Bytes> {
    let mut all = Vec::new();
    loop {
        let page = read(after);
        assert!(page.lsn >= after, "a feed never goes back");
        all.extend(page.items);
        after = page.lsn;
        if !page.has_more {
            return all;
        }
    }
}

pub(crate) fn limits(items_max: usize) -> PageLimits {
    PageLimits { items_max, bytes_max: 4 << 20 }
}

pub(crate) fn item(body: &str) -> ItemBody {
    ItemBody::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"))
}

pub(crate) fn json(bytes: &[u8]) -> Value {
    model::json::parse(bytes).unwrap()
}

pub(crate) fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub(crate) fn create(body: &str) -> ItemOp {
    ItemOp::Create(item(body))
}

pub(crate) fn upsert(body: &str) -> ItemOp {
    ItemOp::Upsert(item(body))
}

pub(crate) fn replace(id: &str, body: &str) -> ItemOp {
    ItemOp::Replace { id: id.to_owned(), body: item(body) }
}

pub(crate) fn delete(id: &str) -> ItemOp {
    ItemOp::Delete { id: id.to_owned() }
}

pub(crate) fn read(id: &str) -> ItemOp {
    ItemOp::Read { id: id.to_owned() }
}

pub(crate) fn patch(id: &str, body: &str) -> ItemOp {
    ItemOp::Patch { id: id.to_owned(), patch: Patch::parse(body.as_bytes()).unwrap() }
}

fn attachment(body: &str) -> AttachmentContent {
    AttachmentContent::Json(AttachmentBody::parse(body.as_bytes()).unwrap())
}

pub(crate) fn create_attachment(body: &str) -> AttachmentOp {
    AttachmentOp::Create(attachment(body))
}

pub(crate) fn upsert_attachment(body: &str) -> AttachmentOp {
    AttachmentOp::Upsert(attachment(body))
}

pub(crate) fn replace_attachment(id: &str, body: &str) -> AttachmentOp {
    AttachmentOp::Replace { id: id.to_owned(), content: attachment(body) }
}

pub(crate) fn delete_attachment(id: &str) -> AttachmentOp {
    AttachmentOp::Delete { id: id.to_owned() }
}

fn media(content_type: &str, bytes: &Bytes) -> partition::Media {
    partition::Media { content_type: content_type.to_owned(), bytes: bytes.clone() }
}

/// An upsert of an attachment from its media.
pub(crate) fn upload(id: &str, content_type: &str, bytes: &Bytes) -> AttachmentOp {
    let media = media(content_type, bytes);
    AttachmentOp::Upsert(AttachmentContent::media(id.to_owned(), media).unwrap())
}

pub(crate) fn replace_media(id: &str, content_type: &str, bytes: &Bytes) -> AttachmentOp {
    AttachmentOp::ReplaceMedia { id: id.to_owned(), media: media(content_type, bytes) }
}

/// Bytes that are not all the same.
pub(crate) fn bytes(n_bytes: usize, seed: u8) -> Bytes {
    (0..=250).cycle().take(n_bytes).map(|byte: u8| byte ^ seed).collect::<Vec<u8>>().into()
}

/// Status and sub-status of a failure.
#[track_caller]
pub(crate) fn failure<T: std::fmt::Debug>(result: Result<T>) -> (u16, u32) {
    let status = result.expect_err("must fail").status();
    (status.code, status.sub)
}

/// The status of an operation, failed or not.
pub(crate) fn code(result: &Result<Applied>) -> u16 {
    match result {
        Ok(applied) => applied.outcome.status.code,
        Err(error) => error.status().code,
    }
}

/// The statuses of a batch.
pub(crate) fn codes(batch: &BatchApplied) -> Vec<u16> {
    let code = |result: &Result<partition::ItemOutcome, Error>| match result {
        Ok(outcome) => outcome.status.code,
        Err(error) => error.status().code,
    };
    batch.results.iter().map(code).collect()
}
