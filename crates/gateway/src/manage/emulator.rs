//! The split and merge routes of the official Rust SDK's emulator host, so that its tests can be pointed here.
//!
//! `POST /databases/{db}/containers/{coll}/partitions/{id}/split`, `…/partitions/merge`, `GET /operations/{id}`,
//! `POST /operations/{id}/advance`. That host asks for no key, so these routes are open while the account has the
//! well-known key, which protects nothing; with a key of one's own they need it like all others. Errors have its
//! form, `{"error": "…"}`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use account::{Account, Link, RelocationEnd, RelocationStatus, RelocationStep};
use http::StatusCode;
use model::{Failure, Object, RangeId, Value};
use parking_lot::Mutex;

use super::relocations::{epk, range_id};
use super::{Done, Failed, invalid, object, route};
use crate::error::Error;

// Limit: as that host has it.
const LOCK_MS_MAX: i64 = 60_000;
// Limit: operations whose details are kept; the oldest go first.
const OPERATIONS_MAX: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EmulatorRoute {
    Split { container: Link, range: String },
    Merge { container: Link },
    Operation { id: String },
    Advance { id: String },
}

impl EmulatorRoute {
    pub(crate) fn parse(path: &str) -> Option<EmulatorRoute> {
        if !path.starts_with("/databases/") && !path.starts_with("/operations/") {
            return None;
        }
        let segments = route::segments(path).ok()?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["databases", database, "containers", container, "partitions", rest @ ..] => {
                let container = route::link(database, container);
                match rest {
                    ["merge"] => Some(EmulatorRoute::Merge { container }),
                    [range, "split"] => {
                        Some(EmulatorRoute::Split { container, range: (*range).to_owned() })
                    }
                    _ => None,
                }
            }
            ["operations", id] => Some(EmulatorRoute::Operation { id: (*id).to_owned() }),
            ["operations", id, "advance"] => Some(EmulatorRoute::Advance { id: (*id).to_owned() }),
            _ => None,
        }
    }
}

impl EmulatorRoute {
    /// What the body may have.
    pub(crate) fn properties(&self) -> &'static [&'static str] {
        match self {
            EmulatorRoute::Split { .. } => &["mode", "epk", "progressionMode", "lockDurationMs"],
            EmulatorRoute::Merge { .. } => &["partitionIds", "progressionMode", "lockDurationMs"],
            EmulatorRoute::Operation { .. } | EmulatorRoute::Advance { .. } => &[],
        }
    }
}

/// How an operation was asked for.
#[derive(Debug, Clone)]
struct Asked {
    container: Link,
    /// How the split point was chosen; none for a merge.
    mode: Option<&'static str>,
    is_manual: bool,
}

/// The operations that were started through these routes.
#[derive(Debug, Default)]
pub(crate) struct Operations(Mutex<BTreeMap<u64, Asked>>);

impl Operations {
    fn add(&self, id: u64, asked: Asked) {
        let mut all = self.0.lock();
        all.insert(id, asked);
        while all.len() > OPERATIONS_MAX {
            all.pop_first();
        }
    }

    fn get(&self, id: u64) -> Option<Asked> {
        self.0.lock().get(&id).cloned()
    }
}

/// How an operation goes on after it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progression {
    Automatic { lock: Duration },
    Manual,
}

impl Progression {
    fn parse(body: &Value) -> Result<Progression, Failed> {
        let lock_ms = match body.get("lockDurationMs") {
            None | Some(Value::Null) => None,
            Some(value) => {
                let ms = value.as_i64().filter(|ms| (0..=LOCK_MS_MAX).contains(ms));
                Some(ms.ok_or_else(|| invalid("lockDurationMs must be from 0 to 60000"))?)
            }
        };
        match (body.get("progressionMode").and_then(Value::as_str), lock_ms) {
            (None | Some("automatic"), lock_ms) => {
                let ms = lock_ms.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0);
                Ok(Progression::Automatic { lock: Duration::from_millis(ms) })
            }
            (Some("manual"), None) => Ok(Progression::Manual),
            (Some("manual"), Some(_)) => {
                Err(invalid("lockDurationMs is for automatic progression").into())
            }
            (Some(_), _) => Err(invalid("progressionMode must be automatic or manual").into()),
        }
    }
}

