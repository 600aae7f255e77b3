//! Servers and items to measure with.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use model::Env;

use crate::client::{Account, Connection, Request};
use crate::server::{Server, WELL_KNOWN_KEY};
use crate::workspace;

pub(crate) const CONTAINER: &str = "dbs/bench/colls/items";

/// A container without an index, to see what the index costs.
pub(crate) const BARE_CONTAINER: &str = "dbs/bench/colls/bare";

/// Body bytes of one item.
pub(crate) const ITEM_BYTES: usize = 1024;

// Limit: items of one batch; the service allows 100.
const BATCH_ITEMS: u64 = 100;

/// A server with a folder of its own and an empty container.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) server: Server,
    pub(crate) account: Account,
    pub(crate) folder: tempfile::TempDir,
}

impl Subject {
    pub(crate) async fn start(binary: &Path, options: &[&str], env: &Env) -> Result<Subject> {
        let folder = workspace::scratch("bench")?;
        let server = start_in(binary, folder.path(), options, env)?;
        let account = Account::new(&server.authority, WELL_KNOWN_KEY, env)?;
        let subject = Subject { server, account, folder };
        subject.make_container().await?;
        Ok(subject)
    }

    pub(crate) fn store_folder(&self) -> PathBuf {
        self.folder.path().join("data/store")
    }

    /// Stops and starts again on the same data.
    pub(crate) fn restart(self, binary: &Path, options: &[&str], env: &Env) -> Result<Subject> {
        let Subject { server, folder, .. } = self;
        server.stop(env)?;
        let server = start_in(binary, folder.path(), options, env)?;
        let account = Account::new(&server.authority, WELL_KNOWN_KEY, env)?;
        Ok(Subject { server, account, folder })
    }

    async fn make_container(&self) -> Result<()> {
        let mut connection = Connection::open(&self.server.authority).await?;
        for (path, body) in [
            ("dbs", r#"{"id":"bench"}"#),
            (
                "dbs/bench/colls",
                r#"{"id":"items","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#,
            ),
            (
                "dbs/bench/colls",
                r#"{"id":"bare","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"indexingPolicy":{"indexingMode":"none","automatic":false}}"#,
            ),
        ] {
            let request = Request::new("POST", path).body(body);
            connection.call(&self.account, &request).await?.expect_success(path)?;
        }
        Ok(())
    }

    /// Writes items `first..last` in batches, each batch one logical partition.
    pub(crate) async fn fill(&self, first: u64, last: u64) -> Result<()> {
        self.fill_with(first, last, &item).await
    }

    /// The same with other items; neighbours must have the key of [`key_of`].
    pub(crate) async fn fill_with(
        &self,
        first: u64,
        last: u64,
        item: &dyn Fn(u64) -> String,
    ) -> Result<()> {
        let mut connection = Connection::open(&self.server.authority).await?;
        let mut next = first;
        while next < last {
            let end = (next + BATCH_ITEMS).min(last);
            let operations: Vec<String> = (next..end)
                .map(|n| format!(r#"{{"operationType":"Create","resourceBody":{}}}"#, item(n)))
                .collect();
            let request = Request::new("POST", format!("{CONTAINER}/docs"))
                .header("x-ms-cosmos-is-batch-request", "True")
                .header("x-ms-cosmos-batch-atomic", "True")
                .header("prefer", "return=minimal")
                .partition_key(&key_of(next))
                .body(format!("[{}]", operations.join(",")));
            let response = connection.call(&self.account, &request).await?;
            anyhow::ensure!(
                response.status == 200,
                "fill: {} {}",
                response.status,
                response.text()
            );
            next = end;
        }
        Ok(())
    }

    pub(crate) fn read_request(&self, n: u64) -> Result<Vec<u8>> {
        Request::new("GET", format!("{CONTAINER}/docs/i{n}"))
            .partition_key(&key_of(n))
            .sign(&self.account)
    }

    /// Head of a create, up to where partition key, length and body follow: the signature covers the
    /// container only, so one serves all creates of a quarter of an hour.
    pub(crate) fn create_head(&self, container: &str) -> Result<String> {
        let request = Request::new("POST", format!("{container}/docs"))
            .header("prefer", "return=minimal")
            .sign(&self.account)?;
        let text = String::from_utf8(request).context("request is text")?;
        let head = text.split("content-length").next().unwrap_or_default();
        Ok(head.to_owned())
    }
}

fn start_in(binary: &Path, folder: &Path, options: &[&str], env: &Env) -> Result<Server> {
    let data = folder.join("data");
    let data = data.to_string_lossy();
    let mut all = vec!["--data", data.as_ref()];
    all.extend_from_slice(options);
    Server::start(binary, &all, &folder.join("server.log"), env)
}

/// The logical partition of an item: neighbours share one, so that they can be written in one batch.
pub(crate) fn key_of(n: u64) -> String {
    format!("k{}", n / BATCH_ITEMS)
}

/// Item number `n`, 1 KiB of JSON with a dozen properties, as applications have.
pub(crate) fn item(n: u64) -> String {
    item_with_key(&format!("i{n}"), &key_of(n), n)
}

pub(crate) fn item_with_key(id: &str, key: &str, n: u64) -> String {
    let mut text = format!(
        r#"{{"id":"{id}","pk":"{key}","customer":"customer-{}","total":{}.25,"paid":{},"lines":[{{"sku":"a-{}","n":{}}},{{"sku":"b-{}","n":1}}],"address":{{"street":"Street {}","city":"Oslo","zip":"{:05}"}},"tags":["new","bench"],"note":""#,
        n % 5000,
        n % 900,
        n.is_multiple_of(2),
        n % 77,
        n % 9,
        n % 33,
        n % 200,
        n % 100_000
    );
    let room = ITEM_BYTES.saturating_sub(text.len() + 2);
    text.extend(std::iter::repeat_n('x', room));
    text.push_str("\"}");
    text
}

/// Bytes of all files below a folder.
pub(crate) fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
            Ok(metadata) => allocated_bytes(&metadata),
            Err(_) => 0,
        })
        .sum()
}

/// What the file takes on disk: engines allocate ahead, and only what is really there counts.
fn allocated_bytes(metadata: &std::fs::Metadata) -> u64 {
    #[cfg(unix)]
    {
        std::os::unix::fs::MetadataExt::blocks(metadata) * 512
    }
    #[cfg(not(unix))]
    {
        metadata.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_json_of_the_promised_size() {
        for n in [0, 7, 123_456_789] {
            let text = item(n);
            assert_eq!(text.len(), ITEM_BYTES);
            serde_json::from_str::<serde_json::Value>(&text).unwrap();
        }
    }
}
