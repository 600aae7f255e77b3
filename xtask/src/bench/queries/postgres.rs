//! PostgreSQL from the distribution's package, started on a loopback port with a folder of its own.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures::future::try_join_all;
use model::Env;
use postgres_server::{Installation, Server, Stop};
use serde_json::Value;
use tokio_postgres::{Client, NoTls, Row, Statement};

use super::Answer;
use super::workload::{self, ALL, INDEXED, Workload};
use crate::workspace;

/// The table that the queries name.
const TABLE: &str = "items";
/// Rows that are sent in one piece while loading.
const CHUNK: u64 = 500;

/// A running server with all items in one table, and on demand in several that make up another.
pub(super) struct Postgres {
    server: Server,
    one: Asked,
    partitioned: Option<Asked>,
    parts: Vec<Asked>,
}

/// A table and a connection of its own.
struct Asked {
    client: Client,
    /// The process that serves the client.
    process: u32,
    statements: Vec<(&'static str, Statement)>,
}

/// Which tables are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tables {
    One,
    /// The one that is partitioned: the server finds and merges the parts.
    Partitioned,
    /// Each part by the client, which merges, over a connection of its own.
    Parts,
}

impl Postgres {
    /// A server with these items.
    pub(super) async fn start(
        installation: &Installation,
        n_items: u64,
        env: &Env,
    ) -> Result<Postgres> {
        let buffers = format!("shared_buffers={}MB", cache_mb());
        // As its documentation suggests for a server of its own; loading need not be safe.
        let settings = [&buffers, "synchronous_commit=off", "max_wal_size=8GB"];
        let server = installation.start_in(&workspace::scratch_parent()?, &settings)?;
        load(&connect(&server).await?, n_items, env).await?;
        let one = Asked::connect(&server, TABLE).await?;
        Ok(Postgres { server, one, partitioned: None, parts: Vec::new() })
    }

    /// The rows of a query, each the JSON of its text.
    pub(super) async fn ask(
        &self,
        tables: Tables,
        workload: &Workload,
        value: u64,
        env: &Env,
    ) -> Result<Answer> {
        let asked = match tables {
            Tables::One => std::slice::from_ref(&self.one),
            Tables::Partitioned => self.partitioned.as_slice(),
            Tables::Parts => self.parts.as_slice(),
        };
        let begin = env.monotonic();
        let parts = try_join_all(asked.iter().map(|it| it.ask(workload, value))).await?;
        let rows = workload.merge(parts);
        Ok(Answer { rows, took: env.monotonic().saturating_sub(begin) })
    }

    /// The processes that serve the clients.
    pub(super) fn process_ids(&self) -> Vec<u32> {
        let all = std::iter::once(&self.one).chain(&self.partitioned).chain(&self.parts);
        all.map(|it| it.process).collect()
    }

    /// Copies the items into `n` tables by the hash of their partition key, which are the parts of another.
    pub(super) async fn divide(&mut self, n: u32, env: &Env) -> Result<()> {
        let begin = env.monotonic();
        let client = &self.one.client;
        client
            .batch_execute(
                "CREATE TABLE parts (doc jsonb NOT NULL) PARTITION BY HASH ((doc->>'pk'))",
            )
            .await?;
        for part in 0..n {
            let text = format!(
                "CREATE TABLE part_{part} PARTITION OF parts FOR VALUES WITH (MODULUS {n}, REMAINDER {part})"
            );
            client.batch_execute(&text).await?;
        }
        client.batch_execute(&format!("INSERT INTO parts SELECT doc FROM {TABLE}")).await?;
        index(client, "parts").await?;
        self.partitioned = Some(Asked::connect(&self.server, "parts").await?);
        for part in 0..n {
            self.parts.push(Asked::connect(&self.server, &format!("part_{part}")).await?);
        }
        let taken = env.monotonic().saturating_sub(begin);
        println!("queries: divided into {n} tables in PostgreSQL in {:.1} s", taken.as_secs_f64());
        Ok(())
    }

