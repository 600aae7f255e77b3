//! What a client asks for, after the protocol has been peeled off.
//!
//! The gateway builds one [`Call`] per request; [`crate::Account::execute`] answers it. Nothing here knows
//! HTTP: names are decoded, headers are typed options, bodies are bytes that the account validates.

use bytes::Bytes;
use model::{EpkRange, PartitionKey, RangeId, Rid, SessionToken};
pub use partition::IndexingDirective;

/// Who asks. The gateway has verified the signature; what the principal may do is decided in the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// A primary or secondary key with all rights.
    Master,
    /// A primary or secondary read-only key: writes are refused with 403.
    ReadOnly,
    /// A resource token whose seal the account has checked (see [`crate::Account::open_token`]).
    Token(crate::Grant),
    /// An emulator-style identity token, accepted only when the operator opted in.
    Identity,
}

/// The kinds of resource that a path can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceKind {
    Database,
    Container,
    Item,
    Attachment,
    StoredProcedure,
    Trigger,
    Udf,
    Conflict,
    Range,
    User,
    Permission,
    EncryptionKey,
    Offer,
}

/// A path of (kind, name or rid) pairs from the account downwards; empty for the account itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Link {
    pub segments: Vec<(ResourceKind, String)>,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Call {
    pub principal: Principal,
    pub operation: Operation,
    pub options: Options,
}

/// Preconditions and settings that apply to many operations. Absent headers are `None`.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a header of its own")]
pub struct Options {
    pub if_match: Option<String>,
    pub if_none_match: Option<String>,
    /// Page size: `None` lets the server decide, as does -1 on the wire.
    pub items_max: Option<u32>,
    pub continuation: Option<String>,
    /// Largest continuation that the client accepts, in KiB.
    pub continuation_kib_max: Option<u32>,
    pub session: Option<SessionToken>,
    pub consistency: Option<Consistency>,
    /// Tell which of the service's rules a query meets.
    pub wants_query_advice: bool,
    /// Tell what a query took, part by part.
    pub wants_analysis: bool,
    /// `x-ms-cosmos-intended-collection-rid`.
    pub intended_container_rid: Option<String>,
    /// The container that a client of direct mode believes the name to have: another one, or none, is 410/1000.
    pub cached_container_rid: Option<String>,
    /// Create of a database or container.
    pub throughput: Option<ThroughputRequest>,
    /// Permission reads and writes: how long the token lives.
    pub token_seconds: Option<u32>,
    pub wants_quota: bool,
    pub wants_partition_statistics: bool,
    /// `x-ms-cosmos-migrate-offer-to-autopilot` / `…-to-manual-throughput`.
    pub migrate_offer: Option<OfferMigration>,
    pub pre_triggers: Vec<String>,
    pub post_triggers: Vec<String>,
    pub indexing: IndexingDirective,
    /// `_self` and `_attachments` are left out of the item, if it was written so. Wire: `x-ms-exclude-system-properties`.
    pub omits_links: bool,
    /// The API version that the client sent, e.g. `2020-07-15`.
    pub api_version: Option<String>,
}

/// Wire: the API version from which every container has a partition key, if need be the system's.
pub(crate) const KEY_REQUIRED_SINCE: &str = "2018-12-31";

impl Options {
    /// Says whether the client speaks this version of the API or a later one.
    pub(crate) fn is_since(&self, version: &str) -> bool {
        self.api_version.as_deref().is_some_and(|own| own >= version)
    }

    /// Says whether the client speaks a version before `version`. Versions are dates: their text order is their time order.
    pub(crate) fn is_before(&self, version: &str) -> bool {
        self.api_version.as_deref().is_some_and(|own| own < version)
    }
}

/// Read consistency, weakest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consistency {
    Strong,
    BoundedStaleness,
    Session,
    ConsistentPrefix,
    Eventual,
}

/// Throughput asked for at creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThroughputRequest {
    Manual(i64),
    /// The JSON text of the autopilot header; validated by the account.
    Autoscale(String),
    /// A performance level: `S1`, `S2` or `S3`; validated by the account.
    Level(String),
    /// Manual and autoscale at once: always an error, with the service's message.
    Both,
    /// A performance level and a number at once: always an error.
    LevelAndThroughput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferMigration {
    ToAutoscale,
    ToManual,
}

#[derive(Debug, Clone)]
pub enum Operation {
    /// Metadata resources: everything but items and ranges.
    Create {
        owner: Link,
        kind: ResourceKind,
        body: Bytes,
        is_upsert: bool,
    },
    Read {
        link: Link,
    },
    Replace {
        link: Link,
        body: Bytes,
    },
    Delete {
        link: Link,
    },
    List {
        owner: Link,
        kind: ResourceKind,
    },
    /// A query over metadata resources.
    QueryResources {
        owner: Link,
        kind: ResourceKind,
        query: QueryText,
        /// Whether it may look into all logical partitions; conflicts lie in them.
        cross_partition: bool,
    },

    /// Partition key ranges of a container. `since` is the etag of an incremental read.
    Ranges {
        container: Link,
        since: Option<String>,
        is_incremental: bool,
    },

    Item(ItemOperation),

