//! `crash --transfers`: money moves between accounts of one logical partition while the server is killed.
//!
//! Sixteen clients run a stored procedure that takes from one account, gives to another and counts the transfer in
//! an item of the client. Some transfers ask for more than there is: they fail after the first write and must leave
//! nothing. A plain writer in the same logical partition makes commits collide. Meanwhile readers sum the balances, by
//! a query, by a procedure and by hand over one page.
//!
//! - no reader ever sees another sum than the one at the start;
//! - after each restart every acknowledged transfer is there, and at most the one in flight besides;
//! - every balance is exactly what the transfers that are there make of it.

mod bank;
mod client;
mod reader;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use model::Env;
use tokio::task::JoinSet;

use super::site::Site;
use super::{CrashArguments, LOAD_MS_MAX, LOAD_MS_MIN};
use crate::client::Account;
use crate::server::Server;
use client::Client;
use reader::ReadPath;

/// Goes before the clients' own numbers in what a run reports.
#[derive(Debug, Default)]
struct Report {
    transfers: u64,
    refused: u64,
    retried: u64,
    sums: u64,
}

pub(super) async fn run(binary: &Path, arguments: &CrashArguments, seed: u64) -> Result<()> {
    let choices = Env::fixed(seed, 0);
    let site = Site::new(binary, arguments.min_partitions)?;
    let mut clients: Vec<Client> =
        (0..arguments.writers).map(|n| Client::new(n, choices.random_u64())).collect();
    let mut server = site.start()?;
    site.make_container(&server).await?;
    bank::open(&site.account(&server)?, arguments.writers).await?;
    let mut report = Report::default();
    for cycle in 1..=arguments.cycles {
        let load_ms = LOAD_MS_MIN + choices.random_u64() % (LOAD_MS_MAX - LOAD_MS_MIN);
        let account = site.account(&server)?;
        clients = load_and_kill(server, &account, clients, load_ms, &mut report)
            .await
            .with_context(|| format!("cycle {cycle}: load"))?;
        site.kill_restarts(&choices).await?;
        server = site.start().with_context(|| format!("cycle {cycle}: restart"))?;
        bank::verify(&site.account(&server)?, &mut clients)
            .await
            .with_context(|| format!("cycle {cycle} of {}", arguments.cycles))?;
        let Report { transfers, refused, retried, sums } = report;
        println!(
            "crash: cycle {cycle}: killed after {load_ms} ms; so far {transfers} transfers, {refused} refused, \
             {retried} run again after 449, {sums} sums seen, all the same"
        );
    }
    anyhow::ensure!(report.transfers > 0 && report.sums > 0, "nothing was transferred or summed");
    server.stop(&site.env).context("orderly stop at the end")
}

async fn load_and_kill(
    server: Server,
    account: &Account,
    clients: Vec<Client>,
    load_ms: u64,
    report: &mut Report,
) -> Result<Vec<Client>> {
    let is_over = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for way in [ReadPath::Query, ReadPath::Procedure, ReadPath::Page] {
        readers.spawn(reader::watch(way, account.clone(), Arc::clone(&is_over)));
    }
    let noise = tokio::spawn(client::disturb(account.clone(), Arc::clone(&is_over)));
    let mut tasks = JoinSet::new();
    for client in clients {
        tasks.spawn(client.run(account.clone()));
    }
    tokio::time::sleep(Duration::from_millis(load_ms)).await;
    server.kill()?;
    is_over.store(true, Ordering::SeqCst);
    let mut clients = Vec::new();
    while let Some(done) = tasks.join_next().await {
        let (client, tally) = done.context("a client panicked")??;
        report.transfers += tally.done;
        report.refused += tally.refused;
        report.retried += tally.retried;
        clients.push(client);
    }
    while let Some(seen) = readers.join_next().await {
        report.sums += seen.context("a reader panicked")??;
    }
    noise.await.context("the plain writer panicked")??;
    // Tasks end in any order; the seed must not depend on it.
    clients.sort_by_key(Client::number);
    Ok(clients)
}
