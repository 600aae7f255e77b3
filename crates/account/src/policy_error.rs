//! What is wrong with the properties of a container.
//!
//! Wire: the texts hold the substrings that SDK test suites look for.

use model::{Failure, Status};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("The property '{property}' is known but not supported by this server")]
    NotSupported { property: &'static str },
    #[error("The '{property}' value '{value}' is invalid. One of the specified inputs is invalid")]
    UnknownValue { property: &'static str, value: String },
    #[error(
        "The input ttl '{value}' is invalid. Ensure to provide a nonzero positive Int32 value or -1 for '{property}'. One of the input values is invalid."
    )]
    TtlInvalid { property: &'static str, value: String },

    #[error("The 'ttlPropertyPath' can only be specified together with a 'defaultTtl'")]
    TtlPathWithoutTtl,

    #[error("The partition key definition of a document collection is invalid: {reason}")]
    PartitionKeyInvalid { reason: String },
    #[error("Too many partition key paths: {count} specified, at most {max} are allowed")]
    TooManyKeyPaths { count: usize, max: usize },
    #[error(
        "The 'kind' value 'MultiHash' specified in the partition key definition is invalid. \
         Please choose 'Hash' partition type."
    )]
    MultiHashTooOld,
    #[error(
        "Too many partition key paths: {count} specified, a key of the kind 'Hash' has one. \
         Specify the kind 'MultiHash' for several."
    )]
    HashPaths { count: usize },

    #[error(
        "The partition key component definition path '{path}' could not be accepted, failed near position '{position}'. Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character."
    )]
    KeyPathInvalid { path: String, position: usize },
    #[error(
        "The indexing policy is invalid: automatic indexing must be false when the indexing mode is none"
    )]
    AutomaticWithoutIndex,
    #[error("The indexing policy is invalid: with indexing mode none there can be no index paths")]
    PathsWithoutIndex,
    #[error(
        "The special mandatory indexing path \"/\" is not provided in any of the path type sets. Please provide this path in one of the sets."
    )]
    RootPathMissing,
    #[error(
        "The indexing path '{path}' is in both the included and the excluded paths, or there twice"
    )]
    IndexPathTwice { path: String },
    #[error(
        "The indexing path '{path}' could not be accepted, failed near position '{position}'. Please ensure that the path is a valid path. Common errors include invalid characters or absence of quotes around labels."
    )]
    IndexPathInvalid { path: String, position: usize },
    #[error("The indexing policy has {count} {what}, at most {max} are allowed")]
    TooMany { what: &'static str, count: usize, max: usize },
    #[error("The indexing policy has an invalid composite index: it needs at least two paths")]
    CompositeTooShort,
    #[error(
        "The composite index path '{path}' is invalid: it must name a property, without wildcard and not twice in one index"
    )]
    CompositePath { path: String },
    #[error(
        "The spatial data types array cannot be empty. Assign at least one spatial type for the 'types' array for the path {path}"
    )]
    SpatialTypesEmpty { path: String },
    #[error(
        "A spatial index of a container with the Geometry type must have a boundingBox: path '{path}'"
    )]
    BoundingBoxMissing { path: String },
    #[error(
        "A spatial index of a container with the Geography type cannot have a boundingBox: path '{path}'"
    )]
    BoundingBoxUnexpected { path: String },
    #[error(
        "The bounding box of the spatial index path '{path}' is invalid: xmin < xmax and ymin < ymax must hold"
    )]
    BoundingBoxInvalid { path: String },

    #[error("The Vector Embedding Policy has an invalid Path:{path}. {reason}")]
    VectorPath { path: String, reason: &'static str },
    #[error(
        "The Vector Embedding Policy has an invalid DataType:{value}. The Vector Embedding Policy has an invalid DataType"
    )]
    VectorDataType { value: String },
    #[error("The Vector Embedding Policy has an invalid DistanceFunction:{value}")]
    VectorDistance { value: String },
    #[error(
        "The Vector Embedding Policy has Dimensions:{dimensions} which is {} supported value of {}",
        if *dimensions < 1 { "less than the minimum" } else { "more than the maximum" },
        if *dimensions < 1 { 1 } else { *max }
    )]
    VectorDimensions { dimensions: i64, max: i64 },
    #[error("The Vector Indexing Policy's Index Type::{value} is invalid")]
    VectorIndexType { value: String },
    #[error("The Vector Indexing Policy's path::{path} not matching in Embedding's path.")]
    VectorIndexPath { path: String },
    #[error(
        "The Vector Indexing Policy's Index Type::flat has been used with Dimensions::{dimensions} which is more than the maximum supported value of {max}"
    )]
    VectorFlatDimensions { dimensions: i64, max: i64 },
    #[error(
        "The Vector Indexing Policy parameter {parameter} value :: {value} is out of range. The allowed range is between {min} and {max}."
    )]
    VectorParameter { parameter: &'static str, value: i64, min: i64, max: i64 },
    #[error(
        "The Vector Indexing Policy parameter {parameter} is not supported with Index Type::{kind}"
    )]
    VectorParameterUnfit { parameter: &'static str, kind: &'static str },
    #[error("The Vector Indexing Policy has an invalid Shard Path: {path}.")]
    VectorShardPath { path: String },
    #[error(
        "The number of shard paths defined in the Vector Indexing Policy: {count} exceeds the maximum: 1."
    )]
    VectorShardPaths { count: usize },
    #[error(
        "Paths in existing vector indexing policy cannot be modified in Collection Replace. The index of '{path}' would have another type; remove it first."
    )]
    VectorIndexChanged { path: String },

    #[error("The Full Text Policy contains an invalid Path: {path}")]
    FullTextPath { path: String },
    #[error(
        "The Full Text Policy contains an unsupported language {language}. Supported languages are: {supported}"
    )]
    FullTextLanguage { language: String, supported: &'static str },
    #[error("Missing path in full-text index specification at index ({index})")]
    FullTextIndexWithoutPath { index: usize },
    #[error("Full-text index specification at index ({index}) contains invalid path")]
    FullTextIndexPath { index: usize },
    #[error(
        "The path of the Full Text Index {path} does not match the path specified in the Full Text Policy"
    )]
    FullTextIndexUnmatched { path: String },

    #[error("The unique key policy is invalid: {reason}")]
    UniqueKeyInvalid { reason: &'static str },
    #[error(
        "The unique key path '{path}' is invalid: it must name a property, without wildcard and only once in its key"
    )]
    UniqueKeyPath { path: String },
    #[error("The computed property name '{name}' is invalid: {reason}")]
    ComputedName { name: String, reason: &'static str },
    #[error("Computed property name '{name}' cannot be used in multiple definitions.")]
    ComputedTwice { name: String },
    #[error("The system property name '{name}' cannot be used as a computed property name.")]
    ComputedReserved { name: String },
    #[error("Computed property '{name}' is either empty or unspecified.")]
    ComputedEmpty { name: &'static str },
    #[error("One of the specified inputs is invalid")]
    InputInvalid,
    #[error(
        "Computed property '{name}' at index ({index}) has a spatial index. Remove the spatial index on this path."
    )]
    ComputedSpatial { name: String, index: usize },
    #[error(
        "Required VALUE expression missing from computed property query '{query}' at index ({index})."
    )]
    ComputedWithoutValue { query: String, index: usize },
    #[error(
        "Computed property at index ({index}) has a malformed query: '{query}' Error details: '{details}'"
    )]
    ComputedMalformed { query: String, index: usize, details: String },
    #[error("The query of the computed property '{name}' is invalid: {reason}")]
    ComputedQuery { name: String, reason: String },
    #[error("The client encryption policy is invalid: {reason}")]
    EncryptionInvalid { reason: String },
    #[error("ClientEncryptionKey with id '[{id}]' does not exist.")]
    EncryptionKeyMissing { id: String },
    #[error("The conflict resolution policy is invalid: {reason}")]
    ConflictInvalid { reason: &'static str },

    #[error("Document collection partition key cannot be changed.")]
    PartitionKeyChanged,
    #[error(
        "The unique index cannot be modified. To change the unique index, remove the collection and re-create a new one."
    )]
    UniqueKeysChanged,
    #[error("'{property}' cannot be changed as part of collection replace operation.")]
    Changed { property: &'static str },
    #[error(
        "Paths in existing embedding policy cannot be modified in Collection Replace. Existing embeddings must stay as they are."
    )]
    VectorEmbeddingChanged,
}

