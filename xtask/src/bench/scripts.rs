//! Stored procedures against the same operations over HTTP, the price of a fresh run, functions in queries.

use anyhow::{Context as _, Result};
use serde_json::json;

use super::load::{self, ROUNDS, Rate, Rounds, Source};
use super::rows::{Asker, Scope};
use super::setup::{self, CONTAINER, Subject};
use super::{Bench, Table};
use crate::client::{Connection, Request};

/// Items that procedures rewrite: a logical partition for every client.
const ITEMS: u64 = 1_600;
const ITEMS_OF_A_KEY: u64 = 100;
/// Items that a function filters.
const FILTERED: u64 = 100_000;
/// More scripts than all threads keep prepared, so that every run begins from nothing.
const COLD_SCRIPTS: u64 = 256;
/// Totals of the replacements over HTTP, as long as those that the procedure soon reaches.
const FIRST_TOTAL: u64 = 10_000;
const TOTALS: u64 = 64;
const CLIENTS: [usize; 2] = [1, 16];

const REWRITE: &str = "function (id) {
    var link = __.getAltLink() + '/docs/' + id;
    var accepted = __.readDocument(link, function (err, item) {
        if (err) throw err;
        item.total += 1;
        if (!__.replaceDocument(item._self, item, function (err) { if (err) throw err; })) {
            throw new Error('not accepted');
        }
    });
    if (!accepted) throw new Error('not accepted');
}";
const NOTHING: &str = "function () {}";

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let durable = Subject::start(&bench.binary, &[], &bench.env).await?;
    rewrites(bench, table, &durable, "durable").await?;
    durable.server.stop(&bench.env)?;
    let memory = Subject::start(&bench.binary, &["--in-memory"], &bench.env).await?;
    rewrites(bench, table, &memory, "in memory").await?;
    fresh_runs(bench, table, &memory).await?;
    memory.server.stop(&bench.env)?;
    let memory = Subject::start(&bench.binary, &["--in-memory"], &bench.env).await?;
    filter(bench, table, &memory).await?;
    memory.server.stop(&bench.env)
}

/// One procedure that reads and replaces an item, against a read and a replace.
async fn rewrites(
    bench: &Bench,
    table: &mut Table,
    subject: &Subject,
    durability: &str,
) -> Result<()> {
    subject.fill(0, ITEMS).await?;
    add(subject, "sprocs", "rewrite", REWRITE).await?;
    for n in CLIENTS {
        let mut rounds = Rounds::default();
        for _ in 0..ROUNDS {
            let rate = async |sources| {
                let duration = bench.duration / ROUNDS;
                load::run(&subject.server.authority, sources, duration, 200, &bench.env).await
            };
            let ours = rate(procedures(subject, n)?).await?;
            rounds.push(ours, in_pairs(rate(pairs(subject, n)?).await?));
        }
        table.add(
            format!("procedure that reads and replaces an item, {n} clients, {durability}; both over HTTP"),
            rounds.ours(),
            rounds.baseline(),
            format!("{:.2}", rounds.ratio()),
            "≥ 1",
        );
    }
    Ok(())
}

/// Two requests are one run. Their middle latencies add up only roughly, so they are shown as twice one.
fn in_pairs(rate: Rate) -> Rate {
    let Rate { per_second, p50, p99, n } = rate;
    Rate { per_second: per_second / 2.0, p50: p50 * 2, p99: p99 * 2, n: n / 2 }
}

fn procedures(subject: &Subject, n_clients: usize) -> Result<Vec<Source>> {
    sources(n_clients, |client| {
        let item = client * ITEMS_OF_A_KEY;
        Ok(vec![run_request(subject, "rewrite", &json!([format!("i{item}")]).to_string(), item)?])
    })
}

/// A read and a replace by turns. No replacement has the `total` of the one before it, so that both sides change the
/// index alike: the procedure counts it up, and one that stays the same would leave the index as it is.
fn pairs(subject: &Subject, n_clients: usize) -> Result<Vec<Source>> {
    sources(n_clients, |client| {
        let item = client * ITEMS_OF_A_KEY + 1;
        let read = subject.read_request(item)?;
        let mut requests = Vec::new();
        for total in FIRST_TOTAL..FIRST_TOTAL + TOTALS {
            let replace = Request::new("PUT", format!("{CONTAINER}/docs/i{item}"))
                .partition_key(&setup::key_of(item))
                .body(with_total(&setup::item(item), total)?);
            requests.extend([read.clone(), replace.sign(&subject.account)?]);
        }
        Ok(requests)
    })
}

/// The item with another total, as the procedure leaves it.
fn with_total(item: &str, total: u64) -> Result<String> {
    let (front, rest) = item.split_once("\"total\":").context("an item has a total")?;
    let (_, back) = rest.split_once(',').context("the total is not the last property")?;
    Ok(format!("{front}\"total\":{total}.25,{back}"))
}

