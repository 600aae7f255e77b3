//! An item as it arrives and is stored: checked, measured, and otherwise byte for byte as sent.
//!
//! One pass over the text validates it, finds the id and time to live, counts what the charge model counts,
//! and notes where each top-level property stands. System properties that a client sends back
//! are cut out (they are spliced in again at each read, so they are never stored); every
//! other byte, whitespace and spelling of numbers included, stays (but for escapes that stand for no
//! character, see `surrogates.rs`).
//!
//! Hot path: runs once per write. No tree, no allocation per property.

mod body;
mod error;
mod outline;
mod splice;
mod surrogates;

pub use body::ItemBody;
pub use error::ItemError;
pub use outline::Outline;
pub use splice::{ItemText, with_attachment_properties, with_system_properties, without_links};
pub use surrogates::has_halved_id;

/// Limit: bytes of one item as sent, as the service has it.
pub const ITEM_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Properties that belong to the server. Wire: what a client sends for them is ignored.
pub const SYSTEM_PROPERTIES: [&str; 6] = ["_rid", "_self", "_etag", "_ts", "_attachments", "_lsn"];
