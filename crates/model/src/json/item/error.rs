//! Why bytes are not an item.

use super::super::JsonError;
use crate::{Failure, IdError, Status};

/// Why bytes are not an item. Wire: the sentences are the service's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// More bytes than an item may have.
    #[error("Request size is too large")]
    TooLarge {
        /// The size as sent.
        bytes: usize,
    },
    /// Not JSON that we accept.
    #[error("The request payload is invalid. Ensure to provide a valid request payload.")]
    Json(#[from] JsonError),
    /// JSON, but not an object.
    #[error("One of the specified inputs is invalid")]
    NotObject,
    /// No property `id`.
    #[error(
        "The input content is invalid because the required properties - 'id; ' - are missing. \
         Learn more: https://aka.ms/CosmosDB/sql/errors/missing-id"
    )]
    IdMissing,
    /// `id` is not a string.
    #[error("The input content is invalid because the property 'id' is not a string")]
    IdNotString,
    /// `id` has half of a surrogate pair.
    #[error("The input content is invalid because the property 'id' has half a character")]
    IdHalved,
    /// `id` breaks the rules for ids.
    #[error(transparent)]
    Id(#[from] IdError),
    /// `ttl` is not −1 or a positive 32-bit integer.
    #[error(
        "The input ttl '{ttl}' is invalid. Ensure to provide a nonzero positive integer less than \
         or equal to '2147483647', or '-1' which means never expire."
    )]
    Ttl {
        /// The value as sent, cut to a length fit for a message.
        ttl: String,
    },
}

impl Failure for ItemError {
    fn status(&self) -> Status {
        match self {
            Self::TooLarge { .. } => Status::TOO_LARGE,
            Self::Json(error) => error.status(),
            Self::Id(error) => error.status(),
            Self::NotObject
            | Self::IdMissing
            | Self::IdNotString
            | Self::IdHalved
            | Self::Ttl { .. } => Status::BAD_REQUEST,
        }
    }
}
