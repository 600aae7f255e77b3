//! Splits, merges and moves on command.

use std::sync::Arc;

use account::{Account, Link, RangeDescription, RelocationEnd, RelocationStatus, RelocationStep};
use http::StatusCode;
use model::{Epk, Object, RangeId, Value};

use super::{Done, Failed, invalid, number, object};

/// What is to be done with ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Split(String),
    Merge,
    Move(String),
}

/// Starts a relocation: 202 at once, or 200 when it has ended if the body says `wait`.
pub(super) async fn start(
    account: &Arc<Account>,
    container: &Link,
    command: &Command,
    body: &Value,
) -> Result<Done, Failed> {
    let waits = match body.get("wait") {
        None => false,
        Some(value) => value.as_bool().ok_or_else(|| invalid("wait must be true or false"))?,
    };
    let id = match command {
        Command::Split(range) => {
            let at = optional_text(body, "at")?.map(epk).transpose()?;
            account.start_split(container, range_id(range)?, at)?
        }
        Command::Merge => account.start_merge(container, two_ranges(body)?)?,
        Command::Move(range) => {
            let store = optional_text(body, "store")?;
            account.start_move(container, range_id(range)?, store)?
        }
    };
    if waits {
        let status = account.wait_for_relocation(id).await?;
        return Ok(Done::Value { status: StatusCode::OK, body: show(&status) });
    }
    Ok(Done::Value { status: StatusCode::ACCEPTED, body: show(&account.relocation(id)?) })
}

/// Holds relocations of a container before a step, or lets them pass it.
pub(super) fn hold(
    account: &Account,
    container: &Link,
    is_held: bool,
    body: &Value,
) -> Result<Value, Failed> {
    let name = optional_text(body, "step")?.unwrap_or_default();
    let names = || RelocationStep::ALL.map(RelocationStep::name).join(", ");
    let step = RelocationStep::from_name(name)
        .ok_or_else(|| invalid(&format!("step must be one of {}", names())))?;
    if is_held {
        account.hold_relocations(container, step)?;
    } else {
        account.release_relocations(container, step)?;
    }
    Ok(object([("step", name.into()), ("isHeld", is_held.into())]))
}

pub(super) fn list(account: &Account) -> Value {
    let all = account.relocations().iter().map(show).collect();
    object([("relocations", Value::Array(all))])
}

pub(super) fn show(status: &RelocationStatus) -> Value {
    let end = match &status.end {
        None => Value::Null,
        Some(RelocationEnd::Done) => "done".into(),
        Some(RelocationEnd::Failed(_)) => "failed".into(),
    };
    let failure = match &status.end {
        Some(RelocationEnd::Failed(message)) => message.as_str().into(),
        Some(RelocationEnd::Done) | None => Value::Null,
    };
    let pause =
        status.write_pause.map_or(Value::Null, |pause| (pause.as_secs_f64() * 1000.0).into());
    object([
        ("id", number(status.id)),
        ("container", status.container.as_str().into()),
        ("kind", status.kind.name().into()),
        ("reason", status.reason.name().into()),
        ("sources", ids(&status.sources)),
        ("targets", ids(&status.targets)),
        ("step", status.step.name().into()),
        ("steps", Value::Array(status.steps.iter().map(show_step).collect())),
        ("isWaiting", status.is_waiting.into()),
        ("progress", status.progress().into()),
        ("items", number(status.n_items)),
        ("bytes", number(status.bytes)),
        ("copiedItems", number(status.n_copied)),
        ("copiedBytes", number(status.bytes_copied)),
        ("replayed", number(status.n_replayed)),
        ("writePauseMs", pause),
        ("startedMs", number(status.started_ms)),
        ("endedMs", status.ended_ms.map_or(Value::Null, number)),
        ("end", end),
        ("failure", failure),
    ])
}

fn show_step((step, at_ms): &(RelocationStep, u64)) -> Value {
    object([("step", step.name().into()), ("atMs", number(*at_ms))])
}

/// What is known of a range beside its heat.
pub(super) fn describe(range: &RangeDescription, shown: &mut Object) {
    shown.insert("min", range.epks.min().to_string());
    shown.insert("max", range.epks.max().to_string());
    let [from, to] = range.places;
    shown.insert("from", from);
    shown.insert("to", to);
    shown.insert("parents", ids(&range.parents));
    shown.insert("items", number(range.n_items));
    shown.insert("bytes", number(range.bytes));
    shown.insert("logicalPartitions", number(range.n_logical));
    shown.insert("lsn", number(range.lsn.0));
    shown.insert("status", range.status());
    shown.insert("relocation", range.relocation.as_ref().map_or(Value::Null, show));
}

pub(super) fn ids(ranges: &[RangeId]) -> Value {
    Value::Array(ranges.iter().map(|range| range.to_string().into()).collect())
}

pub(super) fn range_id(text: &str) -> Result<RangeId, Failed> {
    RangeId::parse(text).ok_or_else(|| invalid("a range id is a number").into())
}

pub(super) fn epk(text: &str) -> Result<Epk, Failed> {
    let invalid = || invalid("a split point is an effective partition key in hexadecimal digits");
    Epk::parse(text).map_err(|_| invalid().into())
}

fn two_ranges(body: &Value) -> Result<[RangeId; 2], Failed> {
    let ranges = body.get("ranges").and_then(Value::as_array).unwrap_or_default();
    match ranges {
        [Value::String(first), Value::String(second)] => Ok([range_id(first)?, range_id(second)?]),
        _ => Err(invalid("ranges must be the ids of two neighbours, as text").into()),
    }
}

fn optional_text<'a>(body: &'a Value, name: &str) -> Result<Option<&'a str>, Failed> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid(&format!("{name} must be text")).into()),
    }
}
