//! Splits, merges and moves with a progress bar.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::{Value, json};

use super::{path, relocation};
use crate::progress;
use crate::remote::{AccountArguments, block_on};

/// How often progress is asked for.
const INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(crate) struct SplitArguments {
    #[command(flatten)]
    account: AccountArguments,

    /// DATABASE/CONTAINER
    container: String,

    /// Id of the range, as `orrery partitions` shows it
    range: String,

    /// First effective partition key of the upper half, in hexadecimal digits; the best point without it
    #[arg(long, value_name = "EPK")]
    at: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    #[command(flatten)]
    account: AccountArguments,

    /// DATABASE/CONTAINER
    container: String,

    /// Ids of two neighbours
    #[arg(num_args = 2, required = true, value_names = ["RANGE", "RANGE"])]
    ranges: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MoveArguments {
    #[command(flatten)]
    account: AccountArguments,

    /// DATABASE/CONTAINER
    container: String,

    /// Id of the range
    range: String,

    /// Store to move to; a new place in its own without it
    #[arg(long, value_name = "NAME")]
    store: Option<String>,
}

impl SplitArguments {
    pub(super) fn account(&self) -> &AccountArguments {
        &self.account
    }
}

impl MergeArguments {
    pub(super) fn account(&self) -> &AccountArguments {
        &self.account
    }
}

impl MoveArguments {
    pub(super) fn account(&self) -> &AccountArguments {
        &self.account
    }
}

/// What to tell the server.
#[derive(Debug)]
pub(super) struct Order {
    path: String,
    body: Value,
}

pub(super) fn split(arguments: &SplitArguments) -> Result<Order> {
    let path = format!("{}/ranges/{}/split", path(&arguments.container)?, arguments.range);
    Ok(Order { path, body: json!({"at": arguments.at}) })
}

pub(super) fn merge(arguments: &MergeArguments) -> Result<Order> {
    let path = format!("{}/ranges/merge", path(&arguments.container)?);
    Ok(Order { path, body: json!({"ranges": arguments.ranges}) })
}

pub(super) fn relocate(arguments: &MoveArguments) -> Result<Order> {
    let path = format!("{}/ranges/{}/move", path(&arguments.container)?, arguments.range);
    Ok(Order { path, body: json!({"store": arguments.store}) })
}

/// Gives the order and shows its progress to the end.
pub(super) fn run(account: &AccountArguments, order: &Order) -> Result<()> {
    let account = account.open()?;
    block_on(async {
        let started = account.tell(&order.path, &order.body).await?;
        let id = started.get("id").and_then(Value::as_u64).context("the server gave no id")?;
        let bar = progress::bar(started.get("items").and_then(Value::as_u64).unwrap_or(0));
        let ended = loop {
            let status = relocation(&account, id).await?;
            let n_copied = status.get("copiedItems").and_then(Value::as_u64).unwrap_or(0);
            progress::show(
                &bar,
                status.get("step").and_then(Value::as_str).unwrap_or(""),
                n_copied,
            );
            if status.get("end").is_some_and(|end| !end.is_null()) {
                break status;
            }
            tokio::time::sleep(INTERVAL).await;
        };
        bar.finish_and_clear();
        if let Some(failure) = ended.get("failure").and_then(Value::as_str) {
            bail!("the relocation failed, the old ranges serve on: {failure}");
        }
        println!("{}", summary(&ended));
        Ok(())
    })
}

fn summary(ended: &Value) -> String {
    let ids = |name: &str| {
        let ids = ended.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        ids.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" and ")
    };
    let ms = |name: &str| ended.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let seconds = (ms("endedMs") - ms("startedMs")) / 1000.0;
    format!(
        "{} of range {} into {}: {} items in {seconds:.1} s, writes waited {:.0} ms",
        ended.get("kind").and_then(Value::as_str).unwrap_or("relocation"),
        ids("sources"),
        ids("targets"),
        ended.get("copiedItems").and_then(Value::as_u64).unwrap_or(0),
        ms("writePauseMs"),
    )
}
