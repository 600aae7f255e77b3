//! `orrery partitions`, `split`, `merge`, `move`: physical partitions of a running server, seen and changed.

mod picture;
mod relocate;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use client::rest::Account;
use serde_json::Value;

use crate::remote::{AccountArguments, block_on};
use crate::{output, watch};

pub(crate) use picture::part as bar_part;
pub(crate) use relocate::{MergeArguments, MoveArguments, SplitArguments};

const EXAMPLES: &str = "\
Examples:
  orrery partitions                        every container: ranges, sizes, heat
  orrery partitions shop/orders --keys     one container, with its hottest logical partitions
  orrery partitions --watch                drawn anew each second; q leaves
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
    #[arg(long, conflicts_with = "watch")]
    json: bool,

    /// Look again each second; q leaves
    #[arg(long)]
    watch: bool,

    /// Looks, one a second, before --watch ends by itself
    #[arg(long, value_name = "N", requires = "watch", value_parser = clap::value_parser!(u32).range(1..))]
    times: Option<u32>,
}

pub(crate) fn show(arguments: &PartitionsArguments) -> Result<()> {
    let account = arguments.account.open()?;
    let path = match &arguments.container {
        Some(name) => format!("{}/ranges", path(name)?),
        None => "ranges".to_owned(),
    };
    if arguments.watch {
        let look = async || Ok(pictures(account.ask(&path).await?, arguments.keys));
        return block_on(watch::watch(arguments.times, look));
    }
    let answer = block_on(async { Ok(account.ask(&path).await?) })?;
    if arguments.json {
        return output::print_json(&answer);
    }
    output::print(&pictures(answer, arguments.keys))
}

/// The pictures of all containers that an answer has.
fn pictures(answer: Value, with_keys: bool) -> String {
    let containers = match answer.get("containers").and_then(Value::as_array) {
        Some(containers) => containers.clone(),
        None => vec![answer],
    };
    if containers.is_empty() {
        return "no containers\n".to_owned();
    }
    containers.iter().map(|container| picture::container(container, with_keys)).collect()
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
