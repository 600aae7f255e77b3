//! What can be wrong with a partition key or its definition.

use super::{definition::PATHS_MAX, key::KEY_BYTES_MAX};
use crate::{Failure, JsonError, PathError, Status};

/// What can be wrong with a partition key or its definition. Wire: the sentences that have one are
/// the service's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartitionKeyError {
    /// The header is not JSON.
    #[error("The partition key supplied in x-ms-documentdb-partitionkey header is invalid. {0}")]
    Json(#[from] JsonError),
    /// The header is JSON, but not an array of scalars.
    #[error(
        "The partition key supplied in x-ms-documentdb-partitionkey header is invalid: it must be \
         an array of strings, numbers, booleans, nulls or empty objects"
    )]
    NotKey,
    /// Fewer components than the container has paths.
    #[error(
        "The partition key supplied in x-ms-partitionkey header has fewer components than defined \
         in the the collection."
    )]
    TooFewComponents,
    /// More components than the container has paths.
    #[error(
        "The partition key supplied in x-ms-partitionkey header has more components than defined \
         in the collection."
    )]
    TooManyComponents,
    /// More bytes than a key may have.
    #[error("The partition key is too large: it has {bytes} bytes, limit is {KEY_BYTES_MAX}")]
    TooLarge {
        /// The bytes of all its strings together.
        bytes: usize,
    },
    /// A number that JSON lacks.
    #[error("The partition key has a number that is not finite")]
    NotFinite,
    /// No definition, or one without paths.
    #[error(
        "The input content is invalid because the required properties - 'partitionKey; ' - are \
         missing"
    )]
    DefinitionMissing,
    /// The definition has a property of the wrong type.
    #[error("The partition key definition is invalid: '{property}' must be {expected}")]
    DefinitionProperty {
        /// The property's name.
        property: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// An unknown kind.
    #[error("The 'kind' value '{kind}' specified in the partition key definition is invalid.")]
    Kind {
        /// The value, cut to a length fit for a message.
        kind: String,
    },
    /// More paths than a definition may have.
    #[error("Too many partition key paths: limit is {PATHS_MAX}")]
    TooManyPaths,
    /// One path twice.
    #[error("The partition key path '{path}' is used twice")]
    PathTwice {
        /// The path as written.
        path: String,
    },
    /// A malformed path.
    #[error(
        "The partition key component definition path '{path}' could not be accepted: {error}. Partition \
         key paths must contain only valid characters and not contain a trailing slash or wildcard \
         character."
    )]
    Path {
        /// The path, cut to a length fit for a message.
        path: String,
        /// What is wrong with it.
        error: PathError,
    },
}

impl Failure for PartitionKeyError {
    fn status(&self) -> Status {
        match self {
            Self::TooFewComponents => Status::PK_MISMATCH,
            Self::Json(_)
            | Self::NotKey
            | Self::TooManyComponents
            | Self::TooLarge { .. }
            | Self::NotFinite
            | Self::DefinitionMissing
            | Self::DefinitionProperty { .. }
            | Self::Kind { .. }
            | Self::TooManyPaths
            | Self::PathTwice { .. }
            | Self::Path { .. } => Status::BAD_REQUEST,
        }
    }
}
