//! What an operation answers: facts, not headers. The gateway alone knows how they look on the wire.

use std::sync::Arc;

use bytes::Bytes;
use model::{Charge, ETag, Lsn, RangeId, SessionEntry, Status};
pub use partition::Usage as RangeUsage;

/// A successful answer (200, 201, 204, 207, 304).
#[derive(Debug, Clone)]
pub struct Outcome {
    pub status: Status,
    pub body: Body,
    pub facts: Facts,
}

#[derive(Debug, Clone)]
pub enum Body {
    Empty,
    /// JSON text of one resource.
    Resource(Bytes),
    /// JSON texts of a page. `envelope` is the wire name of the array (`Documents`, `Databases`, …).
    Feed {
        owner_rid: Arc<str>,
        envelope: &'static str,
        rows: Vec<Bytes>,
    },
    /// Media of an attachment, as it was uploaded.
    Media {
        content_type: String,
        /// The id of its attachment.
        name: String,
        bytes: Bytes,
    },
    /// The same without its bytes, which are so many.
    MediaHead {
        content_type: String,
        name: String,
        n_bytes: u64,
    },
    /// Results of a batch, in request order; the gateway writes JSON or `HybridRow`.
    Batch(Vec<BatchResult>),
}

#[derive(Debug, Clone)]
pub struct BatchResult {
    pub status: Status,
    pub charge: Charge,
    pub etag: Option<ETag>,
    pub body: Option<Bytes>,
    pub retry_after_ms: Option<u64>,
}

/// The catalog as the partition of [`Facts::partition`].
pub const CATALOG: u64 = 0;

/// The direction in which a query read its index. Rows that sort alike come in the order of their items, forwards or
/// backwards; a client that resumes a query leaves out what it has seen by that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    Forward,
    Reverse,
}

/// What surrounds an answer, success or failure alike. Absent facts give no header.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub charge: Charge,
    /// Wire: one range in each answer; clients that expect one misread a list.
    pub session: Option<SessionEntry>,
    pub lsn: Option<Lsn>,
    pub item_lsn: Option<Lsn>,
    /// The range that served the request; none when several did at once (bulk, merged queries).
    pub range: Option<RangeId>,
    /// Whose answer it is: the incarnation of a physical partition, [`CATALOG`] for metadata.
    pub partition: Option<u64>,
    /// What the range that served the request holds.
    pub range_usage: Option<RangeUsage>,
    pub etag: Option<ETag>,
    /// `x-ms-alt-content-path`: names of the owner, e.g. `dbs/d/colls/c`.
    pub owner_path: Option<Arc<str>>,
    /// `x-ms-content-path`: rid of the owner.
    pub owner_rid: Option<Arc<str>>,
    pub continuation: Option<String>,
    pub n_items: Option<u64>,
    /// `x-ms-resource-quota`, `x-ms-resource-usage` of metadata.
    pub quota: Option<String>,
    pub usage: Option<String>,
    pub index_progress: Option<i32>,
    /// The same for containers with a lazy index.
    pub lazy_index_progress: Option<i32>,
    /// A container: whether it uses the throughput of its database.
    pub shares_throughput: Option<bool>,
    pub min_throughput: Option<u64>,
    pub offer_replace_pending: Option<bool>,
    pub query_metrics: Option<String>,
    /// Already encoded as the request asked (base64 or percent).
    pub index_metrics: Option<String>,
    pub query_advice: Option<String>,
    /// What a query took, if somebody wanted to know.
    pub analysis: Option<Box<crate::Analysis>>,
    /// How a query read its index; `None` for what is no query.
    pub scan: Option<Scan>,
    /// Whether pages of several ranges would have to be put together with a plan; told to clients that sent none.
    pub requires_distribution: Option<bool>,
    pub script_log: Option<String>,
    /// How much media the account keeps, with answers about media.
    pub media: Option<crate::MediaUsage>,
}

/// A failed answer: the error and what is known around it (charge, session token, range).
#[derive(Debug)]
pub struct Failed {
    pub error: crate::Error,
    pub facts: Box<Facts>,
}