pub(super) async fn run(
    account: &Arc<Account>,
    operations: &Operations,
    is_post: bool,
    route: EmulatorRoute,
    body: &Value,
) -> Result<Done, Failed> {
    match (is_post, route) {
        (true, EmulatorRoute::Split { container, range }) => {
            let progression = Progression::parse(body)?;
            let range = range_id(&range)?;
            let (mode, at) = split_point(account, &container, range, body)?;
            hold(account, &container, progression)?;
            let id = account.start_split(&container, range, at)?;
            operations.add(id, asked(&container, Some(mode), progression));
            started(account, operations, container, id, progression)
        }
        (true, EmulatorRoute::Merge { container }) => {
            let progression = Progression::parse(body)?;
            let ranges = merged(body)?;
            hold(account, &container, progression)?;
            let id = account.start_merge(&container, ranges)?;
            operations.add(id, asked(&container, None, progression));
            started(account, operations, container, id, progression)
        }
        (false, EmulatorRoute::Operation { id }) => {
            let (_, asked, status) = find(account, operations, &id)?;
            Ok(Done::Value { status: StatusCode::OK, body: show(account, &asked, &status) })
        }
        (true, EmulatorRoute::Advance { id }) => advance(account, operations, &id).await,
        (_, _) => Err(Error::RouteMethod { method: "this method".to_owned() }.into()),
    }
}

fn asked(container: &Link, mode: Option<&'static str>, progression: Progression) -> Asked {
    let is_manual = progression == Progression::Manual;
    Asked { container: container.clone(), mode, is_manual }
}

fn split_point(
    account: &Account,
    container: &Link,
    range: RangeId,
    body: &Value,
) -> Result<(&'static str, Option<model::Epk>), Failed> {
    match body.get("mode").and_then(Value::as_str).unwrap_or("midpoint") {
        "midpoint" => Ok(("midpoint", account.midpoint(container, range)?)),
        "storage" => Ok(("storage", None)),
        "epk" => {
            let text = body.get("epk").and_then(Value::as_str);
            let text = text.ok_or_else(|| invalid("epk is required when mode is 'epk'"))?;
            Ok(("epk", Some(epk(text)?)))
        }
        _ => Err(invalid("mode must be midpoint, epk or storage").into()),
    }
}

fn merged(body: &Value) -> Result<[RangeId; 2], Failed> {
    let ids = body.get("partitionIds").and_then(Value::as_array).unwrap_or_default();
    let id = |value: &Value| value.as_i64().and_then(|id| u32::try_from(id).ok()).map(RangeId);
    match ids {
        [first, second] => match (id(first), id(second)) {
            (Some(first), Some(second)) => Ok([first, second]),
            _ => Err(invalid("partitionIds must be numbers").into()),
        },
        _ => Err(invalid("partitionIds must be exactly two").into()),
    }
}

/// A manual operation waits before its fence, a timed one behind it.
fn hold(account: &Account, container: &Link, progression: Progression) -> Result<(), Failed> {
    match progression {
        Progression::Manual => account.hold_relocations(container, RelocationStep::Fence)?,
        Progression::Automatic { lock } if !lock.is_zero() => {
            account.hold_relocations(container, RelocationStep::CutOver)?;
        }
        Progression::Automatic { .. } => {}
    }
    Ok(())
}

fn started(
    account: &Arc<Account>,
    operations: &Operations,
    container: Link,
    id: u64,
    progression: Progression,
) -> Result<Done, Failed> {
    if let Progression::Automatic { lock } = progression
        && !lock.is_zero()
    {
        let account = Arc::clone(account);
        tokio::spawn(async move {
            // Whatever becomes of the operation, what was held is released.
            let _ = account.wait_for_hold(id, RelocationStep::CutOver).await;
            tokio::time::sleep(lock).await;
            let _ = account.release_relocations(&container, RelocationStep::CutOver);
        });
    }
    let status = account.relocation(id)?;
    let asked = operations.get(id).ok_or(Error::ManagementRoute)?;
    Ok(Done::Value { status: StatusCode::ACCEPTED, body: show(account, &asked, &status) })
}

