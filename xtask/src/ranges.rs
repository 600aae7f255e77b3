//! The ranges of a container, relocated over the management API.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::client::{Connection, Response};
use crate::server::WELL_KNOWN_KEY;

#[derive(Debug)]
pub(crate) struct Ranges {
    authority: String,
    /// Where it is: `dbs/…/colls/…`.
    container: String,
    connection: Connection,
}

/// A relocation as the server tells about it.
#[derive(Debug)]
pub(crate) struct Relocation {
    pub(crate) id: u64,
    pub(crate) step: String,
    pub(crate) is_over: bool,
    pub(crate) bytes_copied: u64,
    pub(crate) n_replayed: u64,
    pub(crate) write_pause: Option<Duration>,
}

impl Ranges {
    pub(crate) async fn open(authority: &str, container: &str) -> Result<Ranges> {
        let connection = Connection::open(authority).await?;
        let (authority, container) = (authority.to_owned(), container.to_owned());
        Ok(Ranges { authority, container, connection })
    }

    /// In the order of the hash space.
    pub(crate) async fn ids(&mut self) -> Result<Vec<String>> {
        let answer = self.call("GET", &format!("{}/ranges", self.container), None).await?.json()?;
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
    pub(crate) async fn start_split(&mut self, range: &str) -> Result<Relocation> {
        self.split(range, false).await
    }

    /// Splits and waits until it is done.
    pub(crate) async fn split_and_wait(&mut self, range: &str) -> Result<Relocation> {
        self.split(range, true).await
    }

    async fn split(&mut self, range: &str, is_waited_for: bool) -> Result<Relocation> {
        let body = json!({"wait": is_waited_for}).to_string();
        let path = format!("{}/ranges/{range}/split", self.container);
        relocation(&self.call("POST", &path, Some(&body)).await?.json()?)
    }

    pub(crate) async fn relocation(&mut self, id: u64) -> Result<Relocation> {
        relocation(&self.call("GET", &format!("relocations/{id}"), None).await?.json()?)
    }

    /// Relocates and waits until it is done; `command` is what follows the ranges in the path. An error means that
    /// nobody answered.
    pub(crate) async fn command(&mut self, command: &str, body: &Value) -> Result<Response> {
        let path = format!("{}/ranges/{command}", self.container);
        self.send("POST", &path, &body.to_string()).await
    }

    async fn call(&mut self, verb: &str, path: &str, body: Option<&str>) -> Result<Response> {
        self.send(verb, path, body.unwrap_or_default()).await?.expect_success(path)
    }

    async fn send(&mut self, verb: &str, path: &str, body: &str) -> Result<Response> {
        let request = format!(
            "{verb} /_orrery/{path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {WELL_KNOWN_KEY}\r\n\
             content-length: {}\r\n\r\n{body}",
            self.authority,
            body.len()
        );
        self.connection.send(request.as_bytes()).await
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
