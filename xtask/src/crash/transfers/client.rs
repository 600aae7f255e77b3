//! One client: a seeded stream of transfers, each run until it is done or refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail, ensure};
use model::Env;
use serde_json::json;

use super::bank::{ACCOUNTS, KEY, account_id, client_id};
use crate::client::{Account, Connection, Request, Response};
use crate::crash::CONTAINER;

// Up to a few hundred in twelve accounts of a thousand: some find no cover.
const AMOUNT_MAX: u64 = 400;

#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) amount: i64,
}

#[derive(Debug)]
pub(super) struct Client {
    number: u32,
    choices: Env,
    done: Vec<Transfer>,
    /// Sent, and not answered.
    in_flight: Option<Transfer>,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) done: u64,
    pub(super) refused: u64,
    pub(super) retried: u64,
}

impl Client {
    pub(super) fn new(number: u32, seed: u64) -> Client {
        Client { number, choices: Env::fixed(seed, 0), done: Vec::new(), in_flight: None }
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// The transfers that took effect, as far as the client can know.
    pub(super) fn done(&self) -> &[Transfer] {
        &self.done
    }

    /// Learns from the number that the server kept whether the transfer in flight took effect.
    pub(super) fn settle(&mut self, n_kept: usize) -> Result<()> {
        self.done.extend(self.in_flight.take_if(|_| n_kept == self.done.len() + 1));
        self.in_flight = None;
        let (n, number) = (self.done.len(), self.number);
        ensure!(n_kept == n, "client {number}: {n_kept} transfers were kept, {n} acknowledged");
        Ok(())
    }

    /// Transfers until the connection breaks; an answer that does not fit is an error.
    pub(super) async fn run(mut self, account: Account) -> Result<(Client, Tally)> {
        let mut tally = Tally::default();
        let Ok(mut connection) = Connection::open(&account.authority).await else {
            return Ok((self, tally));
        };
        let mut transfer = self.choose();
        loop {
            self.in_flight = Some(transfer);
            let request = self.request(transfer);
            let Ok(response) = connection.call(&account, &request).await else {
                return Ok((self, tally));
            };
            self.in_flight = None;
            match outcome(&response)? {
                Outcome::Done => {
                    self.done.push(transfer);
                    tally.done += 1;
                }
                Outcome::Refused => tally.refused += 1,
                Outcome::Again => {
                    tally.retried += 1;
                    continue;
                }
            }
            transfer = self.choose();
        }
    }

    fn choose(&self) -> Transfer {
        let from = self.choices.random_u64() % ACCOUNTS;
        let to = (from + 1 + self.choices.random_u64() % (ACCOUNTS - 1)) % ACCOUNTS;
        let amount = 1 + self.choices.random_u64() % AMOUNT_MAX;
        Transfer { from, to, amount: i64::try_from(amount).unwrap_or(1) }
    }

    fn request(&self, transfer: Transfer) -> Request {
        let Transfer { from, to, amount } = transfer;
        let arguments = json!([client_id(self.number), account_id(from), account_id(to), amount]);
        let request = Request::new("POST", format!("{CONTAINER}/sprocs/transfer"));
        request.partition_key(KEY).body(arguments.to_string())
    }
}

enum Outcome {
    Done,
    /// Nothing of it remains: there was no cover.
    Refused,
    /// Nothing of it remains: another write came between, or there was no room to run.
    Again,
}

fn outcome(response: &Response) -> Result<Outcome> {
    match response.status {
        200 => Ok(Outcome::Done),
        400 if response.text().contains("no cover") => Ok(Outcome::Refused),
        429 | 449 => Ok(Outcome::Again),
        status => bail!("a transfer was answered {status}: {}", response.text()),
    }
}

/// Writes beside the accounts, without a script, so that commits of scripts collide.
pub(super) async fn disturb(account: Account, is_over: Arc<AtomicBool>) -> Result<()> {
    let Ok(mut connection) = Connection::open(&account.authority).await else { return Ok(()) };
    let mut n = 0_u64;
    while !is_over.load(Ordering::SeqCst) {
        n += 1;
        let item = json!({"id": "noise", "pk": KEY, "kind": "noise", "n": n}).to_string();
        let request = Request::new("POST", format!("{CONTAINER}/docs")).partition_key(KEY);
        let request = request.header("x-ms-documentdb-is-upsert", "true").body(item);
        let Ok(response) = connection.call(&account, &request).await else { return Ok(()) };
        ensure!(response.is_success(), "the plain write was answered {}", response.status);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    Ok(())
}
