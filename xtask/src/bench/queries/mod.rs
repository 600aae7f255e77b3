//! Queries over many items, in one range and in eight, beside PostgreSQL with the same data as JSONB.
//!
//! Both sides are seen from a client on one machine: whole answers over loopback, parsed. PostgreSQL has prepared
//! statements and an expression index for every query that can use one; Orrery has its default index, and requests that
//! were signed before the clock runs. Over eight ranges the client does what an SDK does: it asks all ranges at once and
//! merges; then the server merges in its place. The sides take turns, on cores that are kept awake.

mod orrery;
mod postgres;
mod workload;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::awake::Awake;
use super::setup::{ITEM_BYTES, Subject};
use super::{Bench, Table, rest};
use orrery::Orrery;
use postgres::Postgres;
use workload::{ALL, Workload};

const SMALL: u64 = 10_000;
const RANGES: [&str; 2] = ["1", "8"];
// Limit: calls of one turn, however short they are.
const CALLS_MAX: u64 = 10_000;

/// Turns that the sides of a comparison take.
const TURNS: u32 = 10;

/// What one query gave, seen from a client that had its request ready.
struct Answer {
    rows: Vec<Value>,
    took: Duration,
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Every range by the client, as SDKs do it.
    Ranges,
    /// Our server, which merges.
    Merged,
    Postgres,
}

/// Servers with the same items.
struct Sides<'b> {
    orrery: Orrery,
    postgres: Option<&'b Postgres>,
    n_items: u64,
    bench: &'b Bench,
}

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
        let orrery = Orrery::connect(&subject).await?;
        let mut sides = Sides { orrery, postgres: postgres.as_ref(), n_items, bench };
        sides.warm().await?;
        let awake = Awake::start();
        sides.compare(n_ranges, table).await?;
        if n_ranges == RANGES[0] {
            flatness(bench, table, &mut sides).await?;
        }
        drop(awake);
        subject.server.stop(&bench.env)?;
    }
    match postgres {
        Some(postgres) => postgres.stop(),
        None => Ok(()),
    }
}

impl Sides<'_> {
    /// The rows of the table for this number of ranges.
    async fn compare(&mut self, n_ranges: &str, table: &mut Table) -> Result<()> {
        let mut sides = vec![Side::Ranges];
        if n_ranges != RANGES[0] {
            sides.push(Side::Merged);
        }
        if self.postgres.is_some() {
            sides.push(Side::Postgres);
        }
        for workload in ALL {
            self.check(&sides, workload).await?;
            let times = self.by_turns(&sides, workload).await?;
            let time = |wanted| {
                let found = sides.iter().zip(&times).find(|(side, _)| **side == wanted);
                found.map(|(_, time)| *time)
            };
            let theirs = time(Side::Postgres);
            let places = [(Side::Ranges, ""), (Side::Merged, " that the server merges")];
            for (side, how) in places {
                if let Some(ours) = time(side) {
                    add(
                        table,
                        workload,
                        self.n_items,
                        &format!("{n_ranges} ranges{how}"),
                        ours,
                        theirs,
                    );
                }
            }
        }
        Ok(())
    }

    async fn ask(&mut self, side: Side, workload: &Workload, call: u64) -> Result<Answer> {
        let (value, env) = (workload.value(call, self.n_items), &self.bench.env);
        match side {
            Side::Ranges => self.orrery.ask(workload, value, env).await,
            Side::Merged => self.orrery.ask_server(workload, value, env).await,
            Side::Postgres => {
                let postgres = self.postgres.context("PostgreSQL is not there")?;
                postgres.ask(workload, value, env).await
            }
        }
    }

    /// All sides must say the same before any is measured.
    async fn check(&mut self, sides: &[Side], workload: &Workload) -> Result<()> {
        let mut first = None;
        for side in sides {
            let answer = workload.normal(&self.ask(*side, workload, 1).await?.rows);
            let first = first.get_or_insert_with(|| answer.clone());
            ensure!(
                !answer.is_empty() && *first == answer,
                "{}: {first:?} and {answer:?}",
                workload.name
            );
        }
        Ok(())
    }

    /// The middle time of each side, measured by turns so that a busy moment of the machine hits all of them.
    async fn by_turns(&mut self, sides: &[Side], workload: &Workload) -> Result<Vec<Duration>> {
        let mut times = vec![Vec::new(); sides.len()];
        for turn in 0..TURNS {
            for (side, times) in sides.iter().zip(&mut times) {
                let begin = self.bench.env.monotonic();
                for call in 0..CALLS_MAX {
                    let number = u64::from(turn) * CALLS_MAX + call;
                    times.push(self.ask(*side, workload, number).await?.took);
                    if self.bench.env.monotonic().saturating_sub(begin)
                        > self.bench.duration / TURNS
                    {
                        break;
                    }
                }
            }
        }
        Ok(times.into_iter().map(middle).collect())
    }

    /// Reads everything once: PostgreSQL has all in memory since it was loaded.
    async fn warm(&mut self) -> Result<()> {
        for workload in ALL {
            self.ask(Side::Ranges, workload, 1).await?;
        }
        Ok(())
    }
}

/// What an indexed query costs when the container grows.
async fn flatness(bench: &Bench, table: &mut Table, large: &mut Sides<'_>) -> Result<()> {
    let subject = filled(bench, SMALL, "1").await?;
    let orrery = Orrery::connect(&subject).await?;
    let mut small = Sides { orrery, postgres: None, n_items: SMALL, bench };
    small.warm().await?;
    for workload in ALL.iter().filter(|workload| workload.is_flat) {
        let of_small = small.by_turns(&[Side::Ranges], workload).await?[0];
        let of_large = large.by_turns(&[Side::Ranges], workload).await?[0];
        table.add(
            format!("{} in {} items; in {SMALL}", workload.name, large.n_items),
            shown(of_large),
            shown(of_small),
            format!("{:.2} × cost", of_large.as_secs_f64() / of_small.as_secs_f64()),
            "≤ 1.5",
        );
    }
    subject.server.stop(&bench.env)
}

/// A server with this many items, restarted after loading and at rest: what was just written, or what loading left to
/// the engine, must not be the reason for the speed.
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
    let subject = subject.restart(&bench.binary, &options, &bench.env)?;
    rest::wait(subject.server.process_id()).await;
    Ok(subject)
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
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
