//! A client of the account for tests: builds calls from links and JSON text.
#![allow(dead_code, unreachable_pub)]

pub mod faulty;

use std::sync::Arc;

use account::{
    Account, AccountOptions, BatchAction, BatchCall, BatchResult, Body, Call, Consistency, Facts,
    Failed, FeedMode, FeedStart, IndexMetrics, IndexingDirective, ItemAction, ItemOperation, Link,
    Operation, Options, Outcome, Principal, QueryText, ResourceKind,
};
use bytes::Bytes;
use model::{Env, EpkRange, Failure, PartitionKey, RangeId, Status, Value, json};
use store::Store;

pub const START_MS: u64 = 1_700_000_000_000;

#[derive(Debug, Clone)]
pub struct Client {
    pub account: Arc<Account>,
    pub env: Env,
    pub principal: Principal,
    pub options: Options,
}

pub fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// `dbs/d/colls/c` as a link.
pub fn link(path: &str) -> Link {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let segments = parts.chunks(2).map(|pair| (kind(pair[0]), pair[1].to_owned())).collect();
    Link { segments }
}

pub fn kind(name: &str) -> ResourceKind {
    match name {
        "dbs" => ResourceKind::Database,
        "colls" => ResourceKind::Container,
        "docs" => ResourceKind::Item,
        "attachments" => ResourceKind::Attachment,
        "sprocs" => ResourceKind::StoredProcedure,
        "triggers" => ResourceKind::Trigger,
        "udfs" => ResourceKind::Udf,
        "conflicts" => ResourceKind::Conflict,
        "pkranges" => ResourceKind::Range,
        "users" => ResourceKind::User,
        "permissions" => ResourceKind::Permission,
        "clientencryptionkeys" => ResourceKind::EncryptionKey,
        "offers" => ResourceKind::Offer,
        other => panic!("no such kind: {other}"),
    }
}

pub fn key(text: &str) -> PartitionKey {
    PartitionKey::from_header(text).unwrap()
}

/// What an answer is about: its status, its text and its facts.
#[derive(Debug)]
pub struct Answer {
    pub status: Status,
    pub value: Value,
    pub rows: Vec<Value>,
    pub batch: Vec<BatchResult>,
    pub facts: Facts,
    pub message: String,
    pub additional_info: Option<String>,
    pub retry_after_ms: Option<u64>,
}

impl Answer {
    #[track_caller]
    pub fn expect(self, code: u16) -> Answer {
        assert_eq!(self.status.code, code, "{} {:?}", self.message, self.value.to_text());
        self
    }

    #[track_caller]
    pub fn expect_sub(self, code: u16, sub: u32) -> Answer {
        assert_eq!(self.status, Status { code, sub }, "{}", self.message);
        self
    }

    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        let value = self.value.get(name).and_then(Value::as_str);
        value.unwrap_or_else(|| panic!("no {name} in {}", self.value.to_text())).to_owned()
    }

    pub fn ids(&self) -> Vec<String> {
        let id = |row: &Value| row.get("id").and_then(Value::as_str).unwrap_or("?").to_owned();
        self.rows.iter().map(id).collect()
    }
}

impl From<Result<Outcome, Failed>> for Answer {
    fn from(result: Result<Outcome, Failed>) -> Answer {
        let parse = |bytes: &Bytes| json::parse(bytes).expect("answers are JSON");
        match result {
            Ok(outcome) => {
                let (mut one, mut rows, mut batch) = (Value::Null, Vec::new(), Vec::new());
                match outcome.body {
                    Body::Empty => {}
                    Body::Resource(bytes) => one = parse(&bytes),
                    Body::Feed { rows: texts, .. } => rows = texts.iter().map(parse).collect(),
                    Body::Media { bytes, .. } => {
                        one = Value::from(format!("{} bytes", bytes.len()));
                    }
                    Body::MediaHead { content_type, name, n_bytes } => {
                        one = Value::from(format!("{name} {content_type} {n_bytes}"));
                    }
                    Body::Batch(results) => batch = results,
                }
                Answer {
                    status: outcome.status,
                    value: one,
                    rows,
                    batch,
                    facts: outcome.facts,
                    message: String::new(),
                    additional_info: None,
                    retry_after_ms: None,
                }
            }
            Err(failed) => Answer {
                status: failed.error.status(),
                value: Value::Null,
                rows: Vec::new(),
                batch: Vec::new(),
                facts: *failed.facts,
                message: failed.error.to_string(),
                additional_info: failed.error.additional_info().map(str::to_owned),
                retry_after_ms: failed.error.retry_after_ms(),
            },
        }
    }
}

impl Client {
    pub async fn new(min_partitions: u32) -> Client {
        let options = AccountOptions { min_partitions, ..AccountOptions::default() };
        Client::with(store::open_memory(), options).await
    }

    pub async fn with(store: Arc<dyn Store>, options: AccountOptions) -> Client {
        Client::at(store, options, Env::fixed(7, START_MS)).await
    }