    pub(super) fn stop(self) -> Result<()> {
        drop((self.one, self.partitioned, self.parts));
        self.server.stop(Stop::Fast)
    }
}

impl Asked {
    async fn connect(server: &Server, table: &str) -> Result<Asked> {
        let client = connect(server).await?;
        let mut statements = Vec::new();
        for workload in ALL {
            let text = workload.postgres.replace(TABLE, table);
            statements.push((workload.name, client.prepare(&text).await?));
        }
        let process: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await?.try_get(0)?;
        Ok(Asked { client, process: process.try_into()?, statements })
    }

    async fn ask(&self, workload: &Workload, value: u64) -> Result<Vec<Value>> {
        let statement = self.statements.iter().find(|(name, _)| *name == workload.name);
        let (_, statement) = statement.context("a query that was not prepared")?;
        #[expect(clippy::cast_precision_loss, reason = "values stay far below 2^52")]
        let value = value as f64;
        let rows = self.client.query(statement, &[&value]).await.context(workload.name)?;
        let json = |row: &Row| Ok(serde_json::from_str(row.try_get::<_, &str>(0)?)?);
        rows.iter().map(json).collect()
    }
}

async fn connect(server: &Server) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(&server.url("postgres"), NoTls).await?;
    // Ends with the client.
    tokio::task::spawn(connection);
    Ok(client)
}

/// Fills the table, then makes the indexes: the way that is best for PostgreSQL.
async fn load(client: &Client, n_items: u64, env: &Env) -> Result<()> {
    use futures::SinkExt as _;
    let begin = env.monotonic();
    client.batch_execute(&format!("CREATE TABLE {TABLE} (doc jsonb NOT NULL)")).await?;
    let sink = client.copy_in::<_, Bytes>(&format!("COPY {TABLE} FROM STDIN")).await?;
    let mut sink = std::pin::pin!(sink);
    let mut next = 0;
    while next < n_items {
        let end = (next + CHUNK).min(n_items);
        let mut text = String::new();
        for n in next..end {
            // The items hold nothing that the text form of COPY would read otherwise.
            text.push_str(&workload::item(n, n_items));
            text.push('\n');
        }
        sink.send(Bytes::from(text)).await?;
        next = end;
    }
    sink.close().await?;
    index(client, TABLE).await?;
    let taken = env.monotonic().saturating_sub(begin);
    println!("queries: {n_items} items in PostgreSQL loaded in {:.1} s", taken.as_secs_f64());
    Ok(())
}

async fn index(client: &Client, table: &str) -> Result<()> {
    for name in INDEXED {
        let text = format!("CREATE INDEX ON {table} (((doc->>'{name}')::float8))");
        client.batch_execute(&text).await?;
    }
    Ok(client.batch_execute(&format!("VACUUM ANALYZE {table}")).await?)
}

/// Memory for data that was read: a quarter of the machine's, which PostgreSQL's documentation suggests. Both sides have it.
pub(super) fn cache_mb() -> u64 {
    memory_mb() / 4
}

fn memory_mb() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("MemTotal:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kib| kib.parse().ok());
    kib.unwrap_or(4_u64 << 20) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads, divides and asks, like the benchmark; skipped where PostgreSQL is not installed.
    #[tokio::test]
    async fn the_server_answers_alike_in_one_table_and_in_parts() {
        let Some(installation) = Installation::find() else { return };
        let env = Env::system();
        let mut postgres = Postgres::start(&installation, 1_000, &env).await.unwrap();
        postgres.divide(2, &env).await.unwrap();
        let workload = &ALL[0];
        let mut answers = Vec::new();
        for tables in [Tables::One, Tables::Partitioned, Tables::Parts] {
            let answer = postgres.ask(tables, workload, 1, &env).await.unwrap();
            answers.push(workload.normal(&answer.rows));
        }
        assert!(!answers[0].is_empty() && answers[0] == answers[1] && answers[1] == answers[2]);
        assert_eq!(postgres.process_ids().len(), 4);
        postgres.stop().unwrap();
    }
}
