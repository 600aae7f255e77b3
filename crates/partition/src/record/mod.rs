//! The values behind the keys. Each begins with a version byte; all numbers are big-endian.
//!
//! Decoding never trusts the bytes: a short or unknown record is [`crate::Error::Corrupt`].

mod attachment;
mod fields;
mod head;
mod index;
mod item;
mod small;
mod version;

pub(crate) use attachment::{AttachmentRecord, FreshAttachment};
pub(crate) use head::{AttachmentCounters, Head};
pub(crate) use index::{IndexRecord, PathRecord};
pub(crate) use item::{Fresh, ItemRecord, due};
pub(crate) use small::{
    AttachmentName, Change, LogicalRecord, decode_lsn, decode_number, encode_lsn, encode_number,
};
pub(crate) use version::{VersionKind, VersionRecord};

/// The first byte of every value written by this release.
const FORMAT: u8 = 1;
