//! How to read by a synthetic key.

use std::fmt::Write as _;

use serde_json::Value;

use crate::join::join_all;
use crate::{ContainerLink, ItemStore, JsonPath, Key, PageRequest, Result, Statement, Stored};

/// Which logical partitions a read has to visit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadPlan {
    /// One: a point read, or a query within it.
    Point(String),
    /// Each of several: parallel point reads, or one query with `IN`.
    FanOut(Vec<String>),
    /// Unknown: a query over all partitions. A synthetic key has no prefix search.
    CrossPartition,
}

impl ReadPlan {
    /// Returns the keys to visit; none if they are unknown.
    pub fn keys(&self) -> &[String] {
        match self {
            ReadPlan::Point(key) => std::slice::from_ref(key),
            ReadPlan::FanOut(keys) => keys,
            ReadPlan::CrossPartition => &[],
        }
    }

    /// Reads one item by its id: a point read for each key, this many at once, until one finds it.
    ///
    /// Without known keys it is a query over all partitions; the first item with this id is returned then.
    pub async fn read(
        &self,
        items: &dyn ItemStore,
        container: &ContainerLink,
        id: &str,
        parallelism: usize,
    ) -> Result<Option<Stored>> {
        if *self == ReadPlan::CrossPartition {
            let statement = Statement::new("SELECT * FROM c WHERE c.id = @id").parameter("@id", id);
            let mut rows = pages(items, container, &statement).await?;
            let etag = |it: &Value| it["_etag"].as_str().unwrap_or_default().to_owned();
            return Ok(rows.pop().map(|item| Stored { etag: etag(&item), item }));
        }
        for keys in self.keys().chunks(parallelism.max(1)) {
            let keys: Vec<Key> = keys.iter().map(|it| it.as_str().into()).collect();
            let reads = keys.iter().map(|key| items.read(container, key, id)).collect();
            for found in join_all(reads).await {
                if let Some(found) = found? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// Returns all items of the plan that fulfil a condition, by one query; see [`ReadPlan::query`].
    pub async fn rows(
        &self,
        items: &dyn ItemStore,
        container: &ContainerLink,
        property: &JsonPath,
        condition: Option<&str>,
    ) -> Result<Vec<Value>> {
        pages(items, container, &self.query("c", property, condition)).await
    }

    /// Returns a query for the items of the plan, with `alias` as the name of an item in it.
    ///
    /// `condition` is a further condition, for example `c.id = @id`; its parameters are added by the caller.
    pub fn query(&self, alias: &str, property: &JsonPath, condition: Option<&str>) -> Statement {
        let mut statement = Statement::new(format!("SELECT * FROM {alias}"));
        let mut clauses = Vec::new();
        let place: String = property.names().iter().fold(alias.to_owned(), |mut place, name| {
            // Writing to a String cannot fail.
            let _ = write!(place, "[{}]", Value::from(name.as_str()));
            place
        });
        match self.keys() {
            [] => {}
            [key] => {
                clauses.push(format!("{place} = @key0"));
                statement = statement.parameter("@key0", key.as_str());
            }
            keys => {
                let names: Vec<String> = (0..keys.len()).map(|it| format!("@key{it}")).collect();
                clauses.push(format!("{place} IN ({})", names.join(", ")));
                for (name, key) in names.into_iter().zip(keys) {
                    statement = statement.parameter(name, key.as_str());
                }
            }
        }
        clauses.extend(condition.map(|it| format!("({it})")));
        if !clauses.is_empty() {
            let _ = write!(statement.text, " WHERE {}", clauses.join(" AND "));
        }
        statement
    }
}

async fn pages(
    items: &dyn ItemStore,
    container: &ContainerLink,
    statement: &Statement,
) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    let mut at: Option<String> = None;
    loop {
        let continuation = at.as_deref();
        let request =
            PageRequest { container, statement, partition: None, continuation, rows_max: None };
        let page = items.page(request).await?;
        rows.extend(page.rows);
        at = page.continuation;
        if at.is_none() {
            return Ok(rows);
        }
    }
}
