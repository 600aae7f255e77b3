//! Why bytes are not an item.

use super::{super::JsonError, ITEM_BYTES_MAX};
use crate::{Failure, IdError, Status};

/// Why bytes are not an item. Wire: the sentences are the service's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// More bytes than an item may have.
    #[error(
        "Message: {{\"Errors\":[\"Request size is too large\"]}}\r\nThe item has {bytes} bytes, the limit is {ITEM_BYTES_MAX}."
    )]
    TooLarge {
        /// The size as sent.
        bytes: usize,
    },
    /// Not JSON that we accept.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// JSON, but not an object.
    #[error("The input content is invalid because it is not a JSON object")]
    NotObject,
    /// No property `id`.
    #[error("The input content is invalid because the required properties - 'id; ' - are missing")]
    IdMissing,
    /// `id` is not a string.
    #[error("The input content is invalid because the property 'id' is not a string")]
    IdNotString,
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
            Self::NotObject | Self::IdMissing | Self::IdNotString | Self::Ttl { .. } => {
                Status::BAD_REQUEST
            }
        }
    }
}
