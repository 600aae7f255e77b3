//! What a point read costs when the container grows: ten thousand items against many.

use std::time::Duration;

use anyhow::Result;

use super::load::{self, Rate, Source};
use super::setup::Subject;
use super::{Bench, Table};
use model::Env;

const SMALL: u64 = 10_000;
const CONNECTIONS: usize = 16;
/// Loading is not what is measured here, so it may wait for nothing.
const OPTIONS: [&str; 2] = ["--durability", "relaxed"];

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let large = bench.n_items_large;
    let subject = Subject::start(&bench.binary, &OPTIONS, &bench.env).await?;
    subject.fill(0, SMALL).await?;
    let small_rate = read(&subject, SMALL, bench.duration, &bench.env).await?;
    let mut filled = SMALL;
    while filled < large {
        let next = (filled + large / 10).min(large);
        subject.fill(filled, next).await?;
        filled = next;
        println!("growth: {filled} of {large} items loaded");
    }
    // A restart first: what was just written is in memory, and must not be the reason for the speed.
    let subject = subject.restart(&bench.binary, &OPTIONS, &bench.env)?;
    let large_rate = read(&subject, large, bench.duration, &bench.env).await?;
    subject.server.stop(&bench.env)?;
    table.add(
        format!("point-read cost with {large} items; with {SMALL}"),
        large_rate.shown(),
        small_rate.shown(),
        format!("{:.2} × cost", small_rate.per_second / large_rate.per_second),
        "≤ 1.3",
    );
    Ok(())
}

/// Reads random items of all `n_items`.
async fn read(subject: &Subject, n_items: u64, duration: Duration, env: &Env) -> Result<Rate> {
    const PREPARED: u64 = 20_000;
    let choices = Env::fixed(1, 0);
    let requests: Vec<Vec<u8>> = (0..PREPARED)
        .map(|_| subject.read_request(choices.random_u64() % n_items))
        .collect::<Result<_>>()?;
    let requests = std::sync::Arc::new(requests);
    let sources = || {
        (0..CONNECTIONS)
            .map(|connection| {
                let requests = std::sync::Arc::clone(&requests);
                let source: Source = Box::new(move |n| {
                    let index = connection * 1201 + usize::try_from(n).unwrap_or(0);
                    requests[index % requests.len()].clone()
                });
                source
            })
            .collect()
    };
    // Once to fill caches as a running server has them, once to measure.
    load::run(&subject.server.authority, sources(), duration / 2, 200, env).await?;
    load::run(&subject.server.authority, sources(), duration, 200, env).await
}
