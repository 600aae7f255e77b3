//! What metadata operations answer.

use std::sync::Arc;

use bytes::Bytes;
use model::{Charge, Lsn, Object, RangeId, Status, Value};

use super::price;
use crate::account::{Inner, Request};
use crate::catalog::containers::{INDEX_KINDS_UNTIL, hide_index_kinds};
use crate::catalog::link::{ResolvedLink, name_path};
use crate::catalog::record::Record;
use crate::catalog::show::{envelope, show};
use crate::catalog::tables::Tables;
use crate::catalog::{offers, permissions};
use crate::container::Container;
use crate::container_usage;
use crate::operation::{KEY_REQUIRED_SINCE, Options, ResourceKind};
use crate::outcome::{Body, CATALOG, Facts, Outcome};
use crate::relocate;
use crate::session;

/// The resource as its readers see it: a permission with its token, a container as old clients know containers.
pub(super) fn shown(
    inner: &Inner,
    options: &Options,
    tables: &Tables,
    record: &Arc<Record>,
    seconds: u32,
) -> Object {
    let mut resource = show(tables, record);
    match record.kind {
        ResourceKind::Permission => {
            resource.insert("_token", permissions::mint(tables, inner.env(), record, seconds));
        }
        ResourceKind::Container => {
            if options.is_before(KEY_REQUIRED_SINCE) {
                hide_system_key(&mut resource);
            }
            if !options.is_before(INDEX_KINDS_UNTIL) {
                change_policy(&mut resource, hide_index_kinds);
            }
        }
        ResourceKind::Offer => {
            let options = &inner.options().relocation;
            if relocate::auto::is_pending(tables, options, record) {
                show_pending(&mut resource);
            }
        }
        _ => {}
    }
    resource
}

/// Wire: an offer says in its content, too, that it is not applied everywhere yet.
fn show_pending(offer: &mut Object) {
    if let Some(Value::Object(content)) = offer.get("content") {
        let mut content = content.clone();
        content.insert("isOfferReplacePending", true);
        offer.insert("content", Value::Object(content));
    }
}

/// Wire: clients from before keys were required take any key that they see for one that they have to send.
fn hide_system_key(container: &mut Object) {
    let key = container.get("partitionKey").and_then(|key| key.get("systemKey"));
    if key.and_then(Value::as_bool) == Some(true) {
        container.remove("partitionKey");
    }
}

fn change_policy(container: &mut Object, change: impl FnOnce(&mut Object)) {
    let policy = container.get_mut("indexingPolicy").and_then(Value::as_object_mut);
    if let Some(policy) = policy {
        change(policy);
    }
}

pub(super) fn answer(
    inner: &Inner,
    request: Request<'_>,
    record: &Arc<Record>,
    status: Status,
    charge: Charge,
    seconds: u32,
) -> Outcome {
    let tables = inner.catalog.tables();
    let mut resource = shown(inner, request.options, &tables, record, seconds);
    let mut facts = facts(&tables, request.options, &tables.chain(record), charge);
    match record.kind {
        ResourceKind::Offer => {
            facts.min_throughput = offers::min_throughput(&tables, record);
            let options = &inner.options().relocation;
            let is_pending = relocate::auto::is_pending(&tables, options, record);
            facts.offer_replace_pending = Some(is_pending);
        }
        ResourceKind::Container => {
            if let Some(container) = tables.container(record.number) {
                facts.shares_throughput = Some(shares_throughput(&tables, record));
                container_usage::add(
                    request.options,
                    &tables,
                    container,
                    &mut resource,
                    &mut facts,
                );
            }
        }
        _ => {}
    }
    let body = Body::Resource(to_bytes(&Value::Object(resource)));
    Outcome { status, body, facts }
}

/// Wire: a container without throughput of its own takes that of its database.
fn shares_throughput(tables: &Tables, container: &Record) -> bool {
    tables.offer_of(container.number).is_none() && tables.offer_of(container.owner).is_some()
}

/// Facts of an answer about the last record of `chain`.
pub(super) fn facts(
    tables: &Tables,
    options: &Options,
    chain: &[Arc<Record>],
    charge: Charge,
) -> Facts {
    let Some((record, owners)) = chain.split_last() else { return Facts::default() };
    let quota = quota_name(record.kind).map(|(name, limit)| {
        (
            format!("{name}={limit};"),
            format!("{name}={};", tables.n_children(record.owner, record.kind)),
        )
    });
    let (quota, usage) = quota.unzip();
    let served = served_by(tables, options, chain);
    Facts {
        charge,
        etag: Some(record.etag.clone()),
        item_lsn: written_at(record),
        owner_path: owners.last().map(|_| name_path(owners).into()),
        owner_rid: owners.last().map(|owner| owner.rid.to_string().into()),
        quota,
        usage,
        ..served
    }
}

