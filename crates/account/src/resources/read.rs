//! Reads, lists and queries of metadata resources.

use std::sync::Arc;

use bytes::Bytes;
use model::{Rid, Status, Value};

use super::answer::{answer, facts, feed, shown, to_bytes};
use super::find::{find_feed, find_one};
use super::price;
use crate::access::Right;
use crate::account::{Inner, Request};
use crate::catalog::permissions;
use crate::catalog::record::{Record, kind_name};
use crate::catalog::tables::Tables;
use crate::continuation::{Continuations, Kind};
use crate::error::{Error, Result};
use crate::metadata_query;
use crate::operation::{Link, Options, QueryText, ResourceKind};
use crate::outcome::{Body, Facts, Outcome};
use crate::threads::run_blocking;

/// Limit: resources per page if the client does not say.
const PAGE_ITEMS_DEFAULT: u32 = 1000;

pub(crate) fn read(inner: &Inner, request: Request<'_>, link: &Link) -> Result<Outcome> {
    let found = find_one(inner, request, link, Right::Read)?;
    let record = found.record().ok_or(Error::NotFound)?;
    let seconds = permissions::lifetime(request.options.token_seconds)?;
    if let Some(etag) = &request.options.if_none_match
        && record.etag.matches(etag)
    {
        let facts = Facts {
            item_lsn: None,
            ..facts(
                &inner.catalog.tables(),
                request.options,
                &found.chain,
                price::read(record.kind),
            )
        };
        return Ok(Outcome { status: Status::NOT_MODIFIED, body: Body::Empty, facts });
    }
    Ok(answer(inner, request, record, Status::OK, price::read(record.kind), seconds))
}

pub(crate) fn list(
    inner: &Inner,
    request: Request<'_>,
    owner: &Link,
    kind: ResourceKind,
) -> Result<Outcome> {
    let found = find_feed(inner, request, owner, kind, Right::Read)?;
    let sealer = inner.catalog.sealer();
    let owner_rid = found.record().map(|record| record.rid);
    let scope = kind_name(kind).as_bytes().into();
    let tokens =
        Continuations { sealer, kind: Kind::Resources, owner: owner_rid, scope, key_bytes: 0 };
    let after = match &request.options.continuation {
        Some(token) => tokens.read_number(token)?,
        None => 0,
    };
    let items_max = items_max(request.options);
    let tables = inner.catalog.tables();
    let mut children = in_order(&tables, found.number(), kind, after).into_iter();
    let mut rows = Vec::new();
    let mut last = after;
    for (place, record) in children.by_ref().take(items_max) {
        last = place;
        let seconds = permissions::TOKEN_SECONDS_DEFAULT;
        rows.push(shown(inner, request.options, &tables, record, seconds));
    }
    let continuation = children.next().map(|_| tokens.write_number(last));
    let rows = rows.into_iter().map(|row| to_bytes(&Value::Object(row))).collect();
    Ok(feed(&tables, request.options, &found, kind, rows, continuation))
}

/// A query over metadata resources: every child as a row of the query.
pub(crate) fn query(
    inner: &Inner,
    request: Request<'_>,
    owner: &Link,
    kind: ResourceKind,
    query: &QueryText,
) -> Result<Outcome> {
    let found = find_feed(inner, request, owner, kind, Right::Read)?;
    let sealer = inner.catalog.sealer();
    let owner_rid = found.record().map(|record| record.rid);
    let scope = [kind_name(kind).as_bytes(), b"?", query.text.as_bytes()].concat().into();
    let tokens =
        Continuations { sealer, kind: Kind::Resources, owner: owner_rid, scope, key_bytes: 0 };
    let after = match &request.options.continuation {
        Some(token) => tokens.read_number(token)?,
        None => 0,
    };
    let children: Vec<Value> = {
        let tables = inner.catalog.tables();
        let children = in_order(&tables, found.number(), kind, 0).into_iter();
        let seconds = permissions::TOKEN_SECONDS_DEFAULT;
        let shown = |record| shown(inner, request.options, &tables, record, seconds);
        children.map(|(_, record)| Value::Object(shown(record))).collect()
    };
    let rows = run_blocking(|| metadata_query::run(inner, query, children))?;
    let n_rows = rows.len();
    let skip = usize::try_from(after).unwrap_or(usize::MAX);
    let items_max = items_max(request.options);
    let page: Vec<Bytes> =
        rows.into_iter().skip(skip).take(items_max).map(|row| to_bytes(&row)).collect();
    let end = skip.saturating_add(page.len());
    let has_more = !page.is_empty() && end < n_rows;
    let continuation =
        has_more.then(|| tokens.write_number(u64::try_from(end).unwrap_or(u64::MAX)));
    Ok(feed(&inner.catalog.tables(), request.options, &found, kind, page, continuation))
}

/// The children behind `after`, each with its place. Wire: databases, containers and offers by their rids read as
/// numbers, the first byte lowest; all others as they were created.
fn in_order(
    tables: &Tables,
    owner: u64,
    kind: ResourceKind,
    after: u64,
) -> Vec<(u64, &Arc<Record>)> {
    use ResourceKind::{Container, Database, Offer};
    if !matches!(kind, Database | Container | Offer) {
        return tables.children(owner, kind, after).map(|record| (record.number, record)).collect();
    }
    let placed = tables.children(owner, kind, 0).map(|record| (place_of(&record.rid), record));
    let mut children: Vec<_> = placed.filter(|(place, _)| *place > after).collect();
    children.sort_unstable_by_key(|(place, _)| *place);
    children
}

fn place_of(rid: &Rid) -> u64 {
    rid.as_bytes().iter().rev().fold(0, |place, byte| place << 8 | u64::from(*byte))
}

fn items_max(options: &Options) -> usize {
    let items_max = options.items_max.filter(|items| *items > 0).unwrap_or(PAGE_ITEMS_DEFAULT);
    usize::try_from(items_max).unwrap_or(usize::MAX)
}
