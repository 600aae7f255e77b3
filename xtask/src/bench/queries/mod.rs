//! Queries over many items, in one range and in eight, beside PostgreSQL with the same data as JSONB.
//!
//! Both sides are seen from a client on one machine: whole answers over loopback, parsed. PostgreSQL has prepared
//! statements and an expression index for every query that can use one; Orrery has its default index. Over eight
//! ranges the client does what an SDK does: it asks all ranges at once and merges; then the server merges in its place.

mod orrery;
mod postgres;
mod workload;

use std::time::Duration;

use anyhow::{Result, ensure};

use super::setup::{ITEM_BYTES, Subject};
use super::{Bench, Table};
use orrery::Orrery;
use postgres::Postgres;
use workload::{ALL, Workload};

const SMALL: u64 = 10_000;
const RANGES: [&str; 2] = ["1", "8"];
// Limit: calls of one measurement, however short they are.
const CALLS_MAX: u64 = 10_000;
const CALLS_MIN: u64 = 3;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let n_items = bench.n_items_large;
    let postgres = if let Some(found) = Postgres::find() {
        Some(found.start(n_items, &bench.env).await?)
    } else {
        println!(
            "queries: no column for PostgreSQL, which is not installed (apt install postgresql)"
        );
        None
    };
    for n_ranges in RANGES {
        let subject = filled(bench, n_items, n_ranges).await?;
        let mut orrery = Orrery::connect(&subject).await?;
        warm(n_items, &mut orrery).await?;
        for workload in ALL {
            let mut theirs = None;
            if let Some(postgres) = &postgres {
                check(workload, n_items, &mut orrery, postgres).await?;
                let mut ask = async |call| {
                    postgres.ask(workload, workload.value(call, n_items)).await.map(drop)
                };
                theirs = Some(median(bench, &mut ask).await?);
            }
            let mut ask =
                async |call| orrery.ask(workload, workload.value(call, n_items)).await.map(drop);
            let ours = median(bench, &mut ask).await?;
            add(table, workload, n_items, &format!("{n_ranges} ranges"), ours, theirs);
            if n_ranges != RANGES[0] {
                let ours = by_server(bench, workload, n_items, &mut orrery).await?;
                let place = format!("{n_ranges} ranges that the server merges");
                add(table, workload, n_items, &place, ours, theirs);
            }
        }
        if n_ranges == RANGES[0] {
            flatness(bench, table, n_items, &mut orrery).await?;
        }
        subject.server.stop(&bench.env)?;
    }
    match postgres {
        Some(postgres) => postgres.stop(),
        None => Ok(()),
    }
}

/// Both sides must say the same before either is measured.
async fn check(
    workload: &Workload,
    n_items: u64,
    orrery: &mut Orrery,
    postgres: &Postgres,
) -> Result<()> {
    let value = workload.value(1, n_items);
    let ours = workload.normal(&orrery.ask(workload, value).await?);
    let theirs = workload.normal(&postgres.ask(workload, value).await?);
    ensure!(!ours.is_empty() && ours == theirs, "{}: {ours:?} and {theirs:?}", workload.name);
    Ok(())
}

/// The time of queries that the server merges; it must say what the client's merge says.
async fn by_server(
    bench: &Bench,
    workload: &Workload,
    n_items: u64,
    orrery: &mut Orrery,
) -> Result<Duration> {
    let value = |call| workload.value(call, n_items);
    let merged = workload.normal(&orrery.ask(workload, value(1)).await?);
    let found = workload.normal(&orrery.ask_server(workload, value(1)).await?);
    ensure!(found == merged, "{}: {found:?} and {merged:?}", workload.name);
    let mut ask = async |call| orrery.ask_server(workload, value(call)).await.map(drop);
    median(bench, &mut ask).await
}

