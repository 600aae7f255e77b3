//! What operations on metadata cost (`docs/charges.md`).

use model::Charge;
use partition::charge;

use crate::operation::{Options, ResourceKind};

/// Databases, containers and offers are looked up in the catalog; scripts and conflicts lie with the items.
pub(super) fn read(kind: ResourceKind) -> Charge {
    if is_beside_items(kind) { charge::nothing() } else { charge::metadata_read() }
}

/// A container with throughput of its own has an offer to write too; that of a database costs nothing more.
pub(super) fn create(kind: ResourceKind, options: &Options) -> Charge {
    match kind {
        ResourceKind::Database => charge::metadata_create(),
        ResourceKind::Container if options.throughput.is_none() => charge::metadata_create(),
        _ => charge::metadata_write(),
    }
}

pub(super) fn replace() -> Charge {
    charge::metadata_write() + charge::metadata_write()
}

pub(super) fn delete() -> Charge {
    charge::metadata_write()
}

fn is_beside_items(kind: ResourceKind) -> bool {
    match kind {
        ResourceKind::StoredProcedure
        | ResourceKind::Trigger
        | ResourceKind::Udf
        | ResourceKind::Conflict
        | ResourceKind::Attachment
        | ResourceKind::Item => true,
        ResourceKind::Database
        | ResourceKind::Container
        | ResourceKind::User
        | ResourceKind::Permission
        | ResourceKind::Range
        | ResourceKind::EncryptionKey
        | ResourceKind::Offer => false,
    }
}
