//! Operations on metadata resources, the same for every kind: create, read, replace, delete, list, query.

use std::sync::Arc;

use bytes::Bytes;
use model::{Charge, Object, Status, Value};

use crate::access::{self, Right, Want};
use crate::account::{Inner, Request};
use crate::body;
use crate::catalog::link::{Found, name_path};
use crate::catalog::offers::Offer;
use crate::catalog::record::{Record, kind_name};
use crate::catalog::show::{envelope, show};
use crate::catalog::tables::Tables;
use crate::catalog::{
    Draft, containers, databases, encryption_keys, offers, permissions, scripts, users,
};
use crate::container;
use crate::continuation::{Continuations, Kind};
use crate::error::{Error, Result};
use crate::operation::{Link, Options, QueryText, ResourceKind};
use crate::outcome::{Body, Facts, Outcome};
use crate::throughput::Throughput;
use crate::{container_usage, metadata_query};

/// Wire: metadata charges are flat.
const READ_CHARGE: Charge = Charge::from_hundredths(100);
const WRITE_CHARGE: Charge = Charge::from_hundredths(495);

/// Limit: resources per page if the client does not say.
const PAGE_ITEMS_DEFAULT: u32 = 1000;

pub(crate) async fn create(
    inner: &Inner,
    request: Request<'_>,
    owner: &Link,
    kind: ResourceKind,
    bytes: &Bytes,
    is_upsert: bool,
) -> Result<Outcome> {
    let found = find_feed(inner, request, owner, kind, Right::Write)?;
    check_upsert(kind, is_upsert)?;
    let wanted = body::parse(bytes)?;
    let id = body::required_text(&wanted, "id")?.to_owned();
    model::check_resource_id(&id)?;
    let seconds = permissions::lifetime(request.options.token_seconds)?;
    let owner_number = found.number();
    let options = request.options.clone();
    let draft = move |draft: &mut Draft<'_>| {
        let owner = match draft.tables.get(owner_number) {
            Some(owner) => Some(Arc::clone(owner)),
            None if found.chain.is_empty() => None,
            None => return Err(Error::OwnerNotFound),
        };
        let completed = complete(kind, &wanted, &options)?;
        match draft.tables.by_name(owner_number, kind, &id).cloned() {
            Some(old) if is_upsert => {
                put_replaced(draft, &old, &id, completed, &options).map(|record| (record, false))
            }
            Some(_) => Err(Error::AlreadyExists),
            None => {
                let new = NewResource { owner: owner.as_deref(), kind, id: &id, completed };
                add(draft, new, &options).map(|record| (record, true))
            }
        }
    };
    let (record, is_created) = inner.catalog.change(draft).await?;
    let status = if is_created { Status::CREATED } else { Status::OK };
    Ok(answer(inner, request, &record, status, WRITE_CHARGE, seconds))
}

pub(crate) fn read(inner: &Inner, request: Request<'_>, link: &Link) -> Result<Outcome> {
    let found = find_one(inner, request, link, Right::Read)?;
    let record = found.record().ok_or(Error::NotFound)?;
    let seconds = permissions::lifetime(request.options.token_seconds)?;
    if let Some(etag) = &request.options.if_none_match
        && record.etag.matches(etag)
    {
        let facts = facts(&found.chain, READ_CHARGE);
        return Ok(Outcome { status: Status::NOT_MODIFIED, body: Body::Empty, facts });
    }
    Ok(answer(inner, request, record, Status::OK, READ_CHARGE, seconds))
}

pub(crate) async fn replace(
    inner: &Inner,
    request: Request<'_>,
    link: &Link,
    bytes: &Bytes,
) -> Result<Outcome> {
    let found = find_one(inner, request, link, Right::Write)?;
    let number = found.number();
    let wanted = body::parse(bytes)?;
    let seconds = permissions::lifetime(request.options.token_seconds)?;
    let options = request.options.clone();
    let draft = move |draft: &mut Draft<'_>| {
        let old = current(draft.tables, number, &options)?;
        if old.kind == ResourceKind::Offer {
            return offers::replace(draft, &old, &wanted, options.migrate_offer);
        }
        let id = body::required_text(&wanted, "id")?;
        model::check_resource_id(id)?;
        let completed = complete(old.kind, &wanted, &options)?;
        put_replaced(draft, &old, id, completed, &options)
    };
    let record = inner.catalog.change(draft).await?;
    Ok(answer(inner, request, &record, Status::OK, WRITE_CHARGE, seconds))
}