/// What an indexed query costs when the container grows.
async fn flatness(
    bench: &Bench,
    table: &mut Table,
    n_items: u64,
    large: &mut Orrery,
) -> Result<()> {
    let subject = filled(bench, SMALL, "1").await?;
    let mut small = Orrery::connect(&subject).await?;
    warm(SMALL, &mut small).await?;
    for workload in ALL.iter().filter(|workload| workload.is_flat) {
        let mut ask = async |call| small.ask(workload, workload.value(call, SMALL)).await.map(drop);
        let of_small = median(bench, &mut ask).await?;
        let mut ask =
            async |call| large.ask(workload, workload.value(call, n_items)).await.map(drop);
        let of_large = median(bench, &mut ask).await?;
        table.add(
            format!("{} in {n_items} items; in {SMALL}", workload.name),
            shown(of_large),
            shown(of_small),
            format!("{:.2} × cost", of_large.as_secs_f64() / of_small.as_secs_f64()),
            "≤ 1.5",
        );
    }
    subject.server.stop(&bench.env)
}

/// Reads everything once: PostgreSQL has all in memory since it was loaded.
async fn warm(n_items: u64, orrery: &mut Orrery) -> Result<()> {
    for workload in ALL {
        orrery.ask(workload, workload.value(1, n_items)).await?;
    }
    Ok(())
}

/// A server with this many items, restarted after loading: what was just written must not be the reason for the speed.
async fn filled(bench: &Bench, n_items: u64, n_ranges: &str) -> Result<Subject> {
    let cache = postgres::cache_mb().to_string();
    let options = ["--durability", "relaxed", "--min-partitions", n_ranges, "--cache", &cache];
    let subject = Subject::start(&bench.binary, &options, &bench.env).await?;
    let begin = bench.env.monotonic();
    subject.fill_with(0, n_items, &|n| workload::item(n, n_items)).await?;
    let taken = bench.env.monotonic().saturating_sub(begin);
    println!(
        "queries: {n_items} items in {n_ranges} ranges loaded in {:.1} s",
        taken.as_secs_f64()
    );
    subject.restart(&bench.binary, &options, &bench.env)
}

/// The middle time of calls with changing values, after one that does not count.
async fn median<F: AsyncFnMut(u64) -> Result<()>>(bench: &Bench, ask: &mut F) -> Result<Duration> {
    ask(0).await?;
    let end = bench.env.monotonic() + bench.duration;
    let mut times = Vec::new();
    for call in 1..=CALLS_MAX {
        let begin = bench.env.monotonic();
        if begin > end && call > CALLS_MIN {
            break;
        }
        ask(call).await?;
        times.push(bench.env.monotonic().saturating_sub(begin));
    }
    times.sort_unstable();
    Ok(times.get(times.len() / 2).copied().unwrap_or_default())
}

fn add(
    table: &mut Table,
    workload: &Workload,
    n_items: u64,
    place: &str,
    ours: Duration,
    theirs: Option<Duration>,
) {
    let speed = |time: Duration| {
        if workload.is_scan {
            format!(", {:.0} MB/s", megabytes(n_items) / time.as_secs_f64())
        } else {
            String::new()
        }
    };
    let ratio = theirs.map(|theirs| format!("{:.2}", theirs.as_secs_f64() / ours.as_secs_f64()));
    table.add(
        format!("{} in {n_items} items, {place}; PostgreSQL", workload.name),
        format!("{}{}", shown(ours), speed(ours)),
        theirs.map(|it| format!("{}{}", shown(it), speed(it))).unwrap_or_default(),
        ratio.unwrap_or_default(),
        if workload.is_scan { "≥ 300 MB/s per core" } else { "≥ 1" },
    );
}

fn shown(time: Duration) -> String {
    match time.as_micros() {
        micros @ 0..10_000 => format!("{micros} µs"),
        micros => format!(
            "{:.1} ms",
            Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)).as_secs_f64() * 1e3
        ),
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^52 bytes")]
fn megabytes(n_items: u64) -> f64 {
    (n_items * ITEM_BYTES as u64) as f64 / 1e6
}
