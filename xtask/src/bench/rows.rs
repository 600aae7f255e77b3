//! Queries as a client sends them: page after page until there is no more.

use anyhow::{Context as _, Result, bail};
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
        let question = self.question(scope, text, parameters)?;
        self.ask(connection, &question).await
    }

    /// A query that is ready to be sent.
    pub(crate) fn question(
        &self,
        scope: &Scope,
        text: &str,
        parameters: &[(&str, u64)],
    ) -> Result<Question> {
        let parameters: Vec<Value> =
            parameters.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let request = Request::new("POST", format!("{}/docs", self.container))
            .header("x-ms-documentdb-isquery", "true")
            .header("x-ms-documentdb-query-enablecrosspartition", "true")
            .header("x-ms-max-item-count", "-1")
            .body(json!({"query": text, "parameters": parameters}).to_string());
        let request = match scope {
            Scope::Range(id) => request.header("x-ms-documentdb-partitionkeyrangeid", id.clone()),
            Scope::Merged => request.header("x-orrery-merge", "true"),
        };
        let bytes = request.sign(&self.account)?;
        Ok(Question { request, bytes })
    }

    /// Asks page after page.
    pub(crate) async fn ask(
        &self,
        connection: &mut Connection,
        question: &Question,
    ) -> Result<Vec<Value>> {
        let mut rows = Vec::new();
        let mut response = connection.send(&question.bytes).await?;
        loop {
            response = response.expect_success("a query")?;
            let Value::Array(found) = response.json()?["Documents"].take() else {
                bail!("no rows in {}", response.text());
            };
            rows.extend(found);
            let Some(token) = response.header("x-ms-continuation") else { return Ok(rows) };
            let next = question.request.clone().header("x-ms-continuation", token);
            response = connection.call(&self.account, &next).await?;
        }
    }
}

/// A query with its signature.
#[derive(Debug)]
pub(crate) struct Question {
    request: Request,
    bytes: Vec<u8>,
}
