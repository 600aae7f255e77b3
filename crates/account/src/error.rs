//! The account's errors. The text of an error is the message that the client gets: the substrings that
//! SDK test suites look for are part of the protocol.

use model::{Failure, RangeId, Status};

use crate::policy_error::PolicyError;
use crate::relocate::RelocationError;
use crate::throughput::ThroughputError;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed. Errors of lower crates are wrapped once.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found")]
    NotFound,
    /// The container of an item operation. Wire: without sub-status, unlike any other missing owner.
    #[error("Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found")]
    ContainerNotFound,
    #[error(
        "Owner resource does not exist. Resource Not Found. \
         Learn more: https://aka.ms/cosmosdb-tsg-not-found"
    )]
    OwnerNotFound,
    #[error("Resource with specified id, name, or unique index already exists.")]
    AlreadyExists,
    #[error(
        "One of the specified pre-condition is not met. \
         Learn more: https://aka.ms/CosmosDB/sql/errors/precondition-failed"
    )]
    EtagMismatch,
    #[error("Request url is invalid: {0}")]
    LinkInvalid(&'static str),
    #[error("{operation} is not allowed on this resource")]
    OperationNotAllowed { operation: &'static str },
    #[error("{0} is not supported yet")]
    NotSupported(&'static str),

    #[error("The request payload is invalid. Ensure to provide a valid request payload.")]
    BodyMalformed,
    #[error("Request size is too large")]
    BodyTooLarge { bytes: usize, bytes_max: usize },
    #[error(
        "The input content is invalid because the required properties - '{property}; ' - are missing{}",
        learn_more(property)
    )]
    PropertyMissing { property: &'static str },
    #[error(
        "One of the specified inputs is invalid. One of the input values is invalid: '{property}'"
    )]
    PropertyInvalid { property: String },
    #[error(transparent)]
    Id(#[from] model::IdError),
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Throughput(#[from] ThroughputError),

    #[error(transparent)]
    Relocation(#[from] RelocationError),
    /// Wire: 400/3205.
    #[error(
        "The offer replace operation is in progress: a change of throughput is still being carried out"
    )]
    OfferReplacePending,
    #[error("PartitionKeyRange with id '{range}' in collection '{container}' doesn't exist.")]
    RangeGone { range: RangeId, container: String },
    #[error(
        "The collection rid in the request does not match the current one: \
         the container has been recreated under the same name"
    )]
    ContainerRidStale,
    #[error(
        "The name of the container belongs to another container now, or to none: read it again."
    )]
    ContainerNameStale,
    #[error(
        "Request rate is large. More Request Units may be needed, so no changes were made. Please retry \
         this request later. Learn more: http://aka.ms/cosmosdb-error-429"
    )]
    Throttled { retry_after_ms: u64 },
    #[error("The read session is not available for the input session token.")]
    SessionUnavailable,
    #[error(
        "ConsistencyLevel {requested} specified in the request is invalid when service is configured \
         with consistency level {default}. Ensure the request consistency level is not stronger than \
         the service consistency level."
    )]
    ConsistencyTooStrong { requested: &'static str, default: &'static str },

    /// Wire: 400/1001, in the words for a key with too few components.
    #[error(
        "The partition key supplied in x-ms-partitionkey header has fewer components than defined in the the collection."
    )]
    KeyRequired,
    #[error("PartitionKey value must be supplied for this operation.")]
    ProcedureKeyRequired,
    #[error(
        "PartitionKey extracted from document doesn't match the one specified in the header. \
         Learn more: https://aka.ms/CosmosDB/sql/errors/wrong-pk-value"
    )]
    KeyMismatch,
    #[error(
        "Partition key provided either doesn't correspond to definition in the collection or doesn't \
         match partition key field values specified in the document."
    )]
    KeyUnfit,
    #[error("Shared throughput collection should have a partition key")]
    SharedKeyMissing,
    #[error("Invalid Continuation Token")]
    ContinuationInvalid,
    #[error(
        "The continuation token limit specified is not large enough. \
         Please pass in a valid continuation token size limit which must be a positive integer"
    )]
    ContinuationTooLong,
    #[error(
        "Cross partition query is required but disabled. Please set \
         x-ms-documentdb-query-enablecrosspartition to true, specify x-ms-documentdb-partitionkey, or \
         revise your query to avoid this exception."
    )]
    CrossPartitionDisabled,
    #[error(
        "The provided cross partition query can not be directly served by the gateway. This is a first \
         chance (internal) exception that all newer clients will know how to handle gracefully. This \
         exception is traced, but unless you see it bubble up as an exception (which only happens on \
         older SDK clients), then you can safely ignore this message."
    )]
    CrossPartitionUnservable { plan: String },
    #[error("Cross partition query only supports 'VALUE <AggregateFunc>' for aggregates.")]
    CrossPartitionAggregate,

    #[error("The trigger '{name}' named by the request does not exist in the container.")]
    TriggerMissing { name: String },
    #[error("The trigger '{name}' is no {kind}-trigger for the operation {operation}.")]
    TriggerUnfit { name: String, kind: &'static str, operation: &'static str },

    #[error("Batch request has no operations.")]
    BatchEmpty,
    #[error("Batch request has more operations than what is supported.")]
    BatchTooLong,
    #[error("Request size is too large")]
    BatchTooLarge { bytes: usize, bytes_max: usize },
    #[error("Request size is too large: the media of an account may have {bytes_max} bytes")]
    MediaFull { bytes_max: u64 },
    #[error(
        "Change feed with All Versions and Deletes is off for this container: it must be enabled by a \
         changeFeedPolicy with a retentionDuration"
    )]
    VersionsDisabled,
    #[error(
        "The All Versions and Deletes change feed starts from now or from an earlier etag, not at \
         the beginning or at a point in time. You must read the change feed from within the retention period."
    )]
    VersionsStart,
    #[error("The etag '{0}' is not a position in this change feed")]
    FeedPositionInvalid(String),

    #[error("The authorization token does not permit this operation on this resource")]
    Forbidden,
    #[error("The key is read-only: it does not permit write operations")]
    ReadOnlyKey,
    #[error("The input authorization token can't serve the request: its seal is broken")]
    TokenInvalid,
    #[error(
        "The authorization token is not valid at the current time. Please create another token and \
         retry (token expiry time: {expired_seconds}, current server time: {now_seconds})."
    )]
    TokenExpired { expired_seconds: u64, now_seconds: u64 },
    #[error("The token lifetime {seconds} is invalid: it must be between {min} and {max} seconds")]
    TokenLifetime { seconds: u32, min: u32, max: u32 },
    #[error("A database with shared throughput holds at most {0} containers without their own")]
    SharedDatabaseFull(usize),

    #[error(transparent)]
    Session(#[from] model::SessionTokenError),
    #[error(transparent)]
    PartitionKey(#[from] model::PartitionKeyError),
    #[error(transparent)]
    Item(#[from] model::ItemError),
    #[error(transparent)]
    Partition(#[from] partition::Error),
    #[error("{}", .0.to_service_message())]
    Query(#[from] query::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the catalog is corrupt: {0}")]
    CatalogCorrupt(String),
    #[error("partition key range {range} is inconsistent: {problem}")]
    PartitionInconsistent { range: RangeId, problem: String },
    #[error("the catalog changed underneath: retry")]
    CatalogChanged,
    #[error("a task ended before it answered")]
    TaskLost,
}

/// Wire: only the missing id has a page of its own.
fn learn_more(property: &str) -> &'static str {
    match property {
        "id" => ". Learn more: https://aka.ms/CosmosDB/sql/errors/missing-id",
        _ => "",
    }
}

/// Whose refusal the client sees. Wire: the message of each has its own form, and its answer its own headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refuser {
    /// What is checked before anybody looks at data: addresses, rights, settings of the request.
    Gateway,
    /// The query text.
    Parser,
    /// A physical partition, or the catalog.
    Partition,
    /// An item that is not there, is there already, or is not as the client thought.
    Item,
}

impl Error {
    /// Whose refusal this is.
    pub fn refuser(&self) -> Refuser {
        match self {
            Self::LinkInvalid(_)
            | Self::OperationNotAllowed { .. }
            | Self::NotSupported(_)
            | Self::RangeGone { .. }
            | Self::ContainerRidStale
            | Self::ContainerNameStale
            | Self::SharedKeyMissing
            | Self::ProcedureKeyRequired
            | Self::ConsistencyTooStrong { .. }
            | Self::ContinuationInvalid
            | Self::ContinuationTooLong
            | Self::CrossPartitionDisabled
            | Self::CrossPartitionUnservable { .. }
            | Self::Forbidden
            | Self::ReadOnlyKey
            | Self::TokenInvalid
            | Self::TokenExpired { .. }
            | Self::TokenLifetime { .. }
            | Self::Session(_)
            | Self::Query(query::Error::UnsupportedFeatures(_)) => Refuser::Gateway,
            Self::CrossPartitionAggregate
            | Self::Query(query::Error::Invalid(_) | query::Error::Unplannable(_)) => {
                Refuser::Parser
            }
            Self::Partition(
                partition::Error::ItemMissing { .. }
                | partition::Error::ItemExists { .. }
                | partition::Error::UniqueKeyTaken { .. }
                | partition::Error::EtagMismatch
                | partition::Error::PatchConditionUnmet,
            ) => Refuser::Item,
            error if error.is_our_fault() => Refuser::Gateway,
            _ => Refuser::Partition,
        }
    }

    /// The range of a write is being replaced: its successor takes the write any moment now.
    pub(crate) fn is_relocating(&self) -> bool {
        matches!(self, Self::Partition(partition::Error::Relocating))
    }

    /// Wire: the `additionalErrorInfo` field of the error body (the query plan, with 400/1004).
    pub fn additional_info(&self) -> Option<&str> {
        match self {
            Self::CrossPartitionUnservable { plan } => Some(plan),
            _ => None,
        }
    }
}

impl Failure for Error {
    fn status(&self) -> Status {
        match self {
            Self::NotFound | Self::ContainerNotFound => Status::NOT_FOUND,
            Self::OwnerNotFound => Status::OWNER_NOT_FOUND,
            Self::AlreadyExists => Status::CONFLICT,
            Self::EtagMismatch => Status::PRECONDITION_FAILED,
            Self::OperationNotAllowed { .. } => Status::METHOD_NOT_ALLOWED,
            Self::BodyTooLarge { .. } | Self::BatchTooLarge { .. } | Self::MediaFull { .. } => {
                Status::TOO_LARGE
            }
            Self::RangeGone { .. } => Status::RANGE_GONE,
            Self::ContainerRidStale => Status::CONTAINER_RID_STALE,
            Self::ContainerNameStale => Status::GONE_NAME,
            Self::Throttled { .. } => Status::TOO_MANY_REQUESTS,
            Self::SessionUnavailable => Status::READ_SESSION_UNAVAILABLE,
            Self::KeyMismatch | Self::KeyRequired | Self::KeyUnfit => Status::PK_MISMATCH,
            Self::CrossPartitionUnservable { .. } => Status::CROSS_PARTITION_UNSERVABLE,
            Self::Forbidden | Self::ReadOnlyKey | Self::TokenExpired { .. } => Status::FORBIDDEN,
            Self::TokenInvalid => Status::UNAUTHORIZED,
            // Wire: 403/1019, as the service answers a redistribution that does not fit.
            Self::SharedDatabaseFull(_) => Status { code: 403, sub: 1019 },
            Self::LinkInvalid(_)
            | Self::NotSupported(_)
            | Self::BodyMalformed
            | Self::PropertyMissing { .. }
            | Self::PropertyInvalid { .. }
            | Self::Id(_)
            | Self::ConsistencyTooStrong { .. }
            | Self::SharedKeyMissing
            | Self::ProcedureKeyRequired
            | Self::ContinuationInvalid
            | Self::ContinuationTooLong
            | Self::CrossPartitionDisabled
            | Self::CrossPartitionAggregate
            | Self::TriggerMissing { .. }
            | Self::TriggerUnfit { .. }
            | Self::BatchEmpty
            | Self::BatchTooLong
            | Self::VersionsDisabled
            | Self::VersionsStart
            | Self::FeedPositionInvalid(_)
            | Self::TokenLifetime { .. }
            | Self::Session(_)
            | Self::Throughput(_) => Status::BAD_REQUEST,
            Self::OfferReplacePending => Status { code: 400, sub: 3205 },
            Self::Relocation(error) => error.status(),
            Self::Policy(error) => error.status(),
            Self::PartitionKey(error) => error.status(),
            Self::Item(error) => error.status(),
            Self::Partition(error) => error.status(),
            Self::Query(error) => error.status(),
            Self::Store(error) => error.status(),
            Self::CatalogChanged => Status::RETRY_WITH,
            Self::PartitionInconsistent { .. } | Self::CatalogCorrupt(_) | Self::TaskLost => {
                Status::INTERNAL
            }
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Partition(error) => error.retry_after_ms(),
            Self::Store(error) => error.retry_after_ms(),
            Self::Query(error) => error.retry_after_ms(),
            Self::Throttled { retry_after_ms } => Some(*retry_after_ms),
            _ => None,
        }
    }

    fn is_our_fault(&self) -> bool {
        match self {
            Self::Partition(error) => error.is_our_fault(),
            Self::Query(error) => error.is_our_fault(),
            Self::Store(error) => error.is_our_fault(),
            Self::PartitionInconsistent { .. } | Self::CatalogCorrupt(_) | Self::TaskLost => true,
            _ => false,
        }
    }
}
