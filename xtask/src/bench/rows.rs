//! Queries as a client sends them: page after page until there is no more.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::client::{Account, Connection, Request};

/// Where a query runs.
#[derive(Debug, Clone)]
pub(crate) enum Scope {
    /// One physical partition, by its id.
    Range(String),
    /// All of them, merged by the server.
    Merged,
}

/// A query that can be asked again and again.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub(crate) account: Account,
    pub(crate) container: String,
}

impl Asker {
    /// The ids of the container's physical partitions.
    pub(crate) async fn ranges(&self) -> Result<Vec<Scope>> {
        let mut connection = Connection::open(&self.account.authority).await?;
        let request = Request::new("GET", format!("{}/pkranges", self.container));
        let found = connection.call(&self.account, &request).await?.expect_success("ranges")?;
        let found = found.json()?;
        let ranges = found["PartitionKeyRanges"].as_array().context("no ranges")?;
        let id = |range: &Value| range["id"].as_str().map(|id| Scope::Range(id.to_owned()));
        ranges.iter().map(|range| id(range).context("a range without id")).collect()
    }

    /// All rows of a query in a scope.
    pub(crate) async fn rows(
        &self,
        connection: &mut Connection,
        scope: &Scope,
        text: &str,
        parameters: &[(&str, u64)],
    ) -> Result<Vec<Value>> {
        let parameters: Vec<Value> =
            parameters.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let first = Request::new("POST", format!("{}/docs", self.container))
            .header("x-ms-documentdb-isquery", "true")
            .header("x-ms-documentdb-query-enablecrosspartition", "true")
            .header("x-ms-max-item-count", "-1")
            .body(json!({"query": text, "parameters": parameters}).to_string());
        let first = match scope {
            Scope::Range(id) => first.header("x-ms-documentdb-partitionkeyrangeid", id.clone()),
            Scope::Merged => first.header("x-orrery-merge", "true"),
        };
        let mut rows = Vec::new();
        let mut continuation: Option<String> = None;
        loop {
            let request = match &continuation {
                Some(token) => first.clone().header("x-ms-continuation", token.clone()),
                None => first.clone(),
            };
            let response = connection.call(&self.account, &request).await?;
            let response = response.expect_success(text)?;
            let mut page = response.json()?;
            let Value::Array(found) = page["Documents"].take() else {
                anyhow::bail!("{text}: no rows in {}", response.text());
            };
            rows.extend(found);
            continuation = response.header("x-ms-continuation").map(str::to_owned);
            if continuation.is_none() {
                return Ok(rows);
            }
        }
    }
}
