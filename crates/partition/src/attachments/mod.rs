//! Attachments of items: small JSON resources below an item, and the media that the server keeps for them.
//!
//! An attachment lives in the logical partition of its item and goes with it, in the same commit. It is found through
//! its item only, so an item that is dead (expired, or its logical partition deleted) has none for any reader.
//! `transaction/attached.rs` writes them; here are the calls, the reads and the pieces of media.

mod call;
mod check;
mod media;
mod read;
mod source;

pub use call::{AttachmentBody, AttachmentCall, AttachmentContent, AttachmentOp, Media};
pub use media::MEDIA_BYTES_MAX;
pub(crate) use media::{chunk_count, chunks, decode_chunk};
pub(crate) use read::render;
pub use read::{AttachmentPage, FoundAttachment, FoundMedia, MediaFacts};
pub use source::AttachmentSource;

// Limit: attachments of one item. They go with it in one commit.
pub const ATTACHMENTS_MAX: usize = 1_000;
