//! `orrery rekey`: a container gets another partition key, by a copy that follows the original.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use client::rekey::{Options, Phase, Plan, Progress, Rekey, Spec, SyntheticScheme};
use client::{Concat, FileStateStore, HashedSuffix, RandomSuffix};

use crate::progress::{bar, show};
use crate::remote::{RemoteArguments, block_on};

const EXAMPLES: &str = "\
Examples:
  orrery rekey --database shop --from orders --to orders-2 --partition-key /customer
  orrery rekey --database shop --from orders --to orders-2 --partition-key /tenant --partition-key /customer
                                           a hierarchical key
  orrery rekey --database cars --from trips --to trips-2 --concat /pk=/deviceId,/date
  orrery rekey --database cars --from trips --to trips-2 --hashed-suffix /pk=/date,/vin --suffixes 400
  orrery rekey … --plan                    only say what the copy would be
  orrery rekey … --follow                  keep the copy in step until Ctrl-C, then verify

To move an application: run with --follow, stop the writers, press Ctrl-C, wait for `verified`, start the writers
on the new container. A run that was interrupted is continued by the same command.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RekeyArguments {
    #[command(flatten)]
    remote: RemoteArguments,

    /// Container to copy; it is only read
    #[arg(long, value_name = "CONTAINER")]
    from: String,

    /// Container to make, like the original but for its key
    #[arg(long, value_name = "CONTAINER")]
    to: String,

    /// Partition key path of the new container; given twice or three times, a hierarchical key
    #[arg(long, value_name = "PATH")]
    partition_key: Vec<String>,

    /// Write a key of several values joined: PROPERTY=PATH,PATH…
    #[arg(long, value_name = "RULE", group = "synthetic")]
    concat: Option<String>,

    /// Write a key of a value and a number computed from another: PROPERTY=PATH,PATH
    #[arg(long, value_name = "RULE", group = "synthetic")]
    hashed_suffix: Option<String>,

    /// Write a key of a value and a random number: PROPERTY=PATH
    #[arg(long, value_name = "RULE", group = "synthetic")]
    random_suffix: Option<String>,

    /// Separator of --concat
    #[arg(long, value_name = "CHARACTER", default_value_t = '-')]
    separator: char,

    /// Escape separators inside the values of --concat, so that different values give different keys
    #[arg(long)]
    escaped: bool,

    /// Number of suffixes
    #[arg(long, value_name = "N", default_value_t = 400)]
    suffixes: u32,

    /// Only say what the copy would be
    #[arg(long)]
    plan: bool,

    /// Keep copying changes until Ctrl-C, then verify
    #[arg(long)]
    follow: bool,

    /// File that says how far the copy is; default: rekey-FROM-TO.json
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
}

pub(crate) fn run(arguments: &RekeyArguments) -> Result<()> {
    let service = Arc::new(arguments.remote.open()?);
    let job = arguments.job.clone().unwrap_or_else(|| {
        PathBuf::from(format!("rekey-{}-{}.json", arguments.from, arguments.to))
    });
    let store = Arc::new(FileStateStore::new(&job));
    let copy = Rekey::new(service, store, spec(arguments)?, Options::default());
    block_on(async {
        let plan = copy.plan().await?;
        println!("{}", plan_text(&plan));
        if arguments.plan {
            return Ok(());
        }
        ensure!(plan.n_without_key == 0, "some items would have no key; see above");
        let progress = run_copy(&copy, &plan, arguments.follow).await?;
        println!("{}", progress_text(&progress));
        ensure!(
            progress.is_settled,
            "the copy is complete as far as it was seen, but the source kept changing while it was verified"
        );
        Ok(())
    })
}

async fn run_copy(copy: &Rekey, plan: &Plan, is_following: bool) -> Result<Progress> {
    let is_stopped = AtomicBool::new(!is_following);
    if !is_following {
        return follow(copy, plan, &is_stopped, std::future::pending()).await;
    }
    println!("following; press Ctrl-C when the writers have stopped");
    let listen = async {
        // Where signals cannot be had there would be no way to end, so following ends at once.
        let _ = tokio::signal::ctrl_c().await;
        is_stopped.store(true, Ordering::SeqCst);
    };
    follow(copy, plan, &is_stopped, listen).await
}