pub(crate) async fn delete(inner: &Inner, request: Request<'_>, link: &Link) -> Result<Outcome> {
    let found = find_one(inner, request, link, Right::Write)?;
    if found.kind() == Some(ResourceKind::Offer) {
        return Err(Error::OperationNotAllowed { operation: "delete" });
    }
    let number = found.number();
    let options = request.options.clone();
    let draft = move |draft: &mut Draft<'_>| {
        let old = current(draft.tables, number, &options)?;
        draft.delete(&old);
        Ok(())
    };
    inner.catalog.change(draft).await?;
    let facts = Facts { etag: None, ..facts(&found.chain, WRITE_CHARGE) };
    Ok(Outcome { status: Status::NO_CONTENT, body: Body::Empty, facts })
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
    let scope = kind_name(kind).as_bytes();
    let tokens = Continuations { sealer: &sealer, kind: Kind::Resources, owner: owner_rid, scope };
    let after = match &request.options.continuation {
        Some(token) => tokens.read_number(token)?,
        None => 0,
    };
    let items_max = items_max(request.options);
    let tables = inner.catalog.tables();
    let mut children = tables.children(found.number(), kind, after);
    let mut rows = Vec::new();
    let mut last = after;
    for record in children.by_ref().take(items_max) {
        last = record.number;
        rows.push(shown(inner, &tables, record, permissions::TOKEN_SECONDS_DEFAULT));
    }
    let continuation = children.next().map(|_| tokens.write_number(last));
    let rows = rows.into_iter().map(|row| to_bytes(&Value::Object(row))).collect();
    Ok(feed(&found, kind, rows, continuation))
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
    let scope = [kind_name(kind).as_bytes(), b"?", query.text.as_bytes()].concat();
    let tokens =
        Continuations { sealer: &sealer, kind: Kind::Resources, owner: owner_rid, scope: &scope };
    let after = match &request.options.continuation {
        Some(token) => tokens.read_number(token)?,
        None => 0,
    };
    let children: Vec<Value> = {
        let tables = inner.catalog.tables();
        let children = tables.children(found.number(), kind, 0);
        let seconds = permissions::TOKEN_SECONDS_DEFAULT;
        children.map(|record| Value::Object(shown(inner, &tables, record, seconds))).collect()
    };
    let rows = metadata_query::run(inner.env(), query, children)?;
    let n_rows = rows.len();
    let skip = usize::try_from(after).unwrap_or(usize::MAX);
    let items_max = items_max(request.options);
    let page: Vec<Bytes> =
        rows.into_iter().skip(skip).take(items_max).map(|row| to_bytes(&row)).collect();
    let end = skip.saturating_add(page.len());
    let has_more = !page.is_empty() && end < n_rows;
    let continuation =
        has_more.then(|| tokens.write_number(u64::try_from(end).unwrap_or(u64::MAX)));
    Ok(feed(&found, kind, page, continuation))
}

/// Finds a resource and checks that the principal may touch it.
fn find_one(inner: &Inner, request: Request<'_>, link: &Link, right: Right) -> Result<Found> {
    let tables = inner.catalog.tables();
    let found = hide(request, tables.find(link))?;
    let kind = found.kind().ok_or(Error::LinkInvalid("it names no resource"))?;
    let want = Want { chain: &found.chain, kind, right };
    access::check(&tables, request.principal, want)?;
    check_intended(request.options, &found)?;
    Ok(found)
}

/// Finds the owner of a feed and checks that the principal may read or write that feed.
fn find_feed(
    inner: &Inner,
    request: Request<'_>,
    owner: &Link,
    kind: ResourceKind,
    right: Right,
) -> Result<Found> {
    let tables = inner.catalog.tables();
    let found = hide(request, tables.find_owner(owner))?;
    if owner_kind(kind) != found.kind() {
        return Err(Error::LinkInvalid("this kind of resource has another owner"));
    }
    let want = Want { chain: &found.chain, kind, right };
    access::check(&tables, request.principal, want)?;
    check_intended(request.options, &found)?;
    if right == Right::Write && matches!(kind, ResourceKind::Offer | ResourceKind::Conflict) {
        return Err(Error::OperationNotAllowed { operation: "create" });
    }
    // These have operations of their own; an empty feed here would be silently wrong.
    if matches!(kind, ResourceKind::Item | ResourceKind::Range) {
        return Err(Error::LinkInvalid("items and ranges are no metadata"));
    }
    Ok(found)
}