    /// Media that the server keeps for an attachment. `id` is the decoded last path segment.
    Media {
        id: String,
        action: MediaAction,
    },
}

impl Operation {
    pub(crate) fn is_new_container(&self) -> bool {
        matches!(self, Operation::Create { kind: ResourceKind::Container, .. })
    }
}

#[derive(Debug, Clone)]
pub enum MediaAction {
    Read,
    /// What a read would tell, without the bytes.
    Head,
    Replace {
        content_type: String,
        bytes: Bytes,
    },
}

/// What is asked of the attachments of an item.
#[derive(Debug, Clone)]
pub enum AttachmentAction {
    Create { content: AttachmentInput, is_upsert: bool },
    Read { id: String },
    Replace { id: String, content: AttachmentInput },
    Delete { id: String },
    List,
    Query { query: QueryText },
}

/// An attachment as the client sends it.
#[derive(Debug, Clone, Hash)]
pub enum AttachmentInput {
    /// Its properties.
    Json(Bytes),
    /// Its media, of which the properties are made.
    Media { slug: Option<String>, content_type: String, bytes: Bytes },
}

#[derive(Debug, Clone)]
pub struct ItemOperation {
    pub container: Link,
    /// Partition-key header, if sent.
    pub key: Option<PartitionKey>,
    /// Range header, if sent.
    pub range: Option<RangeId>,
    /// Start/end EPK headers, if sent.
    pub epks: Option<EpkRange>,
    pub action: ItemAction,
}

#[derive(Debug, Clone)]
pub enum ItemAction {
    Create {
        body: Bytes,
        is_upsert: bool,
    },
    /// `id` is the decoded last path segment: a name, or a rid when the link is rid-based.
    Read {
        id: String,
    },
    Replace {
        id: String,
        body: Bytes,
    },
    Patch {
        id: String,
        body: Bytes,
    },
    Delete {
        id: String,
    },
    /// Transactional when `is_atomic`; otherwise bulk: independent operations on one range.
    Batch {
        calls: Vec<BatchCall>,
        is_atomic: bool,
        continue_on_error: bool,
    },
    /// Where the range of the request stands: no item is touched.
    Head,
    ReadFeed,
    ChangeFeed {
        mode: FeedMode,
        start: FeedStart,
    },
    Query {
        query: QueryText,
        cross_partition: bool,
        wants_query_metrics: bool,
        wants_index_metrics: IndexMetrics,
    },
    QueryPlan {
        query: QueryText,
        supported_features: String,
    },
    /// `item` is the decoded segment behind `docs`.
    Attachment {
        item: String,
        action: AttachmentAction,
    },
    /// Media of an attachment of this container.
    Media {
        rid: Rid,
        action: MediaAction,
    },
    /// Deletes every item of one logical partition.
    DeleteLogicalPartition,
    /// Runs a stored procedure.
    Execute {
        procedure: String,
        arguments: Bytes,
        wants_log: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexMetrics {
    No,
    /// `x-ms-cosmos-populateindexmetrics`: base64.
    V1,
    /// `…-V2`: percent-encoded.
    V2,
}

/// One operation of a batch or bulk request, decoded from JSON or `HybridRow`.
#[derive(Debug, Clone)]
pub struct BatchCall {
    pub action: BatchAction,
    /// Bulk: every operation names its own key (the JSON text of the array).
    pub key: Option<PartitionKey>,
    pub if_match: Option<String>,
    pub if_none_match: Option<String>,
    /// Leave the written item out of the result.
    pub minimal: bool,
    pub indexing: IndexingDirective,
}

#[derive(Debug, Clone)]
pub enum BatchAction {
    Create { body: Bytes },
    Upsert { body: Bytes },
    Read { id: String },
    Replace { id: String, body: Bytes },
    Patch { id: String, body: Bytes },
    Delete { id: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedMode {
    LatestVersion,
    AllVersionsAndDeletes,
}

/// Where a change-feed read starts. Several may be given: a position wins over a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedStart {
    /// `If-None-Match`: an etag of an earlier page.
    pub after: Option<String>,
    /// `If-None-Match: *`.
    pub is_now: bool,
    /// `If-Modified-Since`, seconds since the epoch: only items changed strictly later.
    pub later_than_seconds: Option<u64>,
    /// The client goes on by itself where ranges have merged, and names a range alone when it does.
    pub follows_merges: bool,
    /// Latest versions come as `{"current":…,"metadata":…}`.
    pub in_envelopes: bool,
}

/// Text and parameters of a query, not yet parsed.
#[derive(Debug, Clone, Default)]
pub struct QueryText {
    pub text: String,
    pub parameters: Vec<(String, model::Value)>,
    /// Where an ORDER BY goes on: `resumeFilter` of the body, sent by SDKs that keep positions themselves.
    pub resume_filter: Option<model::Value>,
    /// How many ranges the server may read at once to merge the query itself; `None` leaves merging to the client.
    pub merge: Option<usize>,
    /// The client reads the ranges of a query side by side, and wants the plan of whatever more than one range has.
    pub wants_plan: bool,
    /// The client sends the text without a plan, because it expects one range to have it all, and wants to know whether it
    /// may go on that way.
    pub is_optimistic: bool,
}
