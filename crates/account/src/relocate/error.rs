//! Why a relocation cannot start or did not end well.

use model::{EpkRange, Failure, RangeId, Status};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RelocationError {
    #[error("the partition key range {0} is being relocated already")]
    Busy(RangeId),
    #[error(
        "the partition key range {0} holds one logical partition, which cannot be divided; \
         a partition key with more values would spread it"
    )]
    OneLogicalPartition(RangeId),
    #[error("a container without a partition key has one physical partition for ever")]
    WithoutKey,
    #[error("the partition key range {0} is too narrow to be split")]
    TooNarrow(RangeId),
    #[error("the split point lies outside of {0} or at its edge")]
    PointOutside(EpkRange),
    #[error("the partition key ranges {0} and {1} are not neighbours")]
    NotAdjacent(RangeId, RangeId),
    #[error(
        "merging would leave {ranges} physical partitions for {throughput} RU/s; \
         each serves at most {per_range}: lower the throughput first"
    )]
    TooMuchThroughput { ranges: usize, throughput: u64, per_range: u64 },
    #[error("the ranges hold {bytes} bytes together, and a physical partition at most {bytes_max}")]
    TooManyBytes { bytes: u64, bytes_max: u64 },
    #[error("there is no store '{0}' in this account")]
    UnknownStore(String),
    #[error("the container has used up its range ids: copy it to a new one")]
    IdsExhausted,
    #[error("the container has {0} ranges, the most that it can have")]
    TooManyRanges(usize),
    #[error("there is no relocation {0}")]
    Unknown(u64),
    #[error("the relocation was cancelled")]
    Cancelled,
    #[error("the ranges of the container changed meanwhile")]
    LayoutChanged,
}

impl Failure for RelocationError {
    fn status(&self) -> Status {
        match self {
            Self::Busy(_) | Self::LayoutChanged | Self::Cancelled => Status::CONFLICT,
            Self::Unknown(_) => Status::NOT_FOUND,
            Self::OneLogicalPartition(_)
            | Self::WithoutKey
            | Self::TooNarrow(_)
            | Self::PointOutside(_)
            | Self::NotAdjacent(..)
            | Self::TooMuchThroughput { .. }
            | Self::TooManyBytes { .. }
            | Self::UnknownStore(_)
            | Self::IdsExhausted
            | Self::TooManyRanges(_) => Status::BAD_REQUEST,
        }
    }
}
