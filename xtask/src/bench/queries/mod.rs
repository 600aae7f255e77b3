//! Queries over many items, in one range and in eight, beside PostgreSQL with the same data as JSONB.
//!
//! Both sides are seen from a client on one machine: whole answers over loopback, parsed. PostgreSQL has prepared
//! statements and an expression index for every query that can use one; Orrery has its default index, and requests that
//! were signed before the clock runs. The sides take turns, on cores that are kept awake; for short queries the client
//! has one of them to itself. All items are in memory on both sides.
//!
//! Over eight ranges the client does what an SDK does: it asks all ranges at once and merges; then the server merges in
//! its place. PostgreSQL is asked in the same two ways for the same items in eight tables. Beside that stands what it
//! takes with all of them in one table, which knows nothing of ranges: the price of being divided.

mod orrery;
mod postgres;
mod workload;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use postgres_server::Installation;
use serde_json::Value;

use super::cpu_pinning::CpuPinning;
use super::keep_awake::KeepAwake;
use super::setup::{ITEM_BYTES, Subject};
use super::{Bench, Table, wait_idle};
use orrery::Orrery;
use postgres::{Postgres, Tables};
use workload::{ALL, Workload};

const SMALL: u64 = 10_000;
const RANGES: [u32; 2] = [1, 8];
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
    Postgres(Tables),
}

/// What is compared: how we are asked, how PostgreSQL is, and the goal of short queries.
type Pair = (Side, Tables, &'static str);

const UNDIVIDED: &[Pair] = &[(Side::Ranges, Tables::One, GOAL)];
const DIVIDED: &[Pair] = &[
    (Side::Ranges, Tables::Parts, GOAL),
    (Side::Merged, Tables::Partitioned, GOAL),
    (Side::Ranges, Tables::One, ""),
    (Side::Merged, Tables::One, ""),
];

const GOAL: &str = "≥ 1";

/// Servers with the same items.
struct Sides<'b> {
    orrery: Orrery,
    /// The process of our server.
    process: u32,
    postgres: Option<&'b Postgres>,
    n_items: u64,
    bench: &'b Bench,
}

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let n_items = bench.n_items_large;
    let mut postgres = if let Some(found) = Installation::find() {
        Some(Postgres::start(&found, n_items, &bench.env).await?)
    } else {
        println!(
            "queries: no column for PostgreSQL, which is not installed (apt install postgresql)"
        );
        None
    };
    for n_ranges in RANGES {
        if let Some(postgres) = postgres.as_mut().filter(|_| n_ranges > 1) {
            postgres.divide(n_ranges, &bench.env).await?;
        }
        let subject = filled(bench, n_items, n_ranges).await?;
        let orrery = Orrery::connect(&subject).await?;
        let process = subject.server.process_id();
        let mut sides = Sides { orrery, process, postgres: postgres.as_ref(), n_items, bench };
        sides.warm().await?;
        let awake = KeepAwake::start();
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
    async fn compare(&mut self, n_ranges: u32, table: &mut Table) -> Result<()> {
        let pairs = if n_ranges == RANGES[0] { UNDIVIDED } else { DIVIDED };
        let mut sides = Vec::new();
        for (ours, theirs, _) in pairs {
            for side in [*ours, Side::Postgres(*theirs)] {
                let is_there = self.postgres.is_some() || !matches!(side, Side::Postgres(_));
                if is_there && !sides.contains(&side) {
                    sides.push(side);
                }
            }
        }
        for workload in ALL {
            self.check(&sides, workload).await?;
            let times = self.by_turns(&sides, workload).await?;
            let time = |wanted| {
                let found = sides.iter().zip(&times).find(|(side, _)| **side == wanted);
                found.map(|(_, time)| *time)
            };
            for (ours, theirs, goal) in pairs {
                let place = format!("{n_ranges} ranges{}; PostgreSQL{}", ours.how(), theirs.how());
                let goal = if workload.is_scan { "≥ 300 MB/s per core" } else { goal };
                if let Some(own) = time(*ours) {
                    let times = (own, time(Side::Postgres(*theirs)));
                    add(table, workload, self.n_items, &place, times, goal);
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
            Side::Postgres(tables) => {
                let postgres = self.postgres.context("PostgreSQL is not there")?;
                postgres.ask(tables, workload, value, env).await
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
        let mut servers = self.postgres.map(Postgres::process_ids).unwrap_or_default();
        servers.push(self.process);
        // The longer ones may use all cores, on either side.
        let _pinning = workload.is_flat.then(|| CpuPinning::start(&servers));
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

    /// Reads everything once, and every item by its key: PostgreSQL has all in memory since it was loaded.
    async fn warm(&mut self) -> Result<()> {
        for workload in ALL {
            self.ask(Side::Ranges, workload, 1).await?;
        }
        let (by_key, n_calls) = (&ALL[0], ALL[0].n_values(self.n_items));
        for call in 0..n_calls {
            self.ask(Side::Merged, by_key, call).await?;
        }
        Ok(())
    }
}

/// What an indexed query costs when the container grows.
async fn flatness(bench: &Bench, table: &mut Table, large: &mut Sides<'_>) -> Result<()> {
    let subject = filled(bench, SMALL, RANGES[0]).await?;
    let orrery = Orrery::connect(&subject).await?;
    let process = subject.server.process_id();
    let mut small = Sides { orrery, process, postgres: None, n_items: SMALL, bench };
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
async fn filled(bench: &Bench, n_items: u64, n_ranges: u32) -> Result<Subject> {
    let (cache, ranges) = (postgres::cache_mb().to_string(), n_ranges.to_string());
    let options = ["--durability", "relaxed", "--min-partitions", &ranges, "--cache", &cache];
    let subject = Subject::start(&bench.binary, &options, &bench.env).await?;
    let begin = bench.env.monotonic();
    subject.fill_with(0, n_items, &|n| workload::item(n, n_items)).await?;
    let taken = bench.env.monotonic().saturating_sub(begin);
    println!(
        "queries: {n_items} items in {n_ranges} ranges loaded in {:.1} s",
        taken.as_secs_f64()
    );
    let subject = subject.restart(&bench.binary, &options, &bench.env)?;
    wait_idle::wait(subject.server.process_id()).await;
    Ok(subject)
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

impl Side {
    fn how(self) -> &'static str {
        match self {
            Side::Merged => " that the server merges",
            Side::Ranges | Side::Postgres(_) => "",
        }
    }
}

impl Tables {
    fn how(self) -> &'static str {
        match self {
            Tables::One => "",
            Tables::Partitioned => " in as many tables that it merges",
            Tables::Parts => " in as many tables",
        }
    }
}

fn add(
    table: &mut Table,
    workload: &Workload,
    n_items: u64,
    place: &str,
    (ours, theirs): (Duration, Option<Duration>),
    goal: &str,
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
        format!("{} in {n_items} items, {place}", workload.name),
        format!("{}{}", shown(ours), speed(ours)),
        theirs.map(|it| format!("{}{}", shown(it), speed(it))).unwrap_or_default(),
        ratio.unwrap_or_default(),
        goal,
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
