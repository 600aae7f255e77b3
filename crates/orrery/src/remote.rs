//! The account that a command works on: a running server, ours or another of the same protocol.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use client::rest::{Account, RestDatabase};
use model::Env;

#[derive(Debug, Args)]
pub(crate) struct AccountArguments {
    /// Address of the account
    #[arg(
        long,
        value_name = "URL",
        env = "ORRERY_ENDPOINT",
        default_value = "http://127.0.0.1:8081/",
        help_heading = "Account"
    )]
    endpoint: String,

    /// Key of the account, base64; default for this machine: the well-known emulator key
    #[arg(
        long,
        value_name = "KEY",
        env = "ORRERY_KEY",
        hide_env_values = true,
        conflicts_with = "key_file",
        help_heading = "Account"
    )]
    key: Option<String>,

    /// File whose first line is the key
    #[arg(long, value_name = "FILE", env = "ORRERY_KEY_FILE", help_heading = "Account")]
    key_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RemoteArguments {
    #[command(flatten)]
    account: AccountArguments,

    /// Database to work in
    #[arg(long, value_name = "NAME", help_heading = "Account")]
    database: String,
}

impl RemoteArguments {
    pub(crate) fn open(&self) -> Result<RestDatabase> {
        Ok(RestDatabase::new(self.account.open()?, self.database.as_str()))
    }
}

impl AccountArguments {
    pub(crate) fn open(&self) -> Result<Account> {
        Ok(Account::new(&self.endpoint, &self.key()?, Env::system())?)
    }

    fn key(&self) -> Result<String> {
        if let Some(key) = &self.key {
            return Ok(key.clone());
        }
        if let Some(file) = &self.key_file {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            return Ok(text.lines().next().unwrap_or_default().trim().to_owned());
        }
        // A key that everybody knows is only a default where nobody else listens.
        let is_local = ["//localhost", "//127.0.0.1", "//[::1]"];
        if is_local.iter().any(|it| self.endpoint.contains(it)) {
            return Ok(gateway::WELL_KNOWN_KEY.to_owned());
        }
        bail!("{} needs a key: say --key-file or --key", self.endpoint)
    }
}

/// Runs one command to its end.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")?;
    runtime.block_on(work)
}
