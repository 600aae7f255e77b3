//! What can go wrong, as facts.

use std::time::Duration;

use model::{Failure, Status};

/// The result of a call into this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A create, or a point read, names a key that no container is responsible for.
    #[error("no container is responsible for key {key}")]
    NoContainer {
        /// The key as JSON text.
        key: String,
    },
    /// An item has nothing at the path that its key is taken from.
    #[error("item has no partition key at {path}")]
    KeyMissing {
        /// The path, or the name of the extractor.
        path: String,
    },
    /// An object stands where a key must be.
    #[error("value at {path} is an object, not a key")]
    KeyNotScalar {
        /// The path that was followed.
        path: String,
    },
    /// A number is not finite.
    #[error("a key must be a finite number")]
    NumberNotFinite,
    /// A path is not of the form `/name/name`.
    #[error("path {path:?} is not of the form /name/name")]
    PathInvalid {
        /// The text as given.
        path: String,
    },
    /// The low end of a range lies above its high end.
    #[error("range is empty: its low end lies above its high end")]
    RangeEmpty,
    /// Two ranges of a map share keys.
    #[error("ranges {first} and {second} of the map overlap")]
    RangesOverlap {
        /// The lower range.
        first: String,
        /// The range that begins before the first one ends.
        second: String,
    },
    /// A resolver was given nothing to choose from.
    #[error("a resolver needs at least one container")]
    NoContainers,
    /// One container is listed twice.
    #[error("container {0} is listed twice")]
    ContainerRepeated(String),
    /// The number of points on a ring is out of bounds.
    #[error("ring would have {points} points, allowed are 1 to {points_max}")]
    RingSize {
        /// Containers times virtual nodes.
        points: usize,
        /// The limit.
        points_max: usize,
    },
    /// Resolvers are nested too deeply.
    #[error("resolvers are nested deeper than {depth_max}")]
    TooDeep {
        /// The limit.
        depth_max: usize,
    },
    /// A branch of a composite resolver is not defined.
    #[error("composite resolver has no branch {0:?}")]
    NoBranch(String),
    /// Reads are paused while items move; trying again later helps.
    #[error("partitions are being migrated, retry after a delay")]
    Migrating,
    /// A state names an extractor that was not registered.
    #[error("no key extractor is registered under the name {0:?}")]
    UnknownExtractor(String),
    /// A state names a hash generator that was not registered.
    #[error("no hash generator is registered under the name {0:?}")]
    UnknownHash(String),
    /// A state needs a host for its containers, and none was registered.
    #[error("the resolver manages containers, and no container host is registered")]
    NoHost,
    /// A state was written by a newer version of this crate.
    #[error("state has version {found}, supported is {supported}")]
    StateVersion {
        /// The version found.
        found: u64,
        /// The newest version that can be read.
        supported: u64,
    },
    /// A state is not what it should be.
    #[error("state is not valid: {0}")]
    StateInvalid(String),
    /// Somebody else has replaced the state since it was read.
    #[error("state was changed by somebody else")]
    StateChanged,
    /// The state file could not be read or written.
    #[error("state file: {0}")]
    File(#[from] std::io::Error),
    /// A suffix scheme has no suffix, or more than the limit.
    #[error("a suffix scheme needs 1 to {count_max} suffixes, not {count}")]
    SuffixCount {
        /// The number asked for.
        count: u32,
        /// The limit.
        count_max: u32,
    },
    /// An item is not a JSON object, or has no text `id`.
    #[error("item is not a JSON object with a text id")]
    ItemInvalid,
    /// A replace would change the key of an item, which means another container.
    #[error("item has key {found}, but key {expected} is replaced; delete and create instead")]
    KeyChanged {
        /// The key of the address.
        expected: String,
        /// The key in the new body.
        found: String,
    },
    /// A synthetic key is longer than a partition key may be.
    #[error("synthetic key has {bytes} bytes, limit is {bytes_max}")]
    KeyTooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The address or the key of an account cannot be used.
    #[error("endpoint {0}")]
    EndpointInvalid(String),
    /// A continuation was not made by this query.
    #[error("continuation does not belong to this query")]
    ContinuationInvalid,
    /// The containers have changed since the continuation was made: items have moved, and the query is to be begun again.
    #[error("items have moved since the continuation was made; begin the query again")]
    ContinuationExpired,
    /// A database or scheme was not registered.
    #[error("no resolver is registered for database {database:?}, scheme {scheme:?}")]
    NotRegistered {
        /// The database asked for.
        database: String,
        /// The scheme asked for.
        scheme: String,
    },
    /// A repartitioning cannot be done as asked.
    #[error("repartitioning is not possible: {0}")]
    Repartition(#[from] crate::repartition::Refusal),
    /// A re-key cannot be done as asked.
    #[error("re-key: {0}")]
    Rekey(#[from] crate::rekey::Refusal),
    /// A template has scripts, which the SDK cannot register; `SdkDatabase::with_rest` can.
    #[error("the template has scripts, which the SDK alone cannot register")]
    ScriptsUnsupported,
    /// Nobody says how full a container is, so a spillover resolver cannot work; `SdkDatabase::with_rest` can ask.
    #[error("the container host cannot tell how full a container is")]
    FillUnknown,
    /// The service answered with a failure.
    #[error("service answered {status}/{sub_status}: {message}")]
    Service {
        /// The HTTP status.
        status: u16,
        /// The substatus, 0 if there is none.
        sub_status: u32,
        /// What the service said.
        message: String,
        /// How long the service asks to wait.
        retry_after: Option<Duration>,
    },
}

impl Error {
    /// The failure of a service with only a status.
    pub fn service(status: u16, message: impl Into<String>) -> Error {
        Error::Service { status, sub_status: 0, message: message.into(), retry_after: None }
    }

    /// Returns whether the same call can succeed later, unchanged.
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Migrating => true,
            Error::Service { status, .. } => matches!(status, 408 | 410 | 429 | 449 | 503),
            _ => false,
        }
    }

    /// Returns whether the failure is a service failure with this status.
    pub fn is_service(&self, expected: u16) -> bool {
        matches!(self, Error::Service { status, .. } if *status == expected)
    }
}

impl Failure for Error {
    fn status(&self) -> Status {
        match self {
            Error::Service { status, sub_status, .. } => Status { code: *status, sub: *sub_status },
            Error::Migrating => Status::UNAVAILABLE,
            Error::StateChanged => Status::PRECONDITION_FAILED,
            Error::File(_) => Status::INTERNAL,
            Error::NoContainer { .. } | Error::NotRegistered { .. } => Status::NOT_FOUND,
            _ => Status::BAD_REQUEST,
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Error::Service { retry_after: Some(it), .. } => u64::try_from(it.as_millis()).ok(),
            _ => None,
        }
    }
}
