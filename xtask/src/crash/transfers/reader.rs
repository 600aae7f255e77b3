//! Readers that sum all balances over and over, each in its own way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::bank::{ACCOUNTS, KEY, TOTAL};
use crate::client::{Account, Connection, Request, Response};
use crate::crash::CONTAINER;

/// How a reader sums.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReadPath {
    /// The server adds, in a query.
    Query,
    /// A procedure adds.
    Procedure,
    /// The reader adds what one page of a query shows.
    Page,
}

/// Sums until the server is gone; returns how many sums it saw.
pub(super) async fn watch(
    way: ReadPath,
    account: Account,
    is_over: Arc<AtomicBool>,
) -> Result<u64> {
    let Ok(mut connection) = Connection::open(&account.authority).await else { return Ok(0) };
    let request = way.request();
    let mut n_sums = 0;
    while !is_over.load(Ordering::SeqCst) {
        let Ok(response) = connection.call(&account, &request).await else { break };
        // A script that found no thread is told to come back; it saw nothing.
        if response.status == 429 {
            continue;
        }
        let response = response.expect_success("sum")?;
        let (n, sum) = way.read(&response)?;
        ensure!(n == ACCOUNTS && sum == TOTAL, "{way:?} saw {n} accounts with {sum} in all");
        n_sums += 1;
    }
    Ok(n_sums)
}

impl ReadPath {
    fn request(self) -> Request {
        let text = match self {
            ReadPath::Procedure => {
                let request = Request::new("POST", format!("{CONTAINER}/sprocs/sum"));
                return request.partition_key(KEY).body("[]");
            }
            ReadPath::Query => {
                "SELECT COUNT(1) AS n, SUM(c.balance) AS s FROM c WHERE c.kind = 'account'"
            }
            ReadPath::Page => "SELECT c.balance FROM c WHERE c.kind = 'account'",
        };
        Request::new("POST", format!("{CONTAINER}/docs"))
            .partition_key(KEY)
            .header("x-ms-documentdb-isquery", "true")
            .body(json!({"query": text}).to_string())
    }

    /// How many accounts an answer speaks of, and what they hold.
    fn read(self, response: &Response) -> Result<(u64, i64)> {
        let json = response.json()?;
        let number = |value: &Value| value.as_i64().context("not a whole number");
        let (n, sum) = match self {
            ReadPath::Procedure => (number(&json[0])?, number(&json[1])?),
            ReadPath::Query => {
                let row = &json["Documents"][0];
                (number(&row["n"])?, number(&row["s"])?)
            }
            ReadPath::Page => {
                let rows = json["Documents"].as_array().context("no rows")?;
                let balances = rows.iter().map(|row| number(&row["balance"]));
                (i64::try_from(rows.len())?, balances.sum::<Result<i64>>()?)
            }
        };
        Ok((u64::try_from(n)?, sum))
    }
}
