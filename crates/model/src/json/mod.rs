//! JSON: values, their order and text, and items as they are stored.
//!
//! Why not a library: `serde_json` keeps the last of two properties with one name and turns numbers
//! into doubles or loses their spelling, and a client's `9007199254740993` or `1.10` must come
//! back as it was sent. One hand-written pull reader ([`Reader`]) serves both ways in: [`parse`] builds
//! a tree for queries and definitions, [`ItemBody::parse`] checks and measures an item in one pass
//! without a tree.
//!
//! Undefined is not a value: it is `None` where an `Option<Value>` stands.

pub mod binary;
mod error;
mod item;
mod memory;
mod mend;
mod names;
mod number;
mod object;
mod order;
mod parse;
mod pick;
mod raw;
mod reader;
mod scan;
mod text;
mod value;
mod write;

pub use error::{JsonError, JsonFault};
pub use item::{
    ITEM_BYTES_MAX, ItemBody, ItemError, ItemText, Outline, SYSTEM_PROPERTIES, has_halved_id,
    with_attachment_properties, with_system_properties, without_links,
};
pub use memory::{ALLOCATION_BYTES, ELEMENT_BYTES, MEMBER_BYTES, slice_bytes, tree_bytes_max};
pub use mend::parse_mended;
pub use number::{Number, double_text, is_plain_number};
pub use object::Object;
pub use order::{order, order_strings};
pub use parse::parse;
pub use pick::{Picks, pick};
pub use raw::{Raw, RawKind, raw_properties};
pub use reader::{DEPTH_MAX, Event, Reader};
pub use scan::plain_length;
pub use text::Text;
pub use value::Value;
pub use write::write_string;
