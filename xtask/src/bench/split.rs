//! A split of one large physical partition under load: how long it takes, and what clients feel of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use model::Env;
use tokio::task::{JoinHandle, JoinSet};

use super::load::{Rate, Source, summary};
use super::setup::{CONTAINER, ITEM_BYTES, Subject};
use super::{Bench, Table, creates};
use crate::client::Connection;
use crate::ranges::{Ranges, Relocation};

const READERS: usize = 4;
const WRITERS: usize = 2;
/// Reads that each reader goes round in.
const PREPARED: u64 = 5_000;
/// How often the relocation is asked for its step: the precision of the times below.
const POLL: Duration = Duration::from_millis(20);
/// Between two requests of one client. Clients that never rest would fill the machine by themselves, and every
/// latency would be that of a queue.
const REST: Duration = Duration::from_millis(2);

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let n_items = bench.split_bytes / ITEM_BYTES as u64;
    let subject = filled(bench, n_items).await?;
    let before = {
        let clients = Clients::start(&subject, n_items, 0, &bench.env)?;
        tokio::time::sleep(bench.duration).await;
        clients.stop(bench.duration).await?
    };
    let clients = Clients::start(&subject, n_items, 1, &bench.env)?;
    let split = watch_split(&subject, &bench.env).await?;
    let during = clients.stop(split.total).await?;
    subject.server.stop(&bench.env)?;
    report(n_items, &split, &before, &during, table);
    Ok(())
}

/// A server with this many items in one range, restarted so that nothing is only in memory, and at rest: what the engine
/// has still to do for the loading is no part of a split.
async fn filled(bench: &Bench, n_items: u64) -> Result<Subject> {
    let subject = Subject::start(&bench.binary, &["--durability", "relaxed"], &bench.env).await?;
    let mut n_filled = 0;
    while n_filled < n_items {
        let next = (n_filled + 100_000).min(n_items);
        subject.fill(n_filled, next).await?;
        n_filled = next;
        println!("split: {n_filled} of {n_items} items loaded");
    }
    let subject = subject.restart(&bench.binary, &[], &bench.env)?;
    super::wait_idle::wait(subject.server.process_id()).await;
    Ok(subject)
}

/// Readers and writers that go on until they are stopped.
struct Clients {
    is_over: Arc<AtomicBool>,
    readers: JoinSet<Result<Vec<Duration>>>,
    writers: JoinSet<Result<Vec<Duration>>>,
}

/// What the clients felt.
struct Felt {
    reads: Rate,
    writes: Rate,
    longest_write: Duration,
}

impl Clients {
    fn start(subject: &Subject, n_items: u64, round: u32, env: &Env) -> Result<Clients> {
        let is_over = Arc::new(AtomicBool::new(false));
        let (mut readers, mut writers) = (JoinSet::new(), JoinSet::new());
        let authority = || subject.server.authority.clone();
        for reader in 0..READERS {
            let source = reads(subject, n_items, reader as u64)?;
            readers.spawn(ask(authority(), source, 200, Arc::clone(&is_over), env.clone()));
        }
        for source in creates::sources(subject, CONTAINER, WRITERS, round)? {
            writers.spawn(ask(authority(), source, 201, Arc::clone(&is_over), env.clone()));
        }
        Ok(Clients { is_over, readers, writers })
    }

    async fn stop(self, elapsed: Duration) -> Result<Felt> {
        self.is_over.store(true, Ordering::Relaxed);
        let reads = latencies(self.readers).await?;
        let writes = latencies(self.writers).await?;
        let longest_write = writes.iter().max().copied().context("nothing was written")?;
        let (reads, writes) = (summary(reads, elapsed), summary(writes, elapsed));
        Ok(Felt { reads, writes, longest_write })
    }
}

/// Signed reads of random items, prepared before the clock runs.
fn reads(subject: &Subject, n_items: u64, seed: u64) -> Result<Source> {
    let choices = Env::fixed(seed, 0);
    let requests: Vec<Vec<u8>> = (0..PREPARED)
        .map(|_| subject.read_request(choices.random_u64() % n_items))
        .collect::<Result<_>>()?;
    Ok(Box::new(move |n| requests[usize::try_from(n % PREPARED).unwrap_or(0)].clone()))
}

async fn ask(
    authority: String,
    mut source: Source,
    status: u16,
    is_over: Arc<AtomicBool>,
    env: Env,
) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(&authority).await?;
    let mut latencies = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let request = source(latencies.len() as u64);
        let begin = env.monotonic();
        let got = connection.send_for_status(&request).await?;
        ensure!(got == status, "the server answered {got} instead of {status}");
        latencies.push(env.monotonic().saturating_sub(begin));
        tokio::time::sleep(REST).await;
    }
    Ok(latencies)
}

async fn latencies(mut clients: JoinSet<Result<Vec<Duration>>>) -> Result<Vec<Duration>> {
    let mut all = Vec::new();
    while let Some(done) = clients.join_next().await {
        all.extend(done??);
    }
    Ok(all)
}

/// A split from its command to its end.
struct Split {
    total: Duration,
    copying: Duration,
    end: Relocation,
}

async fn watch_split(subject: &Subject, env: &Env) -> Result<Split> {
    let authority = subject.server.authority.clone();
    let env = env.clone();
    let watching: JoinHandle<Result<Split>> = tokio::spawn(async move {
        let mut ranges = Ranges::open(&authority, CONTAINER).await?;
        let range = ranges.ids().await?.pop().context("no range")?;
        let begin = env.monotonic();
        let mut now = ranges.start_split(&range).await?;
        let mut copying = Duration::ZERO;
        while !now.is_over {
            tokio::time::sleep(POLL).await;
            now = ranges.relocation(now.id).await?;
            if matches!(now.step.as_str(), "reserve" | "copy") {
                copying = env.monotonic().saturating_sub(begin);
            }
        }
        Ok(Split { total: env.monotonic().saturating_sub(begin), copying, end: now })
    });
    watching.await?
}

fn report(n_items: u64, split: &Split, before: &Felt, during: &Felt, table: &mut Table) {
    let megabytes = megabytes(split.end.bytes_copied);
    let ms = |duration: Duration| format!("{:.1} ms", duration.as_secs_f64() * 1000.0);
    table.add(
        format!("split of {n_items} items of 1 KiB under {READERS} readers and {WRITERS} writers"),
        format!("{:.1} s, {} writes replayed", split.total.as_secs_f64(), split.end.n_replayed),
        "",
        "",
        "",
    );
    table.add(
        "copy of that split",
        format!("{megabytes:.0} MB in {:.1} s", split.copying.as_secs_f64()),
        "",
        format!("{:.0} MB/s", megabytes / split.copying.as_secs_f64().max(f64::EPSILON)),
        "≥ 50 MB/s",
    );
    table.add(
        "write pause of that split; longest write of a client during and before",
        split.end.write_pause.map_or("unknown".to_owned(), ms),
        format!("{}, {}", ms(during.longest_write), ms(before.longest_write)),
        "",
        "≤ 50 ms",
    );
    for (what, ours, baseline, goal) in [
        ("point reads", &during.reads, &before.reads, "≤ 2"),
        ("creates", &during.writes, &before.writes, ""),
    ] {
        let ratio = ours.p99.as_secs_f64() / baseline.p99.as_secs_f64().max(f64::EPSILON);
        table.add(
            format!("{what} during the split; before it"),
            ours.shown(),
            baseline.shown(),
            format!("{ratio:.2} × p99"),
            goal,
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^52 bytes")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
