//! What a point read costs when the container grows: ten thousand items against many.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::load::{self, ROUNDS, Rate, Rounds, Source};
use super::setup::Subject;
use super::{Bench, Table};
use model::Env;

const SMALL: u64 = 10_000;
const CONNECTIONS: usize = 16;
/// Reads that the load goes round in.
const PREPARED: u64 = 20_000;
/// Loading is not what is measured here, so it may wait for nothing.
const OPTIONS: [&str; 2] = ["--durability", "relaxed"];

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let n_large = bench.n_items_large;
    let small = filled(bench, SMALL).await?;
    let large = filled(bench, n_large).await?;
    let (small_reads, large_reads) = (requests(&small, SMALL)?, requests(&large, n_large)?);
    let mut rounds = Rounds::default();
    // The first round fills the caches as a running server has them, and does not count.
    for round in 0..=ROUNDS {
        let duration = bench.duration / ROUNDS;
        let of_large = read(&large, &large_reads, duration, &bench.env).await?;
        let of_small = read(&small, &small_reads, duration, &bench.env).await?;
        if round > 0 {
            rounds.push(of_large, of_small);
        }
    }
    small.server.stop(&bench.env)?;
    large.server.stop(&bench.env)?;
    table.add(
        format!("point reads with {n_large} items; with {SMALL}"),
        rounds.ours(),
        rounds.baseline(),
        format!("{:.2} × cost", 1.0 / rounds.ratio()),
        "≤ 1.3",
    );
    Ok(())
}

/// A server with this many items. It is restarted after loading: what was just written is in memory, and
/// must not be the reason for the speed.
async fn filled(bench: &Bench, n_items: u64) -> Result<Subject> {
    let subject = Subject::start(&bench.binary, &OPTIONS, &bench.env).await?;
    let mut n_filled = 0;
    while n_filled < n_items {
        let next = (n_filled + 100_000).min(n_items);
        subject.fill(n_filled, next).await?;
        n_filled = next;
        println!("growth: {n_filled} of {n_items} items loaded");
    }
    subject.restart(&bench.binary, &OPTIONS, &bench.env)
}

/// Signed reads of random items, prepared before the clock runs.
fn requests(subject: &Subject, n_items: u64) -> Result<Arc<Vec<Vec<u8>>>> {
    let choices = Env::fixed(1, 0);
    let requests = (0..PREPARED)
        .map(|_| subject.read_request(choices.random_u64() % n_items))
        .collect::<Result<_>>()?;
    Ok(Arc::new(requests))
}

async fn read(
    subject: &Subject,
    requests: &Arc<Vec<Vec<u8>>>,
    duration: Duration,
    env: &Env,
) -> Result<Rate> {
    let sources = (0..CONNECTIONS)
        .map(|connection| {
            let requests = Arc::clone(requests);
            let source: Source = Box::new(move |n| {
                let index = connection * 1201 + usize::try_from(n).unwrap_or(0);
                requests[index % requests.len()].clone()
            });
            source
        })
        .collect();
    load::run(&subject.server.authority, sources, duration, 200, env).await
}