async fn advance(
    account: &Arc<Account>,
    operations: &Operations,
    id: &str,
) -> Result<Done, Failed> {
    let (id, asked, _) = find(account, operations, id)?;
    if !asked.is_manual {
        return Err(invalid("the operation is not manual").into());
    }
    let container = &asked.container;
    // The copy may still be under way; the phase that the client leaves begins when it is done.
    let status = account.wait_for_hold(id, RelocationStep::Fence);
    let is_held_there = |status: &RelocationStatus| status.step == RelocationStep::Fence;
    let status = match account.relocation(id)? {
        status if status.step > RelocationStep::Fence || status.end.is_some() => status,
        _ => status.await?,
    };
    let status = if status.end.is_some() {
        return Err(invalid("the operation has ended").into());
    } else if is_held_there(&status) {
        account.hold_relocations(container, RelocationStep::CutOver)?;
        account.release_relocations(container, RelocationStep::Fence)?;
        account.wait_for_hold(id, RelocationStep::CutOver).await?
    } else {
        account.release_relocations(container, RelocationStep::CutOver)?;
        account.wait_for_relocation(id).await?
    };
    Ok(Done::Value { status: StatusCode::OK, body: show(account, &asked, &status) })
}

fn find(
    account: &Account,
    operations: &Operations,
    text: &str,
) -> Result<(u64, Asked, RelocationStatus), Failed> {
    let id = text.rsplit('-').next().and_then(|id| id.parse::<u64>().ok());
    let found = id.and_then(|id| Some((id, operations.get(id)?)));
    let (id, asked) = found.ok_or(Error::ManagementRoute)?;
    Ok((id, asked, account.relocation(id)?))
}

fn show(account: &Account, asked: &Asked, status: &RelocationStatus) -> Value {
    let (state, phase) = match &status.end {
        Some(RelocationEnd::Done) => ("Succeeded", "Succeeded"),
        Some(RelocationEnd::Failed(_)) => ("Failed", "Failed"),
        None if status.step < RelocationStep::CutOver => ("Running", "Preparing"),
        None => ("Running", "Swapping"),
    };
    let id = format!("op-{}-{}", status.kind.name(), status.id);
    let mut shown = Object::new();
    shown.insert("operationId", id);
    shown.insert("status", state);
    shown.insert("phase", phase);
    match &status.end {
        Some(RelocationEnd::Failed(message)) => drop(shown.insert("error", message.as_str())),
        Some(RelocationEnd::Done) => result(account, asked, status, &mut shown),
        None => {}
    }
    Value::Object(shown)
}

fn result(account: &Account, asked: &Asked, status: &RelocationStatus, shown: &mut Object) {
    let id = |range: &RangeId| Value::from(i64::from(range.0));
    let all = |ranges: &[RangeId]| Value::Array(ranges.iter().map(id).collect());
    let Some(mode) = asked.mode else {
        shown.insert("merged", all(&status.sources));
        shown.insert("into", status.targets.first().map_or(Value::Null, id));
        return;
    };
    let name = |at: usize| asked.container.segments.get(at).map_or("", |(_, name)| name.as_str());
    shown.insert("database", name(0));
    shown.insert("container", name(1));
    shown.insert("parent", status.sources.first().map_or(Value::Null, id));
    shown.insert("children", all(&status.targets));
    shown.insert("mode", mode);
    let ranges = account.describe_ranges(&asked.container).unwrap_or_default();
    let upper = ranges.iter().rfind(|range| status.targets.contains(&range.id));
    shown
        .insert("splitEpk", upper.map_or(Value::Null, |range| range.epks.min().to_string().into()));
}

/// A failure in the form of that host.
pub(super) fn failure(failed: &Failed) -> Done {
    let failure: &dyn Failure = match failed {
        Failed::Refused(error) => error,
        Failed::Account(error) => error,
    };
    let status = StatusCode::from_u16(failure.status().code);
    Done::Value {
        status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        body: object([("error", failure.to_string().into())]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_routes() {
        let container = route::link("d", "c");
        let split = EmulatorRoute::Split { container: container.clone(), range: "0".into() };
        let path = "/databases/d/containers/c/partitions/0/split";
        assert_eq!(EmulatorRoute::parse(path), Some(split));
        let path = "/databases/d/containers/c/partitions/merge";
        assert_eq!(EmulatorRoute::parse(path), Some(EmulatorRoute::Merge { container }));
        for other in ["/dbs/d", "/operations", "/databases/d/containers/c/partitions/0"] {
            assert_eq!(EmulatorRoute::parse(other), None, "{other}");
        }
    }
}