impl Failure for PolicyError {
    fn status(&self) -> Status {
        match self {
            // Wire: 403 for this one alone, as the service answers.
            Self::UniqueKeysChanged => Status::FORBIDDEN,
            Self::NotSupported { .. }
            | Self::UnknownValue { .. }
            | Self::TtlInvalid { .. }
            | Self::TtlPathWithoutTtl
            | Self::PartitionKeyInvalid { .. }
            | Self::TooManyKeyPaths { .. }
            | Self::MultiHashTooOld
            | Self::HashPaths { .. }
            | Self::EncryptionKeyMissing { .. }
            | Self::VectorShardPaths { .. }
            | Self::VectorIndexChanged { .. }
            | Self::AutomaticWithoutIndex
            | Self::PathsWithoutIndex
            | Self::RootPathMissing
            | Self::KeyPathInvalid { .. }
            | Self::IndexPathTwice { .. }
            | Self::IndexPathInvalid { .. }
            | Self::TooMany { .. }
            | Self::CompositeTooShort
            | Self::CompositePath { .. }
            | Self::SpatialTypesEmpty { .. }
            | Self::BoundingBoxMissing { .. }
            | Self::BoundingBoxUnexpected { .. }
            | Self::BoundingBoxInvalid { .. }
            | Self::VectorPath { .. }
            | Self::VectorDataType { .. }
            | Self::VectorDistance { .. }
            | Self::VectorDimensions { .. }
            | Self::VectorIndexType { .. }
            | Self::VectorIndexPath { .. }
            | Self::VectorFlatDimensions { .. }
            | Self::VectorParameter { .. }
            | Self::VectorParameterUnfit { .. }
            | Self::VectorShardPath { .. }
            | Self::FullTextPath { .. }
            | Self::FullTextLanguage { .. }
            | Self::FullTextIndexWithoutPath { .. }
            | Self::FullTextIndexPath { .. }
            | Self::FullTextIndexUnmatched { .. }
            | Self::UniqueKeyInvalid { .. }
            | Self::UniqueKeyPath { .. }
            | Self::ComputedName { .. }
            | Self::ComputedTwice { .. }
            | Self::ComputedReserved { .. }
            | Self::ComputedEmpty { .. }
            | Self::InputInvalid
            | Self::ComputedSpatial { .. }
            | Self::ComputedWithoutValue { .. }
            | Self::ComputedMalformed { .. }
            | Self::ComputedQuery { .. }
            | Self::EncryptionInvalid { .. }
            | Self::ConflictInvalid { .. }
            | Self::PartitionKeyChanged
            | Self::Changed { .. }
            | Self::VectorEmbeddingChanged => Status::BAD_REQUEST,
        }
    }
}