    pub async fn at(store: Arc<dyn Store>, options: AccountOptions, env: Env) -> Client {
        let account = Account::open(store, options, env.clone()).await.unwrap();
        Client { account, env, principal: Principal::Master, options: Options::default() }
    }

    /// One container `dbs/d/colls/c` with key `/pk` on `n_ranges` ranges.
    pub async fn with_container(n_ranges: u32) -> Client {
        let client = Client::new(n_ranges).await;
        client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
        client.create("dbs/d/colls", CONTAINER).await.expect(201);
        client
    }

    pub fn by(&self, principal: Principal) -> Client {
        Client { principal, ..self.clone() }
    }

    pub fn with_options(&self, change: impl FnOnce(&mut Options)) -> Client {
        let mut client = self.clone();
        change(&mut client.options);
        client
    }

    pub async fn call(&self, operation: Operation) -> Answer {
        let (principal, options) = (self.principal.clone(), self.options.clone());
        self.account.execute(Call { principal, operation, options }).await.into()
    }

    /// `path` is a feed path: `dbs`, `dbs/d/colls`, ….
    pub async fn create(&self, path: &str, body: &str) -> Answer {
        self.create_or_upsert(path, body, false).await
    }

    pub async fn create_or_upsert(&self, path: &str, body: &str, is_upsert: bool) -> Answer {
        let (owner, kind) = feed(path);
        let body = Bytes::copy_from_slice(body.as_bytes());
        self.call(Operation::Create { owner, kind, body, is_upsert }).await
    }

    pub async fn read(&self, path: &str) -> Answer {
        self.call(Operation::Read { link: link(path) }).await
    }

    pub async fn replace(&self, path: &str, body: &str) -> Answer {
        let body = Bytes::copy_from_slice(body.as_bytes());
        self.call(Operation::Replace { link: link(path), body }).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.call(Operation::Delete { link: link(path) }).await
    }

    pub async fn list(&self, path: &str) -> Answer {
        let (owner, kind) = feed(path);
        self.call(Operation::List { owner, kind }).await
    }

    pub async fn query_resources(&self, path: &str, text: &str) -> Answer {
        let (owner, kind) = feed(path);
        let query = QueryText { text: text.to_owned(), ..QueryText::default() };
        self.call(Operation::QueryResources { owner, kind, query, cross_partition: true }).await
    }

    pub async fn ranges(&self, path: &str, since: Option<&str>, is_incremental: bool) -> Answer {
        let since = since.map(str::to_owned);
        self.call(Operation::Ranges { container: link(path), since, is_incremental }).await
    }

    pub fn items(&self) -> Items<'_> {
        self.items_of("dbs/d/colls/c")
    }

    pub fn items_of(&self, path: &str) -> Items<'_> {
        Items { client: self, container: link(path), key: None, range: None, epks: None }
    }
}

pub const CONTAINER: &str =
    r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;

fn feed(path: &str) -> (Link, ResourceKind) {
    match path.trim_matches('/').rsplit_once('/') {
        Some((owner, name)) => (link(owner), kind(name)),
        None => (Link::default(), kind(path)),
    }
}

/// Item operations in one container and scope.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    client: &'a Client,
    container: Link,
    key: Option<PartitionKey>,
    range: Option<RangeId>,
    epks: Option<EpkRange>,
}