/// Runs the copy beside whatever ends the following.
async fn follow(
    copy: &Rekey,
    plan: &Plan,
    is_stopped: &AtomicBool,
    listen: impl Future<Output = ()>,
) -> Result<Progress> {
    let bar = bar(plan.n_items);
    let mut report = |phase, progress: Progress| match phase {
        Phase::Planned => show(&bar, "preparing", 0),
        Phase::Copying => show(&bar, "copying", progress.n_copied),
        Phase::Following => show(&bar, "following", progress.n_copied),
        Phase::VerifyingSource => show(&bar, "verifying", progress.n_verified),
        Phase::VerifyingTarget => show(&bar, "cleaning", progress.n_verified),
        Phase::Done => show(&bar, "done", progress.n_verified),
    };
    let mut wants_more = || !is_stopped.load(Ordering::SeqCst);
    let work = copy.run(&mut wants_more, &mut report);
    tokio::pin!(work, listen);
    let mut is_listening = true;
    let result = loop {
        tokio::select! {
            result = &mut work => break result,
            () = &mut listen, if is_listening => is_listening = false,
        }
    };
    bar.finish_and_clear();
    Ok(result?)
}

fn plan_text(plan: &Plan) -> String {
    let mut text = format!(
        "{} items, {} bytes, {} logical partitions in the copy",
        plan.n_items, plan.n_bytes, plan.n_keys
    );
    if let Some((key, n_items)) = &plan.largest {
        let _ = write!(text, "; the largest is {key} with {n_items} items");
    }
    if plan.n_without_key > 0 {
        let _ = write!(
            text,
            "\n{} items would have no key, for example {}",
            plan.n_without_key,
            plan.without_key.join(", ")
        );
    }
    text
}

fn progress_text(progress: &Progress) -> String {
    format!(
        "copied {}, of these {} as changes; repaired {}, removed {}; verified {} items in {} passes",
        progress.n_copied,
        progress.n_followed,
        progress.n_repaired,
        progress.n_removed,
        progress.n_verified,
        progress.n_passes
    )
}

fn spec(arguments: &RekeyArguments) -> Result<Spec> {
    let (from, to) = (arguments.from.as_str(), arguments.to.as_str());
    let Some(scheme) = scheme(arguments)? else {
        ensure!(
            !arguments.partition_key.is_empty(),
            "say the new key: --partition-key, --concat, --hashed-suffix or --random-suffix"
        );
        return Ok(Spec::plain(from, to, arguments.partition_key.iter().map(String::as_str)));
    };
    let mut spec = Spec::synthetic(from, to, scheme);
    if !arguments.partition_key.is_empty() {
        // A synthetic key may be one level of a hierarchical one.
        ensure!(
            spec.paths.iter().all(|it| arguments.partition_key.contains(it)),
            "--partition-key must name the property of the synthetic key, {}",
            spec.paths.join(", ")
        );
        spec.paths.clone_from(&arguments.partition_key);
    }
    Ok(spec)
}

fn scheme(arguments: &RekeyArguments) -> Result<Option<SyntheticScheme>> {
    if let Some(rule) = &arguments.concat {
        let (property, paths) = parse(rule)?;
        let scheme = Concat::new(property, paths)?.separator(arguments.separator);
        let scheme = if arguments.escaped { scheme.escaped() } else { scheme };
        return Ok(Some(SyntheticScheme::Concat(scheme)));
    }
    if let Some(rule) = &arguments.hashed_suffix {
        let (property, paths) = parse(rule)?;
        let [base, attribute] = paths[..] else { bail!("--hashed-suffix takes two paths: {rule}") };
        let scheme = HashedSuffix::new(property, base, attribute)?.count(arguments.suffixes)?;
        return Ok(Some(SyntheticScheme::HashedSuffix(scheme)));
    }
    if let Some(rule) = &arguments.random_suffix {
        let (property, paths) = parse(rule)?;
        let [base] = paths[..] else { bail!("--random-suffix takes one path: {rule}") };
        let scheme = RandomSuffix::new(property, base)?.count(arguments.suffixes)?;
        return Ok(Some(SyntheticScheme::RandomSuffix(scheme)));
    }
    Ok(None)
}

/// Splits `PROPERTY=PATH,PATH`.
fn parse(rule: &str) -> Result<(&str, Vec<&str>)> {
    let (property, paths) =
        rule.split_once('=').with_context(|| format!("{rule} is not of the form /a=/b,/c"))?;
    Ok((property, paths.split(',').collect()))
}
