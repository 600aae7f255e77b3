//! Range scaling, from one range to sixteen: what writes and queries over all ranges gain and pay at each step.

use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinSet;

use super::load::{self, Rate, summary};
use super::rows::{Asker, Scope};
use super::setup::{CONTAINER, Subject};
use super::{Bench, Table, creates};
use crate::client::Connection;
use crate::ranges::Ranges;

const RANGES_MAX: usize = 16;
const WRITERS: usize = 16;
const ITEMS: u64 = 50_000;
const QUERIES: usize = 100;
/// Ten rows, found by the index, somewhere in all ranges.
const QUERY: &str = "SELECT c.id, c.total FROM c WHERE c.customer = 'customer-17'";

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let subject = Subject::start(&bench.binary, &[], &bench.env).await?;
    subject.fill(0, ITEMS).await?;
    let mut ranges = Ranges::open(&subject.server.authority, CONTAINER).await?;
    let mut first: Option<(Rate, Rate)> = None;
    for round in 0.. {
        let ids = ranges.ids().await?;
        let sources = creates::sources(&subject, CONTAINER, WRITERS, round)?;
        let authority = &subject.server.authority;
        // Queries first: writes leave compaction behind, which is not what a query costs.
        let queries = fan_out(bench, &subject).await?;
        let writes = load::run(authority, sources, bench.duration, 201, &bench.env).await?;
        let (writes_before, queries_before) = first.get_or_insert((writes, queries));
        table.add(
            format!(
                "durable 1 KiB creates, {WRITERS} writers, {} ranges; with the first",
                ids.len()
            ),
            writes.shown(),
            writes_before.shown(),
            format!("{:.2}", writes.per_second / writes_before.per_second),
            "",
        );
        table.add(
            format!(
                "ten rows of {ITEMS} items by a query to all {} ranges at once; with the first",
                ids.len()
            ),
            queries.shown(),
            queries_before.shown(),
            format!("{:.2} × p50", seconds(queries.p50) / seconds(queries_before.p50)),
            "",
        );
        if ids.len() >= RANGES_MAX {
            break;
        }
        for id in ids.iter().take(RANGES_MAX - ids.len()) {
            ranges.split_and_wait(id).await?;
        }
    }
    subject.server.stop(&bench.env)
}

/// What an SDK does: one request to each range, at the same time, and the answer is complete with the last.
async fn fan_out(bench: &Bench, subject: &Subject) -> Result<Rate> {
    let asker = Asker { account: subject.account.clone(), container: CONTAINER.to_owned() };
    let mut clients: Vec<(Connection, Scope)> = Vec::new();
    for scope in asker.ranges().await? {
        clients.push((Connection::open(&subject.server.authority).await?, scope));
    }
    let begin = bench.env.monotonic();
    let mut latencies = Vec::with_capacity(QUERIES);
    for _ in 0..QUERIES {
        let start = bench.env.monotonic();
        let mut parts = JoinSet::new();
        for (mut connection, scope) in clients.drain(..) {
            let asker = asker.clone();
            parts.spawn(async move {
                let rows = asker.rows(&mut connection, &scope, QUERY, &[]).await?;
                anyhow::Ok((rows.len(), connection, scope))
            });
        }
        let mut n_rows = 0;
        while let Some(part) = parts.join_next().await {
            let (n, connection, scope) = part??;
            n_rows += n;
            clients.push((connection, scope));
        }
        latencies.push(bench.env.monotonic().saturating_sub(start));
        anyhow::ensure!(n_rows >= 10, "{n_rows} rows from all ranges");
    }
    Ok(summary(latencies, bench.env.monotonic().saturating_sub(begin)))
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64().max(f64::EPSILON)
}
