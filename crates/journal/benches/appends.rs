//! Appends per second to a scratch PostgreSQL, by how many journals are written at once.
//!
//! `cargo bench -p orrery-journal`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use journal::postgres::{PostgresEngine, PostgresOptions};
use journal::{Append, FORMAT, Journal as _, JournalId, Open, Outcome, SessionId};
use model::Env;
use postgres_server::Installation;

const RUN: Duration = Duration::from_secs(4);
const ENTRY_BYTES: usize = 1_500;

fn main() {
    let Some(installation) = Installation::find() else {
        println!("PostgreSQL is not installed (apt install postgresql)");
        return;
    };
    let server = installation.start(&["max_wal_size=4GB", "shared_buffers=512MB"]).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let url = server.url("postgres");
        let engine =
            PostgresEngine::start(&PostgresOptions::new(url), &Env::system()).await.unwrap();
        let mut first = 0;
        for journals in [1, 16, 64, 256] {
            let before = statements(&server.url("postgres")).await;
            let n = measure(&engine, first, journals).await;
            let commits = statements(&server.url("postgres")).await - before;
            first += journals;
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let (rate, group) = (n as f64 / RUN.as_secs_f64(), n as f64 / commits.max(1) as f64);
            println!("{journals:4} journals: {rate:8.0} appends/s, {group:.1} in a statement");
        }
    });
}

async fn measure(engine: &PostgresEngine, first: u64, journals: u64) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    let bytes = Bytes::from(vec![FORMAT; ENTRY_BYTES]);
    let mut writers = Vec::new();
    for number in first + 1..=first + journals {
        let journal = JournalId::new(number);
        engine.create(journal).await.unwrap();
        let row = engine.row(journal).await.unwrap().unwrap();
        let open = Open { journal, seen: row.epoch, holder: SessionId::new(1) };
        let opened = engine.open(open).await.unwrap().unwrap();
        let (engine, count, bytes) = (engine.clone(), Arc::clone(&count), bytes.clone());
        writers.push(tokio::spawn(async move {
            let (epoch, mut after) = (opened.epoch, opened.last.position);
            loop {
                let append = Append { journal, epoch, after, bytes: bytes.clone() };
                after = append.position();
                assert_eq!(engine.append(append).await, Outcome::Appended);
                count.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    tokio::time::sleep(RUN).await;
    let n = count.load(Ordering::Relaxed);
    writers.iter().for_each(tokio::task::JoinHandle::abort);
    n
}

/// Transactions so far; the statistics come a moment late.
async fn statements(url: &str) -> u64 {
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let text = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
    let n: i64 = client.query_one(text, &[]).await.unwrap().get(0);
    n.cast_unsigned()
}
