//! Creates, replaces and deletes of metadata resources. Each is one catalog change.

use std::sync::Arc;

use bytes::Bytes;
use model::{Object, Status};

use super::answer::{answer, facts};
use super::find::{find_feed, find_one};
use super::price;
use crate::access::Right;
use crate::account::{Inner, Request};
use crate::body;
use crate::catalog::offers::Offer;
use crate::catalog::record::Record;
use crate::catalog::tables::Tables;
use crate::catalog::{
    Draft, containers, databases, encryption_keys, offers, permissions, scripts, users,
};
use crate::container;
use crate::error::{Error, Result};
use crate::operation::{Link, Options, ResourceKind};
use crate::outcome::{Body, Facts, Outcome};
use crate::policy_error::PolicyError;
use crate::throughput::{Throughput, ThroughputError};

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
        let completed = complete(kind, &wanted, &options).map_err(|error| match error {
            Error::PropertyMissing { property: "partitionKey" }
                if options.throughput.is_none()
                    && draft.tables.offer_of(owner_number).is_some() =>
            {
                Error::SharedKeyMissing
            }
            other => other,
        })?;
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
    let (status, charge) = if is_created {
        (Status::CREATED, price::create(kind, request.options))
    } else {
        (Status::OK, price::replace())
    };
    Ok(answer(inner, request, &record, status, charge, seconds))
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
    if record.kind == ResourceKind::Offer {
        inner.relocations.due.notify_one();
    }
    Ok(answer(inner, request, &record, Status::OK, price::replace(), seconds))
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
    let tables = inner.catalog.tables();
    let facts = Facts {
        etag: None,
        item_lsn: None,
        ..facts(&tables, request.options, &found.chain, price::delete())
    };
    Ok(Outcome { status: Status::NO_CONTENT, body: Body::Empty, facts })
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
        | ResourceKind::Attachment
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
        ResourceKind::Container => containers::complete(wanted, options),
        ResourceKind::User => users::complete(wanted),
        ResourceKind::Permission => permissions::complete(wanted),
        ResourceKind::StoredProcedure | ResourceKind::Udf => scripts::complete_procedure(wanted),
        ResourceKind::Trigger => scripts::complete_trigger(wanted),
        ResourceKind::EncryptionKey => encryption_keys::complete(wanted),
        ResourceKind::Item
        | ResourceKind::Attachment
        | ResourceKind::Conflict
        | ResourceKind::Range
        | ResourceKind::Offer => Err(Error::OperationNotAllowed { operation: "create" }),
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
            let throughput = Throughput::requested(wanted)?;
            if kind == ResourceKind::Database && matches!(throughput, Throughput::Level(_)) {
                return Err(ThroughputError::LevelOfDatabase.into());
            }
            Some(throughput)
        }
        Some(_) | None => None,
    };
    match (kind, owner) {
        (ResourceKind::Database, _) => databases::create(draft, id, throughput),
        (ResourceKind::Container, Some(database)) => {
            let properties = containers::Properties::of(&completed)?;
            check_encryption_keys(draft.tables, database, &completed)?;
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
        (ResourceKind::EncryptionKey, _) => {
            let state = encryption_keys::state(draft.env.now_seconds());
            draft.add(owner, kind, id, completed, state)
        }
        _ => draft.add(owner, kind, id, completed, Object::new()),
    }
}

/// Wire: what an encryption policy names must be there; a replace cannot change it.
fn check_encryption_keys(tables: &Tables, database: &Record, completed: &Object) -> Result<()> {
    let kind = ResourceKind::EncryptionKey;
    let is_missing = |id: &&str| tables.by_name(database.number, kind, id).is_none();
    match containers::encryption_key_ids(completed).find(is_missing) {
        Some(id) => Err(PolicyError::EncryptionKeyMissing { id: id.to_owned() }.into()),
        None => Ok(()),
    }
}

fn put_replaced(
    draft: &mut Draft<'_>,
    old: &Record,
    id: &str,
    mut completed: Object,
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
                return Err(PolicyError::Changed { property: "id" }.into());
            }
            containers::check_replace(&old.body, &completed)?;
            containers::keep_key(&old.body, &mut completed);
        }
        ResourceKind::Permission => {
            permissions::check_single(draft.tables, old.owner, Some(old.number), &completed)?;
        }
        ResourceKind::EncryptionKey if id != old.id => {
            return Err(PolicyError::Changed { property: "id" }.into());
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