/// The LSN of the last write: the catalog has one for each resource, a container is the first entry of its partition.
fn written_at(record: &Record) -> Option<Lsn> {
    match record.kind {
        ResourceKind::Database => Some(Lsn(record.number)),
        ResourceKind::Container => Some(Lsn(1)),
        _ => None,
    }
}

/// Position of who keeps the last record of `chain`. Wire: a container and what belongs to it is described by its first
/// physical partition. Some clients take the session token of such an answer for one of items, so it must be one.
fn served_by(tables: &Tables, options: &Options, chain: &[Arc<Record>]) -> Facts {
    let container = chain.iter().find_map(|record| tables.container(record.number));
    match container {
        Some(container) => first_range_facts(options, container),
        None => catalog_facts(options, tables),
    }
}

pub(crate) fn first_range_facts(options: &Options, container: &Container) -> Facts {
    let Some(range) = container.ranges.iter().next() else { return Facts::default() };
    let lsn = range.partition.lsn();
    Facts {
        range: Some(range.id()),
        lsn: Some(lsn),
        session: Some(session::entry(options, range.id(), lsn)),
        partition: Some(range.entry.incarnation),
        ..Facts::default()
    }
}

/// The catalog as the partition that it is on the service: its LSN grows with every resource that is made.
pub(crate) fn catalog_facts(options: &Options, tables: &Tables) -> Facts {
    let lsn = Lsn(tables.head.next_number);
    Facts {
        lsn: Some(lsn),
        session: Some(session::entry(options, RangeId(0), lsn)),
        partition: Some(CATALOG),
        ..Facts::default()
    }
}

/// Wire: how many resources of a kind their owner may have.
fn quota_name(kind: ResourceKind) -> Option<(&'static str, u64)> {
    match kind {
        ResourceKind::Database => Some(("databases", 1000)),
        ResourceKind::StoredProcedure => Some(("storedProcedures", 100)),
        ResourceKind::Trigger => Some(("triggers", 25)),
        ResourceKind::Udf => Some(("functions", 50)),
        ResourceKind::Conflict => Some(("conflicts", 0)),
        ResourceKind::User => Some(("users", 500_000)),
        ResourceKind::Permission => Some(("permissions", 2_000_000)),
        ResourceKind::EncryptionKey => Some(("clientEncryptionKeys", 20)),
        ResourceKind::Container
        | ResourceKind::Item
        | ResourceKind::Attachment
        | ResourceKind::Range
        | ResourceKind::Offer => None,
    }
}

/// Quota and usage of a feed. Wire: the list of databases tells those of all metadata.
fn feed_quota(tables: &Tables, owner: u64, kind: ResourceKind) -> (Option<String>, Option<String>) {
    if kind == ResourceKind::Database {
        let count = |kind| tables.n_records(kind);
        let usage = format!(
            "databases={};collections={};users={};permissions={};clientEncryptionKeys={};interopUsers=0;\
             authPolicyElements=0;roleDefinitions=0;roleAssignments=0;azureRbac=0;",
            count(ResourceKind::Database),
            count(ResourceKind::Container),
            count(ResourceKind::User),
            count(ResourceKind::Permission),
            count(ResourceKind::EncryptionKey),
        );
        return (Some(DATABASES_QUOTA.to_owned()), Some(usage));
    }
    let named = match kind {
        ResourceKind::Container => Some(("collections", 5000)),
        _ => quota_name(kind),
    };
    let texts = named.map(|(name, limit)| {
        (format!("{name}={limit};"), format!("{name}={};", tables.n_children(owner, kind)))
    });
    texts.unzip()
}

const DATABASES_QUOTA: &str = "databases=1000;collections=5000;users=500000;permissions=2000000;\
    clientEncryptionKeys=20;interopUsers=2000;authPolicyElements=1000;roleDefinitions=100;\
    roleAssignments=2000;azureRbac=200000;";

pub(super) fn feed(
    tables: &Tables,
    options: &Options,
    found: &ResolvedLink,
    kind: ResourceKind,
    rows: Vec<Bytes>,
    continuation: Option<String>,
) -> Outcome {
    let owner_rid: Option<Arc<str>> = found.record().map(|record| record.rid.to_string().into());
    let (quota, usage) = feed_quota(tables, found.number(), kind);
    let facts = Facts {
        charge: price::read(kind),
        quota,
        usage,
        owner_path: found.record().map(|_| name_path(&found.chain).into()),
        owner_rid: owner_rid.clone(),
        n_items: u64::try_from(rows.len()).ok(),
        continuation,
        ..served_by(tables, options, &found.chain)
    };
    let owner_rid = owner_rid.unwrap_or_default();
    let body = Body::Feed { owner_rid, envelope: envelope(kind), rows };
    Outcome { status: Status::OK, body, facts }
}

pub(super) fn to_bytes(value: &Value) -> Bytes {
    let mut bytes = Vec::new();
    value.write_to(&mut bytes);
    bytes.into()
}