/// A token must not learn which resources exist beyond its own.
fn hide<T>(request: Request<'_>, found: Result<T>) -> Result<T> {
    found.map_err(|error| match request.principal {
        crate::Principal::Token(_) => Error::Forbidden,
        crate::Principal::Master | crate::Principal::ReadOnly | crate::Principal::Identity => error,
    })
}

fn owner_kind(kind: ResourceKind) -> Option<ResourceKind> {
    match kind {
        ResourceKind::Database | ResourceKind::Offer => None,
        ResourceKind::Container | ResourceKind::User | ResourceKind::EncryptionKey => {
            Some(ResourceKind::Database)
        }
        ResourceKind::Item
        | ResourceKind::StoredProcedure
        | ResourceKind::Trigger
        | ResourceKind::Udf
        | ResourceKind::Conflict
        | ResourceKind::Range => Some(ResourceKind::Container),
        ResourceKind::Permission => Some(ResourceKind::User),
    }
}

/// Wire: `x-ms-cosmos-intended-collection-rid` of another container than the one found.
pub(crate) fn check_intended(options: &Options, found: &Found) -> Result<()> {
    let Some(intended) = &options.intended_container_rid else { return Ok(()) };
    let container = found.chain.iter().find(|record| record.kind == ResourceKind::Container);
    match container {
        Some(record) if record.rid.to_string() != *intended => Err(Error::ContainerRidStale),
        Some(_) | None => Ok(()),
    }
}

fn check_upsert(kind: ResourceKind, is_upsert: bool) -> Result<()> {
    let has_upsert = match kind {
        ResourceKind::StoredProcedure
        | ResourceKind::Trigger
        | ResourceKind::Udf
        | ResourceKind::User
        | ResourceKind::Permission => true,
        ResourceKind::Database
        | ResourceKind::Container
        | ResourceKind::Item
        | ResourceKind::Conflict
        | ResourceKind::Range
        | ResourceKind::EncryptionKey
        | ResourceKind::Offer => false,
    };
    if is_upsert && !has_upsert {
        Err(Error::OperationNotAllowed { operation: "upsert" })
    } else {
        Ok(())
    }
}

/// The record as it is now, if the precondition of the request holds.
fn current(tables: &Tables, number: u64, options: &Options) -> Result<Arc<Record>> {
    let record = tables.get(number).cloned().ok_or(Error::NotFound)?;
    match &options.if_match {
        Some(etag) if !record.etag.matches(etag) => Err(Error::EtagMismatch),
        Some(_) | None => Ok(record),
    }
}

/// Checks a body and completes it with defaults.
fn complete(kind: ResourceKind, wanted: &Object, options: &Options) -> Result<Object> {
    match kind {
        ResourceKind::Database => Ok(Object::new()),
        ResourceKind::Container => containers::complete(wanted, options.api_version.as_deref()),
        ResourceKind::User => users::complete(wanted),
        ResourceKind::Permission => permissions::complete(wanted),
        ResourceKind::StoredProcedure | ResourceKind::Udf => scripts::complete_procedure(wanted),
        ResourceKind::Trigger => scripts::complete_trigger(wanted),
        ResourceKind::EncryptionKey => encryption_keys::complete(wanted),
        ResourceKind::Item | ResourceKind::Conflict | ResourceKind::Range | ResourceKind::Offer => {
            Err(Error::OperationNotAllowed { operation: "create" })
        }
    }
}

struct NewResource<'a> {
    owner: Option<&'a Record>,
    kind: ResourceKind,
    id: &'a str,
    completed: Object,
}

fn add(draft: &mut Draft<'_>, new: NewResource<'_>, options: &Options) -> Result<Arc<Record>> {
    let NewResource { owner, kind, id, completed } = new;
    let throughput = match &options.throughput {
        Some(wanted) if matches!(kind, ResourceKind::Database | ResourceKind::Container) => {
            Some(Throughput::requested(wanted)?)
        }
        Some(_) | None => None,
    };
    match (kind, owner) {
        (ResourceKind::Database, _) => databases::create(draft, id, throughput),
        (ResourceKind::Container, Some(database)) => {
            let properties = containers::Properties::of(&completed)?;
            let (own, n_ranges) = offers::plan_container(draft, database, throughput, &properties)?;
            let state = container::new_state(draft, &properties, n_ranges);
            let record = draft.add(owner, kind, id, completed, state)?;
            if let Some(throughput) = own {
                let offer = Offer::new(record.number, throughput).to_state();
                draft.add(None, ResourceKind::Offer, "", Object::new(), offer)?;
            }
            Ok(record)
        }
        (ResourceKind::Permission, Some(user)) => {
            permissions::check_single(draft.tables, user.number, None, &completed)?;
            draft.add(owner, kind, id, completed, Object::new())
        }
        _ => draft.add(owner, kind, id, completed, Object::new()),
    }
}

