//! What the explorer costs: reads and creates while one page listens to everything against none, the saved history of
//! heat, and how large the page is.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::load::{self, ROUNDS, Rate, Rounds};
use super::setup::{CONTAINER, Subject};
use super::{Bench, Table, creates, reads};
use crate::client::{Connection, Request};
use crate::server::WELL_KNOWN_KEY;
use crate::workspace;

const ITEMS: u64 = 1000;
const IN_FLIGHT: usize = 16;

pub(crate) async fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let subject = Subject::start(&bench.binary, &[], &bench.env).await?;
    subject.fill(0, ITEMS).await?;
    for (what, is_read) in [("point reads", true), ("creates", false)] {
        let mut rounds = Rounds::default();
        for round in 0..ROUNDS {
            let page = Listener::open(&subject.server.authority).await?;
            let ours = rate(bench, &subject, is_read, 2 * round).await?;
            ensure!(page.close().await > 0, "the listener heard nothing");
            rounds.push(ours, rate(bench, &subject, is_read, 2 * round + 1).await?);
        }
        table.add(
            format!("{what} with one explorer on Live, {IN_FLIGHT} connections; with none"),
            rounds.ours(),
            rounds.baseline(),
            format!("{:.2}", rounds.ratio()),
            "≥ 0.97",
        );
    }
    page(&subject, table).await?;
    let history = subject.folder.path().join("data/heat");
    subject.server.stop(&bench.env)?;
    let bytes = std::fs::metadata(&history).with_context(|| history.display().to_string())?.len();
    table.add("history of heat of one busy container, as saved", kib(bytes), "", "", "≤ 2.1 MB");
    Ok(())
}

async fn rate(bench: &Bench, subject: &Subject, is_read: bool, round: u32) -> Result<Rate> {
    let duration = bench.duration / ROUNDS;
    let authority = &subject.server.authority;
    let (sources, status) = if is_read {
        (reads::sources(subject, IN_FLIGHT)?, 200)
    } else {
        (creates::sources(subject, CONTAINER, IN_FLIGHT, round)?, 201)
    };
    load::run(authority, sources, duration, status, &bench.env).await
}

/// A page that reads all events, requests included.
struct Listener {
    task: JoinHandle<u64>,
    stop: tokio::sync::oneshot::Sender<()>,
}

impl Listener {
    async fn open(authority: &str) -> Result<Listener> {
        let mut stream = TcpStream::connect(authority).await?;
        let request = format!(
            "GET /_orrery/events?requests=1 HTTP/1.1\r\nhost: {authority}\r\nauthorization: Bearer {WELL_KNOWN_KEY}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let task = tokio::spawn(async move {
            let (mut buffer, mut n_bytes) = (vec![0; 64 << 10], 0);
            loop {
                tokio::select! {
                    _ = &mut stopped => return n_bytes,
                    read = stream.read(&mut buffer) => match read {
                        Ok(n @ 1..) => n_bytes += n as u64,
                        Ok(0) | Err(_) => return n_bytes,
                    },
                }
            }
        });
        Ok(Listener { task, stop })
    }

    /// How many bytes it heard.
    async fn close(self) -> u64 {
        let _ = self.stop.send(());
        self.task.await.unwrap_or_default()
    }
}

/// What a browser loads, plain and as it is sent.
async fn page(subject: &Subject, table: &mut Table) -> Result<()> {
    let folder = workspace::root().join("crates/gateway/src/explorer/files");
    let mut files = Vec::new();
    walk(&folder, &folder, &mut files)?;
    let mut connection = Connection::open(&subject.server.authority).await?;
    let (mut plain, mut packed) = (0, 0);
    for file in &files {
        plain += size(&mut connection, subject, file, "identity").await?;
        packed += size(&mut connection, subject, file, "gzip").await?;
    }
    let measure = format!("the page: {} files; with gzip", files.len());
    table.add(measure, kib(plain), kib(packed), "", "≤ 300 KB; ≤ 80 KB");
    Ok(())
}

async fn size(
    connection: &mut Connection,
    subject: &Subject,
    file: &str,
    encoding: &str,
) -> Result<u64> {
    let request =
        Request::new("GET", format!("_explorer/{file}")).header("accept-encoding", encoding);
    let response = connection.call(&subject.account, &request).await?.expect_success(file)?;
    Ok(response.body.len() as u64)
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            walk(root, &path, files)?;
        } else {
            files.push(path.strip_prefix(root)?.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^52 bytes")]
fn kib(bytes: u64) -> String {
    format!("{:.1} KB", bytes as f64 / 1024.0)
}
