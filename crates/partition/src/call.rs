//! What a caller asks of a partition and what it gets back.

use bytes::Bytes;
use model::{Charge, ETag, ItemBody, Lsn, Status};

use crate::{Error, Patch};

/// One operation on one item, with its preconditions.
#[derive(Debug, Clone)]
pub struct ItemCall {
    pub op: ItemOp,
    pub if_match: Option<String>,
    pub if_none_match: Option<String>,
    /// The answer has no use for the written item.
    pub minimal: bool,
    pub indexing: IndexingDirective,
    /// What is written can be read without its links. Wire: `x-ms-exclude-system-properties`.
    pub is_bare: bool,
}

/// Whether queries are to find the item that is written. Wire: `x-ms-indexing-directive`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IndexingDirective {
    /// As the policy of the container says.
    #[default]
    Default,
    Include,
    Exclude,
}

impl ItemCall {
    /// Makes a call without preconditions.
    pub fn new(op: ItemOp) -> ItemCall {
        let indexing = IndexingDirective::Default;
        ItemCall {
            op,
            if_match: None,
            if_none_match: None,
            minimal: false,
            indexing,
            is_bare: false,
        }
    }
}

/// The operations on one item of a logical partition.
#[derive(Debug, Clone)]
pub enum ItemOp {
    Create(ItemBody),
    Upsert(ItemBody),
    /// `id` is the item to replace; the body may carry another id: a rename.
    Replace {
        id: String,
        body: ItemBody,
    },
    Patch {
        id: String,
        patch: Patch,
    },
    Delete {
        id: String,
    },
    Read {
        id: String,
    },
}

/// The answer to one operation that did not fail.
#[derive(Debug, Clone)]
pub struct ItemOutcome {
    /// 200, 201, 204 or 304.
    pub status: Status,
    /// The whole item with system properties; `None` for a delete and for 304.
    pub body: Option<Bytes>,
    /// The etag of the item as it is now; `None` after a delete.
    pub etag: Option<ETag>,
    /// The LSN of the item's last write.
    pub item_lsn: Option<Lsn>,
    /// Its writer said that it can be read without its links.
    pub is_bare: bool,
    pub charge: Charge,
}

/// A plain operation that took effect.
#[derive(Debug)]
pub struct Applied {
    pub outcome: ItemOutcome,
    /// The commit of a write; the last acknowledged one for a read.
    pub lsn: Lsn,
}

/// A batch that was carried out or refused as a whole.
#[derive(Debug)]
pub struct BatchApplied {
    /// One per call, in order. If one failed, all others are [`Error::FailedDependency`].
    pub results: Vec<Result<ItemOutcome, Error>>,
    pub committed: bool,
    pub lsn: Lsn,
    pub charge: Charge,
}

/// Where a page ends. At least one item (or one LSN of a feed) is returned whatever its size.
#[derive(Debug, Clone, Copy)]
pub struct PageLimits {
    pub items_max: usize,
    pub bytes_max: usize,
}

/// One page of items in creation order.
#[derive(Debug)]
pub struct ItemPage {
    /// Whole items with system properties.
    pub items: Vec<Bytes>,
    /// Pass as `after` to go on; `None` at the end. A page may be empty and still go on.
    pub next: Option<u64>,
    pub charge: Charge,
}

/// One page of a change feed.
#[derive(Debug)]
pub struct ChangePage {
    /// Latest version: whole items with `_lsn`. All versions: `current`, `previous`, `metadata`.
    pub items: Vec<Bytes>,
    /// Everything up to and including this LSN has been delivered: resume here.
    pub lsn: Lsn,
    /// Whether a read that resumes at `lsn` would do further work now.
    pub has_more: bool,
    pub charge: Charge,
}
