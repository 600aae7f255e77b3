//! Finds what a request names and checks that the principal may touch it.

use crate::access::{self, Right, Want};
use crate::account::{Inner, Request};
use crate::catalog::link::ResolvedLink;
use crate::error::{Error, Result};
use crate::operation::{Link, Options, Principal, ResourceKind};

/// Finds a resource and checks that the principal may touch it.
pub(super) fn find_one(
    inner: &Inner,
    request: Request<'_>,
    link: &Link,
    right: Right,
) -> Result<ResolvedLink> {
    let tables = inner.catalog.tables();
    let found = hide(request, tables.find(link))?;
    let kind = found.kind().ok_or(Error::LinkInvalid("it names no resource"))?;
    let want = Want { chain: &found.chain, kind, right };
    access::check(&tables, request.principal, want)?;
    check_intended(request.options, &found)?;
    Ok(found)
}

/// Finds the owner of a feed and checks that the principal may read or write that feed.
pub(super) fn find_feed(
    inner: &Inner,
    request: Request<'_>,
    owner: &Link,
    kind: ResourceKind,
    right: Right,
) -> Result<ResolvedLink> {
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
        Principal::Token(_) => Error::Forbidden,
        Principal::Master | Principal::ReadOnly | Principal::Identity => error,
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
        ResourceKind::Attachment => Some(ResourceKind::Item),
        ResourceKind::Permission => Some(ResourceKind::User),
    }
}

/// Wire: `x-ms-cosmos-intended-collection-rid` of another container than the one found.
pub(crate) fn check_intended(options: &Options, found: &ResolvedLink) -> Result<()> {
    let is_other = |expected: &Option<String>| {
        let Some(expected) = expected else { return false };
        let container = found.chain.iter().find(|record| record.kind == ResourceKind::Container);
        container.is_some_and(|record| record.rid.to_string() != *expected)
    };
    if is_other(&options.cached_container_rid) {
        return Err(Error::ContainerNameStale);
    }
    if is_other(&options.intended_container_rid) {
        return Err(Error::ContainerRidStale);
    }
    Ok(())
}
