//! PostgreSQL from the distribution's package, started on a loopback port with a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use futures::future::try_join_all;
use model::Env;
use serde_json::Value;
use tokio_postgres::{Client, NoTls, Row, Statement};

use super::Answer;
use super::workload::{self, ALL, INDEXED, Workload};
use crate::workspace;

/// Where Debian puts one folder per version.
const FOLDER: &str = "/usr/lib/postgresql";
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// The table that the queries name.
const TABLE: &str = "items";
/// Rows that are sent in one piece while loading.
const CHUNK: u64 = 500;

/// Programs that are installed.
pub(super) struct Installation {
    programs: PathBuf,
}

/// A running server with all items in one table, and on demand in several that make up another.
pub(super) struct Postgres {
    server: Running,
    port: u16,
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

/// A server process. Dropping it kills it.
struct Running {
    child: Child,
    _folder: tempfile::TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Postgres {
    /// The newest version that is installed.
    pub(super) fn find() -> Option<Installation> {
        let versions = std::fs::read_dir(FOLDER).ok()?.filter_map(Result::ok);
        let programs = versions.map(|it| it.path().join("bin"));
        let version = |it: &PathBuf| {
            let folder =
                it.parent().and_then(Path::file_name).map(|it| it.to_string_lossy().into_owned());
            folder.and_then(|it| it.parse::<u32>().ok())
        };
        let programs = programs.filter(|it| it.join("postgres").exists()).max_by_key(version)?;
        Some(Installation { programs })
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
        self.partitioned = Some(Asked::connect(self.port, "parts", env).await?);
        for part in 0..n {
            self.parts.push(Asked::connect(self.port, &format!("part_{part}"), env).await?);
        }
        let taken = env.monotonic().saturating_sub(begin);
        println!("queries: divided into {n} tables in PostgreSQL in {:.1} s", taken.as_secs_f64());
        Ok(())
    }

    pub(super) fn stop(self) -> Result<()> {
        let mut server = self.server;
        drop((self.one, self.partitioned, self.parts));
        // SIGINT: it does not wait for the client to leave, whose task cannot run while this thread waits.
        let id = server.child.id().to_string();
        ensure!(
            Command::new("kill").args(["-INT", &id]).status()?.success(),
            "cannot stop PostgreSQL"
        );
        server.child.wait().context("cannot wait for PostgreSQL")?;
        Ok(())
    }
}

impl Installation {
    pub(super) async fn start(self, n_items: u64, env: &Env) -> Result<Postgres> {
        let folder = workspace::scratch("postgres")?;
        let data = folder.path().join("data");
        std::fs::create_dir(&data)?;
        let owner = Owner::of_server()?;
        owner.give(folder.path())?;
        owner.give(&data)?;
        let mut init = owner.command(&self.programs.join("initdb"));
        init.args([
            "--no-sync",
            "--auth=trust",
            "--username=bench",
            "--encoding=UTF8",
            "--locale=C",
            "-D",
        ]);
        let made = init.arg(&data).output().context("cannot run initdb")?;
        ensure!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = free_port()?;
        let mut serve = owner.command(&self.programs.join("postgres"));
        serve
            .arg("-D")
            .arg(&data)
            .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k", ""])
            // As its documentation suggests for a server of its own; loading need not be safe.
            .args(["-c", &format!("shared_buffers={}MB", cache_mb())])
            .args(["-c", "synchronous_commit=off", "-c", "max_wal_size=8GB"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = serve.spawn().context("cannot start PostgreSQL")?;
        let server = Running { child, _folder: folder };
        load(&connect(port, env).await?, n_items, env).await?;
        let one = Asked::connect(port, TABLE, env).await?;
        Ok(Postgres { server, port, one, partitioned: None, parts: Vec::new() })
    }
}

impl Asked {
    async fn connect(port: u16, table: &str, env: &Env) -> Result<Asked> {
        let client = connect(port, env).await?;
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

async fn connect(port: u16, env: &Env) -> Result<Client> {
    let settings = format!("host=127.0.0.1 port={port} user=bench dbname=postgres");
    let end = env.monotonic() + READY_TIMEOUT;
    loop {
        match tokio_postgres::connect(&settings, NoTls).await {
            Ok((client, connection)) => {
                // Ends with the client.
                tokio::task::spawn(connection);
                return Ok(client);
            }
            Err(error) if env.monotonic() > end => bail!("PostgreSQL is not ready: {error}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
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

fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
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

/// Who runs the server: it refuses to run as root, so root lends it the package's own user.
struct Owner(Option<(u32, u32)>);

impl Owner {
    fn of_server() -> Result<Owner> {
        let own = std::fs::metadata("/proc/self").context("no /proc")?;
        if std::os::unix::fs::MetadataExt::uid(&own) != 0 {
            return Ok(Owner(None));
        }
        let users = std::fs::read_to_string("/etc/passwd").context("no list of users")?;
        let user = users.lines().find(|line| line.starts_with("postgres:"));
        let mut fields = user.context("there is no user postgres")?.split(':').skip(2);
        let mut id = || fields.next().and_then(|it| it.parse().ok()).context("a user without ids");
        Ok(Owner(Some((id()?, id()?))))
    }

    fn give(&self, folder: &Path) -> Result<()> {
        if let Some((user, group)) = self.0 {
            std::os::unix::fs::chown(folder, Some(user), Some(group))?;
        }
        Ok(())
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.0 {
            std::os::unix::process::CommandExt::uid(&mut command, user);
            std::os::unix::process::CommandExt::gid(&mut command, group);
        }
        // Somewhere that this user may be in.
        command.current_dir("/").stdin(Stdio::null());
        command
    }
}
