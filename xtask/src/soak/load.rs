//! One connection of the load: seeded choices over items of its own, which come and go.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Result, ensure};
use model::Env;
use serde_json::json;

use super::CONTAINER;
use crate::client::{Account, Connection, Request};

/// Items that a worker has at a time; then each new one costs the oldest.
const ITEMS_MAX: usize = 500;
/// Logical partitions that all workers share.
const KEYS: u64 = 64;
/// Every so many requests the connection is a new one, as clients come and go.
const REQUESTS_PER_CONNECTION: u64 = 500;

#[derive(Debug)]
pub(super) struct Worker {
    number: u64,
    choices: Env,
    /// Keys and ids, oldest first.
    items: VecDeque<(String, String)>,
    n_made: u64,
}

/// The procedure that every worker runs: it reads by a query and makes some garbage.
pub(super) fn procedure() -> String {
    let body =
        "function () { var all = []; for (var i = 0; i < 2000; i++) all.push({i: i, t: 'x' + i});
        __.filter(function (it) { return it.n > 5; }, {pageSize: 20}, function (e, found) {
            __.response.setBody({n: all.length, found: found.length}); }); }";
    json!({"id": "p", "body": body}).to_string()
}

impl Worker {
    pub(super) fn new(number: u64, seed: u64) -> Worker {
        let choices = Env::fixed(seed.wrapping_mul(1000).wrapping_add(number), 0);
        Worker { number, choices, items: VecDeque::new(), n_made: 0 }
    }

    /// Asks until it is aborted; an answer that should not be is an error.
    pub(super) async fn run(mut self, account: Account, pause: Duration) -> Result<()> {
        loop {
            let mut connection = Connection::open(&account.authority).await?;
            for _ in 0..REQUESTS_PER_CONNECTION {
                let request = self.next();
                let status = connection.send_for_status(&request.sign(&account)?).await?;
                // A range that moves is busy for a moment (429, 449, 503, 410), so now and then an item was not made (404).
                let is_fine = matches!(status, 200..=299 | 304 | 404 | 408 | 410 | 429 | 449 | 503);
                ensure!(is_fine, "{} {}: {status}", request.verb, request.path);
                tokio::time::sleep(pause).await;
            }
        }
    }

    fn next(&mut self) -> Request {
        let kind = self.choices.random_u64() % 20;
        match kind {
            0..=5 if self.items.len() < ITEMS_MAX => self.create(),
            0..=5 => self.delete(),
            6..=8 => self.upsert(),
            9..=13 => self.read(),
            14..=16 => self.query(),
            17 => self.feed(),
            18 => Request::new("POST", format!("{CONTAINER}/sprocs/p"))
                .partition_key(&self.any_key())
                .body("[]"),
            _ => Request::new("GET", format!("{CONTAINER}/pkranges")),
        }
    }

    fn any_key(&self) -> String {
        format!("k{}", self.choices.random_u64() % KEYS)
    }

    fn any_item(&self) -> Option<(String, String)> {
        let at = self.choices.random_u64() % (self.items.len() as u64).max(1);
        usize::try_from(at).ok().and_then(|at| self.items.get(at).cloned())
    }

    fn content(&self, key: &str, id: &str) -> String {
        let n = self.choices.random_u64();
        let text = format!("{n:x}").repeat(1 + usize::try_from(n % 120).unwrap_or(0));
        json!({"id": id, "pk": key, "n": n % 100, "t": text, "w": [n % 7, {"a": n % 11}]})
            .to_string()
    }

    fn create(&mut self) -> Request {
        self.n_made += 1;
        let (key, id) = (self.any_key(), format!("w{}-{}", self.number, self.n_made));
        let body = self.content(&key, &id);
        self.items.push_back((key.clone(), id));
        Request::new("POST", format!("{CONTAINER}/docs")).partition_key(&key).body(body)
    }

    fn upsert(&mut self) -> Request {
        let Some((key, id)) = self.any_item() else { return self.create() };
        Request::new("POST", format!("{CONTAINER}/docs"))
            .header("x-ms-documentdb-is-upsert", "True")
            .partition_key(&key)
            .body(self.content(&key, &id))
    }

    fn delete(&mut self) -> Request {
        let Some((key, id)) = self.items.pop_front() else { return self.create() };
        Request::new("DELETE", format!("{CONTAINER}/docs/{id}")).partition_key(&key)
    }

    fn read(&mut self) -> Request {
        let Some((key, id)) = self.any_item() else { return self.create() };
        Request::new("GET", format!("{CONTAINER}/docs/{id}")).partition_key(&key)
    }

    fn query(&self) -> Request {
        let n = self.choices.random_u64() % 100;
        let text = match n % 4 {
            0 => format!("SELECT * FROM c WHERE c.n = {n} ORDER BY c.n"),
            1 => "SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n".to_owned(),
            2 => format!("SELECT VALUE UPPER(c.t) FROM c WHERE c.w[1].a = {}", n % 11),
            _ => format!("SELECT TOP 5 c.id FROM c WHERE CONTAINS(c.t, '{n}')"),
        };
        Request::new("POST", format!("{CONTAINER}/docs"))
            .header("x-ms-documentdb-isquery", "True")
            .partition_key(&self.any_key())
            .body(json!({"query": text}).to_string())
    }

    fn feed(&self) -> Request {
        Request::new("GET", format!("{CONTAINER}/docs"))
            .header("a-im", "Incremental feed")
            .header("x-ms-max-item-count", "50")
            .partition_key(&self.any_key())
    }
}
