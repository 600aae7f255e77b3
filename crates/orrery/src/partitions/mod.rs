//! `orrery partitions`, `split`, `merge`, `move`: physical partitions of a running server, seen and changed.

mod picture;
mod relocate;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use client::rest::Account;
use serde_json::Value;

use crate::output;
use crate::remote::{AccountArguments, block_on};

pub(crate) use relocate::{MergeArguments, MoveArguments, SplitArguments};

const EXAMPLES: &str = "\
Examples:
  orrery partitions                        every container: ranges, sizes, heat
  orrery partitions shop/orders --keys     one container, with its hottest logical partitions
  orrery split shop/orders 0               split a range where it is best
  orrery merge shop/orders 1 2             merge two neighbours";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PartitionsArguments {
    #[command(flatten)]
    account: AccountArguments,

    /// DATABASE/CONTAINER; all without it
    container: Option<String>,

    /// Name the hottest logical partitions too
    #[arg(long)]
    keys: bool,

    /// Print the answer of the server as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn show(arguments: &PartitionsArguments) -> Result<()> {
    let account = arguments.account.open()?;
    let answer = block_on(async {
        match &arguments.container {
            Some(name) => Ok(account.ask(&format!("{}/ranges", path(name)?)).await?),
            None => Ok(account.ask("ranges").await?),
        }
    })?;
    if arguments.json {
        return output::print_json(&answer);
    }
    let containers = match answer.get("containers").and_then(Value::as_array) {
        Some(containers) => containers.clone(),
        None => vec![answer],
    };
    if containers.is_empty() {
        return output::print("no containers\n");
    }
    let shown = containers.iter().map(|container| picture::container(container, arguments.keys));
    output::print(&shown.collect::<String>())
}

pub(crate) fn split(arguments: &SplitArguments) -> Result<()> {
    relocate::run(arguments.account(), &relocate::split(arguments)?)
}

pub(crate) fn merge(arguments: &MergeArguments) -> Result<()> {
    relocate::run(arguments.account(), &relocate::merge(arguments)?)
}

pub(crate) fn relocate(arguments: &MoveArguments) -> Result<()> {
    relocate::run(arguments.account(), &relocate::relocate(arguments)?)
}

/// The path of a container in the management API.
pub(crate) fn path(name: &str) -> Result<String> {
    let (database, container) =
        name.split_once('/').context("a container is named DATABASE/CONTAINER")?;
    ensure!(!database.is_empty() && !container.is_empty(), "{name:?} is no DATABASE/CONTAINER");
    Ok(format!("dbs/{database}/colls/{container}"))
}

/// What the server says of one relocation.
async fn relocation(account: &Account, id: u64) -> Result<Value> {
    Ok(account.ask(&format!("relocations/{id}")).await?)
}
