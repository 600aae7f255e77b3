//! Where crash runs take place: one data folder, over which servers come and go.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use model::Env;

use crate::client::{Account, Connection, Request};
use crate::server::{Server, WELL_KNOWN_KEY};
use crate::workspace;

/// One restart in this many is killed before it is ready.
const RESTART_KILLS: u64 = 5;

pub(super) struct Site {
    binary: PathBuf,
    folder: tempfile::TempDir,
    min_partitions: String,
    pub(super) env: Env,
}

impl Site {
    pub(super) fn new(binary: &Path, min_partitions: u32) -> Result<Site> {
        Ok(Site {
            binary: binary.to_owned(),
            folder: workspace::scratch("crash")?,
            min_partitions: min_partitions.to_string(),
            env: Env::system(),
        })
    }

    fn options(&self) -> Vec<String> {
        let data = self.folder.path().join("data").to_string_lossy().into_owned();
        let options = ["--data", &data, "--min-partitions", &self.min_partitions];
        // Every scan is read both ways: a difference fails the request, and so the run.
        let compared = ["--direct-reads", "compare"];
        [&options[..], &compared[..]].concat().into_iter().map(str::to_owned).collect()
    }

    pub(super) fn start(&self) -> Result<Server> {
        let options = self.options();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        Server::start(&self.binary, &options, &self.log(), &self.env)
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    pub(super) fn account(&self, server: &Server) -> Result<Account> {
        Account::new(&server.authority, WELL_KNOWN_KEY, &self.env)
    }

    pub(super) async fn make_container(&self, server: &Server) -> Result<()> {
        let account = self.account(server)?;
        let mut connection = Connection::open(&server.authority).await?;
        for (path, body) in [
            ("dbs", r#"{"id":"crash"}"#),
            (
                "dbs/crash/colls",
                r#"{"id":"items","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#,
            ),
        ] {
            let request = Request::new("POST", path).body(body);
            connection.call(&account, &request).await?.expect_success(path)?;
        }
        Ok(())
    }

    /// Now and then kills the recovery itself; returns how often.
    pub(super) async fn kill_restarts(&self, choices: &Env) -> Result<u32> {
        if !choices.random_u64().is_multiple_of(RESTART_KILLS) {
            return Ok(0);
        }
        let options = self.options();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let mut child = Server::spawn(&self.binary, &options, &self.log())?;
        tokio::time::sleep(Duration::from_millis(choices.random_u64() % 40)).await;
        child.kill().context("cannot kill the restarting server")?;
        child.wait()?;
        Ok(1)
    }
}