impl Items<'_> {
    pub fn key(mut self, text: &str) -> Self {
        self.key = Some(key(text));
        self
    }

    pub fn range(mut self, id: u32) -> Self {
        self.range = Some(RangeId(id));
        self
    }

    pub fn epks(mut self, epks: EpkRange) -> Self {
        self.epks = Some(epks);
        self
    }

    pub async fn run(&self, action: ItemAction) -> Answer {
        let Items { client, container, key, range, epks } = self.clone();
        let operation = ItemOperation { container, key, range, epks, action };
        client.call(Operation::Item(operation)).await
    }

    pub async fn create(&self, body: &str) -> Answer {
        let body = Bytes::copy_from_slice(body.as_bytes());
        self.run(ItemAction::Create { body, is_upsert: false }).await
    }

    pub async fn upsert(&self, body: &str) -> Answer {
        let body = Bytes::copy_from_slice(body.as_bytes());
        self.run(ItemAction::Create { body, is_upsert: true }).await
    }

    pub async fn read(&self, id: &str) -> Answer {
        self.run(ItemAction::Read { id: id.to_owned() }).await
    }

    pub async fn replace(&self, id: &str, body: &str) -> Answer {
        let body = Bytes::copy_from_slice(body.as_bytes());
        self.run(ItemAction::Replace { id: id.to_owned(), body }).await
    }

    pub async fn patch(&self, id: &str, body: &str) -> Answer {
        let body = Bytes::copy_from_slice(body.as_bytes());
        self.run(ItemAction::Patch { id: id.to_owned(), body }).await
    }

    pub async fn delete(&self, id: &str) -> Answer {
        self.run(ItemAction::Delete { id: id.to_owned() }).await
    }

    pub async fn batch(&self, calls: Vec<BatchCall>) -> Answer {
        self.run(ItemAction::Batch { calls, is_atomic: true, continue_on_error: false }).await
    }

    pub async fn bulk(&self, calls: Vec<BatchCall>) -> Answer {
        self.run(ItemAction::Batch { calls, is_atomic: false, continue_on_error: true }).await
    }

    pub async fn feed(&self) -> Answer {
        self.run(ItemAction::ReadFeed).await
    }

    pub async fn changes(&self, start: FeedStart) -> Answer {
        self.run(ItemAction::ChangeFeed { mode: FeedMode::LatestVersion, start }).await
    }

    pub async fn versions(&self, start: FeedStart) -> Answer {
        self.run(ItemAction::ChangeFeed { mode: FeedMode::AllVersionsAndDeletes, start }).await
    }

    pub async fn query(&self, text: &str) -> Answer {
        self.query_with(text, true).await
    }

    pub async fn query_with(&self, text: &str, cross_partition: bool) -> Answer {
        let query = QueryText { text: text.to_owned(), ..QueryText::default() };
        self.query_as(query, cross_partition).await
    }

    /// Asks the server to merge ranges, reading up to `degree` of them at once.
    pub async fn query_merged(&self, text: &str, degree: usize) -> Answer {
        let merge = Some(degree);
        self.query_as(QueryText { text: text.to_owned(), merge, ..QueryText::default() }, true)
            .await
    }

    pub async fn plan(&self, text: &str) -> Answer {
        let query = QueryText { text: text.to_owned(), ..QueryText::default() };
        let supported_features = "Aggregate, CompositeAggregate, CountIf, DCount, Distinct, GroupBy, \
             MultipleAggregates, MultipleOrderBy, NonStreamingOrderBy, NonValueAggregate, \
             OffsetAndLimit, OrderBy, Top";
        let supported_features = supported_features.to_owned();
        self.run(ItemAction::QueryPlan { query, supported_features }).await
    }

    pub async fn query_as(&self, query: QueryText, cross_partition: bool) -> Answer {
        let wants_index_metrics = IndexMetrics::No;
        let wants_query_metrics = true;
        self.run(ItemAction::Query {
            query,
            cross_partition,
            wants_query_metrics,
            wants_index_metrics,
        })
        .await
    }

    /// Follows continuations to the end; at most `items_max` rows per page.
    pub async fn feed_all(&self, items_max: u32) -> Vec<Value> {
        self.feed_from(None, items_max).await
    }

    /// The same from a continuation on.
    pub async fn feed_from(&self, continuation: Option<String>, items_max: u32) -> Vec<Value> {
        self.all(ItemAction::ReadFeed, continuation, items_max).await
    }

    /// All rows of a query that is served range by range.
    pub async fn query_all(&self, text: &str) -> Vec<Value> {
        self.query_from(text, None).await
    }

    /// The same from a continuation on.
    pub async fn query_from(&self, text: &str, continuation: Option<String>) -> Vec<Value> {
        let query = QueryText { text: text.to_owned(), ..QueryText::default() };
        let action = ItemAction::Query {
            query,
            cross_partition: true,
            wants_query_metrics: false,
            wants_index_metrics: IndexMetrics::No,
        };
        self.all(action, continuation, 1000).await
    }

    async fn all(
        &self,
        action: ItemAction,
        mut continuation: Option<String>,
        items_max: u32,
    ) -> Vec<Value> {
        let mut rows = Vec::new();
        for _ in 0..10_000 {
            let client = self.client.with_options(|options| {
                options.items_max = Some(items_max);
                options.continuation.clone_from(&continuation);
            });
            let items = Items { client: &client, ..self.clone() };
            let page = items.run(action.clone()).await.expect(200);
            assert!(page.rows.len() <= items_max as usize);
            rows.extend(page.rows);
            continuation = page.facts.continuation;
            if continuation.is_none() {
                return rows;
            }
        }
        panic!("the pages do not end");
    }
}

pub fn create_call(body: &str) -> BatchCall {
    call(BatchAction::Create { body: Bytes::copy_from_slice(body.as_bytes()) })
}

pub fn upsert_call(body: &str) -> BatchCall {
    call(BatchAction::Upsert { body: Bytes::copy_from_slice(body.as_bytes()) })
}

pub fn read_call(id: &str) -> BatchCall {
    call(BatchAction::Read { id: id.to_owned() })
}

pub fn delete_call(id: &str) -> BatchCall {
    call(BatchAction::Delete { id: id.to_owned() })
}

pub fn call(action: BatchAction) -> BatchCall {
    let (if_match, if_none_match, indexing) = (None, None, IndexingDirective::Default);
    BatchCall { action, key: None, if_match, if_none_match, minimal: false, indexing }
}

pub fn stronger() -> Consistency {
    Consistency::Strong
}
