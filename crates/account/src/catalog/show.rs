//! Metadata resources as clients see them: the user's properties and the system's.

use std::sync::Arc;

use model::{Object, Value};

use super::encryption_keys;
use super::link::self_link;
use super::offers;
use super::record::{Record, number_value};
use super::tables::Tables;
use crate::operation::ResourceKind;

/// Wire: links to child feeds that a resource shows.
fn child_links(kind: ResourceKind) -> &'static [(&'static str, &'static str)] {
    match kind {
        ResourceKind::Database => &[("_colls", "colls/"), ("_users", "users/")],
        ResourceKind::Container => &[
            ("_docs", "docs/"),
            ("_sprocs", "sprocs/"),
            ("_triggers", "triggers/"),
            ("_udfs", "udfs/"),
            ("_conflicts", "conflicts/"),
        ],
        ResourceKind::User => &[("_permissions", "permissions/")],
        ResourceKind::Item
        | ResourceKind::Attachment
        | ResourceKind::StoredProcedure
        | ResourceKind::Trigger
        | ResourceKind::Udf
        | ResourceKind::Conflict
        | ResourceKind::Range
        | ResourceKind::Permission
        | ResourceKind::EncryptionKey
        | ResourceKind::Offer => &[],
    }
}

/// The whole resource; a permission without its token.
pub(crate) fn show(tables: &Tables, record: &Arc<Record>) -> Object {
    let mut shown = Object::new();
    let is_offer = record.kind == ResourceKind::Offer;
    // Wire: the id of an offer stands behind what it is about, the time of a container behind its rid.
    if !is_offer {
        shown.insert("id", Value::from(record.id.as_str()));
    }
    let offer;
    let body = if is_offer {
        offer = offers::show(tables, record);
        &offer
    } else {
        &record.body
    };
    for (name, value) in body.iter() {
        shown.insert(name, value.clone());
    }
    if is_offer {
        shown.insert("id", Value::from(record.id.as_str()));
    }
    shown.insert("_rid", record.rid.to_string());
    if record.kind == ResourceKind::Container {
        shown.insert("_ts", number_value(record.ts));
    }
    shown.insert("_self", self_link(&tables.chain(record)));
    shown.insert("_etag", record.etag.as_str());
    for (name, link) in child_links(record.kind) {
        shown.insert(*name, *link);
    }
    shown.insert("_ts", number_value(record.ts));
    if record.kind == ResourceKind::EncryptionKey {
        shown.insert("_cts", number_value(encryption_keys::created(record)));
    }
    shown
}

/// Wire: the array's name in a feed.
pub(crate) fn envelope(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::Database => "Databases",
        ResourceKind::Container => "DocumentCollections",
        ResourceKind::Item => "Documents",
        ResourceKind::Attachment => "Attachments",
        ResourceKind::StoredProcedure => "StoredProcedures",
        ResourceKind::Trigger => "Triggers",
        ResourceKind::Udf => "UserDefinedFunctions",
        ResourceKind::Conflict => "Conflicts",
        ResourceKind::Range => "PartitionKeyRanges",
        ResourceKind::User => "Users",
        ResourceKind::Permission => "Permissions",
        ResourceKind::EncryptionKey => "ClientEncryptionKeys",
        ResourceKind::Offer => "Offers",
    }
}
