//! What a principal may do. The gateway has verified who it is; here is decided what that permits.
//!
//! Wire: A token grants one resource and everything below it, `Read` or `All`, optionally
//! in one logical partition only. Beyond that it may read the properties and ranges of the container that
//! holds the granted resource: without them no SDK can address an item.

use std::sync::Arc;

use model::PartitionKey;

use crate::catalog::link::parse_link;
use crate::catalog::record::Record;
use crate::catalog::tables::Tables;
use crate::error::{Error, Result};
use crate::grant::{Grant, GrantMode};
use crate::operation::{Link, Principal, ResourceKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    Read,
    Write,
}

/// What is to be done, and to what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Want<'a> {
    /// The resource, or the owner of the feed, with its owners.
    pub(crate) chain: &'a [Arc<Record>],
    /// The kind that is read or written: the resource's own or that of the feed.
    pub(crate) kind: ResourceKind,
    pub(crate) right: Right,
}

/// What remains to be checked once items and keys are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Only this logical partition.
    pub(crate) key: Option<PartitionKey>,
    /// Only this item: its id, or its rid for a rid-based grant.
    pub(crate) item: Option<GrantedItem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantedItem {
    pub(crate) text: String,
    /// Only this attachment of the item.
    pub(crate) attachment: Option<String>,
    pub(crate) is_by_rid: bool,
}

impl Allowed {
    /// Checks a logical partition that a request touches; `None` is the whole container.
    pub(crate) fn check_key(&self, key: Option<&PartitionKey>) -> Result<()> {
        match &self.key {
            Some(granted) if Some(granted) != key => Err(Error::Forbidden),
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses the item itself to a grant on one of its attachments.
    pub(crate) fn check_whole_item(&self) -> Result<()> {
        let is_below = self.item.as_ref().is_some_and(|item| item.attachment.is_some());
        if is_below { Err(Error::Forbidden) } else { Ok(()) }
    }

    /// Refuses feeds, queries and batches to a grant on one item.
    pub(crate) fn check_many(&self) -> Result<()> {
        if self.item.is_some() { Err(Error::Forbidden) } else { Ok(()) }
    }
}

/// Decides whether `principal` may do what it wants.
pub(crate) fn check(tables: &Tables, principal: &Principal, want: Want<'_>) -> Result<Allowed> {
    match principal {
        Principal::Master | Principal::Identity => Ok(Allowed::default()),
        Principal::ReadOnly => {
            // A permission shows a token that may grant writes.
            let is_secret = want.kind == ResourceKind::Permission;
            if want.right == Right::Write || is_secret {
                Err(Error::ReadOnlyKey)
            } else {
                Ok(Allowed::default())
            }
        }
        Principal::Token(grant) => check_grant(tables, grant, want),
    }
}

fn check_grant(tables: &Tables, grant: &Grant, want: Want<'_>) -> Result<Allowed> {
    // A permission shows a token: who reads or writes those could widen its own grant.
    if matches!(want.kind, ResourceKind::User | ResourceKind::Permission) {
        return Err(Error::Forbidden);
    }
    let target = granted(tables, grant).ok_or(Error::Forbidden)?;
    if is_surrounding(&target, want) {
        return Ok(Allowed::default());
    }
    let is_below = want.chain.len() >= target.chain.len()
        && target.chain.iter().zip(want.chain).all(|(a, b)| a.number == b.number);
    let is_item = want.kind == ResourceKind::Item;
    if !is_below || target.item.is_some() && !is_item {
        return Err(Error::Forbidden);
    }
    if want.right == Right::Write && grant.mode == GrantMode::Read {
        return Err(Error::Forbidden);
    }
    // One logical partition is data: it says nothing about the container's own properties. Procedures run there, and
    // that is a write of items; whoever writes a script writes what others run in their logical partitions.
    let is_metadata_write = want.right == Right::Write && want.kind != ResourceKind::Item;
    if grant.key.is_some() && is_metadata_write {
        return Err(Error::Forbidden);
    }
    Ok(Allowed { key: grant.key.clone(), item: target.item })
}

/// The number of the container, or whatever else holds what a grant names.
pub(crate) fn target_of(tables: &Tables, resource: &str) -> Option<u64> {
    let mut segments = parse_link(resource)?.segments;
    let item_index = segments.iter().position(|(kind, _)| *kind == ResourceKind::Item);
    segments.truncate(item_index.unwrap_or(segments.len()));
    Some(tables.find(&Link { segments }).ok()?.chain.last()?.number)
}

/// What a grant names, if it exists.
struct Target {
    chain: Vec<Arc<Record>>,
    item: Option<GrantedItem>,
}

fn granted(tables: &Tables, grant: &Grant) -> Option<Target> {
    let mut segments = parse_link(&grant.resource)?.segments;
    let item_index = segments.iter().position(|(kind, _)| *kind == ResourceKind::Item);
    let below: Vec<_> =
        item_index.map(|index| segments.drain(index..).collect()).unwrap_or_default();
    let found = tables.find(&Link { segments }).ok()?;
    let number = found.chain.last()?.number;
    if grant.target.is_some_and(|target| target != number) {
        return None;
    }
    let mut below = below.into_iter();
    let item = below.next().map(|(_, text)| GrantedItem {
        text,
        attachment: below.next().map(|(_, text)| text),
        is_by_rid: found.is_by_rid,
    });
    Some(Target { chain: found.chain, item })
}

/// Reading the container that holds the granted resource, or its ranges.
fn is_surrounding(target: &Target, want: Want<'_>) -> bool {
    let is_read = want.right == Right::Read
        && matches!(want.kind, ResourceKind::Container | ResourceKind::Range);
    let container = want.chain.last().filter(|record| record.kind == ResourceKind::Container);
    is_read
        && container.is_some_and(|container| {
            target.chain.iter().any(|record| record.number == container.number)
        })
}