/// Clients that each send their own requests by turns.
fn sources(
    n_clients: usize,
    requests: impl Fn(u64) -> Result<Vec<Vec<u8>>>,
) -> Result<Vec<Source>> {
    (0..n_clients as u64)
        .map(|client| {
            let requests = requests(client)?;
            let source: Source = Box::new(move |n| {
                let at = usize::try_from(n).unwrap_or_default() % requests.len();
                requests[at].clone()
            });
            Ok(source)
        })
        .collect()
}

fn run_request(subject: &Subject, id: &str, arguments: &str, item: u64) -> Result<Vec<u8>> {
    Request::new("POST", format!("{CONTAINER}/sprocs/{id}"))
        .partition_key(&setup::key_of(item))
        .body(arguments)
        .sign(&subject.account)
}

async fn add(subject: &Subject, kind: &str, id: &str, body: &str) -> Result<()> {
    let mut connection = Connection::open(&subject.server.authority).await?;
    let script = json!({"id": id, "body": body}).to_string();
    let request = Request::new("POST", format!("{CONTAINER}/{kind}")).body(script);
    connection.call(&subject.account, &request).await?.expect_success(id)?;
    Ok(())
}

/// A procedure that does nothing against a point read, so that only the run itself differs.
async fn fresh_runs(bench: &Bench, table: &mut Table, subject: &Subject) -> Result<()> {
    for n in 0..COLD_SCRIPTS {
        add(subject, "sprocs", &format!("nothing{n}"), NOTHING).await?;
    }
    for (name, n_scripts) in [("the same script again", 1), ("always another script", COLD_SCRIPTS)]
    {
        let run = |duration| {
            let requests: Result<Vec<_>> = (0..n_scripts)
                .map(|n| run_request(subject, &format!("nothing{n}"), "", 0))
                .collect();
            let sources = sources(1, |_| {
                requests.as_ref().map(Clone::clone).map_err(|error| anyhow::anyhow!("{error:#}"))
            });
            let authority = subject.server.authority.clone();
            async move { load::run(&authority, sources?, duration, 200, &bench.env).await }
        };
        let runs = run(bench.duration).await?;
        let reads = sources(1, |_| Ok(vec![subject.read_request(0)?]))?;
        let authority = &subject.server.authority;
        let reads = load::run(authority, reads, bench.duration, 200, &bench.env).await?;
        let over = runs.p50.saturating_sub(reads.p50);
        table.add(
            format!("an empty procedure, {name}; a point read"),
            runs.shown(),
            reads.shown(),
            format!("{} µs over", over.as_micros()),
            "< 300 µs",
        );
    }
    Ok(())
}

/// A function as the filter of a query over many items, against the same filter in SQL.
async fn filter(bench: &Bench, table: &mut Table, subject: &Subject) -> Result<()> {
    subject.fill(0, FILTERED).await?;
    add(subject, "udfs", "isEven", "function (n) { return Math.floor(n) % 2 === 0; }").await?;
    let asker = Asker { account: subject.account.clone(), container: CONTAINER.to_owned() };
    let scope = Scope::Range("0".to_owned());
    let mut connection = Connection::open(&subject.server.authority).await?;
    let mut times = Vec::new();
    for filter in ["udf.isEven(c.total)", "FLOOR(c.total) % 2 = 0"] {
        let text = format!("SELECT VALUE COUNT(1) FROM c WHERE {filter}");
        let mut best = std::time::Duration::MAX;
        for _ in 0..3 {
            let begin = bench.env.monotonic();
            let rows = asker.rows(&mut connection, &scope, &text, &[]).await?;
            best = best.min(bench.env.monotonic().saturating_sub(begin));
            // Pages may end on time; their counts add up.
            let n: u64 = rows.iter().filter_map(serde_json::Value::as_u64).sum();
            anyhow::ensure!(n == expected_even(), "{text}: {n} instead of {}", expected_even());
        }
        times.push(best);
    }
    let (ours, sql) = (times[0], times[1]);
    table.add(
        format!("function as filter over {FILTERED} items; the same filter in SQL"),
        format!("{} ms ({:.1} µs per item)", ours.as_millis(), per_item(ours)),
        format!("{} ms ({:.1} µs per item)", sql.as_millis(), per_item(sql)),
        format!("{:.2}", sql.as_secs_f64() / ours.as_secs_f64()),
        "",
    );
    Ok(())
}

/// Items with an even whole part of `total`, from how items are made.
fn expected_even() -> u64 {
    (0..FILTERED).filter(|n| (n % 900).is_multiple_of(2)).count() as u64
}

#[expect(clippy::cast_precision_loss, reason = "a hundred thousand is exact")]
fn per_item(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e6 / FILTERED as f64
}
