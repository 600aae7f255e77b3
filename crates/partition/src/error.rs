//! Everything that can go wrong in a partition, and the status of each.
//!
//! Wire: the texts of user mistakes are the service's, because SDK tests look for parts of them
//! (`docs/errors.md`).

use model::{Charge, Failure, ItemError, PartitionKeyError, Status};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "Entity with the specified id does not exist in the system. \
         More info: https://aka.ms/cosmosdb-tsg-not-found"
    )]
    ItemMissing { charge: Charge },
    #[error("Entity with the specified id already exists in the system.")]
    ItemExists { charge: Charge },
    /// Wire: a taken unique key reads like a taken id.
    #[error("Entity with the specified id already exists in the system.")]
    UniqueKeyTaken { charge: Charge },
    #[error("Operation cannot be performed because one of the specified precondition is not met.")]
    EtagMismatch,
    #[error("One of the specified pre-condition is not met")]
    PatchConditionUnmet,
    #[error(
        "PartitionKey extracted from document doesn't match the one specified in the header. \
         Learn more: https://aka.ms/CosmosDB/sql/errors/wrong-pk-value"
    )]
    PartitionKeyMismatch,
    #[error(
        "Partition key reached maximum size of {}. \
         Learn more: https://aka.ms/CosmosDB/sql/errors/full-pk",
        size_text(*bytes_max)
    )]
    LogicalPartitionFull { bytes_max: u64 },
    #[error(
        "The input content is invalid because the required properties - '{property}; ' - are missing"
    )]
    AttachmentPropertyMissing { property: &'static str },
    #[error(
        "One of the specified inputs is invalid. One of the input values is invalid: '{property}'"
    )]
    AttachmentPropertyInvalid { property: &'static str },
    #[error("The document has {n_max} attachments, which is the limit.")]
    AttachmentsFull { n_max: usize },
    /// All numbers of attachments of this partition were given out.
    #[error("The partition can take no more attachments.")]
    AttachmentsSpent,
    #[error("Request size is too large: the media has {bytes} bytes, the limit is {bytes_max}")]
    MediaTooLarge { bytes: usize, bytes_max: usize },
    /// The patch as sent is no patch: shape, kinds, paths, limits.
    #[error("{0}")]
    PatchInvalid(String),
    /// The patch does not fit the item: `operation` counts from one.
    #[error("For Operation({operation}): {reason} Learn more: https://aka.ms/cosmosdbpatchdocs")]
    PatchUnfit { operation: usize, reason: String },
    #[error("Batch request has no operations.")]
    BatchEmpty,
    #[error("Batch request has more operations than what is supported.")]
    BatchTooLong,
    /// Found out before anything was written.
    #[error("Response size is too large")]
    AnswerTooLarge,
    /// Another operation of the batch failed, so this one did not happen.
    #[error("another operation of the batch failed")]
    FailedDependency { charge: Charge },
    #[error(
        "Full-Fidelity Feed is not available: the All Versions and Deletes change feed mode \
         must be enabled on the container"
    )]
    VersionsDisabled,
    #[error(
        "The start position is older than what the All Versions and Deletes change feed retains; \
         start again from now"
    )]
    VersionsTrimmed,
    #[error(transparent)]
    Item(#[from] ItemError),
    #[error(transparent)]
    PartitionKey(#[from] PartitionKeyError),
    #[error(transparent)]
    Query(#[from] query::Error),
    /// The partition was destroyed: its container is gone.
    #[error("the container of this partition no longer exists. Resource Not Found")]
    Forgotten,
    /// Another owner committed to this partition, or commits kept losing their condition.
    #[error("the write lost its place to another one; please retry")]
    Fenced,
    /// Another write to the logical partition came between the reads and the commit of a script.
    #[error("Conflicting request to resource has been attempted. Retry to avoid conflicts.")]
    Raced,
    /// The partition is being relocated and takes no writes: they belong to its successors, any moment now.
    #[error("the partition key range is completing a split, merge or move; please retry")]
    Relocating,
    #[error("the relocation fell too far behind the writes of its source")]
    RelocationBehind,
    #[error(transparent)]
    Script(#[from] script::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Stored bytes break the format: never the client's fault.
    #[error("partition is corrupt: {0}")]
    Corrupt(&'static str),
}

/// `20 GB`; smaller limits are for tests and are told as they are.
fn size_text(bytes: u64) -> String {
    match bytes {
        gib if gib >> 30 > 0 => format!("{} GB", gib >> 30),
        kib => format!("{} KB", kib.div_ceil(1024)),
    }
}

impl Failure for Error {
    fn status(&self) -> Status {
        match self {
            Self::ItemMissing { .. } => Status::NOT_FOUND,
            Self::ItemExists { .. } | Self::UniqueKeyTaken { .. } => Status::CONFLICT,
            Self::EtagMismatch => Status::PRECONDITION_FAILED,
            Self::PatchConditionUnmet => Status::PATCH_CONDITION,
            Self::PartitionKeyMismatch => Status::PK_MISMATCH,
            Self::LogicalPartitionFull { .. } => Status::LOGICAL_PARTITION_FULL,
            Self::AttachmentsFull { .. } | Self::AttachmentsSpent => Status::FORBIDDEN,
            Self::MediaTooLarge { .. } => Status::TOO_LARGE,
            Self::PatchInvalid(_)
            | Self::AttachmentPropertyMissing { .. }
            | Self::AttachmentPropertyInvalid { .. }
            | Self::PatchUnfit { .. }
            | Self::BatchEmpty
            | Self::BatchTooLong
            | Self::VersionsDisabled
            | Self::VersionsTrimmed => Status::BAD_REQUEST,
            Self::AnswerTooLarge => Status::BATCH_RESPONSE_TOO_LARGE,
            Self::FailedDependency { .. } => Status::FAILED_DEPENDENCY,
            Self::Item(error) => error.status(),
            Self::PartitionKey(error) => error.status(),
            Self::Query(error) => error.status(),
            Self::Forgotten => Status::OWNER_NOT_FOUND,
            Self::Fenced | Self::Raced | Self::RelocationBehind => Status::RETRY_WITH,
            Self::Relocating => Status::RANGE_COMPLETING,
            Self::Script(error) => error.status(),
            Self::Store(error) => error.status(),
            Self::Corrupt(_) => Status::INTERNAL,
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Script(error) => error.retry_after_ms(),
            Self::Store(error) => error.retry_after_ms(),
            _ => None,
        }
    }

    fn is_our_fault(&self) -> bool {
        match self {
            Self::Corrupt(_) => true,
            Self::Script(error) => error.is_our_fault(),
            Self::Store(error) => error.is_our_fault(),
            _ => false,
        }
    }
}

impl Error {
    /// There is no item to read.
    pub(crate) fn missing() -> Error {
        Error::ItemMissing { charge: crate::charge::nothing() }
    }

    /// The same failure of a write, which costs more.
    pub(crate) fn of_write(self) -> Error {
        match self {
            Error::ItemMissing { .. } => Error::ItemMissing { charge: crate::charge::refused() },
            other => other,
        }
    }

    /// Returns the price of finding out. Failures that needed no store are free.
    pub fn charge(&self) -> Charge {
        crate::charge::failure(self)
    }
}
