//! What metadata operations answer.

use std::sync::Arc;

use bytes::Bytes;
use model::{Charge, Object, Status, Value};

use crate::account::{Inner, Request};
use crate::catalog::link::{Found, name_path};
use crate::catalog::record::Record;
use crate::catalog::show::{envelope, show};
use crate::catalog::tables::Tables;
use crate::catalog::{offers, permissions};
use crate::container::Container;
use crate::container_usage;
use crate::operation::{KEY_REQUIRED_SINCE, Options, ResourceKind};
use crate::outcome::{Body, Facts, Outcome};
use crate::relocate;
use crate::seal::Sealer;
use crate::session;

/// Wire: metadata charges are flat.
pub(super) const READ_CHARGE: Charge = Charge::from_hundredths(100);
pub(super) const WRITE_CHARGE: Charge = Charge::from_hundredths(495);

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
            let sealer = Sealer::new(tables.head.secret);
            resource.insert("_token", permissions::mint(&sealer, inner.env(), record, seconds));
        }
        ResourceKind::Container if options.is_before(KEY_REQUIRED_SINCE) => {
            hide_system_key(&mut resource);
        }
        _ => {}
    }
    resource
}

/// Wire: clients from before keys were required take any key that they see for one that they have to send.
fn hide_system_key(container: &mut Object) {
    let key = container.get("partitionKey").and_then(|key| key.get("systemKey"));
    if key.and_then(Value::as_bool) == Some(true) {
        container.remove("partitionKey");
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
    let mut facts = facts(&tables.chain(record), charge);
    match record.kind {
        ResourceKind::Offer => {
            facts.min_throughput = offers::min_throughput(&tables, record);
            let options = &inner.options().relocation;
            let is_pending = relocate::auto::is_pending(&tables, options, record);
            facts.offer_replace_pending = Some(is_pending);
        }
        ResourceKind::Container => {
            if let Some(container) = tables.container(record.number) {
                served_by_first_range(request.options, container, &mut facts);
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

/// Wire: a container is described by its first physical partition, whose position the answer has. Some clients take the
/// session token of such an answer for one of items, so it must be one.
fn served_by_first_range(options: &Options, container: &Container, facts: &mut Facts) {
    let Some(range) = container.ranges.iter().next() else { return };
    let lsn = range.partition.lsn();
    facts.range = Some(range.id());
    facts.lsn = Some(lsn);
    facts.session = Some(session::entry(options, range.id(), lsn));
}

/// Facts of an answer about the last record of `chain`.
pub(super) fn facts(chain: &[Arc<Record>], charge: Charge) -> Facts {
    let Some((record, owners)) = chain.split_last() else { return Facts::default() };
    Facts {
        charge,
        etag: Some(record.etag.clone()),
        owner_path: owners.last().map(|_| name_path(owners).into()),
        owner_rid: owners.last().map(|owner| owner.rid.to_string().into()),
        ..Facts::default()
    }
}

pub(super) fn feed(
    found: &Found,
    kind: ResourceKind,
    rows: Vec<Bytes>,
    continuation: Option<String>,
) -> Outcome {
    let owner_rid: Option<Arc<str>> = found.record().map(|record| record.rid.to_string().into());
    let facts = Facts {
        charge: READ_CHARGE,
        owner_path: found.record().map(|_| name_path(&found.chain).into()),
        owner_rid: owner_rid.clone(),
        n_items: u64::try_from(rows.len()).ok(),
        continuation,
        ..Facts::default()
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
