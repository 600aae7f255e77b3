//! A query over several containers as one sequence of pages, with one continuation.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::PartitionedDatabase;
use super::judge::{Judge, Row};
use crate::join::join_all;
use crate::{BoxFuture, ContainerLink, Error, Key, PageRequest, ReadScope, Result, Statement};

/// Where a query goes on. Its text is opaque and may be kept or sent elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation(String);

impl Continuation {
    /// Takes a text that [`Continuation::as_str`] gave.
    pub fn new(text: impl Into<String>) -> Continuation {
        Continuation(text.into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Serialize, Deserialize)]
struct Token {
    version: u32,
    /// Tells one query from another.
    query: String,
    /// Tells whether items are where they were.
    view: String,
    left: Vec<Left>,
}

/// A container that has rows left, and where they begin.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Left {
    container: ContainerLink,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

/// Some rows of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryPage {
    /// The rows, in the order of containers.
    pub rows: Vec<Value>,
    /// Where to go on; none after the last page.
    pub continuation: Option<Continuation>,
}

/// A query that is under way.
#[derive(Debug)]
pub struct QueryRun {
    database: PartitionedDatabase,
    statement: Statement,
    partition: Option<Key>,
    left: Vec<Left>,
    parallelism: usize,
    rows_max: Option<u32>,
    // Made with the first continuation: the state of a resolver may be long.
    view: Option<String>,
    // Items that move and have been shown. They turn up again only if the query outlives the time of grace, and is
    // not resumed: continuations of that time are refused.
    shown: HashSet<u128>,
}

/// The version of continuations.
const VERSION: u32 = 2;

// Limit: 16 bytes and some more for each item that moves; later ones are not remembered.
const SHOWN_MAX: usize = 4_000_000;

/// The rows of one container.
struct Fetched {
    rows: Vec<Row>,
    continuation: Option<String>,
}

impl QueryRun {
    pub(super) fn new(
        database: PartitionedDatabase,
        statement: Statement,
        scope: &ReadScope,
        links: Vec<ContainerLink>,
    ) -> QueryRun {
        let left = links.into_iter().map(|container| Left { container, at: None }).collect();
        QueryRun::start(database, statement, scope, left)
    }

    fn start(
        database: PartitionedDatabase,
        statement: Statement,
        scope: &ReadScope,
        left: Vec<Left>,
    ) -> QueryRun {
        // A key that is also the partition key of the service narrows the query there, too.
        let partition = match (scope, &database.scheme.partition) {
            (ReadScope::Key(key), None) if *key != Key::Null => Some(key.clone()),
            _ => None,
        };
        QueryRun {
            database,
            statement,
            partition,
            left,
            parallelism: 1,
            rows_max: None,
            view: None,
            shown: HashSet::new(),
        }
    }

    pub(super) fn resume(
        database: PartitionedDatabase,
        statement: Statement,
        scope: &ReadScope,
        continuation: &Continuation,
    ) -> Result<QueryRun> {
        let token: Token =
            serde_json::from_str(continuation.as_str()).map_err(|_| Error::ContinuationInvalid)?;
        let run = QueryRun::start(database, statement, scope, token.left);
        if token.version != VERSION || token.query != run.fingerprint() {
            return Err(Error::ContinuationInvalid);
        }
        if token.view != run.database.scheme.resolver.state().view()? {
            return Err(Error::ContinuationExpired);
        }
        Ok(QueryRun { view: Some(token.view), ..run })
    }

    /// Reads this many containers at once; 1, the default, reads one after the other.
    #[must_use]
    pub fn parallelism(mut self, n_containers: usize) -> QueryRun {
        self.parallelism = n_containers.max(1);
        self
    }

    /// Asks each container for at most this many rows a page.
    #[must_use]
    pub fn rows_max(mut self, n_rows: u32) -> QueryRun {
        self.rows_max = Some(n_rows);
        self
    }

    fn fingerprint(&self) -> String {
        let text = format!("{:?}{:?}", self.statement, self.partition);
        format!("{:016x}", xxhash_rust::xxh64::xxh64(text.as_bytes(), 0))
    }

    /// Returns the next page, `None` at the end. A page may be empty although more follow.
    ///
    /// After an error the same page can be asked for again.
    pub async fn next_page(&mut self) -> Result<Option<QueryPage>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let n_now = self.parallelism.min(self.left.len());
        let now: Vec<BoxFuture<'_, Result<Fetched>>> = self.left[..n_now]
            .iter()
            .map(|it| Box::pin(self.fetch(it)) as BoxFuture<'_, Result<Fetched>>)
            .collect();
        let pages = join_all(now).await.into_iter().collect::<Result<Vec<_>>>()?;
        let mut rows = Vec::new();
        let mut left = Vec::new();
        for (page, place) in pages.into_iter().zip(&self.left) {
            // Only now, when all pages are here: after an error none of their rows has been shown.
            let new = page.rows.into_iter().filter(|(item, _)| is_new(&mut self.shown, *item));
            rows.extend(new.map(|(_, row)| row));
            if page.continuation.is_some() {
                left.push(Left { container: place.container.clone(), at: page.continuation });
            }
        }
        left.extend_from_slice(&self.left[n_now..]);
        self.left = left;
        Ok(Some(QueryPage { rows, continuation: self.continuation()? }))
    }

    /// Returns all rows that are left.
    pub async fn collect(mut self) -> Result<Vec<Value>> {
        let mut rows = Vec::new();
        while let Some(page) = self.next_page().await? {
            rows.extend(page.rows);
        }
        Ok(rows)
    }

    fn continuation(&mut self) -> Result<Option<Continuation>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let view = match self.view.take() {
            Some(it) => it,
            None => self.database.scheme.resolver.state().view()?,
        };
        self.view = Some(view.clone());
        let (query, left) = (self.fingerprint(), self.left.clone());
        let token = Token { version: VERSION, query, view, left };
        let text = serde_json::to_string(&token).map_err(|_| Error::ContinuationInvalid)?;
        Ok(Some(Continuation(text)))
    }

    async fn fetch(&self, place: &Left) -> Result<Fetched> {
        let request = PageRequest {
            container: &place.container,
            statement: &self.statement,
            partition: self.partition.as_ref(),
            continuation: place.at.as_deref(),
            rows_max: self.rows_max,
        };
        let page = self.database.items.page(request).await?;
        let judge = Judge { database: &self.database, statement: &self.statement };
        let rows = judge.rows(&place.container, page.rows).await?;
        Ok(Fetched { rows, continuation: page.continuation })
    }
}

fn is_new(shown: &mut HashSet<u128>, item: Option<u128>) -> bool {
    match item {
        Some(item) if shown.len() < SHOWN_MAX => shown.insert(item),
        Some(item) => !shown.contains(&item),
        None => true,
    }
}
