//! Requests for items: point operations, feeds, queries, batches.

use account::{FeedMode, FeedStart, ItemAction, ItemOperation, Link, Operation, Options};

use super::{Action, Parsed, Reply, Request, batch};
use crate::{error::Error, headers::Name};
use http::Method;

/// `…/docs/{id}`
pub(super) fn one(
    container: Link,
    id: String,
    request: &Request<'_>,
    options: Options,
) -> Result<Parsed, Error> {
    let (action, kind) = match *request.method {
        Method::GET => (ItemAction::Read { id }, Action::ItemRead),
        Method::PUT => {
            (ItemAction::Replace { id, body: request.json_body()? }, Action::ItemReplace)
        }
        Method::PATCH => (ItemAction::Patch { id, body: request.json_body()? }, Action::ItemPatch),
        Method::DELETE => (ItemAction::Delete { id }, Action::ItemDelete),
        _ => return Err(request.not_allowed()),
    };
    let minimal = kind.is_write() && request.headers.is_minimal()?;
    finish(container, action, Reply { minimal, ..Reply::new(kind) }, request, options)
}

/// `…/docs`
pub(super) fn feed(
    container: Link,
    request: &Request<'_>,
    mut options: Options,
) -> Result<Parsed, Error> {
    let headers = request.headers;
    let (action, reply) = match *request.method {
        Method::GET => {
            // Wire: on a feed these are positions, or nothing; never preconditions.
            options.if_none_match = None;
            match headers.get(Name::AIm)? {
                Some(mode) => (changes(mode, request)?, Reply::new(Action::ChangeFeed)),
                None => (ItemAction::ReadFeed, Reply::new(Action::ReadFeed)),
            }
        }
        // Wire: the plan header is tested first, because Python sends it with plain JSON.
        Method::POST if headers.is_on(Name::IsQueryPlan)? => {
            let supported_features = headers.get(Name::SupportedFeatures)?.unwrap_or_default();
            let query = request.query_text()?;
            let action =
                ItemAction::QueryPlan { query, supported_features: supported_features.to_owned() };
            (action, Reply::new(Action::QueryPlan))
        }
        Method::POST if headers.is_on(Name::IsBatch)? => batch::batch(request)?,
        // Run as a plain query it would answer with items as they are, and without a position.
        Method::POST if headers.get(Name::AIm)?.is_some() => {
            return Err(Error::OperationUnsupported("A change feed with a query"));
        }
        Method::POST if request.is_query()? => (query(request)?, Reply::new(Action::Query)),
        Method::POST => {
            let is_upsert = headers.is_on(Name::IsUpsert)?;
            let kind = if is_upsert { Action::ItemUpsert } else { Action::ItemCreate };
            let reply = Reply { minimal: headers.is_minimal()?, ..Reply::new(kind) };
            (ItemAction::Create { body: request.json_body()?, is_upsert }, reply)
        }
        _ => return Err(request.not_allowed()),
    };
    finish(container, action, reply, request, options)
}

/// `…/operations/partitionkeydelete`
pub(super) fn delete_logical_partition(
    container: Link,
    request: &Request<'_>,
    options: Options,
) -> Result<Parsed, Error> {
    if *request.method != Method::POST {
        return Err(request.not_allowed());
    }
    let reply = Reply::new(Action::DeleteLogicalPartition);
    finish(container, ItemAction::DeleteLogicalPartition, reply, request, options)
}

/// `HEAD` of a container: where one of its ranges stands, for clients that wait for a replica (a barrier).
pub(super) fn head(
    container: Link,
    request: &Request<'_>,
    options: Options,
) -> Result<Parsed, Error> {
    finish(container, ItemAction::Head, Reply::new(Action::Barrier), request, options)
}

/// `POST …/sprocs/{id}`
pub(super) fn execute(
    container: Link,
    procedure: String,
    request: &Request<'_>,
    options: Options,
) -> Result<Parsed, Error> {
    let action = ItemAction::Execute {
        procedure,
        arguments: request.json_body()?,
        wants_log: request.headers.is_on(Name::ScriptLogging)?,
    };
    finish(container, action, Reply::new(Action::Execute), request, options)
}

pub(super) fn finish(
    container: Link,
    action: ItemAction,
    reply: Reply,
    request: &Request<'_>,
    options: Options,
) -> Result<Parsed, Error> {
    check_triggers(reply.action, &options)?;
    let headers = request.headers;
    let is_binary = match reply.action {
        Action::ItemCreate
        | Action::ItemUpsert
        | Action::ItemRead
        | Action::ItemReplace
        | Action::ItemPatch
        | Action::Query => headers.wants_binary(false)?,
        Action::ReadFeed | Action::ChangeFeed => headers.wants_binary(true)?,
        _ => false,
    };
    let reply = Reply { is_binary, ..reply };
    let operation = Operation::Item(ItemOperation {
        container,
        key: headers.partition_key()?,
        range: headers.range()?,
        epks: headers.epks()?,
        action,
    });
    Ok(Parsed { operation, options, reply })
}

/// Triggers belong to single writes; anywhere else they would be forgotten.
fn check_triggers(action: Action, options: &Options) -> Result<(), Error> {
    let has_triggers = !(options.pre_triggers.is_empty() && options.post_triggers.is_empty());
    let may_run = matches!(
        action,
        Action::ItemCreate | Action::ItemUpsert | Action::ItemReplace | Action::ItemDelete
    );
    if has_triggers && !may_run {
        return Err(Error::OperationUnsupported("A trigger"));
    }
    Ok(())
}

fn query(request: &Request<'_>) -> Result<ItemAction, Error> {
    let headers = request.headers;
    // Every query may scan, so these are only checked.
    headers.is_on(Name::EnableScan)?;
    headers.is_on(Name::ForceScan)?;
    Ok(ItemAction::Query {
        query: request.query_text()?,
        cross_partition: headers.is_on(Name::CrossPartition)?,
        wants_query_metrics: headers.is_on(Name::QueryMetrics)?,
        wants_index_metrics: headers.index_metrics()?,
    })
}

fn changes(mode: &str, request: &Request<'_>) -> Result<ItemAction, Error> {
    let headers = request.headers;
    let mode = if mode.eq_ignore_ascii_case("Incremental Feed") {
        FeedMode::LatestVersion
    } else if mode.eq_ignore_ascii_case("Full-Fidelity Feed") {
        FeedMode::AllVersionsAndDeletes
    } else {
        let expected = "Expected 'Incremental Feed' or 'Full-Fidelity Feed'.";
        return Err(Error::header(Name::AIm.text(), mode, expected));
    };
    let position = headers.get(Name::IfNoneMatch)?;
    let start = FeedStart {
        after: position.filter(|text| *text != "*").map(str::to_owned),
        is_now: position == Some("*"),
        later_than_seconds: headers.modified_since()?,
        follows_merges: headers.follows_merges()?,
        in_envelopes: headers.get(Name::WireFormatVersion)?.is_some(),
    };
    Ok(ItemAction::ChangeFeed { mode, start })
}
