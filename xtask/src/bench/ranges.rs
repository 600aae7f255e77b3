//! The ranges of the measured container, moved over the management API.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::setup::CONTAINER;
use crate::client::{Connection, Response};
use crate::server::WELL_KNOWN_KEY;

#[derive(Debug)]
pub(super) struct Ranges {
    authority: String,
    connection: Connection,
}

/// A relocation as the server tells about it.
#[derive(Debug)]
pub(super) struct Relocation {
    pub(super) id: u64,
    pub(super) step: String,
    pub(super) is_over: bool,
    pub(super) bytes_copied: u64,
    pub(super) n_replayed: u64,
    pub(super) write_pause: Option<Duration>,
}

impl Ranges {
    pub(super) async fn open(authority: &str) -> Result<Ranges> {
        let connection = Connection::open(authority).await?;
        Ok(Ranges { authority: authority.to_owned(), connection })
    }

    /// In the order of the hash space.
    pub(super) async fn ids(&mut self) -> Result<Vec<String>> {
        let answer = self.call("GET", &format!("{CONTAINER}/ranges"), None).await?.json()?;
        let text = |range: &Value, name: &str| range[name].as_str().map(str::to_owned);
        let ranges = answer["ranges"].as_array().context("no ranges")?;
        let mut found: Vec<(String, String)> = ranges
            .iter()
            .map(|it| Some((text(it, "min")?, text(it, "id")?)))
            .collect::<Option<_>>()
            .context("a range without id or place")?;
        found.sort();
        Ok(found.into_iter().map(|(_, id)| id).collect())
    }

    /// Starts a split and does not wait for it.
    pub(super) async fn start_split(&mut self, range: &str) -> Result<Relocation> {
        self.split(range, false).await
    }

    /// Splits and waits until it is done.
    pub(super) async fn split_and_wait(&mut self, range: &str) -> Result<Relocation> {
        self.split(range, true).await
    }

    async fn split(&mut self, range: &str, is_waited_for: bool) -> Result<Relocation> {
        let body = json!({"wait": is_waited_for}).to_string();
        let path = format!("{CONTAINER}/ranges/{range}/split");
        relocation(&self.call("POST", &path, Some(&body)).await?.json()?)
    }

    pub(super) async fn relocation(&mut self, id: u64) -> Result<Relocation> {
        relocation(&self.call("GET", &format!("relocations/{id}"), None).await?.json()?)
    }

    async fn call(&mut self, verb: &str, path: &str, body: Option<&str>) -> Result<Response> {
        let body = body.unwrap_or_default();
        let request = format!(
            "{verb} /_orrery/{path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {WELL_KNOWN_KEY}\r\n\
             content-length: {}\r\n\r\n{body}",
            self.authority,
            body.len()
        );
        self.connection.send(request.as_bytes()).await?.expect_success(path)
    }
}

fn relocation(status: &Value) -> Result<Relocation> {
    ensure!(status["end"] != "failed", "the relocation failed: {status}");
    let number = |name: &str| status[name].as_u64().with_context(|| format!("no {name}: {status}"));
    Ok(Relocation {
        id: number("id")?,
        step: status["step"].as_str().unwrap_or_default().to_owned(),
        is_over: status["end"] == "done",
        bytes_copied: number("copiedBytes")?,
        n_replayed: number("replayed")?,
        write_pause: status["writePauseMs"].as_f64().map(|it| Duration::from_secs_f64(it / 1000.0)),
    })
}
