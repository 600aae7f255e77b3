//! One writer: a seeded stream of creates, upserts, replaces, deletes and batches on items of its own, and of
//! attachments to them ([`super::attached`]).

use anyhow::{Result, bail};
use model::Env;

use super::CONTAINER;
use super::attached::{self, Links};
use super::ledger::{Change, ItemName, Ledger, State};
use crate::client::{Account, Connection, Request, Response};

// Limit: items per writer, so that the comparison after each kill stays short.
const ITEMS_MAX: usize = 150;
/// Logical partitions that all writers share.
const KEYS: u64 = 12;
/// Items of one batch.
const BATCH_ITEMS: u64 = 5;
/// Batches that one writer rewrites again and again.
const BATCHES: u64 = 4;

#[derive(Debug)]
pub(crate) struct Writer {
    number: u32,
    choices: Env,
    ledger: Ledger,
    links: Links,
    version: u64,
}

/// A request and what it makes of the items it names.
pub(super) struct Step {
    pub(super) request: Request,
    pub(super) change: Change,
    pub(super) status: u16,
}

impl Writer {
    pub(crate) fn new(number: u32, seed: u64) -> Writer {
        let (choices, ledger) = (Env::fixed(seed, 0), Ledger::default());
        Writer { number, choices, ledger, links: Links::default(), version: 0 }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// Writes until the connection breaks; a refused write is an error.
    pub(crate) async fn run(mut self, account: Account) -> Result<(Writer, u64)> {
        let mut n_acknowledged = 0;
        self.links.clear();
        let Ok(mut connection) = Connection::open(&account.authority).await else {
            return Ok((self, 0));
        };
        loop {
            let step = self.next_step();
            self.ledger.begin(step.change.clone());
            // A broken connection leaves the change in flight: the comparison settles it.
            let Ok(response) = connection.call(&account, &step.request).await else {
                return Ok((self, n_acknowledged));
            };
            check(&response, step.status, &step.request)?;
            attached::note_link(&mut self.links, &step.change, &response);
            self.ledger.acknowledge();
            n_acknowledged += 1;
        }
    }

    fn next_step(&mut self) -> Step {
        self.version += 1;
        let n_items = self.ledger.items().count();
        let kind = self.choices.random_u64() % 13;
        match kind {
            0..=2 => self.batch(),
            3 if n_items > 0 => self.delete(),
            4..=6 if n_items > 0 => self.rewrite(kind),
            7..=9 if n_items > 0 => self.attach(),
            _ if n_items >= ITEMS_MAX => self.delete(),
            _ => self.create(),
        }
    }

    fn create(&mut self) -> Step {
        let name = ItemName::new(self.any_key(), format!("w{}-{}", self.number, self.version));
        Step {
            request: Request::new("POST", format!("{CONTAINER}/docs"))
                .partition_key(&name.key)
                .body(content(&name, self.version)),
            change: one(name, Some(self.version)),
            status: 201,
        }
    }

    fn rewrite(&mut self, kind: u64) -> Step {
        let name = self.any_item();
        let body = content(&name, self.version);
        let request = if kind == 4 {
            Request::new("POST", format!("{CONTAINER}/docs"))
                .header("x-ms-documentdb-is-upsert", "True")
        } else {
            Request::new("PUT", format!("{CONTAINER}/docs/{}", name.id))
        };
        Step {
            request: request.partition_key(&name.key).body(body),
            change: one(name, Some(self.version)),
            status: 200,
        }
    }

    fn delete(&mut self) -> Step {
        let name = self.any_item();
        Step {
            request: Request::new("DELETE", format!("{CONTAINER}/docs/{}", name.id))
                .partition_key(&name.key),
            change: self.ledger.removal(&name),
            status: 204,
        }
    }

    fn attach(&mut self) -> Step {
        let name = self.any_item().attachment(attached::any_id(&self.choices));
        let is_there = self.ledger.entries().contains_key(&name);
        let kind =
            if is_there { attached::any_change(&self.choices) } else { attached::Kind::Create };
        attached::step(&name, kind, self.version, &self.links)
    }

    /// Rewrites five items of one logical partition together, all with the same version.
    fn batch(&mut self) -> Step {
        let slot = self.choices.random_u64() % BATCHES;
        let key = format!("k{}", (u64::from(self.number) + slot) % KEYS);
        let names = (0..BATCH_ITEMS)
            .map(|index| ItemName::new(&*key, format!("b{}-{slot}-{index}", self.number)));
        let items: Vec<(ItemName, State)> = names.map(|it| (it, Some(self.version))).collect();
        let operations: Vec<String> = items
            .iter()
            .map(|(name, _)| {
                let body = content(name, self.version);
                format!(r#"{{"operationType":"Upsert","resourceBody":{body}}}"#)
            })
            .collect();
        let request = Request::new("POST", format!("{CONTAINER}/docs"))
            .header("x-ms-cosmos-is-batch-request", "True")
            .header("x-ms-cosmos-batch-atomic", "True")
            .header("x-ms-cosmos-batch-ordered", "True")
            .partition_key(&key)
            .body(format!("[{}]", operations.join(",")));
        Step { request, change: Change { items }, status: 200 }
    }

    fn any_key(&self) -> String {
        format!("k{}", self.choices.random_u64() % KEYS)
    }

    /// One of the items that are there for sure; the caller knows that there is one.
    fn any_item(&self) -> ItemName {
        let n_items = self.ledger.items().count();
        let index = self.choices.random_u64() % (n_items.max(1) as u64);
        let index = usize::try_from(index).unwrap_or(0);
        let name = self.ledger.items().nth(index).cloned();
        name.unwrap_or_else(|| ItemName::new("k0", "none"))
    }
}

pub(super) fn one(name: ItemName, state: State) -> Change {
    Change { items: vec![(name, state)] }
}

fn check(response: &Response, status: u16, request: &Request) -> Result<()> {
    if response.status != status {
        bail!("{} {}: {} {}", request.verb, request.path, response.status, response.text());
    }
    Ok(())
}

/// The item as it is sent. Its padding follows from name and version, so that any byte can be checked.
pub(crate) fn content(name: &ItemName, version: u64) -> String {
    let ItemName { key, id, .. } = name;
    format!(
        r#"{{"id":"{id}","pk":"{key}","version":{version},"padding":"{}"}}"#,
        padding(id, version)
    )
}

pub(crate) fn padding(id: &str, version: u64) -> String {
    // Lengths from nothing to a few pages, so that records of many sizes meet the kill.
    let n = (version.wrapping_mul(7919) % 1500) as usize;
    let unit = format!("{id}.{version}.");
    unit.chars().cycle().take(n).collect()
}