fn put_replaced(
    draft: &mut Draft<'_>,
    old: &Record,
    id: &str,
    completed: Object,
    options: &Options,
) -> Result<Arc<Record>> {
    if let Some(etag) = &options.if_match
        && !old.etag.matches(etag)
    {
        return Err(Error::EtagMismatch);
    }
    match old.kind {
        ResourceKind::Database => return Err(Error::OperationNotAllowed { operation: "replace" }),
        ResourceKind::Container => {
            if id != old.id {
                return Err(crate::PolicyError::Changed { property: "id" }.into());
            }
            containers::check_replace(&old.body, &completed)?;
        }
        ResourceKind::Permission => {
            permissions::check_single(draft.tables, old.owner, Some(old.number), &completed)?;
        }
        ResourceKind::EncryptionKey if id != old.id => {
            return Err(crate::PolicyError::Changed { property: "id" }.into());
        }
        _ => {}
    }
    if id != old.id && draft.tables.by_name(old.owner, old.kind, id).is_some() {
        return Err(Error::AlreadyExists);
    }
    Ok(draft.update(old, |record| {
        id.clone_into(&mut record.id);
        record.body = completed;
    }))
}

/// The resource with what only its readers see: a permission's token.
fn shown(inner: &Inner, tables: &Tables, record: &Arc<Record>, seconds: u32) -> Object {
    let mut resource = show(tables, record);
    if record.kind == ResourceKind::Permission {
        let sealer = crate::seal::Sealer::new(tables.head.secret);
        resource.insert("_token", permissions::mint(&sealer, inner.env(), record, seconds));
    }
    resource
}

fn answer(
    inner: &Inner,
    request: Request<'_>,
    record: &Arc<Record>,
    status: Status,
    charge: Charge,
    seconds: u32,
) -> Outcome {
    let tables = inner.catalog.tables();
    let mut resource = shown(inner, &tables, record, seconds);
    let mut facts = facts(&tables.chain(record), charge);
    match record.kind {
        ResourceKind::Offer => {
            facts.min_throughput = offers::min_throughput(&tables, record);
            facts.offer_replace_pending = Some(false);
        }
        ResourceKind::Container => {
            if let Some(container) = tables.container(record.number) {
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

/// Facts of an answer about the last record of `chain`.
fn facts(chain: &[Arc<Record>], charge: Charge) -> Facts {
    let Some((record, owners)) = chain.split_last() else { return Facts::default() };
    Facts {
        charge,
        etag: Some(record.etag.clone()),
        owner_path: owners.last().map(|_| name_path(owners)),
        owner_rid: owners.last().map(|owner| owner.rid.to_string()),
        ..Facts::default()
    }
}

fn feed(
    found: &Found,
    kind: ResourceKind,
    rows: Vec<Bytes>,
    continuation: Option<String>,
) -> Outcome {
    let owner_rid = found.record().map(|record| record.rid.to_string());
    let facts = Facts {
        charge: READ_CHARGE,
        owner_path: found.record().map(|_| name_path(&found.chain)),
        owner_rid: owner_rid.clone(),
        n_items: u64::try_from(rows.len()).ok(),
        continuation,
        ..Facts::default()
    };
    let owner_rid = owner_rid.unwrap_or_default();
    let body = Body::Feed { owner_rid, envelope: envelope(kind), rows };
    Outcome { status: Status::OK, body, facts }
}

fn items_max(options: &Options) -> usize {
    let items_max = options.items_max.filter(|items| *items > 0).unwrap_or(PAGE_ITEMS_DEFAULT);
    usize::try_from(items_max).unwrap_or(usize::MAX)
}

fn to_bytes(value: &Value) -> Bytes {
    let mut bytes = Vec::new();
    value.write_to(&mut bytes);
    bytes.into()
}
