//! Calls of the account, as clients make them: with a session, with patience.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use account::{
    Account, Body, Call, FeedMode, FeedStart, IndexMetrics, ItemAction, ItemOperation, Link,
    Operation, Options, Outcome, Principal, QueryText, ResourceKind,
};
use model::{Env, Failure, Lsn, PartitionKey, RangeId, SessionEntry, SessionToken, Value, json};

/// Limit: tries of one call that is told to come back later.
const TRIES_MAX: usize = 1000;

/// The container that all is about.
pub(crate) fn container() -> Link {
    let segments =
        vec![(ResourceKind::Database, "d".to_owned()), (ResourceKind::Container, "c".to_owned())];
    Link { segments }
}

/// A failed call: status and words.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) sub: u32,
    pub(crate) text: String,
}

impl Refusal {
    /// Nothing was written, and trying later may help.
    pub(crate) fn is_harmless(&self) -> bool {
        let is_unavailable = self.code == 503 && self.text.contains("unavailable");
        self.code == 449 || self.code == 429 || self.code == 410 || is_unavailable
    }

    /// The power is off: whether anything was written is unknown.
    pub(crate) fn is_power(&self) -> bool {
        self.code == 503 && !self.is_harmless()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) account: Arc<Account>,
    env: Env,
    session: BTreeMap<u32, (Option<i64>, u64)>,
}

impl Caller {
    pub(crate) fn new(account: &Arc<Account>, env: &Env) -> Caller {
        Caller { account: Arc::clone(account), env: env.clone(), session: BTreeMap::new() }
    }

    pub(crate) async fn execute(
        &mut self,
        operation: Operation,
        options: Options,
    ) -> Result<Outcome, Refusal> {
        let mut tries = 0;
        loop {
            let (operation, mut options) = (operation.clone(), options.clone());
            options.session = self.token();
            let call = Call { principal: Principal::Master, operation, options };
            match self.account.execute(call).await {
                Ok(outcome) => {
                    self.note(outcome.facts.session.as_ref());
                    return Ok(outcome);
                }
                Err(failed) => {
                    let status = failed.error.status();
                    if let (429, true) = (status.code, tries < TRIES_MAX) {
                        tries += 1;
                        let wait = failed.error.retry_after_ms().unwrap_or(1).max(1);
                        self.env.advance(Duration::from_millis(wait));
                        tokio::task::yield_now().await;
                        continue;
                    }
                    if status.code < 500 {
                        self.note(failed.facts.session.as_ref());
                    }
                    let text = failed.error.to_string();
                    return Err(Refusal { code: status.code, sub: status.sub, text });
                }
            }
        }
    }

    pub(crate) async fn item(&mut self, pk: u64, action: ItemAction) -> Result<Outcome, Refusal> {
        self.items(
            PartitionKey::from_header(&format!("[\"{pk}\"]")).ok(),
            action,
            Options::default(),
        )
        .await
    }

    pub(crate) async fn feed(
        &mut self,
        mode: FeedMode,
        start: FeedStart,
    ) -> Result<Outcome, Refusal> {
        self.items(None, ItemAction::ChangeFeed { mode, start }, Options::default()).await
    }

    /// One page of all items, or of a query over all of them.
    pub(crate) async fn page(
        &mut self,
        query: Option<&str>,
        items_max: u32,
        continuation: Option<String>,
    ) -> Result<Outcome, Refusal> {
        let action = match query {
            None => ItemAction::ReadFeed,
            Some(text) => ItemAction::Query {
                query: QueryText { text: text.to_owned(), ..QueryText::default() },
                cross_partition: true,
                wants_query_metrics: false,
                wants_index_metrics: IndexMetrics::No,
            },
        };
        let options = Options { items_max: Some(items_max), continuation, ..Options::default() };
        self.items(None, action, options).await
    }

    async fn items(
        &mut self,
        key: Option<PartitionKey>,
        action: ItemAction,
        options: Options,
    ) -> Result<Outcome, Refusal> {
        let operation =
            ItemOperation { container: container(), key, range: None, epks: None, action };
        self.execute(Operation::Item(operation), options).await
    }

    /// All that was seen, in one token, as the JavaScript SDK sends it.
    fn token(&self) -> Option<SessionToken> {
        let mut token = SessionToken::default();
        for (&range, &(version, lsn)) in &self.session {
            token.push(SessionEntry { range: RangeId(range), version, lsn: Lsn(lsn) });
        }
        (!token.entries().is_empty()).then_some(token)
    }

    fn note(&mut self, entry: Option<&SessionEntry>) {
        if let Some(entry) = entry {
            let seen = self.session.entry(entry.range.0).or_insert((entry.version, 0));
            *seen = (*seen).max((entry.version, entry.lsn.0));
        }
    }
}

/// The rows of an answer.
pub(crate) fn rows(outcome: &Outcome) -> Vec<Value> {
    match &outcome.body {
        Body::Feed { rows, .. } => rows.iter().filter_map(|row| json::parse(row).ok()).collect(),
        Body::Resource(bytes) => json::parse(bytes).into_iter().collect(),
        Body::Empty | Body::Media { .. } | Body::MediaHead { .. } | Body::Batch(_) => Vec::new(),
    }
}

/// `pk/id` and version of an item.
pub(crate) fn named(row: &Value) -> Option<(String, u64)> {
    let text = |name| row.get(name).and_then(Value::as_str);
    let version = row.get("v").and_then(Value::as_i64)?;
    Some((format!("{}/{}", text("pk")?, text("id")?), u64::try_from(version).ok()?))
}
